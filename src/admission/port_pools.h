// Lets PortPools in, change and go, or says why not: what the schema cannot say, and what Pods
// still hold.
#pragma once

#include "claims/slot.h"
#include "kube/admission/review.h"
#include "model/load_balancer.h"

namespace berth::admission {

class PortPoolGate {
 public:
  PortPoolGate(const claims::ListenerStore& listeners, model::LoadBalancerDefaults defaults)
      : listeners_(listeners), defaults_(std::move(defaults)) {}

  // On every replica; any thread.
  Result<kube::AdmissionAnswer> admit(const kube::AdmissionRequest& request) const;

 private:
  Result<> check_update(const kube::AdmissionRequest& request) const;
  Result<> check_removal(const kube::AdmissionRequest& request) const;
  // Slots of the pool that somebody has; of one item, or of all when it is empty.
  std::vector<claims::ListenerPtr> held(const kube::ObjectKey& pool, std::string_view item) const;

  const claims::ListenerStore& listeners_;
  const model::LoadBalancerDefaults defaults_;
};

}  // namespace berth::admission
