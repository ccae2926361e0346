// The controller of PortPools: items get their grants and Listeners, and lose them in order.
//
// All decisions are in pool_plan.h, grant_plan.h and pool_survey.h. Runs on the leader; owned by
// the composition root.
#pragma once

#include <atomic>
#include <memory>

#include "claims/claimer.h"
#include "claims/courtesy.h"
#include "claims/resolver.h"
#include "controllers/portpool/caches.h"
#include "controllers/portpool/pool_survey.h"
#include "kube/runtime/controller.h"
#include "kube/runtime/event_recorder.h"
#include "kube/runtime/manager.h"

namespace berth::controllers::portpool {

class PoolController {
 public:
  PoolController(Tasks& tasks, kube::Client& client, Caches caches, claims::Claimer& claimer,
                 claims::Grantor& grantor, const claims::Sealer& sealer, claims::Courtesy& courtesy,
                 const claims::Resolver& resolver, kube::EventRecorder& events,
                 model::LoadBalancerDefaults defaults, metrics::Registry* registry);

  void add_to(kube::Manager& manager) { manager.add(controller_); }
  // All pools: the keys that seal their Listeners have changed.
  void look_at_all();
  // Pools that have this name of a load balancer in a text: it is known what it means, or why not.
  void look_at_those_with(const model::LoadBalancerRef& named);

 private:
  // A write found its object changed: the pool is looked at again.
  using Overtaken = std::atomic<bool>;

  void watch();
  Result<kube::Requeue> reconcile(const Context& context, const kube::ObjectKey& key);
  Result<> take_in(const Context& context, const api::PortPool& pool, Overtaken& overtaken);
  // Without a problem when the item owns its ports.
  Result<ItemReport> ensure_grants(const Context& context, const api::PortPool& pool,
                                   const api::PortPoolItem& item);
  ItemReport refused(const api::PortPool& pool, const Error& error);
  BalancerOf balancer_of() const;
  Result<> release_gone(const Context& context, const kube::ObjectKey& key, const std::string& uid);
  Result<> create_missing(const Context& context, const api::PortPool& pool,
                          const std::vector<WantedListener>& missing);
  Result<> refresh_listeners(const Context& context, const std::vector<RefreshedListener>& list,
                             Overtaken& overtaken);
  Result<> remove_free(const Context& context, const std::vector<claims::ListenerPtr>& listeners,
                       Overtaken& overtaken);
  Result<> remove_slot(const Context& context, const api::Listener& lock, Overtaken& overtaken);
  Result<> remove_listener(const Context& context, const api::Listener& listener, bool as_known);
  Result<> release_left(const Context& context, const api::PortPool& pool,
                        const PoolSurvey& survey);
  Result<> write_status(const Context& context, const api::PortPool& pool, const PoolSurvey& survey,
                        Overtaken& overtaken);
  Result<kube::Requeue> let_go(const Context& context, const api::PortPool& pool);

  kube::Client& client_;
  Caches caches_;
  claims::Claimer& claimer_;
  claims::Grantor& grantor_;
  const claims::Sealer& sealer_;
  claims::Courtesy& courtesy_;
  kube::EventRecorder& events_;
  const claims::RefsOf refs_of_;
  const model::LoadBalancerDefaults defaults_;
  kube::Controller controller_;
};

}  // namespace berth::controllers::portpool
