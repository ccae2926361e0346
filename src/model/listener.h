// A listener: on one load balancer, this protocol and these ports forward to these targets. What
// front ends produce and drivers make true. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/port.h"

namespace berth::model {

inline constexpr std::uint32_t kDefaultWeight = 10;

struct WeightedTarget {
  Target target{};
  // 0: drained. It gets no new connections; those that it has go on.
  std::uint32_t weight = kDefaultWeight;

  friend auto operator<=>(const WeightedTarget&, const WeightedTarget&) = default;
};

enum class Scheduler : std::uint8_t { weighted_round_robin, least_connections, source_ip };

// Durations in seconds, as users and clouds write them. 0: the provider's default.
struct HealthCheck {
  bool enabled = true;
  std::uint32_t timeout_seconds = 0;
  std::uint32_t interval_seconds = 0;
  std::uint32_t healthy_count = 0;
  std::uint32_t unhealthy_count = 0;
  Port port = 0;  // 0: the target's own

  friend bool operator==(const HealthCheck&, const HealthCheck&) = default;
};

struct ListenerAttributes {
  Scheduler scheduler = Scheduler::weighted_round_robin;
  // Connections of one client address stay with their target while at most this passes between
  // them. 0: no persistence.
  std::uint32_t session_seconds = 0;
  std::optional<HealthCheck> health_check{};  // none: the provider's default

  friend bool operator==(const ListenerAttributes&, const ListenerAttributes&) = default;
};

// Ports forward one to one: the n-th port of the range to the target's port plus n.
struct ListenerSpec {
  Transport protocol = Transport::tcp;
  PortRange ports{};
  std::string name{};  // at the provider; carries our cluster's id, so that it is known to be ours
  ListenerAttributes attributes{};
  std::vector<WeightedTarget> targets{};  // sorted, no target twice

  friend bool operator==(const ListenerSpec&, const ListenerSpec&) = default;
};

}  // namespace berth::model
