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

// A rule is followed while this lives. It may go at any time, but from inside its own callback;
// after it has gone the callback is not called, so whoever lets go holds no lock that the callback
// takes.
class Following {
 public:
  virtual ~Following() = default;
};

class HealthFeed {
 public:
  // Called by any task, one call after another, and without a lock of the feed. It must not wait.
  using OnHealth = std::function<void(const TargetHealth& health)>;
  // Load balancers whose targets are looked at, followed or not.
  using Places = std::function<std::vector<Place>()>;

  virtual ~HealthFeed() = default;

  // What was last heard, from memory: it must not wait for the provider.
  virtual std::vector<TargetHealth> last(const model::LoadBalancerRef& lb) const = 0;

  // Hears how each target of the rule is, as soon as that is known, and of every change; of one
  // that has left the rule, nothing more. What is known already is told before this returns. The
  // feed outlives what is returned. Nobody follows yet: readiness gates by health will.
  [[nodiscard]] virtual std::unique_ptr<Following> follow(const Place& place, const RuleRef& rule,
                                                          OnHealth on_health) = 0;

  // What a feed must do by itself, until the stop; one that is told returns at once.
  virtual void run(const Context&, const Places&) {}
};

}  // namespace berth::lb
