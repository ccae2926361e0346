#include "edge/knock.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "edge/socket.h"

namespace berth::edge {
namespace {

using Clock = std::chrono::steady_clock;

// False: the time is over.
bool wait_for(const Fd& fd, short events, Duration span) {
  const Clock::time_point until = Clock::now() + span;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd wanted{.fd = fd.get(), .events = events, .revents = 0};
    const int ready = ::poll(&wanted, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

}  // namespace

Result<> knock(const model::Target& at, Duration timeout) {
  const Result<Fd> fd = connect_tcp(at);
  if (!fd) return fail(fd.error());
  if (!wait_for(*fd, POLLOUT, timeout))
    return fail(Code::timeout, "no answer in {} s",
                std::chrono::duration_cast<std::chrono::seconds>(timeout).count());
  if (const int error = pending_error(*fd))
    return fail(error == ETIMEDOUT ? Code::timeout : Code::unavailable, "{}", std::strerror(error));
  if (!wait_for(*fd, POLLIN, kKnockLinger)) return {};  // it waits for us to speak
  char byte = 0;
  const ssize_t heard = ::recv(fd->get(), &byte, 1, 0);
  if (heard > 0) return {};
  return fail(Code::unavailable, "the connection is ended at once");
}

}  // namespace berth::edge
