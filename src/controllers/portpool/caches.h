// The caches that the port pool controllers read and write through. Owned by the composition root.
#pragma once

#include "api/load_balancer.h"
#include "api/port_binding.h"
#include "api/port_pool.h"
#include "claims/slot.h"
#include "kube/cache/pod.h"
#include "kube/cache/store.h"

namespace berth::controllers::portpool {

struct Caches {
  kube::Store<api::PortPool>& pools;
  kube::Store<api::Listener>& listeners;
  kube::Store<api::LoadBalancer>& balancers;
  kube::Store<api::PortBlock>& blocks;
  kube::Store<api::PortBinding>& bindings;
  kube::Store<kube::Pod>& pods;
};

}  // namespace berth::controllers::portpool
