// What load balancers have at this moment, and each change of it: for those who look on in tests,
// whoever serves the load balancers. Threads are the implementation's matter.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "lb/driver.h"

namespace berth::sim::lb {

// One listener, before and after; one of the two is missing when it was created or removed.
struct Change {
  model::LoadBalancerRef lb{};
  std::optional<berth::lb::ObservedListener> before{};
  std::optional<berth::lb::ObservedListener> after{};
};

class ProviderView {
 public:
  virtual ~ProviderView() = default;

  // Called after each change, without a lock. It must not wait.
  virtual void observe(std::function<void(const Change&)> observer) = 0;
  virtual std::vector<model::LoadBalancerRef> load_balancers() const = 0;
  virtual std::vector<berth::lb::ObservedListener> listeners(
      const model::LoadBalancerRef& lb) const = 0;
  virtual std::optional<berth::lb::ObservedListener> find(const model::LoadBalancerRef& lb,
                                                          model::Transport transport,
                                                          model::Port port) const = 0;
};

}  // namespace berth::sim::lb
