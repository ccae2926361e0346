// The controller of PortPools: items get their grants and Listeners, and lose them in order.
//
// What is wanted is in pool_plan.h, what its slots need in pool_survey.h; the kit does the rest.
// Runs on the leader; owned by the composition root.
#pragma once

#include "api/clients.h"
#include "claims/resolver.h"
#include "controllers/portpool/caches.h"
#include "controllers/portpool/pool_plan.h"
#include "frontend/keeper.h"
#include "kube/runtime/controller_of.h"
#include "kube/runtime/event_recorder.h"
#include "kube/runtime/manager.h"

namespace berth::controllers::portpool {

using PoolKey = kube::KeyOf<api::PortPool>;

class PoolController {
 public:
  PoolController(Tasks& tasks, kube::Client& client, Caches caches, frontend::Keeper& keeper,
                 const claims::Sealer& sealer, const claims::Resolver& resolver,
                 kube::EventRecorder& events, model::LoadBalancerDefaults defaults,
                 metrics::Registry* registry);

  void add_to(kube::Manager& manager) { manager.add(controller_.core()); }
  // All pools: the keys that seal their Listeners have changed.
  void look_at_all();
  // Pools that have this name of a load balancer in a text: it is known what it means, or why not.
  void look_at_those_with(const model::LoadBalancerRef& named);

 private:
  void watch();
  Result<kube::Requeue> reconcile(const Context& context, const PoolKey& key);
  Result<kube::Requeue> keep(const Context& context, const api::PortPool& pool);
  Result<std::map<std::string, frontend::PartReport>> ensure_grants(const Context& context,
                                                                    const api::PortPool& pool,
                                                                    PoolWants& wants);
  Result<> write_status(const Context& context, const api::PortPool& pool,
                        const frontend::Survey& survey, frontend::Round& round);

  const api::PortPools objects_;
  const Caches caches_;
  frontend::Keeper& keeper_;
  const claims::Sealer& sealer_;
  kube::EventRecorder& events_;
  const claims::RefsOf refs_of_;
  const BalancerOf balancer_of_;
  const model::LoadBalancerDefaults defaults_;
  kube::ControllerOf<PoolKey> controller_;
};

}  // namespace berth::controllers::portpool
