// The part of Claimer that uses claims again: of a name that comes back, and of an owner whose Pods
// do not come into being.
#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "api/decode.h"
#include "api/pod_ports.h"
#include "api/port_binding.h"
#include "claims/claim_patch.h"
#include "claims/claimer.h"
#include "claims/reclaim.h"

namespace berth::claims {
namespace {

using ledger::SlotState;
using wire::Value;

// The server gives a creation up after 30 s at the latest: until then its Pod may still come.
constexpr Duration kReuseAge = std::chrono::seconds{35};

// Each race that is lost was won by somebody: a controller that cleans up, or another replica.
constexpr int kMaxRaces = 5;

// Re-invocations of a webhook follow within one request, which the API server ends after 30 s at
// the latest.
constexpr Duration kReinvocationWindow = std::chrono::seconds{30};

bool waits_for_its_name(const ledger::Claim& claim) {
  switch (claim.state) {
    case SlotState::claimed: return true;
    case SlotState::bound:
    case SlotState::draining:
    case SlotState::kept: return claim.keep > Duration::zero();
    case SlotState::free:
    case SlotState::quarantined: return false;
  }
  return false;
}

// The locks of the slots that a Pod was told of.
std::vector<kube::ObjectKey> locks_in(const std::vector<api::PortBindingItem>& told) {
  std::vector<kube::ObjectKey> keys;
  for (const api::PortBindingItem& item : told)
    if (auto lock = api::lock_of(item)) keys.push_back(std::move(*lock));
  return keys;
}

// Whether the Pod lives and was told of one of these slots.
bool tells_of(const Value& pod, const std::set<kube::ObjectKey>& locks) {
  const std::string_view phase = wire::string_at(pod, "/status/phase");
  if (phase == "Succeeded" || phase == "Failed") return false;
  const std::string path =
      "/metadata/annotations/" + wire::escape_pointer_step(api::kPoolBindingsAnnotation);
  const auto told = api::decode_pool_bindings(wire::string_at(pod, path));
  return told && std::ranges::any_of(locks_in(*told), [&](const kube::ObjectKey& lock) {
           return locks.contains(lock);
         });
}

}  // namespace

Result<bool> Claimer::is_recent_claim(const Context& context, const ledger::Claim& claim,
                                      const std::vector<api::PortBindingItem>& told) {
  // Another replica may have given the answer a moment ago.
  if (store_.by_index(kTokenIndex, claim.token).empty()) {
    for (const kube::ObjectKey& lock : locks_in(told))
      if (Result<> fresh = refresh(context, lock); !fresh) return pass(fresh);
  }
  const auto locks = store_.by_index(kTokenIndex, claim.token);
  const bool recent = std::ranges::any_of(locks, [&](const ListenerPtr& lock) {
    const auto earlier = claim_of(*lock);
    return earlier && earlier->ns == claim.ns && earlier->pod_name == claim.pod_name &&
           earlier->request == claim.request && age(*lock) < kReinvocationWindow;
  });
  // A name is created once. Without one the manifest may be that of a Pod which has come already.
  if (!recent || !claim.pod_name.empty()) return recent;
  Result<bool> came = has_pod_with_token(context, claim);
  if (!came) return came;
  return !*came;
}

Result<std::vector<TakenSlot>> Claimer::reclaim(const Context& context, const std::string& pod_name,
                                                const std::vector<SlotRequest>& requests,
                                                const ledger::Claim& claim) {
  const kube::ObjectKey pod{claim.ns, pod_name};
  // What this replica's cache has may be from before the Pod ended: the binding says where to look.
  if (claim.keep > Duration::zero()) {
    const Result<Value> found = client_.get(context, api::port_binding_kind().type, pod);
    if (!found && found.error().code != Code::not_found) return fail(found.error());
    const Result<api::PortBinding> binding =
        found ? api::decode_port_binding(*found) : Result<api::PortBinding>(api::PortBinding{});
    if (!binding) return fail(binding.error());
    for (const kube::ObjectKey& lock : locks_in(binding->spec.port_binding_list)) {
      if (Result<> fresh = refresh(context, lock); !fresh) return pass(fresh);
    }
  }
  // Lost a race: what the locks are now, which was read in between, decides.
  for (int i = 0;; ++i) {
    const LocksByEntry mine = newest_match(
        requests, store_.by_index(kPodIndex, pod.to_string()), [&](const ledger::Claim& earlier) {
          return earlier.request == claim.request && waits_for_its_name(earlier);
        });
    if (mine.empty()) return std::vector<TakenSlot>{};
    if (Result<> gone = refuse_while_pod_lives(context, mine); !gone) return pass(gone);
    Result<std::vector<TakenSlot>> taken =
        replace_claims(context, requests, mine, claim, ledger::Event::pod_returns);
    const bool lost = !taken && taken.error().code == Code::conflict;
    if (!lost || i == kMaxRaces || context.expired()) return taken;
  }
}

// A creation under a name that is taken is refused by the server, after us: the port must stay with
// the Pod that has it.
Result<> Claimer::refuse_while_pod_lives(const Context& context,
                                         const std::vector<Locks>& by_entry) {
  for (const Locks& entry : by_entry) {
    for (const ListenerPtr& lock : entry) {
      const auto claim = claim_of(*lock);
      if (claim->state != SlotState::bound) continue;
      const Result<Value> pod =
          client_.get(context, kube::types::kPod, {claim->ns, claim->pod_name});
      if (!pod && pod.error().code == Code::not_found) continue;
      if (!pod) return fail(pod.error());
      if (wire::string_at(*pod, "/metadata/uid") != claim->pod_uid) continue;
      return fail(
          error_of(Code::already_exists, "the Pod that has this name's ports is still there")
              .about(fmt::format("Pod {}/{}", claim->ns, claim->pod_name))
              .with_hint("it is created when the old one is gone"));
    }
  }
  return {};
}

Result<std::vector<TakenSlot>> Claimer::replace_claims(const Context& context,
                                                       const std::vector<SlotRequest>& requests,
                                                       const std::vector<Locks>& by_entry,
                                                       const ledger::Claim& claim,
                                                       ledger::Event event) {
  const WallTime now = context.tasks.wall_time();
  std::vector<TakenSlot> taken;
  for (std::size_t i = 0; i < by_entry.size(); ++i) {
    const api::Listener& first = *by_entry[i].front();
    taken.push_back({.item = std::string(item_of(first)), .ports = api::ports_of(first.spec)});
    for (const ListenerPtr& lock : by_entry[i]) {
      const auto before = claim_of(*lock);
      ledger::Claim after = claim;
      after.entry = static_cast<int>(i);
      after.pod_port = requests[i].pod_port;
      if (event == ledger::Event::pod_returns) after = taken_back(*before, after, now);
      const std::string text = ledger::encode(after);
      const Result<ListenerPtr> written =
          listeners_.patch(context, lock->meta.key(), kube::PatchType::json,
                           claim_patch(lock->meta.uid, claim_text(*lock), text));
      const bool lost = !written && kube::was_overtaken(written.error());
      if (!lost) {
        taken.back().locks.push_back(
            {lock->meta.key(), lock->meta.uid, std::string(claim_text(*lock)), text});
      }
      if (written) continue;
      give_back(context, taken);
      if (!lost) return fail(written.error());
      // Somebody moved it in this moment: what it is now decides, when the Pod comes again.
      if (Result<> fresh = refresh(context, lock->meta.key()); !fresh) return pass(fresh);
      return fail(error_of(Code::conflict, "its ports changed hands just now")
                      .about(fmt::format("Pod {}/{}", claim.ns, claim.pod_name))
                      .with_hint("try again"));
    }
  }
  return taken;
}

Result<std::vector<TakenSlot>> Claimer::reuse_oldest(const Context& context,
                                                     const std::vector<SlotRequest>& requests,
                                                     const ledger::Claim& claim) {
  if (claim.owner_uid.empty()) return std::vector<TakenSlot>{};
  if (unbound_.count(claim.owner_uid) < kMaxUnboundClaims) return std::vector<TakenSlot>{};

  std::vector<ListenerPtr> unbound;
  for (const kube::ObjectKey& key : unbound_.oldest(claim.owner_uid, kMaxUnboundClaims)) {
    ListenerPtr lock = store_.get(key);
    if (lock && age(*lock) >= kReuseAge) unbound.push_back(std::move(lock));
  }
  // What the store has may be newer.
  const LocksByEntry oldest = oldest_match(requests, unbound, [&](const ledger::Claim& earlier) {
    return earlier.state == SlotState::claimed && earlier.owner_uid == claim.owner_uid &&
           earlier.request == claim.request && earlier.pod_uid.empty();
  });
  if (oldest.empty()) return std::vector<TakenSlot>{};
  const ledger::Claim earlier = *claim_of(*oldest.front().front());
  Result<bool> in_use = has_pod_with_token(context, earlier);
  if (in_use && !*in_use) in_use = has_pod_told_of(context, earlier, oldest);
  if (!in_use) return pass(in_use);
  if (*in_use) return std::vector<TakenSlot>{};
  Result<std::vector<TakenSlot>> reused =
      replace_claims(context, requests, oldest, claim, ledger::Event::reused);
  if (!reused && reused.error().code == Code::conflict) return std::vector<TakenSlot>{};
  return reused;
}

Result<bool> Claimer::has_pod_with_token(const Context& context, const ledger::Claim& claim) {
  const Result<kube::ListPage> page = client_.list(
      context, kube::types::kPod,
      {.ns = claim.ns, .label_selector = fmt::format("{}={}", ledger::kTokenLabel, claim.token)});
  if (!page) return fail(page.error());
  return !page->items.empty();
}

// Somebody may have taken the label off while it waits for its address; or its name was created
// twice, and the claim has the token of the creation that the server refused.
Result<bool> Claimer::has_pod_told_of(const Context& context, const ledger::Claim& claim,
                                      const std::vector<Locks>& by_entry) {
  std::set<kube::ObjectKey> locks;
  for (const Locks& entry : by_entry)
    for (const ListenerPtr& lock : entry) locks.insert(lock->meta.key());
  const auto is_told = [&](const Value& pod) { return tells_of(pod, locks); };
  if (!claim.pod_name.empty()) {
    const Result<Value> pod = client_.get(context, kube::types::kPod, {claim.ns, claim.pod_name});
    if (!pod && pod.error().code == Code::not_found) return false;
    if (!pod) return fail(pod.error());
    return is_told(*pod);
  }
  const Result<kube::ListPage> page =
      client_.list_all(context, kube::types::kPod,
                       {.ns = claim.ns, .label_selector = fmt::format("!{}", ledger::kTokenLabel)});
  if (!page) return fail(page.error());
  return std::ranges::any_of(page->items, is_told);
}

}  // namespace berth::claims
