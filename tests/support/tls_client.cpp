#include "support/tls_client.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/fd.h"

namespace berth::testing {
namespace {

using Ssl = std::unique_ptr<SSL, decltype(&SSL_free)>;
using SslContext = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;

Result<Fd> connect_to(const TlsQuestion& question) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval bound{.tv_sec = question.timeout_ms / 1000,
                      .tv_usec = (question.timeout_ms % 1000) * 1000};
  (void)::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound);
  (void)::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof bound);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(question.port);
  if (::inet_pton(AF_INET, question.ip.c_str(), &at.sin_addr) != 1)
    return fail(Code::invalid, "'{}' is no IPv4 address", question.ip);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0)
    return fail(Code::unavailable, "{}:{}: {}", question.ip, question.port, std::strerror(errno));
  return fd;
}

Result<SslContext> trusting(const std::string& authority_pem) {
  SslContext out(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  const std::unique_ptr<BIO, decltype(&BIO_free)> bytes(
      BIO_new_mem_buf(authority_pem.data(), static_cast<int>(authority_pem.size())), BIO_free);
  const std::unique_ptr<X509, decltype(&X509_free)> authority(
      PEM_read_bio_X509(bytes.get(), nullptr, nullptr, nullptr), X509_free);
  if (!out || !authority) return fail(Code::invalid, "the authority is no certificate");
  (void)X509_STORE_add_cert(SSL_CTX_get_cert_store(out.get()), authority.get());
  SSL_CTX_set_verify(out.get(), SSL_VERIFY_PEER, nullptr);
  return out;
}

Failure unfriendly(SSL* ssl, const TlsQuestion& question) {
  const long verdict = SSL_get_verify_result(ssl);
  const unsigned long error = ERR_get_error();
  const char* const reason = error ? ERR_reason_error_string(error) : nullptr;
  return fail(verdict == X509_V_OK ? Code::unavailable : Code::forbidden, "{}:{}: {}", question.ip,
              question.port,
              verdict != X509_V_OK ? X509_verify_cert_error_string(verdict)
              : reason             ? reason
                                   : "the connection ended");
}

}  // namespace

Result<std::string> ask_over_tls(const TlsQuestion& question) {
  ERR_clear_error();
  const Result<SslContext> context = trusting(question.authority_pem);
  if (!context) return fail(context.error());
  const Result<Fd> fd = connect_to(question);
  if (!fd) return fail(fd.error());
  const Ssl ssl(SSL_new(context->get()), SSL_free);
  (void)SSL_set_fd(ssl.get(), fd->get());
  (void)SSL_set_tlsext_host_name(ssl.get(), question.server_name.c_str());
  (void)SSL_set1_host(ssl.get(), question.server_name.c_str());
  if (SSL_connect(ssl.get()) != 1) return unfriendly(ssl.get(), question);
  if (SSL_write(ssl.get(), question.text.data(), static_cast<int>(question.text.size())) <= 0)
    return unfriendly(ssl.get(), question);
  std::string heard;
  std::array<char, 4096> buffer;
  while (heard.find(question.text) == std::string::npos) {
    const int n = SSL_read(ssl.get(), buffer.data(), static_cast<int>(buffer.size()));
    if (n <= 0) return unfriendly(ssl.get(), question);
    heard.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return heard;
}

}  // namespace berth::testing
