#include "edge/socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace berth::edge {
namespace {

// As deep as the kernel's default limit allows.
constexpr int kBacklog = 4096;

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Result<Address> address_of(const model::Target& target) {
  Address out;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&out.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&out.storage);
  if (inet_pton(AF_INET, target.ip.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(target.port);
    out.length = sizeof *v4;
  } else if (inet_pton(AF_INET6, target.ip.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(target.port);
    out.length = sizeof *v6;
  } else {
    return fail(Code::invalid, "'{}' is not an IP address", target.ip);
  }
  return out;
}

Failure system_error(const model::Target& target, const char* doing, int error) {
  const Code code = error == EADDRINUSE                  ? Code::conflict
                    : error == EMFILE || error == ENFILE ? Code::exhausted
                                                         : Code::unavailable;
  return fail(code, "{} {}: {}", doing, model::to_string(target), std::strerror(error));
}

}  // namespace

Result<Fd> listen_tcp(const model::Target& at) {
  Result<Address> address = address_of(at);
  if (!address) return pass(address);
  Fd fd(::socket(address->get()->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return system_error(at, "cannot open a socket for", errno);
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(fd.get(), address->get(), address->length) != 0)
    return system_error(at, "cannot bind", errno);
  if (::listen(fd.get(), kBacklog) != 0) return system_error(at, "cannot listen on", errno);
  return fd;
}

Result<Fd> connect_tcp(const model::Target& to) {
  Result<Address> address = address_of(to);
  if (!address) return pass(address);
  Fd fd(::socket(address->get()->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return system_error(to, "cannot open a socket for", errno);
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(fd.get(), address->get(), address->length) != 0 && errno != EINPROGRESS) {
    return system_error(to, "cannot connect to", errno);
  }
  return fd;
}

Fd accept_tcp(const Fd& listener) {
  Fd fd(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  const int on = 1;
  if (fd.valid()) ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

Result<Fd> bind_udp(const model::Target& at) {
  Result<Address> address = address_of(at);
  if (!address) return pass(address);
  Fd fd(::socket(address->get()->sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return system_error(at, "cannot open a socket for", errno);
  if (::bind(fd.get(), address->get(), address->length) != 0)
    return system_error(at, "cannot bind", errno);
  return fd;
}

Result<Fd> connect_udp(const model::Target& to) {
  Result<Address> address = address_of(to);
  if (!address) return pass(address);
  Fd fd(::socket(address->get()->sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return system_error(to, "cannot open a socket for", errno);
  if (::connect(fd.get(), address->get(), address->length) != 0)
    return system_error(to, "cannot connect to", errno);
  return fd;
}

std::string peer_of(const Fd& fd) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (::getpeername(fd.get(), address, &length) != 0) return {};
  if (::getnameinfo(address, length, host.data(), host.size(), port.data(), port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return {};
  return fmt::format("{}:{}", host.data(), port.data());
}

int pending_error(const Fd& fd) {
  int error = 0;
  socklen_t length = sizeof error;
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
  return error;
}

void close_with_reset(const Fd& fd) {
  const linger now{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

}  // namespace berth::edge
