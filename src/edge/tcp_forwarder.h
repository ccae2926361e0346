// The edge load balancer's first form: TCP ports on loopback addresses, forwarded to targets in
// this process.
//
// Each load balancer id has an address of its own in 127.0.0.0/8. A port is open only while it has
// targets. Thread-safe; owned by the composition root.
#pragma once

#include <memory>
#include <string>

#include "edge/event_loop.h"
#include "lb/forwarder.h"

namespace berth::edge {

// Connections at one time. Each needs two file descriptors, and the usual hard limit of a process
// is 20,000.
inline constexpr std::size_t kMaxConnections = 8000;

class TcpForwarder final : public lb::Forwarder {
 public:
  static Result<std::unique_ptr<TcpForwarder>> start();
  ~TcpForwarder() override;

  std::string address_of(const std::string& load_balancer_id) override;
  Result<> apply(const Context& context, const lb::Forwarding& wanted) override;

 private:
  class Impl;
  explicit TcpForwarder(std::unique_ptr<EventLoop> loop);
  std::unique_ptr<Impl> impl_;
  std::unique_ptr<EventLoop> loop_;  // last: its thread uses impl_
};

}  // namespace berth::edge
