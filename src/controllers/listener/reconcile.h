// The controller of Listeners: hands each one to the engine as a wish, and writes down what became
// of it.
//
// Two queues: wishes (by Listener), which only talk to the engine, and outcomes (by Listener),
// which only write to the API server, so that a storm of either does not hold back the other. Runs
// on the leader; owned by the composition root.
#pragma once

#include <functional>
#include <map>
#include <set>

#include "base/mutex.h"
#include "claims/courtesy.h"
#include "claims/grantor.h"
#include "claims/slot.h"
#include "controllers/listener/plan.h"
#include "engine/engine.h"
#include "kube/client/client.h"
#include "kube/runtime/controller_of.h"
#include "kube/runtime/event_recorder.h"
#include "kube/runtime/manager.h"

namespace berth::controllers::listener {

struct ListenerOptions {
  Naming naming{};
  // Whether its targets are addresses of somebody who was told of its port. The claim and the spec
  // of a Listener can be written by people: what has the rights of this process must not be led to
  // whatever address they think of.
  std::function<Result<>(const api::Listener& listener)> check_targets =
      [](const api::Listener&) -> Result<> { return {}; };
  // With whose credentials providers are called for the Listeners of a namespace. Empty: those of
  // the process.
  std::function<model::CredentialId(model::Provider provider, std::string_view ns)> credential_of =
      [](model::Provider, std::string_view) { return model::CredentialId(); };
};

using ListenerKey = kube::KeyOf<api::Listener>;

class ListenerController final : public engine::Sink {
 public:
  ListenerController(Tasks& tasks, kube::Client& client, claims::ListenerStore& listeners,
                     claims::BalancerStore& balancers, claims::BlockStore& blocks,
                     const claims::Sealer& sealer, claims::Courtesy& courtesy,
                     kube::EventRecorder& events, ListenerOptions options,
                     metrics::Registry* registry);

  // Before `add_to`; the engine outlives the controllers' run.
  void use(engine::Engine& engine) { engine_ = &engine; }
  void add_to(kube::Manager& manager);

  // Tells the engine that a wish for this Listener is on its way.
  void expect(const api::Listener& listener, engine::Notice notice);

  void report(const engine::Outcome& outcome) override;
  // What is wished of a load balancer at this moment. Whether that is all, only the caller knows.
  std::vector<engine::StandingWish> wishes_for(const model::LoadBalancerRef& lb) const;

 private:
  // Two outcomes may answer the same wish: a failure, and that it was met in the end.
  struct Noted {
    engine::Outcome outcome{};
    std::uint64_t number = 0;
  };

  void watch();
  void watch_grants();
  // Those that are not at rest and lie on these ports.
  template <class Emit>
  void emit_about(const std::vector<api::Grant>& grants, const std::string& balancer,
                  const Emit& emit) const;
  void queue_outcomes();
  // Its seal is back: what is done for it was done for nobody, or not at all.
  bool is_trusted_again(const kube::Change<api::Listener>& change) const;
  void note_doubtful(const ListenerKey& key);
  bool take_doubtful(const ListenerKey& key);
  // In place, as far as we know ourselves.
  bool is_at_rest(const api::Listener& listener) const;
  void expect_claimed(const kube::Change<api::Listener>& change);
  void audit_newcomer(const kube::Change<api::Listener>& change);
  // The wish, when its Listener may have one: ours, inside a grant of its owner.
  Result<engine::Wish> granted_wish(const api::Listener& listener) const;
  Result<kube::Requeue> reconcile_wish(const Context& context, const ListenerKey& key);
  Result<kube::Requeue> reconcile_outcome(const Context& context, const ListenerKey& key);
  Result<> note(const Context& context, const api::Listener& listener,
                const engine::Outcome& outcome);
  Result<> write(const Context& context, const api::Listener& listener,
                 const claims::ListenerPatch& patch);

  kube::Client& client_;
  claims::ListenerStore& listeners_;
  claims::BalancerStore& balancers_;
  claims::BlockStore& blocks_;
  const claims::GrantBook book_;
  const claims::Sealer& sealer_;
  claims::Courtesy& courtesy_;
  kube::EventRecorder& events_;
  const ListenerOptions options_;
  engine::Engine* engine_ = nullptr;
  mutable Mutex mu_;
  std::map<ListenerKey, Noted> outcomes_ GUARDED_BY(mu_);
  // Trusted again, or put back by somebody, and not looked at since with a grant.
  std::set<ListenerKey> doubtful_ GUARDED_BY(mu_);
  std::uint64_t reports_ GUARDED_BY(mu_) = 0;
  kube::ControllerOf<ListenerKey> wishes_;
  kube::ControllerOf<ListenerKey> notes_;
};

}  // namespace berth::controllers::listener
