#pragma once

// Makes an address inside a network namespace reachable at a port of the machine's loopback: it
// listens where it is created, and dials from where start() is called.
//
// Owner: whoever holds the object; destroying it cuts all connections. Threads: one at a time.

#include <cstdint>
#include <expected>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "base/fd.h"

namespace berth::testing {

class Forwarder {
 public:
  // On a free port of 127.0.0.1. Nobody is served before start().
  static std::expected<std::unique_ptr<Forwarder>, std::string> listen();
  ~Forwarder();
  Forwarder(const Forwarder&) = delete;
  Forwarder& operator=(const Forwarder&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  void start(std::string address, std::uint16_t port);

 private:
  struct Connection;
  Forwarder(Fd listener, std::uint16_t port);
  void accept_all(const std::string& address, std::uint16_t port);

  Fd listener_;
  std::uint16_t port_;
  std::thread acceptor_;
  std::list<Connection> connections_;
};

}  // namespace berth::testing
