#include "forwarder.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace berth::testing {
namespace {

// Enough for every tool of a person, and few enough threads.
constexpr std::size_t kMaxConnections = 256;
constexpr int kBacklog = 64;

sockaddr_in socket_address(const std::string& address, std::uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  ::inet_pton(AF_INET, address.c_str(), &out.sin_addr);
  return out;
}

Fd tcp_socket() { return Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

bool send_all(int to, const char* data, std::size_t size) {
  while (size > 0) {
    const auto sent = ::send(to, data, size, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    data += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

// Until one side ends its stream, which the other one is told; or goes away, which ends both.
void copy(int from, int to) {
  std::array<char, 65536> buffer{};
  for (;;) {
    const auto got = ::recv(from, buffer.data(), buffer.size(), 0);
    if (got == 0) break;
    if (got > 0 && send_all(to, buffer.data(), static_cast<std::size_t>(got))) continue;
    ::shutdown(from, SHUT_RDWR);
    ::shutdown(to, SHUT_RDWR);
    return;
  }
  ::shutdown(to, SHUT_WR);
}

}  // namespace

struct Forwarder::Connection {
  Connection(Fd near_end, Fd far_end)
      : near(std::move(near_end)),
        far(std::move(far_end)),
        up([this] { copy(near.get(), far.get()), ++ended; }),
        down([this] { copy(far.get(), near.get()), ++ended; }) {}
  ~Connection() {
    ::shutdown(near.get(), SHUT_RDWR);
    ::shutdown(far.get(), SHUT_RDWR);
    up.join();
    down.join();
  }
  Fd near;
  Fd far;
  std::atomic<int> ended = 0;
  // One for each direction: a side that does not read holds up its own direction alone.
  std::thread up;
  std::thread down;
};

Forwarder::Forwarder(Fd listener, std::uint16_t port)
    : listener_(std::move(listener)), port_(port) {}

std::expected<std::unique_ptr<Forwarder>, std::string> Forwarder::listen() {
  Fd socket = tcp_socket();
  auto address = socket_address("127.0.0.1", 0);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (!socket.valid() || ::bind(socket.get(), generic, size) != 0 ||
      ::listen(socket.get(), kBacklog) != 0 || ::getsockname(socket.get(), generic, &size) != 0) {
    return std::unexpected(std::string("cannot listen on loopback: ") + std::strerror(errno));
  }
  return std::unique_ptr<Forwarder>(new Forwarder(std::move(socket), ntohs(address.sin_port)));
}

void Forwarder::start(std::string address, std::uint16_t port) {
  acceptor_ =
      std::thread([this, address = std::move(address), port] { accept_all(address, port); });
}

Forwarder::~Forwarder() {
  // Wakes accept(), which then fails.
  ::shutdown(listener_.get(), SHUT_RDWR);
  if (acceptor_.joinable()) acceptor_.join();
}

void Forwarder::accept_all(const std::string& address, std::uint16_t port) {
  const auto target = socket_address(address, port);
  for (;;) {
    Fd near(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!near.valid()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return;
    }
    connections_.remove_if([](const Connection& connection) { return connection.ended == 2; });
    Fd far = tcp_socket();
    const bool reached =
        connections_.size() < kMaxConnections && far.valid() &&
        ::connect(far.get(), reinterpret_cast<const sockaddr*>(&target), sizeof target) == 0;
    if (reached) connections_.emplace_back(std::move(near), std::move(far));
  }
}

}  // namespace berth::testing
