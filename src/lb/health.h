// HealthFeed: what a provider's health checks say of targets. The third of a driver's four seams.
//
// Who waits for a target to be healthy follows its rule and hears of every change. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/context.h"
#include "lb/listeners.h"

namespace berth::lb {

enum class Health : std::uint8_t { unhealthy, healthy, unknown };

// What the provider's health check says of a target.
struct TargetHealth {
  RuleRef rule{};
  model::Target target{};
  Health health = Health::unknown;
};

class HealthFeed {
 public:
  virtual ~HealthFeed() = default;

  // What was last heard, from memory: it must not wait for the provider.
  virtual std::vector<TargetHealth> last(const model::LoadBalancerRef& lb) const = 0;
};

}  // namespace berth::lb
