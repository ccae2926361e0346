#include "controllers/portpool/sweep.h"

#include <algorithm>

#include "api/dns_names.h"
#include "controllers/portpool/binding_plan.h"
#include "controllers/portpool/pool_plan.h"
#include "controllers/portpool/targets.h"
#include "frontend/steps.h"

namespace berth::controllers::portpool {
namespace {

using claims::ListenerPtr;
using frontend::kCatchUp;
using kube::NamespaceKey;
using kube::Requeue;
using kube::was_overtaken;
using wire::Value;

// Index on the Listener store: unbound claims by the Pod's namespace.
constexpr std::string_view kUnboundIndex = "unbound-namespace";

}  // namespace

const PodRef* pod_answered_with(const ledger::Claim& claim, const api::Listener& lock,
                                const std::vector<PodRef>& pods) {
  const auto has_its_token = [&](const PodRef& pod) { return pod.token == claim.token; };
  const auto has_its_name = [&](const PodRef& pod) { return pod.name == claim.pod_name; };
  const auto is_told = [&](const PodRef& pod) {
    const Result<std::vector<api::PortBindingItem>> told = api::decode_pool_bindings(pod.told);
    return told && entry_for(*told, lock);
  };
  // Somebody may have written its token on another Pod, or taken it off its own.
  const auto may_be_it = [&](const PodRef& pod) {
    if (!claim.pod_name.empty()) return has_its_name(pod);
    return has_its_token(pod) || pod.token.empty();
  };
  // A name that was created twice has two tokens, and the later one is in the claim although the
  // server refused it: then the Pod of that name has the slot, if it was told so.
  const PodRef* found = nullptr;
  for (const PodRef& pod : pods) {
    if (!may_be_it(pod)) continue;
    const bool told = is_told(pod);
    if (told && has_its_token(pod)) return &pod;
    if (told || (!found && has_its_token(pod))) found = &pod;
  }
  return found;
}

ClaimSweeper::ClaimSweeper(Tasks& tasks, kube::Client& client, Caches caches,
                           claims::Claimer& claimer, SweepOptions options,
                           metrics::Registry* registry)
    : client_(client),
      caches_(caches),
      claimer_(claimer),
      options_(std::move(options)),
      controller_(tasks, {.name = "claim-sweep", .registry = registry},
                  [this](const Context& c, const NamespaceKey& k) { return reconcile(c, k); }) {
  caches_.listeners.add_index(std::string(kUnboundIndex),
                              [](const api::Listener& listener, kube::EmitKey emit) {
                                const auto claim = claims::claim_of(listener);
                                if (claim && claim->state == ledger::SlotState::claimed)
                                  emit(claim->ns);
                              });
  controller_.watch(
      caches_.listeners,
      [](const auto& change, const auto& emit) {
        if (!change.after) return;
        const auto claim = claims::claim_of(*change.after);
        if (claim && claim->state == ledger::SlotState::claimed) emit(NamespaceKey{claim->ns});
      },
      options_.claim_lifetime);
}

Result<Requeue> ClaimSweeper::reconcile(const Context& context, const NamespaceKey& key) {
  if (!options_.may_write()) return fail(Code::unavailable, "not the leader at this moment");
  std::vector<std::pair<ListenerPtr, ledger::Claim>> overdue;
  std::optional<Duration> next;
  for (const ListenerPtr& lock : caches_.listeners.by_index(kUnboundIndex, key.ns)) {
    const auto claim = claims::claim_of(*lock);
    if (!claim) continue;
    const Duration left = options_.claim_lifetime - claimer_.age(*lock);
    if (left > Duration::zero()) {
      next = std::min(next.value_or(left), left);
    } else {
      overdue.emplace_back(lock, *claim);
    }
  }
  if (overdue.empty()) return Requeue{.after = next};
  const Result<std::vector<PodRef>> pods = list_pods(context, key.ns);
  if (!pods) return fail(pods.error());
  for (const auto& [lock, claim] : overdue) {
    if (Result<> settled = settle(context, lock, claim, *pods); !settled) return pass(settled);
  }
  // Until none of them is left: one may have been overtaken by a change that says nothing of it.
  return Requeue{.after = std::min(next.value_or(kCatchUp), kCatchUp)};
}

Result<std::vector<PodRef>> ClaimSweeper::list_pods(const Context& context, const std::string& ns) {
  // No namespace is called so: a claim for it was forged, and has no Pod.
  if (!api::is_dns_label(ns)) return std::vector<PodRef>{};
  const Result<kube::ListPage> page = client_.list_all(
      context, kube::types::kPod, {.ns = ns, .label_selector = std::string(ledger::kTokenLabel)});
  if (!page) return fail(page.error());
  std::vector<PodRef> out;
  const std::string token = "/metadata/labels/" + wire::escape_pointer_step(ledger::kTokenLabel);
  const std::string told =
      "/metadata/annotations/" + wire::escape_pointer_step(api::kPoolBindingsAnnotation);
  for (const Value& pod : page->items) {
    const std::string_view phase = wire::string_at(pod, "/status/phase");
    if (phase == "Succeeded" || phase == "Failed") continue;
    out.push_back({.token = std::string(wire::string_at(pod, token)),
                   .name = std::string(wire::string_at(pod, "/metadata/name")),
                   .uid = std::string(wire::string_at(pod, "/metadata/uid")),
                   .told = std::string(wire::string_at(pod, told))});
  }
  add_unlabelled(ns, out);
  return out;
}

// Somebody took the label off before the claim was bound: what the Pod was told ties it to its
// slot. The cache will do: the claims in question are older than it could be behind.
void ClaimSweeper::add_unlabelled(const std::string& ns, std::vector<PodRef>& out) const {
  for (const auto& pod : caches_.pods.all()) {
    if (pod->meta.ns.view() != ns || pod->finished()) continue;
    if (kube::has(pod->meta.labels, ledger::kTokenLabel)) continue;
    const std::string_view told = kube::get(pod->meta.annotations, api::kPoolBindingsAnnotation);
    if (told.empty()) continue;
    out.push_back({.name = pod->meta.name, .uid = pod->meta.uid, .told = std::string(told)});
  }
}

Result<> ClaimSweeper::settle(const Context& context, const ListenerPtr& lock,
                              const ledger::Claim& claim, const std::vector<PodRef>& pods) {
  const WallTime now = context.tasks.wall_time();
  claims::ListenerChange change;
  if (const PodRef* const pod = pod_answered_with(claim, *lock, pods)) {
    change.claim = ledger::encode(ledger::bound_to(claim, pod->name, pod->uid, now));
  } else {
    // Only a name that took its slot back may still lead to its former Pod.
    const Result<bool> rests =
        claim.pod_name.empty() ? Result<bool>(true) : leads_nowhere(context, *lock);
    if (!rests) return was_overtaken(rests.error()) ? Result<>{} : fail(rests.error());
    const auto next = ledger::abandoned(claim, *rests, options_.quarantine, now);
    change.claim = next ? ledger::encode(*next) : std::string();
  }
  Result<> changed = claimer_.change(context, *lock, change);
  return !changed && was_overtaken(changed.error()) ? Result<>{} : changed;
}

// `precondition`: a peer is not as we knew it.
Result<bool> ClaimSweeper::leads_nowhere(const Context& context, const api::Listener& lock) {
  if (!claims::leads_nowhere(lock)) return false;
  for (const ListenerPtr& peer : peers_in(caches_.listeners, lock)) {
    if (!claims::leads_nowhere(*peer)) return false;
    if (Result<> current = claimer_.need_current(context, *peer); !current) return pass(current);
  }
  return true;
}

}  // namespace berth::controllers::portpool
