// What becomes of the ports of one Pod, alive or gone: pure decisions over what the caches have.
//
// From claim to Ready: bind and point the Listeners at the Pod, keep the PortBinding, tell the Pod.
// Back: drain while it terminates, lead nowhere when it is gone, keep or quarantine, free.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/pod_ports.h"
#include "api/port_binding.h"
#include "api/port_pool.h"
#include "claims/claimer.h"
#include "claims/pod_seal.h"
#include "kube/cache/pod.h"
#include "kube/runtime/event_correlator.h"

namespace berth::controllers::portpool {

// On a PortBinding: the Pod that it speaks of.
inline constexpr std::string_view kPodUidAnnotation = "berth.dev/pod-uid";

// A slot that a claim ties to the Pod's name or token.
struct HeldSlot {
  claims::ListenerPtr lock{};
  std::vector<claims::ListenerPtr> peers{};  // on the other load balancers
  ledger::Claim claim{};
  Duration seen_for{};  // how long this process has seen the claim as it is
  // Somebody changed what the lock is, and its pool has not put it right yet: hands off.
  bool is_changed = false;
  // Another Pod that lives was told of it, by us, and is ready there: this one is not, until that
  // is not.
  bool is_contested = false;
};

struct BindingView {
  kube::ObjectKey key{};                   // of the Pod and its PortBinding
  std::shared_ptr<const kube::Pod> pod{};  // null: not in the cache
  // The uid that the server has for this name, when it was asked; empty text: no such Pod.
  std::optional<std::string> server_uid{};
  std::vector<HeldSlot> slots{};
  // Slots that the Pod was told of and that no claim of its own holds: their locks.
  std::vector<HeldSlot> lost{};
  Duration lost_for{};  // how long this process has seen it so
  // It was told of a slot whose lock is not there: somebody removed it, and its pool makes another.
  bool misses_lock = false;
  // The Pod has its ports from another controller, whose Listeners are still there.
  bool is_foreign = false;
  // A slot that it was told of has a claim that this version cannot read.
  bool is_unreadable = false;
  // What the Pod was told of its ports, as far as we can know it, and what its seal says of it.
  std::vector<api::PortBindingItem> told{};
  claims::PortsProof proof{};
  // Somebody edited what it was told, and what would prove how it was is not here yet.
  bool is_in_doubt = false;
  // Seals what it was told, in answer to this request; empty while there are no keys.
  std::function<std::string(std::string_view request,
                            const std::vector<api::PortBindingItem>& told)>
      seal{};
  std::shared_ptr<const api::PortBinding> binding{};
  // How the Pod's items stand in their pools now; null: not known.
  std::function<std::shared_ptr<const api::PortPool>(const kube::ObjectKey&)> pool_of{};
  WallTime now{};
  Duration quarantine{};
  Duration max_keep = ledger::kMaxKeep;
};

struct PodNote {
  std::optional<std::string> status{};    // of the status annotation
  std::optional<std::string> bindings{};  // of the poolbindings annotation
  std::optional<std::string> seal{};      // of that
  struct ReadyCondition {
    bool ready = false;
    std::string reason{};
    std::string message{};
  };
  std::optional<ReadyCondition> condition{};

  bool empty() const { return !status && !bindings && !seal && !condition; }
  // Whoever reads the Pod must not be sent to its ports any more.
  bool takes_ready_away() const {
    return (status && *status != api::kReady) || (condition && !condition->ready);
  }
};

struct BindingPlan {
  // The server must be asked whether the Pod is gone before anything is taken from it.
  bool ask_server = false;
  struct Change {
    claims::ListenerPtr listener;
    claims::ListenerChange change;
    // Peers that must be on the server as they are here: the port is given away on the word that
    // they lead nowhere, and no test of the lock speaks of them.
    std::vector<claims::ListenerPtr> resting{};
  };
  std::vector<Change> changes{};  // in this order; one that is overtaken ends the round

  // PortBinding: at most one of the first three, the status in the same round where it exists.
  std::optional<wire::Value> create_binding{};
  std::optional<wire::Value> patch_binding{};  // merge patch of metadata and spec
  bool delete_binding = false;
  std::optional<wire::Value> binding_status{};
  // To be told once these are written. That it was made is not among them: what it is called on the
  // server is in the answer.
  std::vector<kube::EventNote> binding_events{};

  PodNote pod_note{};
  std::vector<kube::EventNote> pod_events{};  // once that is written, too
  std::optional<Duration> requeue_after{};
};

BindingPlan plan_binding(const BindingView& view);

// And not a copy of one, under another name.
bool is_lock_of_its_port(const api::Listener& listener);
// The Pod's own entry for this slot; null when it was not told of it, or the slot is a copy.
const api::PortBindingItem* entry_for(const std::vector<api::PortBindingItem>& told,
                                      const api::Listener& lock);

}  // namespace berth::controllers::portpool
