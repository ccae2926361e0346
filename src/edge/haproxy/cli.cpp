#include "edge/haproxy/cli.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/fd.h"

namespace berth::edge::haproxy {
namespace {

// Of HAProxy's buffer of 16 KiB, with room for what it adds; and what it says to its output of so
// many commands fits a pipe of 64 KiB.
constexpr std::size_t kMaxLine = 8u << 10;
// More than the statistics of all ports that there can be.
constexpr std::size_t kMaxAnswer = 256u << 20;

std::string text_of(int error) { return std::generic_category().message(error); }

Result<Fd> connect_to(const std::string& path) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  if (path.size() >= sizeof at.sun_path)
    return fail(Code::invalid, "the path of HAProxy's socket is too long: {}", path);
  std::memcpy(at.sun_path, path.c_str(), path.size() + 1);
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return fail(Code::exhausted, "no socket for HAProxy: {}", text_of(errno));
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0)
    return fail(Code::unavailable, "HAProxy does not listen at its socket: {}", text_of(errno));
  return fd;
}

bool send_all(const Fd& fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace

Result<std::string> ask(const std::string& socket, std::string_view command, Duration within) {
  Result<Fd> fd = connect_to(socket);
  if (!fd) return pass(fd);
  if (!send_all(*fd, std::string(command) + "\n"))
    return fail(Code::unavailable, "HAProxy took no question: {}", text_of(errno));
  (void)::shutdown(fd->get(), SHUT_WR);  // the master waits for more otherwise
  const int patience =
      static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(within).count());
  std::string out;
  std::array<char, 16u << 10> chunk;
  while (out.size() < kMaxAnswer) {
    pollfd wanted{.fd = fd->get(), .events = POLLIN, .revents = 0};
    const int ready = ::poll(&wanted, 1, patience);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return fail(Code::timeout, "HAProxy does not answer");
    const ssize_t got = ::recv(fd->get(), chunk.data(), chunk.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(Code::unavailable, "HAProxy broke off: {}", text_of(errno));
    if (got == 0) return out;
    out.append(chunk.data(), static_cast<std::size_t>(got));
  }
  return fail(Code::exhausted, "HAProxy answers too much");
}

Result<std::string> ask_all(const std::string& socket, const std::vector<std::string>& commands,
                            Duration within, const std::function<void()>& between) {
  std::string answers;
  std::string line;
  const auto flush = [&]() -> Result<> {
    if (line.empty()) return {};
    between();
    Result<std::string> answer = ask(socket, line, within);
    if (!answer) return pass(answer);
    answers += *answer;
    line.clear();
    return {};
  };
  for (const std::string& command : commands) {
    if (line.size() + command.size() + 1 > kMaxLine)
      if (Result<> sent = flush(); !sent) return pass(sent);
    line.append(line.empty() ? "" : ";").append(command);
  }
  if (Result<> sent = flush(); !sent) return pass(sent);
  return answers;
}

}  // namespace berth::edge::haproxy
