// What the tests of this folder share: peers that speak TCP by hand, certificates, contexts.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/context.h"
#include "base/threads.h"
#include "crypto/certificates.h"
#include "net/server.h"

namespace berth::net::testing {

// A test that would hang fails instead.
inline constexpr std::chrono::seconds kPatience{30};

inline ThreadTasks& tasks() {
  static ThreadTasks the_tasks;
  return the_tasks;
}

inline Context context() { return Context{.tasks = tasks()}.within(kPatience); }

inline sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// A connected socket, for talking byte by byte.
class RawSocket {
 public:
  explicit RawSocket(int fd) : fd_(fd) {
    const timeval patience{.tv_sec = kPatience.count(), .tv_usec = 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  RawSocket(RawSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~RawSocket() { close(); }

  static RawSocket connect(std::uint16_t port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    const auto address = loopback(port);
    EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return RawSocket(fd);
  }

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  // As much as the other side takes now.
  void try_send(std::string_view bytes) {
    (void)::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  void end_sending() { ::shutdown(fd_, SHUT_WR); }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

  // Some bytes; empty at the end.
  std::string read_some() {
    std::string bytes(4096, '\0');
    const auto count = ::recv(fd_, bytes.data(), bytes.size(), 0);
    bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return bytes;
  }
  // Until the text was seen, or the end.
  std::string read_until(std::string_view text) {
    std::string all;
    while (all.find(text) == std::string::npos) {
      const auto more = read_some();
      if (more.empty()) break;
      all += more;
    }
    return all;
  }
  std::string read_all() {
    std::string all;
    for (auto more = read_some(); !more.empty(); more = read_some()) all += more;
    return all;
  }

 private:
  int fd_;
};

// Accepts on a free port and runs the script on each connection, one after the other.
class RawServer {
 public:
  using Script = std::function<void(RawSocket& peer, int connection)>;

  explicit RawServer(Script script) : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    auto address = loopback(0);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_, 16), 0);
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this, script = std::move(script)] {
      for (int count = 0;; ++count) {
        const int fd = ::accept(listener_, nullptr, nullptr);
        if (fd < 0) return;
        RawSocket peer(fd);
        script(peer, count);
      }
    });
  }
  ~RawServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }

  std::uint16_t port() const { return port_; }
  std::string url(std::string_view path = "/") const {
    return fmt::format("http://127.0.0.1:{}{}", port_, path);
  }

 private:
  int listener_;
  std::uint16_t port_ = 0;
  std::jthread thread_;
};

inline std::unique_ptr<Server> start_server(Handler handler, ServerOptions options = {}) {
  auto server = Server::start(std::move(options), std::move(handler));
  EXPECT_TRUE(server) << server.error().to_string();
  return std::move(*server);
}

inline constexpr Duration kDay = std::chrono::hours{24};

// An authority and certificates of it for loopback.
class Authority {
 public:
  explicit Authority(std::string name = "test authority") {
    auto made = crypto::make_authority(
        {.common_name = std::move(name), .not_before = now() - kDay * 2, .lifetime = kDay * 4});
    EXPECT_TRUE(made) << made.error().to_string();
    pair_ = std::move(*made);
  }

  const std::string& pem() const { return pair_.certificate_pem; }

  std::shared_ptr<const ServerCertificate> server(Duration age = {}, Duration lifetime = kDay) {
    auto pair = issue({.common_name = "server",
                       .dns_names = {"berth.example"},
                       .ip_addresses = {"127.0.0.1"},
                       .not_before = now() - std::chrono::minutes{1} - age,
                       .lifetime = lifetime});
    return std::make_shared<const ServerCertificate>(
        ServerCertificate{pair.certificate_pem, pair.key_pem});
  }
  crypto::KeyPair client(std::string name, std::vector<std::string> groups) {
    return issue({.common_name = std::move(name),
                  .organizations = std::move(groups),
                  .not_before = now() - std::chrono::minutes{1},
                  .lifetime = kDay,
                  .client = true});
  }
  // What a client needs to trust this authority.
  std::shared_ptr<TlsSettings> trust() const {
    auto settings = std::make_shared<TlsSettings>();
    settings->ca_pem = pem();
    return settings;
  }

 private:
  static WallTime now() { return tasks().wall_time(); }

  crypto::KeyPair issue(const crypto::CertificateRequest& request) {
    auto issued = crypto::issue_certificate(pair_, request);
    EXPECT_TRUE(issued) << issued.error().to_string();
    return std::move(*issued);
  }

  crypto::KeyPair pair_;
};

}  // namespace berth::net::testing
