// The controller of LoadBalancer objects: asks the provider and writes down what it says, and has
// blocks of ports that nobody uses taken back. Runs on the leader; owned by the composition root.
#pragma once

#include <functional>
#include <set>

#include "api/clients.h"
#include "api/load_balancer.h"
#include "base/mutex.h"
#include "claims/grantor.h"
#include "claims/slot.h"
#include "controllers/loadbalancer/describer.h"
#include "controllers/loadbalancer/plan.h"
#include "engine/engine.h"
#include "kube/client/client.h"
#include "kube/runtime/controller_of.h"
#include "kube/runtime/manager.h"

namespace berth::controllers::loadbalancer {

using BalancerKey = kube::KeyOf<api::LoadBalancer>;
// With whose credentials a provider is called for the objects of a namespace. Null: always with
// those of the process.
using CredentialOf =
    std::function<model::CredentialId(model::Provider provider, std::string_view ns)>;

class LoadBalancerController {
 public:
  LoadBalancerController(Tasks& tasks, kube::Client& client, claims::BalancerStore& balancers,
                         claims::BlockStore& blocks, claims::ListenerStore& listeners,
                         claims::Grantor& grantor, const model::LoadBalancerDefaults& defaults,
                         const lb::Drivers& drivers, engine::Engine& engine,
                         CredentialOf credential_of, metrics::Registry* registry);

  void add_to(kube::Manager& manager) { manager.add(controller_.core()); }
  // Of all who have ports or Listeners there, each once.
  Describer::Credentials credentials_for(const model::LoadBalancerRef& lb) const;
  // Hears that the engine sees what is there, or sees it no more.
  void look_changed(const model::LoadBalancerRef& lb);
  // Asks providers what reconciles want to know, until the stop.
  void run(const Context& context) { describer_.run(context); }

 private:
  Result<kube::Requeue> reconcile(const Context& context, const BalancerKey& key);
  // What its provider says of it; one that nobody uses goes.
  Result<kube::Requeue> describe(const Context& context, const BalancerKey& key);
  Result<> write_status(const Context& context, const api::LoadBalancer& object,
                        const Result<model::LoadBalancerInfo>& answer, const Look& look,
                        std::size_t listeners);
  Result<> remove_unused(const Context& context, const api::LoadBalancer& object);

  claims::BalancerStore& balancers_;
  const api::LoadBalancers objects_;
  const claims::ListenerStore& listeners_;
  claims::Grantor& grantor_;
  engine::Engine& engine_;
  const CredentialOf credential_of_;
  Describer describer_;
  Mutex mu_;
  std::set<std::string> audited_ GUARDED_BY(mu_);  // since this process leads
  kube::ControllerOf<BalancerKey> controller_;
};

}  // namespace berth::controllers::loadbalancer
