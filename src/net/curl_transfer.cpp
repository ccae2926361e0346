#include "net/curl_transfer.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/x509_vfy.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "net/url.h"

namespace berth::net {
namespace {

constexpr const char* kUserAgent = "berth/0.1";
// What curl reads from a socket at once: its largest for bulk, little for the many small calls.
constexpr long kStreamBufferBytes = 512L << 10;
constexpr long kCallBufferBytes = 64L << 10;
constexpr long kKeepAliveIdleSeconds = 15;
constexpr long kKeepAliveIntervalSeconds = 5;
// Servers and balancers close idle connections after 60 s or more. One that we left idle for longer
// than this is not used again, so a request does not run into the close.
constexpr long kMaxIdleSeconds = 45;

static_assert(CURL_ERROR_SIZE == 256);

// Sets options and remembers the first refusal, so that a long list needs one check.
class OptionSetter {
 public:
  explicit OptionSetter(CURL* easy) : easy_(easy) {}
  template <class T>
  void operator()(CURLoption option, T value) {
    const CURLcode code = curl_easy_setopt(easy_, option, value);
    if (result_ == CURLE_OK) result_ = code;
  }
  // PEM text that outlives the transfer: curl does not copy it.
  void pem(CURLoption option, const std::string& text) {
    if (text.empty()) return;
    curl_blob blob{const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY};
    (*this)(option, &blob);
  }
  CURLcode result() const { return result_; }

 private:
  CURL* const easy_;
  CURLcode result_ = CURLE_OK;
};

long milliseconds(Duration span) {
  return static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(span).count());
}

// Data that nobody acknowledges, and probes that nobody answers, end the connection. Programs that
// we start do not inherit it.
int on_socket(void* options, curl_socket_t socket, curlsocktype) {
  const auto span = static_cast<const CurlTransportOptions*>(options)->dead_peer_timeout;
  const auto timeout = static_cast<unsigned>(milliseconds(span));
  setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof timeout);
  fcntl(socket, F_SETFD, FD_CLOEXEC);
  return CURL_SOCKOPT_OK;
}

void set_connection(OptionSetter& set, const CurlTransportOptions& options) {
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));  // or newer
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds(options.connect_timeout));
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  set(CURLOPT_TCP_KEEPINTVL, kKeepAliveIntervalSeconds);
  set(CURLOPT_MAXAGE_CONN, kMaxIdleSeconds);
  set(CURLOPT_SOCKOPTFUNCTION, on_socket);
  set(CURLOPT_SOCKOPTDATA, const_cast<CurlTransportOptions*>(&options));
  // Taking a transfer down must not wait for a name server that does not answer.
  set(CURLOPT_QUICK_EXIT, 1L);
}

void set_proxy(OptionSetter& set, const std::string& proxy) {
  // Set even when empty: otherwise curl reads the environment.
  set(CURLOPT_PROXY, proxy.c_str());
  set(CURLOPT_NOPROXY, "");
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
}

void set_tls(OptionSetter& set, const TlsSettings& tls) {
  set.pem(CURLOPT_CAINFO_BLOB, tls.ca_pem);
  set.pem(CURLOPT_SSLCERT_BLOB, tls.cert_pem);
  set.pem(CURLOPT_SSLKEY_BLOB, tls.key_pem.reveal());
  if (tls.insecure) {
    set(CURLOPT_SSL_VERIFYPEER, 0L);
    set(CURLOPT_SSL_VERIFYHOST, 0L);
  }
}

bool has_body_by_nature(std::string_view method) {
  return method == "POST" || method == "PUT" || method == "PATCH";
}

void set_method(OptionSetter& set, const Request& request, bool never_twice) {
  if (request.method == "HEAD") return set(CURLOPT_NOBODY, 1L);
  if (request.body.empty() && !has_body_by_nature(request.method)) {
    set(CURLOPT_HTTPGET, 1L);
    if (never_twice && request.method != "GET") set(CURLOPT_FRESH_CONNECT, 1L);
    return set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
  // The body comes from a callback that cannot rewind: that is what keeps curl from sending a
  // request again by itself when a kept connection breaks. Without a body there is nothing to
  // rewind, so a write without one gets a new connection, which curl never tries again.
  set(CURLOPT_UPLOAD, 1L);
  set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  if (request.body.empty()) set(CURLOPT_FRESH_CONNECT, 1L);
}

std::string name_of(const Request& request, const Result<Url>& url) {
  return url ? fmt::format("{} {}{}", request.method, url->origin(), url->path) : request.method;
}

std::string hint_for_certificate(long verify_result) {
  switch (verify_result) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "renew the certificate of the peer, or correct the clock of this machine";
    case X509_V_ERR_CERT_NOT_YET_VALID: return "correct the clock of this machine or of the peer";
    case X509_V_OK:
    case X509_V_ERR_UNSPECIFIED:  // curl checks the name before it asks for the verdict
      return "the certificate is for other names: check the URL or the server name";
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return "no trusted authority signed it: check the CA bundle";
    default: return "check the certificate of the peer";
  }
}

}  // namespace

CurlTransfer::CurlTransfer(Kind kind, Request request, const CurlTransportOptions& options,
                           std::unique_ptr<Signal> changed)
    : kind_(kind),
      request_(std::move(request)),
      options_(options),
      changed_(std::move(changed)),
      url_(parse_url(request_.url)),
      name_(name_of(request_, url_)),
      pipe_(options.max_waiting_bytes) {}

CurlTransfer::~CurlTransfer() {
  curl_slist_free_all(headers_);
  curl_slist_free_all(connect_to_);
}

Result<> CurlTransfer::attach(void* easy) {
  if (!url_) return fail(Error(url_.error()).about(name_));
  if (!is_token(request_.method)) {
    return fail(error_of(Code::invalid, "'{}' is not a method", request_.method).about(name_));
  }
  if (auto added = add_headers(); !added) return added;

  OptionSetter set(easy);
  set(CURLOPT_PRIVATE, reinterpret_cast<char*>(this));
  set(CURLOPT_ERRORBUFFER, error_text_.data());
  set(CURLOPT_BUFFERSIZE, kind_ == Kind::stream ? kStreamBufferBytes : kCallBufferBytes);
  set(CURLOPT_HEADERFUNCTION, on_header);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_WRITEFUNCTION, on_body);
  set(CURLOPT_WRITEDATA, this);
  set(CURLOPT_READFUNCTION, on_send);
  set(CURLOPT_READDATA, this);
  set_connection(set, options_);
  set_proxy(set, request_.proxy);
  set_method(set, request_, options_.never_twice);
  if (request_.tls) set_tls(set, *request_.tls);

  std::string target = request_.url;
  if (request_.tls && !request_.tls->server_name.empty()) {
    // Curl checks the certificate against the URL's host. So the URL gets the expected name, the
    // connection goes to the real host, and so does the Host header.
    if (request_.headers.get("Host").empty() && !add_header("Host: " + url_->authority())) {
      return fail(Code::internal, "out of memory");
    }
    Url named = *url_;
    named.host = request_.tls->server_name;
    target = named.to_string();
    const std::string route =
        join_host_port(named.host, named.port) + ":" + join_host_port(url_->host, url_->port);
    connect_to_ = curl_slist_append(nullptr, route.c_str());
    set(CURLOPT_CONNECT_TO, connect_to_);
  }
  set(CURLOPT_URL, target.c_str());
  set(CURLOPT_HTTPHEADER, headers_);
  if (set.result() == CURLE_OK) return {};
  return fail(
      error_of(Code::internal, "curl refused an option: {}", curl_easy_strerror(set.result()))
          .about(name_));
}

bool CurlTransfer::add_header(const std::string& line) {
  curl_slist* const longer = curl_slist_append(headers_, line.c_str());
  if (longer == nullptr) return false;
  headers_ = longer;
  return true;
}

Result<> CurlTransfer::add_headers() {
  bool added = true;
  for (const auto& header : request_.headers) {
    if (!is_valid_header(header)) {
      return fail(
          error_of(Code::invalid, "header '{}' has characters that no header has", header.name)
              .about(name_));
    }
    // Curl takes "Name:" as an order to leave the header out; "Name;" sends it empty.
    const auto separator = header.value.empty() ? ";" : ": ";
    added = added && add_header(header.name + separator + header.value);
  }
  if (request_.headers.get("User-Agent").empty()) {
    added = added && add_header(std::string("User-Agent: ") + kUserAgent);
  }
  // Waiting for "100 Continue" costs a round trip, and servers that ignore it cost a second.
  if (request_.headers.get("Expect").empty()) added = added && add_header("Expect:");
  if (!added) return fail(Code::internal, "out of memory");
  return {};
}

std::size_t CurlTransfer::on_header(char* data, std::size_t size, std::size_t count, void* self) {
  std::string_view line(data, size * count);
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  static_cast<CurlTransfer*>(self)->take_header_line(line);
  return size * count;
}

void CurlTransfer::take_header_line(std::string_view line) {
  if (head_arrived_) return;  // trailers
  if (line.starts_with("HTTP/")) {
    response_ = {};
    const auto code = line.substr(std::min(line.size(), line.find(' ') + 1));
    std::from_chars(code.data(), code.data() + code.size(), response_.status);
    return;
  }
  if (!line.empty()) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) return;
    auto value = line.substr(colon + 1);
    value.remove_prefix(std::min(value.size(), value.find_first_not_of(" \t")));
    response_.headers.add(std::string(line.substr(0, colon)), std::string(value));
    return;
  }
  if (response_.status < 200) return;  // "100 Continue": the real head follows
  if (kind_ == Kind::call) {
    std::size_t length = 0;
    const auto text = response_.headers.get("Content-Length");
    std::from_chars(text.data(), text.data() + text.size(), length);
    response_.body.reserve(std::min(length, options_.max_response_bytes));
  }
  head_arrived_ = true;
  unannounced_ = kind_ == Kind::stream;
}

std::size_t CurlTransfer::on_body(char* data, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<CurlTransfer*>(self);
  const std::string_view bytes(data, size * count);
  const bool call = transfer.kind_ == Kind::call;
  return call ? transfer.take_for_call(bytes) : transfer.take_for_stream(bytes);
}

std::size_t CurlTransfer::take_for_call(std::string_view bytes) {
  if (response_.body.size() + bytes.size() > options_.max_response_bytes) {
    too_large_ = true;
    return 0;
  }
  response_.body.append(bytes);
  received_ += bytes.size();
  return bytes.size();
}

std::size_t CurlTransfer::take_for_stream(std::string_view bytes) {
  bool taken = pipe_.append(bytes);
  if (!taken) {
    // The reader may have emptied the pipe just now and seen no pause: announce it, then look
    // again. One of the two sees the other.
    paused_ = true;
    taken = pipe_.append(bytes);
    if (!taken) return CURL_WRITEFUNC_PAUSE;
    paused_ = false;
  }
  received_ += bytes.size();
  unannounced_ = true;
  return bytes.size();
}

void CurlTransfer::announce() {
  if (std::exchange(unannounced_, false)) changed_->notify();
}

std::size_t CurlTransfer::on_send(char* buffer, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<CurlTransfer*>(self);
  const auto& body = transfer.request_.body;
  const std::size_t amount = std::min(size * count, body.size() - transfer.sent_);
  std::memcpy(buffer, body.data() + transfer.sent_, amount);
  transfer.sent_ += amount;
  return amount;
}

void CurlTransfer::end(void* easy, int curl_code) {
  if (curl_code == CURLE_OK && head_arrived_) return end_with(std::nullopt);
  end_with(verdict(easy, curl_code));
}

void CurlTransfer::end_with(std::optional<Error> error) {
  if (error && error->object.empty()) error->object = name_;
  error_ = error;
  pipe_.close(std::move(error));
  ended_ = true;
  changed_->notify();
}

Error CurlTransfer::verdict(void* easy, int curl_code) const {
  const auto code = static_cast<CURLcode>(curl_code);
  const std::string text = error_text_[0] != 0 ? error_text_.data() : curl_easy_strerror(code);
  if (too_large_) {
    return error_of(Code::exhausted, "the answer is larger than {} bytes",
                    options_.max_response_bytes);
  }
  switch (code) {
    case CURLE_OUT_OF_MEMORY: return error_of(Code::internal, "out of memory");
    case CURLE_SSL_CERTPROBLEM:
      return error_of(Code::invalid, "our client certificate or its key is not usable: {}", text);
    case CURLE_SSL_CACERT_BADFILE:
      return error_of(Code::invalid, "the CA bundle is not usable: {}", text);
    case CURLE_PEER_FAILED_VERIFICATION: {
      long verify_result = X509_V_OK;
      curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &verify_result);
      return error_of(Code::unavailable, "the certificate of the peer was not accepted: {}", text)
          .with_hint(hint_for_certificate(verify_result));
    }
    case CURLE_SEND_FAIL_REWIND:
      return error_of(Code::unavailable,
                      "the connection broke before an answer came; the request was not sent again");
    default: break;
  }
  if (head_arrived_) {
    return error_of(Code::unavailable, "the answer is truncated after {} bytes: {}", received_,
                    text);
  }
  return error_of(Code::unavailable, "no answer: {}", text);
}

}  // namespace berth::net
