// A want that leaves open where: any port of a range, on one of several load balancers. What is
// chosen is durable as a grant of its part before anybody is told, so the same part gets the same
// again, after a restart too. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "frontend/owner.h"
#include "frontend/wants.h"

namespace berth::frontend {

struct OpenWant {
  std::string part{};                         // what has the choice: a Pod's port, a Service's port
  std::vector<model::LoadBalancerRef> lbs{};  // filled in this order
  std::vector<model::Transport> transports{};  // all on the same ports
  model::PortRange range{};
  std::uint16_t length = 1;  // ports in a row
};

struct Choice {
  model::LoadBalancerRef lb{};
  model::PortRange ports{};

  friend bool operator==(const Choice&, const Choice&) = default;
};

// What is known of load balancers when one chooses.
struct Room {
  std::function<std::vector<ledger::Grant>(const model::LoadBalancerRef& lb)> grants_on{};
  // What Listeners hold of these ports, whatever is granted.
  std::function<std::vector<ledger::Holding>(const model::LoadBalancerRef& lb,
                                             const model::PortRange& ports)>
      holdings_in{};
  // Whether it can have one more listener for each transport: a full one is passed over.
  std::function<bool(const model::LoadBalancerRef& lb, std::size_t listeners)> has_room{};
};

// What its part has, where it still fits the want; otherwise the lowest ports that nobody has, on
// the first load balancer with room. `exhausted`: there are none; the error says where it looked.
// Cost: the grants of the load balancers that are passed over, sorted.
Result<Choice> choose(const Owner& owner, const OpenWant& want, const Room& room);

// What its part must own then.
std::vector<WantedGrant> grants_of(const Owner& owner, const OpenWant& want, const Choice& choice,
                                   WallTime now);

}  // namespace berth::frontend
