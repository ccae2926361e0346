// Driver: one provider of load balancers, in four seams. One implementation for each cloud, one for
// the edge load balancer, one model with faults for tests; all of them pass the conformance suite.
#pragma once

#include <map>
#include <optional>

#include "lb/directory.h"
#include "lb/health.h"
#include "lb/listeners.h"
#include "lb/maker.h"

namespace berth::lb {

// What it points to outlives whoever has it.
struct Driver {
  Listeners* listeners = nullptr;
  Directory* directory = nullptr;
  HealthFeed* health = nullptr;  // null: it does not look
  Maker* maker = nullptr;        // null: load balancers come from elsewhere
};

// Which driver serves which provider. A value; built by whoever owns the drivers.
class Drivers {
 public:
  Drivers() = default;
  Drivers(std::initializer_list<std::pair<const model::Provider, Driver>> drivers)
      : by_provider_(drivers) {}

  // Whatever a load balancer is called, this one serves it.
  static Drivers always(const Driver& driver) {
    using enum model::Provider;
    return {{edge, driver}, {tencent, driver}, {aws, driver}, {gcp, driver}};
  }

  void set(model::Provider provider, const Driver& driver) { by_provider_[provider] = driver; }

  // Null: nothing here serves it.
  const Driver* of(const model::LoadBalancerRef& lb) const {
    const auto it = by_provider_.find(lb.provider);
    return it == by_provider_.end() ? nullptr : &it->second;
  }

  const std::map<model::Provider, Driver>& all() const { return by_provider_; }

 private:
  std::map<model::Provider, Driver> by_provider_;
};

}  // namespace berth::lb
