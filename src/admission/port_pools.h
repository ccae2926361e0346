// Lets PortPools in, change and go, or says why not: what the schema cannot say, who may use them,
// and what Pods still hold.
#pragma once

#include <cstdint>
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
  // What becomes of a pool that asks for ports of another owner.
  enum class Taken : std::uint8_t { refused, waited_for };

  PortPoolGate(const claims::ListenerStore& listeners, Neighbours neighbours,
               const claims::Resolver& resolver, IsServed is_served, Taken taken = Taken::refused)
      : listeners_(listeners),
        neighbours_(std::move(neighbours)),
        resolver_(resolver),
        is_served_(std::move(is_served)),
        taken_(taken) {}

  // On every replica; any thread.
  Result<kube::AdmissionAnswer> admit(const kube::AdmissionRequest& request) const;

 private:
  // An item keeps the meaning that it has, whatever the defaults are by now.
  api::ReadingOf reading_of(const api::PortPool& pool) const;
  Result<> check_update(const kube::AdmissionRequest& request, const api::PortPool& after) const;
  // What the load balancers are known not to have.
  Result<> check_segments(const api::PortPool& pool) const;
  // Ports that are granted to another owner: refused, unless the pool has asked for them before.
  // One that was written before our time, or before the other, must stay editable.
  Result<> check_neighbours(const kube::AdmissionRequest& request, const api::PortPool& pool) const;
  // Who is granted ports that the item asks for, in words, of each load balancer and protocol.
  std::vector<std::string> granted_to_others(const api::PortPool& pool, std::size_t item) const;
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
  const Taken taken_;
};

}  // namespace berth::admission
