#include "net/server_connection.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "base/log.h"
#include "net/reply_head.h"
#include "net/request_reader.h"
#include "net/server_socket.h"
#include "net/server_tls.h"

namespace berth::net {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kReadBytes = 16u << 10;
// Of a next request, while one is being answered. A client that sends more waits in its socket.
constexpr std::size_t kMaxReadAhead = 16u << 10;
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

Reply busy(std::string_view why) {
  Reply reply = refusal(503, why);
  reply.headers.set("Retry-After", "1");
  return reply;
}

class HttpConnection final : public ServerConnection,
                             public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(asio::ip::tcp::socket socket, std::shared_ptr<asio::ssl::context> tls,
                 ConnectionHost& host)
      : host_(host),
        socket_(std::move(socket), std::move(tls)),
        timer_(socket_.executor()),
        reader_(host.options().max_header_bytes, host.options().max_body_bytes) {}

  void start() override { post(&HttpConnection::begin); }
  void drain() override { post(&HttpConnection::begin_drain); }
  void abort() override { post(&HttpConnection::close); }
  void obey() override { post(&HttpConnection::obey_verdict); }
  void resume() override { post(&HttpConnection::ask_again); }

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

  static ConnectionTable::Stage stage_of(Phase phase) {
    using Stage = ConnectionTable::Stage;
    switch (phase) {
      case Phase::head:
      case Phase::body: return Stage::arriving;
      case Phase::handling:
      case Phase::streaming: return Stage::answering;
      case Phase::replying: return Stage::replying;
      default: return Stage::idle;
    }
  }

  void enter(Phase phase) {
    const auto before = stage_of(std::exchange(phase_, phase));
    if (stage_of(phase) != before) host_.table().enter(this, stage_of(phase));
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
    reader_.restart();
    stop_ = std::stop_source();
    enter(Phase::waiting);
    if (reader_.unread() > 0) return parse();
    read();
  }

  void parse() {
    if (phase_ == Phase::waiting) {
      enter(Phase::head);
      arm(host_.options().header_timeout);
    }
    while (may_hold()) {
      switch (reader_.next()) {
        case RequestReader::Step::needs_more: return read();
        case RequestReader::Step::whole: return handle();
        case RequestReader::Step::broken:
          return refuse(refusal(reader_.status(), reader_.reason()));
        case RequestReader::Step::has_head:
          if (!begin_body()) return;
      }
    }
  }

  // False: the request waits until others hold less, or was refused.
  bool may_hold() {
    const auto grant = host_.table().hold(this, reader_.bytes_to_hold());
    waits_for_room_ = grant == ConnectionTable::Grant::later;
    if (grant == ConnectionTable::Grant::never) refuse(refusal(413, "the body is too large"));
    return grant == ConnectionTable::Grant::given;
  }

  void ask_again() {
    if (waits_for_room_) parse();
  }

  // False: the body is not to be read now.
  bool begin_body() {
    enter(Phase::body);
    arm(host_.options().body_timeout);
    if (!reader_.has_host()) {
      refuse(refusal(400, "the request has no Host header"));
      return false;
    }
    if (!reader_.waits_for_leave()) return true;
    write(std::string(kContinue), AfterWrite::read_body);
    return false;
  }

  void refuse(Reply reply) {
    keep_alive_ = false;
    head_only_ = false;
    chunks_allowed_ = true;
    waits_for_room_ = false;
    reader_.discard();
    send(std::move(reply));
  }

  // --- when there is too much

  void obey_verdict() {
    const auto verdict = host_.table().verdict(this);
    if (verdict == ConnectionTable::Verdict::leave) return close();
    if (verdict == ConnectionTable::Verdict::yield) give_way();
  }

  void give_way() {
    if (phase_ != Phase::head && phase_ != Phase::body) return;
    host_.table().count_shed();
    if (writing_) return close();
    refuse(busy("too many bytes of requests are in flight"));
  }

  // --- handling

  void handle() {
    enter(Phase::handling);
    disarm();
    host_.count_request();
    keep_alive_ = reader_.keeps_alive();
    chunks_allowed_ = reader_.takes_chunks();
    auto request = std::make_shared<Request>(reader_.take());
    head_only_ = request->method == "HEAD";
    auto job = [self = shared_from_this(), request, stop = stop_.get_token()]() mutable {
      // A client that gave up while it waited in the queue gets no work done.
      Reply reply = stop.stop_requested()
                        ? refusal(503, "the client went away")
                        : run_handler(self->host_.handler(), *request, self->peer_, stop);
      request.reset();  // before its bytes count as given back
      asio::post(self->socket_.executor(),
                 [self, reply = std::move(reply)]() mutable { self->send(std::move(reply)); });
    };
    request.reset();
    const bool taken = host_.pool().submit(std::move(job));
    read();  // sees the client go away
    if (!taken) send(busy("too many requests are waiting"));
  }

  // --- replying

  void send(Reply reply) {
    if (phase_ == Phase::closed) {
      if (reply.stream) reply.stream->abandon();
      return;
    }
    host_.table().hold(this, 0);
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
    enter(Phase::replying);
    if (!bodiless && reply.body.size() <= kMaxJoinedBody) {
      head += reply.body;
    } else if (!bodiless) {
      output_rest_ = std::move(reply.body);
    }
    write(std::move(head), keep_alive_ ? AfterWrite::next_request : AfterWrite::linger);
  }

  void send_stream(std::string head, std::shared_ptr<BytePipe> stream) {
    enter(Phase::streaming);
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
    const bool ahead = phase_ >= Phase::handling && reader_.unread() > kMaxReadAhead;
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
    reader_.append({incoming_.data(), count});
    switch (phase_) {
      case Phase::waiting:
      case Phase::head:
      case Phase::body: return parse();
      case Phase::lingering: reader_.discard(); return read();
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
    enter(Phase::lingering);
    socket_.finish_sending();
    reader_.discard();
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
    reader_.discard();
    host_.table().remove(this);
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
    if (waits_for_room_) return give_way();
    if (phase_ == Phase::head) return refuse(refusal(408, "the headers took too long"));
    if (phase_ == Phase::body && !writing_) return refuse(refusal(408, "the body took too long"));
    close();
  }

  ConnectionHost& host_;
  ServerSocket socket_;
  asio::steady_timer timer_;
  SteadyClock::time_point deadline_ = SteadyClock::time_point::max();
  bool timer_runs_ = false;

  Phase phase_ = Phase::handshake;
  Peer peer_;
  // Apart from the reader, which is used while a read may be under way.
  std::array<char, kReadBytes> incoming_;
  RequestReader reader_;
  bool waits_for_room_ = false;
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
