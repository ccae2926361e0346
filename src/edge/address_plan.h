// Where load balancers are reached: which addresses an id has, and which ports an unprivileged
// process opens instead of those it may not. Pure, but for `low_ports_of_process`.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/load_balancer.h"
#include "model/port.h"

namespace berth::edge {

// Numeric addresses, IPv4 or IPv6 without brackets, that this machine has; the first is the one
// that people are shown. Called by any thread. `not_found`: there is no such load balancer.
using AddressPlan =
    std::function<Result<std::vector<std::string>>(const model::LoadBalancerRef& lb)>;

// The same id has the same address in every process and on every machine: 127.64.0.0/10, which is
// apart from 127.0.0.1 and from the addresses of Pods in a playground.
std::string loopback_address(const std::string& load_balancer_id);
// Every id is a load balancer on the loopback address that its hash says.
AddressPlan loopback_plan();
// Bare metal: these ids alone, on these addresses.
AddressPlan fixed_plan(std::map<std::string, std::vector<std::string>> addresses_by_id);

// Outside of the ports that the kernel hands out by itself, and 80 is easily found: 61080.
inline constexpr std::uint32_t kLowPortOffset = 61'000;

// Ports below `limit` are opened at `offset` above.
struct LowPorts {
  std::uint32_t limit = 0;
  std::uint32_t offset = 0;

  model::Port opened_at(model::Port port) const {
    return static_cast<model::Port>(port < limit ? port + offset : port);
  }
  // A range that crosses the limit is opened in two pieces.
  std::vector<model::PortRange> opened_at(const model::PortRange& ports) const;
};

// No limit for a process that may open all ports.
LowPorts low_ports_of_process(std::uint32_t offset = kLowPortOffset);

}  // namespace berth::edge
