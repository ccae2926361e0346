// Frees claims whose Pod never came: the creation failed after our answer, by a quota, another
// webhook or a time-out.
//
// How old a claim is, is judged by when this process first saw it (claims/sightings.h).
//
// Keyed by namespace, so that one list of the Pods with a token answers for all claims of it. A Pod
// that exists and only waits for its address has its claim bound. Runs on the leader; owned by the
// composition root.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "claims/claimer.h"
#include "controllers/portpool/caches.h"
#include "kube/runtime/controller_of.h"
#include "kube/runtime/manager.h"

namespace berth::controllers::portpool {

struct SweepOptions {
  Duration quarantine{};
  Duration claim_lifetime = ledger::kUnboundClaimLifetime;
  std::function<bool()> may_write = [] { return true; };
};

// A Pod that lives.
struct PodRef {
  std::string token{};
  std::string name{};
  std::string uid{};
  std::string told{};  // the annotation with its ports
};

// The Pod that was answered with this claim. Null: there is none.
const PodRef* pod_answered_with(const ledger::Claim& claim, const api::Listener& lock,
                                const std::vector<PodRef>& pods);

class ClaimSweeper {
 public:
  ClaimSweeper(Tasks& tasks, kube::Client& client, Caches caches, claims::Claimer& claimer,
               SweepOptions options, metrics::Registry* registry);

  void add_to(kube::Manager& manager) { manager.add(controller_.core()); }

 private:
  Result<kube::Requeue> reconcile(const Context& context, const kube::NamespaceKey& key);
  Result<std::vector<PodRef>> list_pods(const Context& context, const std::string& ns);
  void add_unlabelled(const std::string& ns, std::vector<PodRef>& out) const;
  Result<> settle(const Context& context, const claims::ListenerPtr& lock,
                  const ledger::Claim& claim, const std::vector<PodRef>& pods);
  Result<bool> leads_nowhere(const Context& context, const api::Listener& lock);

  kube::Client& client_;
  Caches caches_;
  claims::Claimer& claimer_;
  const SweepOptions options_;
  kube::ControllerOf<kube::NamespaceKey> controller_;
};

}  // namespace berth::controllers::portpool
