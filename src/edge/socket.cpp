#include "edge/socket.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/fnv.h"

namespace berth::edge {
namespace {

// As deep as the kernel's default limit allows.
constexpr int kBacklog = 4096;
// A burst of datagrams waits here while the loop is busy; the kernel may give less.
constexpr int kUdpReceiveBuffer = 4 << 20;
// SYNs that are sent again before a connection counts as failed: about 7 s, not 2 min.
constexpr int kSynRetries = 2;
// A silent peer is asked after 5 minutes, and given up after 5 questions.
constexpr int kKeepAliveIdle = 300;
constexpr int kKeepAliveInterval = 15;
constexpr int kKeepAliveCount = 5;

void set_option(const Fd& fd, int level, int name, int value) {
  ::setsockopt(fd.get(), level, name, &value, sizeof value);
}

Failure system_error(const SocketAddress& at, const char* doing, int error) {
  // EAGAIN: no port is left that a UDP socket could have.
  const bool exhausted = error == EMFILE || error == ENFILE || error == EAGAIN;
  const Code code = error == EADDRINUSE ? Code::conflict
                    : exhausted         ? Code::exhausted
                    : error == EACCES   ? Code::forbidden
                                        : Code::unavailable;
  return fail(code, "{} {}: {}", doing, model::to_string(at.to_target()), std::strerror(error));
}

void ask_silent_peer(const Fd& fd) {
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdle);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveInterval);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveCount);
}

Result<Fd> open_socket(const SocketAddress& at, int type) {
  Fd fd(::socket(at.family(), type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return system_error(at, "cannot open a socket for", errno);
  return fd;
}

// On an address of this machine the kernel may give a socket the very port that it is to reach, if
// nobody listens there; it is then connected to itself.
bool is_at(const Fd& fd, const SocketAddress& address) {
  SocketAddress own;
  socklen_t length = SocketAddress::kRoom;
  return ::getsockname(fd.get(), own.room(), &length) == 0 && own == address;
}

template <Result<Fd> (*open)(const SocketAddress&)>
Result<Fd> with_address(const model::Target& target) {
  const Result<SocketAddress> address = SocketAddress::of(target);
  if (!address) return fail(address.error());
  return open(*address);
}

}  // namespace

std::uint64_t stable_hash(std::string_view bytes) { return Fnv1a64().add(bytes).value(); }
std::uint64_t stable_hash(const IpBytes& ip) {
  Fnv1a64 hash;
  for (const std::uint8_t byte : ip) hash.add(byte);
  return hash.value();
}

bool is_ipv4(const IpBytes& ip) {
  constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(kMapped.begin(), kMapped.end(), ip.begin());
}

Result<SocketAddress> SocketAddress::of(const model::Target& target) {
  SocketAddress out;
  sockaddr_in v4{};
  if (inet_pton(AF_INET, target.ip.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(target.port);
    std::memcpy(&out.v6_, &v4, sizeof v4);
  } else if (inet_pton(AF_INET6, target.ip.c_str(), &out.v6_.sin6_addr) == 1) {
    out.v6_.sin6_family = AF_INET6;
    out.v6_.sin6_port = htons(target.port);
  } else {
    return fail(Code::invalid, "'{}' is not an IP address", target.ip);
  }
  return out;
}

SocketAddress SocketAddress::with_port(model::Port port) const {
  SocketAddress out = *this;
  out.v6_.sin6_port = htons(port);
  return out;
}

IpBytes SocketAddress::ip() const {
  IpBytes out{};
  if (family() == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, &v6_, sizeof v4);
    out[10] = out[11] = 0xff;
    std::memcpy(out.data() + 12, &v4.sin_addr, 4);
  } else {
    std::memcpy(out.data(), &v6_.sin6_addr, out.size());
  }
  return out;
}

model::Target SocketAddress::to_target() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const IpBytes bytes = ip();
  if (family() == AF_INET)
    ::inet_ntop(AF_INET, bytes.data() + 12, text.data(), text.size());
  else
    ::inet_ntop(AF_INET6, bytes.data(), text.data(), text.size());
  return {text.data(), port()};
}

bool SocketAddress::is_any() const {
  const IpBytes bytes = ip();
  return std::all_of(bytes.begin() + (family() == AF_INET ? 12 : 0), bytes.end(),
                     [](std::uint8_t byte) { return byte == 0; });
}

Result<Fd> listen_tcp(const SocketAddress& at) {
  Result<Fd> fd = open_socket(at, SOCK_STREAM);
  if (!fd) return fd;
  set_option(*fd, SOL_SOCKET, SO_REUSEADDR, 1);
  // Set once here: accepted connections inherit them.
  set_option(*fd, IPPROTO_TCP, TCP_NODELAY, 1);
  ask_silent_peer(*fd);
  if (::bind(fd->get(), at.get(), at.length()) != 0) return system_error(at, "cannot bind", errno);
  if (::listen(fd->get(), kBacklog) != 0) return system_error(at, "cannot listen on", errno);
  return fd;
}

Result<Fd> connect_tcp(const SocketAddress& to) {
  Result<Fd> fd = open_socket(to, SOCK_STREAM);
  if (!fd) return fd;
  set_option(*fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(*fd, IPPROTO_TCP, TCP_SYNCNT, kSynRetries);
  ask_silent_peer(*fd);
  // The port that the kernel gives it may be one that a listener is to have.
  set_option(*fd, SOL_SOCKET, SO_REUSEADDR, 1);
  if (::connect(fd->get(), to.get(), to.length()) != 0 && errno != EINPROGRESS)
    return system_error(to, "cannot connect to", errno);
  if (is_at(*fd, to))
    return fail(Code::unavailable, "cannot connect to {}: nobody is there, it would meet itself",
                model::to_string(to.to_target()));
  return fd;
}

Fd accept_tcp(const Fd& listener) {
  return Fd(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

Fd accept_tcp(const Fd& listener, SocketAddress& peer) {
  socklen_t length = SocketAddress::kRoom;
  return Fd(::accept4(listener.get(), peer.room(), &length, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

Result<Fd> bind_udp(const SocketAddress& at) {
  Result<Fd> fd = open_socket(at, SOCK_DGRAM);
  if (!fd) return fd;
  set_option(*fd, SOL_SOCKET, SO_RCVBUF, kUdpReceiveBuffer);
  if (::bind(fd->get(), at.get(), at.length()) != 0) return system_error(at, "cannot bind", errno);
  return fd;
}

Result<Fd> connect_udp(const SocketAddress& to) {
  Result<Fd> fd = open_socket(to, SOCK_DGRAM);
  if (!fd) return fd;
  if (::connect(fd->get(), to.get(), to.length()) != 0)
    return system_error(to, "cannot connect to", errno);
  return fd;
}

Result<Fd> listen_tcp(const model::Target& at) { return with_address<listen_tcp>(at); }
Result<Fd> connect_tcp(const model::Target& to) { return with_address<connect_tcp>(to); }
Result<Fd> bind_udp(const model::Target& at) { return with_address<bind_udp>(at); }
Result<Fd> connect_udp(const model::Target& to) { return with_address<connect_udp>(to); }

std::string peer_of(const Fd& fd) {
  SocketAddress peer;
  socklen_t length = SocketAddress::kRoom;
  if (::getpeername(fd.get(), peer.room(), &length) != 0) return {};
  return model::to_string(peer.to_target());
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

bool is_address_of_machine(const IpBytes& ip) {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return true;  // rather one too many than one too few
  bool found = false;
  for (const ifaddrs* one = first; one != nullptr && !found; one = one->ifa_next) {
    const int family = one->ifa_addr == nullptr ? AF_UNSPEC : one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    SocketAddress own;
    std::memcpy(own.room(), one->ifa_addr,
                family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    found = own.ip() == ip;
  }
  ::freeifaddrs(first);
  return found;
}

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace berth::edge
