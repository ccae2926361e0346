#include "edge/echo_server.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>

#include "edge/event_loop.h"

namespace berth::edge {
namespace {

constexpr std::size_t kEchoBuffer = 64u << 10;

}  // namespace

class EchoServer::Impl {
 public:
  Impl(Fd listener, std::string greeting)
      : listener_(std::move(listener)), greeting_(std::move(greeting)) {}

  Result<> start() {
    Result<std::unique_ptr<EventLoop>> loop = EventLoop::start("echo");
    if (!loop) return pass(loop);
    loop_ = std::move(*loop);
    loop_->post([this] {
      loop_->watch(listener_.get(), EventLoop::kReadable, [this](std::uint32_t) { accept_all(); });
    });
    return {};
  }

 private:
  struct Peer {
    Fd fd;
    std::string outgoing;
    bool ended = false;
  };

  void accept_all() {
    for (Fd fd = accept_tcp(listener_); fd.valid(); fd = accept_tcp(listener_)) {
      const int raw = fd.get();
      peers_.insert_or_assign(raw, Peer{std::move(fd), greeting_});
      const std::uint32_t events = EventLoop::kReadable | EventLoop::kWritable;
      if (!loop_->watch(raw, events, [this, raw](std::uint32_t seen) { on_events(raw, seen); }))
        peers_.erase(raw);
    }
  }

  void on_events(int raw, std::uint32_t events) {
    Peer& peer = peers_.at(raw);
    if (!peer.ended && peer.outgoing.empty() && (events & EventLoop::kReadable)) {
      std::array<char, kEchoBuffer> buffer;
      const ssize_t n = ::recv(raw, buffer.data(), buffer.size(), 0);
      if (n > 0) peer.outgoing.assign(buffer.data(), static_cast<std::size_t>(n));
      if (n == 0) peer.ended = true;
    }
    bool broken = events & EventLoop::kFailed;
    while (!broken && !peer.outgoing.empty()) {
      const ssize_t n = ::send(raw, peer.outgoing.data(), peer.outgoing.size(), MSG_NOSIGNAL);
      if (n < 0) {
        broken = errno != EAGAIN && errno != EINTR;
        break;
      }
      peer.outgoing.erase(0, static_cast<std::size_t>(n));
    }
    if (broken || (peer.ended && peer.outgoing.empty())) {
      loop_->forget(raw);
      peers_.erase(raw);
      return;
    }
    loop_->change(raw, peer.outgoing.empty() ? EventLoop::kReadable : EventLoop::kWritable);
  }

  Fd listener_;
  const std::string greeting_;
  std::map<int, Peer> peers_;
  std::unique_ptr<EventLoop> loop_;  // last: its thread uses the others
};

EchoServer::EchoServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
EchoServer::~EchoServer() = default;

Result<std::unique_ptr<EchoServer>> EchoServer::start(const model::Target& at,
                                                      std::string greeting) {
  Result<Fd> listener = listen_tcp(at);
  if (!listener) return pass(listener);
  auto impl = std::make_unique<Impl>(std::move(*listener), std::move(greeting));
  if (Result<> started = impl->start(); !started) return pass(started);
  return std::unique_ptr<EchoServer>(new EchoServer(std::move(impl)));
}

namespace {

using Clock = std::chrono::steady_clock;

// False: the time is over.
bool wait_for(const Fd& fd, short events, Clock::time_point until) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
  pollfd wanted{.fd = fd.get(), .events = events, .revents = 0};
  return left > 0 && ::poll(&wanted, 1, static_cast<int>(left)) > 0;
}

}  // namespace

Result<std::string> ask_over_tcp(const model::Target& to, std::string_view text, int timeout_ms) {
  const auto until = Clock::now() + std::chrono::milliseconds{timeout_ms};
  const auto late = [&] {
    return fail(Code::timeout, "no answer from {} in {} ms", model::to_string(to), timeout_ms);
  };
  Result<Fd> fd = connect_tcp(to);
  if (!fd) return pass(fd);
  if (!wait_for(*fd, POLLOUT, until)) return late();
  if (const int error = pending_error(*fd))
    return fail(Code::unavailable, "{}: {}", model::to_string(to), std::strerror(error));

  std::string answer;
  std::array<char, kEchoBuffer> buffer;
  bool shut = false;
  for (;;) {
    if (!text.empty()) {
      const ssize_t n = ::send(fd->get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (n < 0 && errno != EAGAIN)
        return fail(Code::unavailable, "{}: {}", model::to_string(to), std::strerror(errno));
      if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
    }
    if (text.empty() && !std::exchange(shut, true)) (void)::shutdown(fd->get(), SHUT_WR);
    const short events = static_cast<short>(text.empty() ? POLLIN : POLLIN | POLLOUT);
    if (!wait_for(*fd, events, until)) return late();
    const ssize_t n = ::recv(fd->get(), buffer.data(), buffer.size(), 0);
    if (n == 0) return answer;
    if (n < 0 && errno != EAGAIN)
      return fail(Code::unavailable, "{}: {}", model::to_string(to), std::strerror(errno));
    if (n > 0) answer.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace berth::edge
