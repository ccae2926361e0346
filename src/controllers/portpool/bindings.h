// The controller of one Pod's ports: claims find their Pods, Listeners lead to them, PortBindings
// say so, and everything is taken back when the Pod is gone.
//
// Keyed by the Pod's namespace and name, which the PortBinding shares. What it sees is put
// together in binding_view.h, all decisions are in binding_plan.h. Runs on the leader; owned by the
// composition root.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "api/clients.h"
#include "base/mutex.h"
#include "claims/claimer.h"
#include "controllers/portpool/binding_plan.h"
#include "controllers/portpool/caches.h"
#include "kube/runtime/controller_of.h"
#include "kube/runtime/event_recorder.h"
#include "kube/runtime/manager.h"

namespace berth::controllers::portpool {

struct BindingOptions {
  // How long a port stays unused after the load balancer has let its last owner go: players that
  // still know it must not meet a stranger.
  Duration quarantine{};
  Duration max_keep = ledger::kMaxKeep;
  // The fence of the leader election.
  std::function<bool()> may_write = [] { return true; };
  // Hears how long each Pod waited from its creation until its ports led to it.
  std::function<void(Duration)> on_ready = [](Duration) {};
  // Hear of a Listener that it may lead elsewhere in a moment, and that this is being written.
  std::function<void(const api::Listener&)> on_likely = [](const api::Listener&) {};
  std::function<void(const api::Listener&)> on_write = [](const api::Listener&) {};
};

// The PortBinding has the same name.
using PodKey = kube::KeyOf<kube::Pod>;

class BindingController {
 public:
  BindingController(Tasks& tasks, kube::Client& client, Caches caches, claims::Claimer& claimer,
                    const claims::Sealer& sealer, kube::EventRecorder& events,
                    BindingOptions options, metrics::Registry* registry);

  void add_to(kube::Manager& manager) { manager.add(controller_.core()); }
  // All Pods that have ports: the keys that seal what they were told have changed.
  void look_at_all();

 private:
  void watch();
  void expect_farewell(const kube::Change<kube::Pod>& change);
  Result<kube::Requeue> reconcile(const Context& context, const PodKey& pod);
  BindingView view_of(const kube::ObjectKey& key, Tasks& tasks);
  Duration lost_for(const BindingView& view, Instant now);
  Result<std::string> ask_server(const Context& context, const kube::ObjectKey& key);

  // `precondition`: overtaken; what overtook us brings the key back.
  Result<> apply(const Context& context, const BindingView& view, const BindingPlan& plan);
  Result<> write_object(const Context& context, const BindingView& view, const BindingPlan& plan);
  Result<> create_object(const Context& context, const wire::Value& object);
  Result<> remove_object(const Context& context, const api::PortBinding& binding);
  Result<> write_note(const Context& context, const kube::Pod& pod, const PodNote& note);

  kube::Client& client_;
  Caches caches_;
  const api::PortBindings objects_;
  claims::Claimer& claimer_;
  const claims::Sealer& sealer_;
  kube::EventRecorder& events_;
  const BindingOptions options_;
  Mutex mu_;
  // Of Pods that live and lack a claim, by uid: how old they are, the API server's clock says,
  // which is not ours.
  std::map<std::string, Instant> lost_since_ GUARDED_BY(mu_);
  kube::ControllerOf<PodKey> controller_;
};

}  // namespace berth::controllers::portpool
