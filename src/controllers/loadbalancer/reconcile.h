// The controller of LoadBalancer objects: asks the provider and writes down what it says, and has
// blocks of ports that nobody uses taken back. Runs on the leader; owned by the composition root.
#pragma once

#include <set>

#include "api/clients.h"
#include "api/load_balancer.h"
#include "base/mutex.h"
#include "claims/grantor.h"
#include "claims/slot.h"
#include "controllers/loadbalancer/describer.h"
#include "engine/engine.h"
#include "kube/client/client.h"
#include "kube/runtime/controller_of.h"
#include "kube/runtime/manager.h"

namespace berth::controllers::loadbalancer {

using BalancerKey = kube::KeyOf<api::LoadBalancer>;

class LoadBalancerController {
 public:
  LoadBalancerController(Tasks& tasks, kube::Client& client, claims::BalancerStore& balancers,
                         claims::BlockStore& blocks, claims::ListenerStore& listeners,
                         claims::Grantor& grantor, const model::LoadBalancerDefaults& defaults,
                         const lb::Drivers& drivers, engine::Engine& engine,
                         metrics::Registry* registry);

  void add_to(kube::Manager& manager) { manager.add(controller_.core()); }
  // Asks providers what reconciles want to know, until the stop.
  void run(const Context& context) { describer_.run(context); }

 private:
  Result<kube::Requeue> reconcile(const Context& context, const BalancerKey& key);
  Result<> write_status(const Context& context, const api::LoadBalancer& object,
                        const Result<model::LoadBalancerInfo>& answer, std::size_t listeners);
  Result<> remove_unused(const Context& context, const api::LoadBalancer& object);

  claims::BalancerStore& balancers_;
  const api::LoadBalancers objects_;
  const claims::ListenerStore& listeners_;
  claims::Grantor& grantor_;
  engine::Engine& engine_;
  Describer describer_;
  Mutex mu_;
  std::set<std::string> audited_ GUARDED_BY(mu_);  // since this process leads
  kube::ControllerOf<BalancerKey> controller_;
};

}  // namespace berth::controllers::loadbalancer
