// The controllers of port pools: pools get their Listeners, claims find their Pods, ports lead to
// them.
//
// Three work queues over the same caches: pools (by PortPool), slots (by Listener) and forwarding
// (by Listener). All decisions are in plan.h. Runs on the leader; owned by the composition root.
#pragma once

#include <functional>
#include <memory>

#include "api/listener.h"
#include "api/port_pool.h"
#include "claims/claimer.h"
#include "controllers/portpool/plan.h"
#include "kube/cache/store.h"
#include "kube/runtime/controller.h"
#include "kube/runtime/event_recorder.h"
#include "kube/runtime/manager.h"
#include "lb/forwarder.h"

namespace berth::controllers::portpool {

struct Caches {
  kube::Store<api::PortPool>& pools;
  kube::Store<api::Listener>& listeners;
  kube::Store<kube::Pod>& pods;
};

// Name of the index on the Pod store, by claim token. Before the informer starts.
void add_pod_index(kube::Store<kube::Pod>& pods);

class PortPoolControllers {
 public:
  // `may_write` is the fence of the leader election: asked before traffic is pointed anywhere.
  PortPoolControllers(Tasks& tasks, kube::Client& client, Caches caches, claims::Claimer& claimer,
                      lb::Forwarder& forwarder, kube::EventRecorder& events,
                      std::function<bool()> may_write, metrics::Registry* registry);

  void add_to(kube::Manager& manager);

 private:
  Result<kube::Requeue> reconcile_pool(const Context& context, const kube::ObjectKey& key);
  Result<> create_missing(const Context& context, const api::PortPool& pool);
  Result<> write_pool_status(const Context& context, const api::PortPool& pool);

  Result<kube::Requeue> reconcile_slot(const Context& context, const kube::ObjectKey& key);
  // The slots that a claim binds to a Pod of this name.
  std::vector<claims::ListenerStore::Ptr> slots_of(const kube::Pod& pod) const;
  Result<PodView> find_pod(const Context& context, const ledger::Claim& claim, bool certain);
  Result<> announce_ready(const Context& context, const kube::Pod& pod);

  Result<kube::Requeue> reconcile_forwarding(const Context& context, const kube::ObjectKey& key);

  kube::Client& client_;
  Caches caches_;
  claims::Claimer& claimer_;
  lb::Forwarder& forwarder_;
  kube::EventRecorder& events_;
  const std::function<bool()> may_write_;
  kube::Controller pools_;
  kube::Controller slots_;
  kube::Controller forwarding_;
};

}  // namespace berth::controllers::portpool
