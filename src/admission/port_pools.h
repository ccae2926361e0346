// Lets PortPools in, change and go, or says why not: what the schema cannot say, who may use them,
// and what Pods still hold.
#pragma once

#include <functional>

#include "admission/neighbours.h"
#include "api/port_pool.h"
#include "claims/resolver.h"
#include "kube/admission/review.h"

namespace berth::admission {

class PortPoolGate {
 public:
  // Whether somebody carries traffic for it.
  using IsServed = std::function<bool(const model::LoadBalancerRef& lb)>;

  PortPoolGate(const claims::ListenerStore& listeners, Neighbours neighbours,
               const claims::Resolver& resolver, IsServed is_served)
      : listeners_(listeners),
        neighbours_(std::move(neighbours)),
        resolver_(resolver),
        is_served_(std::move(is_served)) {}

  // On every replica; any thread.
  Result<kube::AdmissionAnswer> admit(const kube::AdmissionRequest& request) const;

 private:
  // An item keeps the meaning that it has, whatever the defaults are by now.
  api::ReadingOf reading_of(const api::PortPool& pool) const;
  Result<> check_update(const kube::AdmissionRequest& request, const api::PortPool& after) const;
  // What the load balancers are known not to have.
  Result<> check_segments(const api::PortPool& pool) const;
  // Ports that others have: the item gets them when they are free, and not before.
  void warn_of_neighbours(const api::PortPool& pool, std::size_t item,
                          std::vector<std::string>& out) const;
  Result<> check_removal(const kube::AdmissionRequest& request) const;
  std::vector<std::string> warnings_for(const kube::AdmissionRequest& request,
                                        const api::PortPool& pool) const;
  std::vector<std::string> warnings_about(const api::PortPool& pool) const;
  // `unavailable` before the cache is synced: what is not known to be free may be held.
  Result<> check_cache(const kube::AdmissionRequest& request) const;
  // Slots of the pool that somebody has; of one item, or of all when it is empty.
  std::vector<claims::ListenerPtr> held(const kube::ObjectKey& pool, std::string_view item) const;

  const claims::ListenerStore& listeners_;
  const Neighbours neighbours_;
  const claims::Resolver& resolver_;
  const IsServed is_served_;
};

}  // namespace berth::admission
