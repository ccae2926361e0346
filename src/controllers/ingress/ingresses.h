// The controller of Ingresses: rules and mappings get their grants and Listeners, which follow Pods
// and Services, and lose them in order.
//
// What is wanted is in ingress_plan.h; the kit does the rest. Runs on the leader; owned by the
// composition root.
#pragma once

#include "api/clients.h"
#include "claims/resolver.h"
#include "controllers/ingress/ingress_plan.h"
#include "frontend/keeper.h"
#include "kube/runtime/controller_of.h"
#include "kube/runtime/event_recorder.h"
#include "kube/runtime/manager.h"

namespace berth::controllers::ingress {

using IngressKey = kube::KeyOf<api::Ingress>;

struct Caches {
  kube::Store<api::Ingress>& ingresses;
  kube::Store<api::Listener>& listeners;
  kube::Store<api::LoadBalancer>& balancers;
  kube::Store<api::PortBlock>& blocks;
  kube::Store<kube::Pod>& pods;
  kube::Store<kube::Service>& services;
};

class IngressController {
 public:
  struct Options {
    model::LoadBalancerDefaults defaults{};
    api::ListenerNames names = api::ListenerNames::plain;
    bool own_namespace_only = false;
    std::vector<std::string> exempt_namespaces{};
  };
  IngressController(Tasks& tasks, kube::Client& client, Caches caches, frontend::Keeper& keeper,
                    const claims::Sealer& sealer, const claims::Resolver& resolver,
                    kube::EventRecorder& events, Options options, metrics::Registry* registry);

  void add_to(kube::Manager& manager) { manager.add(controller_.core()); }
  // All of them: the keys that seal their Listeners have changed.
  void look_at_all();
  // Those that have this name of a load balancer in a text: it is known what it means, or why not.
  void look_at_those_with(const model::LoadBalancerRef& named);
  // Whether the Listener's targets are what its Ingress leads to.
  Result<> vouch(const api::Listener& listener) const;

 private:
  void watch();
  void watch_targets();
  // Its texts mean what they meant when it got what it has.
  Result<> validate(const api::Ingress& ingress) const;
  Result<std::vector<Balancer>> balancers_of(const api::Ingress& ingress) const;
  Result<kube::Requeue> reconcile(const Context& context, const IngressKey& key);
  Result<kube::Requeue> keep(const Context& context, const api::Ingress& ingress);
  Result<kube::Requeue> keep_valid(const Context& context, const api::Ingress& ingress,
                                   const std::vector<Balancer>& balancers);
  // Of one that cannot be acted on; what it has stays.
  Result<kube::Requeue> tell_trouble(const Context& context, const api::Ingress& ingress,
                                     const Error& error);
  Result<> write_status(const Context& context, const api::Ingress& ingress,
                        const api::IngressStatus& status, frontend::Round& round);
  Result<> tell_pods(const Context& context, const Notes& notes) const;

  kube::Client& client_;
  const api::Ingresses objects_;
  const Caches caches_;
  const Sight sight_;
  frontend::Keeper& keeper_;
  const claims::Sealer& sealer_;
  const claims::Resolver& resolver_;
  kube::EventRecorder& events_;
  const BalancerOf balancer_of_;
  const Options options_;
  kube::ControllerOf<IngressKey> controller_;
};

}  // namespace berth::controllers::ingress
