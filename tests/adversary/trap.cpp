#include "trap.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>

#include <fmt/format.h>

namespace berth::adversary {
namespace {

constexpr std::string_view kGreeting = "this is the node's own loopback\n";
// For a peer that neither speaks nor hangs up: nobody was reached.
constexpr int kSilenceMillis = 2000;

sockaddr_in loopback() {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return out;
}

}  // namespace

Trap::Trap() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = loopback();
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket_.get(), any, size) != 0 || ::listen(socket_.get(), 64) != 0) std::abort();
  ::getsockname(socket_.get(), any, &size);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

Trap::~Trap() {
  ::shutdown(socket_.get(), SHUT_RDWR);
  thread_.join();
}

void Trap::serve() {
  for (;;) {
    const Fd visitor(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (visitor.get() < 0) return;
    ++visits_;
    (void)!::send(visitor.get(), kGreeting.data(), kGreeting.size(), MSG_NOSIGNAL);
  }
}

Fd connect_to(const std::string& address, const std::string& from) {
  const std::size_t colon = address.rfind(':');
  sockaddr_in peer{};
  peer.sin_family = AF_INET;
  if (colon == std::string::npos ||
      ::inet_pton(AF_INET, address.substr(0, colon).c_str(), &peer.sin_addr) != 1)
    return {};
  peer.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
  Fd out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in own{};
  own.sin_family = AF_INET;
  if (!from.empty() && (::inet_pton(AF_INET, from.c_str(), &own.sin_addr) != 1 ||
                        ::bind(out.get(), reinterpret_cast<sockaddr*>(&own), sizeof own) != 0))
    return {};
  if (::connect(out.get(), reinterpret_cast<sockaddr*>(&peer), sizeof peer) != 0) return {};
  return out;
}

std::string first_words(const Fd& connection) {
  pollfd ready{.fd = connection.get(), .events = POLLIN, .revents = 0};
  if (::poll(&ready, 1, kSilenceMillis) <= 0) return {};
  std::array<char, 256> buffer{};
  const auto count = ::recv(connection.get(), buffer.data(), buffer.size(), 0);
  return count > 0 ? std::string(buffer.data(), static_cast<std::size_t>(count)) : std::string();
}

}  // namespace berth::adversary
