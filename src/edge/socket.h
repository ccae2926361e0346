// File descriptors and addresses of TCP and UDP sockets, with errors as values. Not thread-safe
// beyond what the kernel gives.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "model/port.h"

namespace berth::edge {

// An IPv6 address, or an IPv4 address mapped into IPv6: one form for keys and hashes.
using IpBytes = std::array<std::uint8_t, 16>;

bool is_ipv4(const IpBytes& ip);

// An IP address and a port as the kernel takes them. A plain value.
class SocketAddress {
 public:
  SocketAddress() : v6_{} {}
  // Numeric addresses alone; the error names what it is not.
  static Result<SocketAddress> of(const model::Target& target);

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&v6_); }
  socklen_t length() const {
    return static_cast<socklen_t>(family() == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
  }
  // For the kernel to fill.
  sockaddr* room() { return reinterpret_cast<sockaddr*>(&v6_); }
  static constexpr socklen_t kRoom = sizeof(sockaddr_in6);

  int family() const { return v6_.sin6_family; }
  // Both families have the port at one place.
  model::Port port() const { return ntohs(v6_.sin6_port); }
  SocketAddress with_port(model::Port port) const;
  IpBytes ip() const;
  model::Target to_target() const;
  // 0.0.0.0 and ::.
  bool is_any() const;

  friend bool operator==(const SocketAddress& a, const SocketAddress& b) {
    return a.family() == b.family() && a.v6_.sin6_port == b.v6_.sin6_port && a.ip() == b.ip() &&
           (a.family() == AF_INET || a.v6_.sin6_scope_id == b.v6_.sin6_scope_id);
  }

 private:
  sockaddr_in6 v6_;  // the larger one; read as the family says
};

// The same bytes have the same hash in every process and on every machine.
std::uint64_t stable_hash(std::string_view bytes);
std::uint64_t stable_hash(const IpBytes& ip);

// A non-blocking socket that listens there. Addresses are numeric; errors name the address:
// `conflict` when it is taken, `exhausted` when file descriptors are. Connections that are accepted
// from it send small writes at once, and notice a peer that died silently.
Result<Fd> listen_tcp(const model::Target& at);
Result<Fd> listen_tcp(const SocketAddress& at);
// A non-blocking socket whose connection is under way. It too notices a peer that died silently.
Result<Fd> connect_tcp(const model::Target& to);
Result<Fd> connect_tcp(const SocketAddress& to);
// The next waiting connection, non-blocking; an invalid Fd when none waits, errno says why.
Fd accept_tcp(const Fd& listener);
Fd accept_tcp(const Fd& listener, SocketAddress& peer);
// A non-blocking UDP socket that is bound there.
Result<Fd> bind_udp(const model::Target& at);
Result<Fd> bind_udp(const SocketAddress& at);
// A non-blocking UDP socket that sends there, and hears what comes from there alone.
Result<Fd> connect_udp(const model::Target& to);
Result<Fd> connect_udp(const SocketAddress& to);
// The other side of a connection; empty when it is gone.
std::string peer_of(const Fd& fd);
// What became of a connection under way: 0, or the errno.
int pending_error(const Fd& fd);
// Makes the close of this socket a reset, so that the peer learns that the stream did not end well.
void close_with_reset(const Fd& fd);
// One of this machine's interfaces has it.
bool is_address_of_machine(const IpBytes& ip);
// The call would have to wait, or was interrupted: not an error of the socket.
bool would_block(int error);

}  // namespace berth::edge
