#include "net/server_connection.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/log.h"
#include "net/reply_head.h"
#include "net/server_socket.h"
#include "net/server_tls.h"
#include "net/url.h"

namespace berth::net {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kReadBytes = 16u << 10;
// Of a next request, while one is being answered. A client that sends more waits in its socket.
constexpr std::size_t kMaxReadAhead = 64u << 10;
// One write; the time that a stalled reader may take is counted per write.
constexpr std::size_t kMaxWriteBytes = 256u << 10;
// A body up to this size shares the head's buffer, and so one TLS record and one system call.
constexpr std::size_t kMaxJoinedBody = 16u << 10;
// After a last reply, for the client to read it before the connection goes: closing with unread
// input would reset the connection and take the reply with it.
constexpr Duration kLingerTime = std::chrono::seconds{2};

bool has_only_valid_headers(const Reply& reply) {
  return std::ranges::all_of(reply.headers, is_valid_header);
}

// Exceptions of a handler are defects; the client gets a 500 and the log the text.
Reply run_handler(const Handler& handler, const Request& request, const Peer& peer,
                  const std::stop_token& stop) {
  try {
    Reply reply = handler(request, peer, stop);
    if (has_only_valid_headers(reply)) return reply;
    if (reply.stream) reply.stream->abandon();
    log_error("handler set a header that cannot be sent", {{"url", request.url}});
  } catch (const std::exception& error) {
    log_error("handler threw", {{"url", request.url}, {"error", error.what()}});
  }
  return refusal(500, "internal error");
}

// A server must understand the form that proxies use: "GET http://host/path".
std::string path_and_query(std::string_view target) {
  if (target.starts_with('/') || target == "*") return std::string(target);
  const auto url = parse_url(target);
  if (!url) return std::string(target);
  return url->query.empty() ? url->path : url->path + "?" + url->query;
}

class HttpConnection final : public ServerConnection,
                             public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(asio::ip::tcp::socket socket, std::shared_ptr<asio::ssl::context> tls,
                 ConnectionHost& host)
      : host_(host), socket_(std::move(socket), std::move(tls)), timer_(socket_.executor()) {}

  void start() override { post(&HttpConnection::begin); }
  void drain() override { post(&HttpConnection::begin_drain); }
  void abort() override { post(&HttpConnection::close); }

 private:
  enum class Phase {
    handshake,
    waiting,  // for the first byte of a request
    head,
    body,
    handling,
    replying,
    streaming,
    lingering,
    closed,
  };
  // A pipe's writer may call at any time, even when the server is gone. While the gate is open,
  // neither the connection nor the server's I/O can be.
  struct WakeGate {
    Mutex mu;
    bool open GUARDED_BY(mu) = true;
  };
  enum class AfterWrite { read_body, next_request, pump, linger };

  void post(void (HttpConnection::*member)()) {
    asio::post(socket_.executor(), [self = shared_from_this(), member] { (*self.*member)(); });
  }

  // --- from the handshake to a whole request

  void begin() {
    if (phase_ == Phase::closed) return;
    error_code ignored;
    socket_.tcp().set_option(asio::ip::tcp::no_delay(true), ignored);
    socket_.tcp().set_option(asio::socket_base::keep_alive(true), ignored);
    const auto remote = socket_.tcp().remote_endpoint(ignored);
    peer_.address = remote.address().to_string();
    arm(host_.options().header_timeout);
    if (socket_.tls() == nullptr) return expect_request();
    socket_.handshake([self = shared_from_this()](error_code error) {
      if (self->phase_ == Phase::closed) return;
      if (error) return self->close();
      identify_peer(self->socket_.tls(), self->peer_);
      self->expect_request();
    });
  }

  void expect_request() {
    if (draining_) return close();
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(host_.options().max_header_bytes));
    parser_->body_limit(host_.options().max_body_bytes);
    stop_ = std::stop_source();
    phase_ = Phase::waiting;
    if (input_.size() > 0) return parse();
    read();
  }

  void parse() {
    if (phase_ == Phase::waiting) {
      phase_ = Phase::head;
      arm(host_.options().header_timeout);
    }
    while (input_.size() > 0 && !parser_->is_done()) {
      const error_code error = parse_some();
      if (error == http::error::need_more) break;
      if (error) return refuse(error);
      if (phase_ == Phase::head && parser_->is_header_done() && !begin_body()) return;
    }
    if (parser_->is_done()) return handle();
    read();
  }

  error_code parse_some() {
    error_code error;
    try {
      input_.consume(parser_->put(input_.data(), error));
    } catch (const std::length_error&) {  // Beast's word for one header of more than 64 KiB
      error = http::error::header_limit;
    }
    return error;
  }

  // False: the body is not to be read now.
  bool begin_body() {
    phase_ = Phase::body;
    parser_->eager(true);
    arm(host_.options().body_timeout);
    const auto& message = parser_->get();
    if (message.version() >= 11 && message.find(http::field::host) == message.end()) {
      refuse(400, "the request has no Host header");
      return false;
    }
    const auto expect = message[http::field::expect];
    const bool wants_leave = equals_ignoring_case({expect.data(), expect.size()}, "100-continue");
    if (!wants_leave || parser_->is_done() || input_.size() > 0) return true;
    write(std::string(kContinue), AfterWrite::read_body);
    return false;
  }

  void refuse(error_code error) {
    if (error == http::error::header_limit) return refuse(431, "the headers are too large");
    if (error == http::error::body_limit) return refuse(413, "the body is too large");
    refuse(400, "this is not an HTTP/1.1 request: " + error.message());
  }

  void refuse(int status, std::string_view why) {
    keep_alive_ = false;
    head_only_ = false;
    chunks_allowed_ = true;
    send(refusal(status, why));
  }

  // --- handling

  void handle() {
    phase_ = Phase::handling;
    disarm();
    host_.count_request();
    keep_alive_ = parser_->keep_alive();
    auto request = std::make_shared<Request>(take_request());
    head_only_ = request->method == "HEAD";
    auto job = [self = shared_from_this(), request, stop = stop_.get_token()] {
      // A client that gave up while it waited in the queue gets no work done.
      Reply reply = stop.stop_requested()
                        ? refusal(503, "the client went away")
                        : run_handler(self->host_.handler(), *request, self->peer_, stop);
      asio::post(self->socket_.executor(),
                 [self, reply = std::move(reply)]() mutable { self->send(std::move(reply)); });
    };
    const bool taken = host_.pool().submit(std::move(job));
    read();  // sees the client go away
    if (taken) return;
    Reply busy = refusal(503, "too many requests are waiting");
    busy.headers.set("Retry-After", "1");
    send(std::move(busy));
  }

  Request take_request() {
    auto message = parser_->release();
    chunks_allowed_ = message.version() >= 11;
    Request request;
    request.method = message.method_string();
    request.url = path_and_query({message.target().data(), message.target().size()});
    for (const auto& field : message) {
      request.headers.add(std::string(field.name_string()), std::string(field.value()));
    }
    request.body = std::move(message.body());
    return request;
  }

  // --- replying

  void send(Reply reply) {
    if (phase_ == Phase::closed) {
      if (reply.stream) reply.stream->abandon();
      return;
    }
    if (draining_ || peer_gone_) keep_alive_ = false;
    if (reply.stream && !chunks_allowed_) {
      reply.stream->abandon();
      reply = refusal(505, "this answer is a stream and needs HTTP/1.1");
    }
    const Framing framing = framing_of(reply);
    if (framing == Framing::raw) keep_alive_ = false;
    std::string head = reply_head(reply, framing, keep_alive_, std::chrono::system_clock::now());
    const bool bodiless = head_only_ || framing == Framing::none;
    const bool chunked = framing == Framing::chunked && !bodiless;
    if (reply.stream && !chunked) reply.stream->abandon();
    if (chunked) return send_stream(std::move(head), std::move(reply.stream));
    phase_ = Phase::replying;
    if (!bodiless && reply.body.size() <= kMaxJoinedBody) {
      head += reply.body;
    } else if (!bodiless) {
      output_rest_ = std::move(reply.body);
    }
    write(std::move(head), keep_alive_ ? AfterWrite::next_request : AfterWrite::linger);
  }

  void send_stream(std::string head, std::shared_ptr<BytePipe> stream) {
    phase_ = Phase::streaming;
    stream_ = std::move(stream);
    wake_gate_ = std::make_shared<WakeGate>();
    stream_->on_readable([this, gate = wake_gate_] {
      const MutexLock lock(gate->mu);
      // Many small writes of the handler become one look at the pipe.
      if (gate->open && !pump_posted_.exchange(true)) post(&HttpConnection::pump_again);
    });
    write(std::move(head), AfterWrite::pump);
  }

  void pump_again() {
    pump_posted_ = false;
    if (phase_ == Phase::streaming && !writing_) pump();
  }

  void pump() {
    auto got = stream_->read();
    std::string bytes = got.bytes.empty() ? "" : chunk_of(std::move(got.bytes));
    auto after = AfterWrite::pump;
    if (got.ended) {
      stream_.reset();
      if (got.error) keep_alive_ = false;  // without the last chunk the client sees it was cut
      if (!got.error) bytes += kLastChunk;
      after = keep_alive_ ? AfterWrite::next_request : AfterWrite::linger;
    }
    if (!bytes.empty()) return write(std::move(bytes), after);
    if (got.ended) return linger();
    disarm();
  }

  void write(std::string bytes, AfterWrite after) {
    output_ = std::move(bytes);
    written_ = 0;
    after_write_ = after;
    write_more();
  }

  void write_more() {
    writing_ = true;
    arm(host_.options().body_timeout);
    const std::size_t amount = std::min(kMaxWriteBytes, output_.size() - written_);
    socket_.write(asio::buffer(output_.data() + written_, amount),
                  [self = shared_from_this()](error_code error, std::size_t count) {
                    self->writing_ = false;
                    self->on_written(error, count);
                  });
  }

  void on_written(error_code error, std::size_t count) {
    if (phase_ == Phase::closed) return;
    if (error) return close();
    written_ += count;
    if (written_ < output_.size()) return write_more();
    if (!output_rest_.empty()) return write(std::exchange(output_rest_, {}), after_write_);
    switch (after_write_) {
      case AfterWrite::read_body: return read();
      case AfterWrite::pump: return pump();
      case AfterWrite::linger: return linger();
      case AfterWrite::next_request:
        arm(host_.options().idle_timeout);
        return peer_gone_ ? close() : expect_request();
    }
  }

  // --- reading, which goes on while a reply is made

  void read() {
    const bool ahead = phase_ >= Phase::handling && input_.size() > kMaxReadAhead;
    if (reading_ || peer_gone_ || ahead) return;
    reading_ = true;
    socket_.read_some(asio::buffer(incoming_),
                      [self = shared_from_this()](error_code error, std::size_t count) {
                        self->reading_ = false;
                        self->on_read(error, count);
                      });
  }

  void on_read(error_code error, std::size_t count) {
    if (phase_ == Phase::closed) return;
    if (error) return on_peer_gone();
    input_.commit(asio::buffer_copy(input_.prepare(count), asio::buffer(incoming_, count)));
    switch (phase_) {
      case Phase::waiting:
      case Phase::head:
      case Phase::body: return parse();
      case Phase::lingering: input_.consume(input_.size()); return read();
      default: return read();
    }
  }

  // A client that only closed its sending half still gets its reply, but no stream.
  void on_peer_gone() {
    peer_gone_ = true;
    if (phase_ != Phase::handling && phase_ != Phase::replying) return close();
    stop_.request_stop();
  }

  // --- the end

  void begin_drain() {
    draining_ = true;
    if (phase_ == Phase::handshake || phase_ == Phase::waiting) close();
  }

  void linger() {
    if (peer_gone_) return close();
    phase_ = Phase::lingering;
    socket_.finish_sending();
    input_.consume(input_.size());
    arm(kLingerTime);
    read();
  }

  void close() {
    if (phase_ == Phase::closed) return;
    phase_ = Phase::closed;
    if (wake_gate_) {
      const MutexLock lock(wake_gate_->mu);
      wake_gate_->open = false;
    }
    if (stream_) std::exchange(stream_, nullptr)->abandon();
    stop_.request_stop();
    socket_.close();
    timer_.cancel();
    host_.on_closed(this);
  }

  // --- one timer: a deadline that moves out needs no new wait

  void arm(Duration span) {
    deadline_ = SteadyClock::now() + span;
    if (!timer_runs_ || deadline_ < timer_.expiry()) run_timer();
  }

  void disarm() { deadline_ = SteadyClock::time_point::max(); }

  void run_timer() {
    timer_runs_ = true;
    timer_.expires_at(deadline_);
    timer_.async_wait([self = shared_from_this()](error_code error) {
      if (error || self->phase_ == Phase::closed) return;
      self->timer_runs_ = false;
      if (self->deadline_ == SteadyClock::time_point::max()) return;
      if (SteadyClock::now() < self->deadline_) return self->run_timer();
      self->on_timeout();
    });
  }

  void on_timeout() {
    if (phase_ == Phase::head) return refuse(408, "the headers took too long");
    if (phase_ == Phase::body && !writing_) return refuse(408, "the body took too long");
    close();
  }

  ConnectionHost& host_;
  ServerSocket socket_;
  asio::steady_timer timer_;
  SteadyClock::time_point deadline_ = SteadyClock::time_point::max();
  bool timer_runs_ = false;

  Phase phase_ = Phase::handshake;
  Peer peer_;
  // Apart from `input_`, which is parsed and consumed while a read may be under way.
  std::array<char, kReadBytes> incoming_;
  boost::beast::flat_buffer input_;
  std::optional<http::request_parser<http::string_body>> parser_;
  bool reading_ = false;
  bool peer_gone_ = false;
  bool draining_ = false;

  // Of the request in hand.
  std::stop_source stop_;
  bool keep_alive_ = true;
  bool head_only_ = false;
  bool chunks_allowed_ = true;
  std::shared_ptr<BytePipe> stream_;
  std::shared_ptr<WakeGate> wake_gate_;
  std::atomic<bool> pump_posted_ = false;

  std::string output_;
  std::string output_rest_;  // written after it
  std::size_t written_ = 0;
  bool writing_ = false;
  AfterWrite after_write_ = AfterWrite::linger;
};

}  // namespace

std::shared_ptr<ServerConnection> make_connection(asio::ip::tcp::socket socket,
                                                  std::shared_ptr<asio::ssl::context> tls,
                                                  ConnectionHost& host) {
  return std::make_shared<HttpConnection>(std::move(socket), std::move(tls), host);
}

}  // namespace berth::net
