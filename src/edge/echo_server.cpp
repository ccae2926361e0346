#include "edge/echo_server.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "edge/echo_station.h"
#include "edge/socket.h"

namespace berth::edge {
namespace {

constexpr std::size_t kEchoBuffer = 64u << 10;

}  // namespace

struct EchoServer::Impl {
  std::unique_ptr<EchoStation> station;
  std::unique_ptr<EchoStation::Place> place;  // last: closed first
};

EchoServer::EchoServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
EchoServer::~EchoServer() = default;

Result<std::unique_ptr<EchoServer>> EchoServer::start(const model::Target& at,
                                                      std::string greeting) {
  Result<std::unique_ptr<EchoStation>> station = EchoStation::start();
  if (!station) return pass(station);
  Result<std::unique_ptr<EchoStation::Place>> place =
      (*station)->open({.at = at, .greeting = std::move(greeting)});
  if (!place) return pass(place);
  return std::unique_ptr<EchoServer>(
      new EchoServer(std::make_unique<Impl>(Impl{std::move(*station), std::move(*place)})));
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

Result<std::string> ask_over_udp(const model::Target& to, std::string_view text, int timeout_ms) {
  const auto until = Clock::now() + std::chrono::milliseconds{timeout_ms};
  Result<Fd> fd = connect_udp(to);
  if (!fd) return pass(fd);
  if (::send(fd->get(), text.data(), text.size(), MSG_NOSIGNAL) < 0)
    return fail(Code::unavailable, "{}: {}", model::to_string(to), std::strerror(errno));
  if (!wait_for(*fd, POLLIN, until))
    return fail(Code::timeout, "no answer from {} in {} ms", model::to_string(to), timeout_ms);
  std::array<char, kEchoBuffer> buffer;
  const ssize_t n = ::recv(fd->get(), buffer.data(), buffer.size(), 0);
  if (n < 0) return fail(Code::unavailable, "{}: {}", model::to_string(to), std::strerror(errno));
  return std::string(buffer.data(), static_cast<std::size_t>(n));
}

}  // namespace berth::edge
