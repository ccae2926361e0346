#include "controllers/portpool/binding_plan.h"

#include <algorithm>
#include <boost/json.hpp>

#include "api/go_duration.h"
#include "base/fnv.h"
#include "claims/finalizer.h"
#include "controllers/portpool/binding_object.h"
#include "controllers/portpool/events.h"
#include "controllers/portpool/pool_plan.h"
#include "controllers/portpool/targets.h"
#include "frontend/steps.h"

namespace berth::controllers::portpool {
namespace {

using frontend::kCatchUp;
using ledger::SlotState;

// The caches of Pods and Listeners are not at the same point in time: what looks lost may only be
// late.
constexpr Duration kLostGrace = std::chrono::seconds{10};
// A port that somebody else has may become free.
constexpr Duration kLookForLost = std::chrono::seconds{10};

// A Pod exists so soon after its token was made: the server ends a creation after 30 seconds, and
// clocks differ.
constexpr Duration kCreation = std::chrono::seconds{60};

// Seals by a key that has a successor are renewed, each Pod's at a time of the day that is its own:
// ten thousand rooms are a write every nine seconds. There are months for it; who is missed,
// because nobody led at that time, has his turn on the next day.
constexpr Duration kSealRound = std::chrono::hours{24};
constexpr Duration kSealTurn = std::chrono::minutes{5};

// Nothing: it is now.
std::optional<Duration> until_turn(const std::string& pod_uid, WallTime now) {
  const std::uint64_t spread =
      Fnv1a64{}.add(pod_uid).value() % static_cast<std::uint64_t>(kSealRound.count());
  const Duration phase{static_cast<Duration::rep>(spread)};
  const Duration passed = (now.time_since_epoch() + kSealRound - phase) % kSealRound;
  if (passed < kSealTurn) return std::nullopt;
  return kSealRound - passed;
}

class Planner {
 public:
  explicit Planner(const BindingView& view) : view_(view) {
    if (!view.pod) return;
    told_ = view.told;
    refresh_entries(told_, view.pool_of);
  }

  BindingPlan plan() {
    if (view_.is_foreign) return {};  // its status and readiness are not ours to write
    if (view_.is_unreadable) return plan_unreadable();
    if (view_.is_in_doubt && has_living_pod() && !view_.pod->meta.deleting) return plan_in_doubt();
    for (const HeldSlot& slot : view_.slots) plan_slot(slot);
    // Nothing on half a knowledge.
    if (plan_.ask_server) return {.ask_server = true};
    for (const HeldSlot& slot : view_.lost) plan_lost(slot);
    plan_object();
    if (view_.pod && !view_.pod->finished() && !view_.pod->meta.deleting) plan_note();
    return std::move(plan_);
  }

 private:
  bool has_living_pod() const { return view_.pod && !has_given_up(*view_.pod); }

  // It has ended; or somebody took off the annotation that asks for ports.
  static bool has_given_up(const kube::Pod& pod) {
    return pod.finished() || !kube::has(pod.meta.annotations, api::kPortPoolsAnnotation);
  }

  // Whose the ports are is for the version to judge that can read the claim: everything stays. But
  // a port that has lost one of its Listeners, or that somebody points elsewhere, does not lead to
  // the Pod, whoever has it; and what can be read is kept up.
  BindingPlan plan_unreadable() {
    if (!view_.pod || view_.pod->meta.deleting || view_.pod->finished()) return {};
    if (!has_living_pod()) {
      withdraw_ready();
      return std::move(plan_);
    }
    for (const HeldSlot& slot : view_.slots)
      if (!slot.is_changed && slot.claim.state == SlotState::bound && is_own(slot)) keep_up(slot);
    const auto is_meant = [&](const HeldSlot& slot) {
      const api::PortBindingItem* const entry = entry_for(told_, *slot.lock);
      return slot.peers.size() == peers_of(*slot.lock).size() &&
             (!entry || is_pointed_here(slot, *entry));
    };
    // A claim that can be read, and is not its own, is somebody else's or nobody's.
    const auto may_be_its = [&](const HeldSlot& slot) {
      return claims::is_unreadable(*slot.lock) && is_meant(slot);
    };
    const bool leads_here = !view_.misses_lock && std::ranges::all_of(view_.slots, is_meant) &&
                            std::ranges::all_of(view_.lost, may_be_its);
    if (!leads_here) withdraw_ready();
    return std::move(plan_);
  }

  void withdraw_ready() {
    if (kube::get(view_.pod->meta.annotations, api::kBindStatusAnnotation) == api::kReady)
      plan_.pod_note.status = std::string(api::kNotReady);
    plan_condition(false);
  }

  // It is bound to nothing yet: that it is Ready is said by whoever wrote it.
  BindingPlan plan_in_doubt() {
    withdraw_ready();
    plan_.requeue_after = kCatchUp;
    return std::move(plan_);
  }

  bool is_own(const HeldSlot& slot) {
    if (!view_.pod) return false;
    const kube::Pod& pod = *view_.pod;
    if (slot.claim.state != SlotState::claimed) return slot.claim.pod_uid == pod.meta.uid;
    const std::string_view token = kube::get(pod.meta.labels, ledger::kTokenLabel);
    // Somebody may have written another Pod's token on it.
    const bool is_anothers = !slot.claim.pod_name.empty() && slot.claim.pod_name != pod.meta.name;
    if (token == slot.claim.token) return !is_anothers;
    // A name that comes back: the cache may still have the former Pod.
    if (slot.claim.pod_name != pod.meta.name || slot.claim.pod_uid == pod.meta.uid) return false;
    if (!view_.server_uid) plan_.ask_server = true;
    return view_.server_uid == pod.meta.uid;
  }

  void plan_slot(const HeldSlot& slot) {
    if (slot.is_changed) return hold(slot);
    switch (slot.claim.state) {
      case SlotState::claimed: return plan_claimed(slot);
      case SlotState::bound: return plan_bound(slot);
      case SlotState::draining: return plan_draining(slot);
      case SlotState::kept:
      case SlotState::quarantined: return plan_waiting(slot);
      case SlotState::free: return;
    }
  }

  // As it is, until its pool has put it right.
  void hold(const HeldSlot& slot) {
    requeue_after(kCatchUp);
    if (slot.claim.state == SlotState::kept) kept_ = slot.claim;
    if (!view_.pod || slot.claim.pod_uid != view_.pod->meta.uid || !has_living_pod()) return;
    ++own_;
    const api::PortBindingItem* const entry = entry_for(told_, *slot.lock);
    if (entry && is_led_here(slot, *entry)) ready_.push_back(entry);
  }

  void plan_claimed(const HeldSlot& slot) {
    if (is_own(slot)) return has_given_up(*view_.pod) ? release(slot) : bind(slot);
    // Tied by its name alone: that Pod has been admitted and is not seen yet.
    if (slot.claim.keep > Duration::zero()) name_returns_ = true;
  }

  void plan_bound(const HeldSlot& slot) {
    if (is_own(slot)) return has_given_up(*view_.pod) ? release(slot) : keep_up(slot);
    if (!view_.server_uid) {
      plan_.ask_server = true;
    } else if (*view_.server_uid == slot.claim.pod_uid) {
      is_unseen_ = true;
      requeue_after(kCatchUp);
    } else {
      release(slot);
    }
  }

  // It becomes the Pod's. Without an address there is nothing to lead to yet, and its claim holds
  // it.
  void bind(const HeldSlot& slot) {
    const kube::Pod& pod = *view_.pod;
    const api::PortBindingItem* const entry = entry_for(told_, *slot.lock);
    if (!entry || pod.meta.deleting) return;
    if (!claims::has_targets(spec_for(slot.lock->spec, pod, *entry))) return;
    lead_here(slot, *entry, bound(slot.claim));
  }

  void keep_up(const HeldSlot& slot) {
    const api::PortBindingItem* const entry = entry_for(told_, *slot.lock);
    if (!entry) {
      ++own_;
      return;
    }
    std::optional<std::string> claim;
    if (const Duration keep = keep_of(*view_.pod, view_.max_keep); keep != slot.claim.keep) {
      ledger::Claim next = slot.claim;
      next.keep = keep;
      claim = ledger::encode(next);
    }
    lead_here(slot, *entry, std::move(claim));
  }

  std::string bound(const ledger::Claim& claim) const {
    const kube::ObjectMeta& meta = view_.pod->meta;
    return ledger::encode(ledger::bound_to(claim, meta.name, meta.uid, view_.now));
  }

  // All Listeners of the slot, with this claim if it changes.
  void lead_here(const HeldSlot& slot, const api::PortBindingItem& entry,
                 std::optional<std::string> claim) {
    ++own_;
    const kube::Pod& pod = *view_.pod;
    change(slot.lock, std::move(claim), spec_for(slot.lock->spec, pod, entry), view_.key);
    for (const claims::ListenerPtr& peer : slot.peers)
      change(peer, std::nullopt, spec_for(peer->spec, pod, entry), view_.key);
    if (slot.is_contested) {
      requeue_after(kCatchUp);
    } else if (is_led_here(slot, entry)) {
      ready_.push_back(&entry);
    }
  }

  bool is_led_here(const HeldSlot& slot, const api::PortBindingItem& entry) const {
    // One that is leaving may have left its load balancer already.
    const auto leads = [&](const claims::ListenerPtr& one) {
      return !one->meta.deleting && leads_to(*one, *view_.pod, entry);
    };
    const bool all = slot.peers.size() == peers_of(*slot.lock).size();
    return all && leads(slot.lock) && std::ranges::all_of(slot.peers, leads);
  }

  // By what is wanted of its Listeners, whether it is done or not.
  bool is_pointed_here(const HeldSlot& slot, const api::PortBindingItem& entry) const {
    const auto points = [&](const claims::ListenerPtr& one) {
      return names(one->spec, *view_.pod, entry);
    };
    return points(slot.lock) && std::ranges::all_of(slot.peers, points);
  }

  // People may change it on a living Pod, and nobody checks what they write there.
  static Duration keep_of(const kube::Pod& pod, Duration max_keep) {
    return std::min(
        api::parse_go_duration(kube::get(pod.meta.annotations, api::kKeepDurationAnnotation))
            .value_or(Duration::zero()),
        max_keep);
  }

  void release(const HeldSlot& slot) {
    if (slot.claim.state == SlotState::claimed && rests(slot))
      return give_away(slot, ledger::abandoned(slot.claim, true, view_.quarantine, view_.now));
    drain(slot, *ledger::abandoned(slot.claim, false, view_.quarantine, view_.now));
  }

  void plan_draining(const HeldSlot& slot) {
    if (!rests(slot)) return drain(slot, slot.claim);
    give_away(slot, ledger::drained(slot.claim, view_.quarantine, view_.now));
  }

  void plan_waiting(const HeldSlot& slot) {
    if (leads_somewhere(slot)) return drain(slot, ledger::gone_astray(slot.claim, view_.now));
    const WallTime until = slot.claim.state == SlotState::kept
                               ? ledger::kept_until(slot.claim, view_.max_keep)
                               : slot.claim.until;
    const Duration left = ledger::still_waits(slot.claim, until, slot.seen_for, view_.now);
    const bool waits = left > Duration::zero() && !is_given_up(slot);
    if (waits) requeue_after(left);
    // Otherwise a Listener is being changed in another way: it brings us back.
    if (waits || !rests(slot)) return note_cleaning(slot.claim);
    give_away(slot, ledger::window_over(slot.claim, view_.quarantine, slot.seen_for, view_.now));
  }

  // Whoever deletes the PortBinding of a Pod that is gone does not want its ports kept: a person,
  // or the end of the namespace.
  bool is_given_up(const HeldSlot& slot) const {
    return slot.claim.state == SlotState::kept && !has_living_pod() && view_.binding &&
           view_.binding->meta.deleting;
  }

  void drain(const HeldSlot& slot, const ledger::Claim& claim) {
    change(slot.lock, ledger::encode(claim), without_target(slot.lock->spec), kube::ObjectKey{});
    for (const claims::ListenerPtr& peer : slot.peers)
      change(peer, std::nullopt, without_target(peer->spec), kube::ObjectKey{});
    note_cleaning(claim);
  }

  // A step towards the next owner, of a slot that rests.
  void give_away(const HeldSlot& slot, const std::optional<ledger::Claim>& next) {
    plan_.changes.push_back({.listener = slot.lock,
                             .change = {.claim = next ? ledger::encode(*next) : std::string()},
                             .resting = slot.peers});
    if (next) note_cleaning(*next);
  }

  void note_cleaning(const ledger::Claim& claim) {
    if (claim.state == SlotState::draining) draining_ = true;
    if (claim.state == SlotState::kept) kept_ = claim;
  }

  static bool leads_somewhere(const HeldSlot& slot) {
    return claims::has_targets(slot.lock->spec) ||
           std::ranges::any_of(slot.peers, [](const claims::ListenerPtr& peer) {
             return claims::has_targets(peer->spec);
           });
  }

  // Each Listener of the slot leads to this Pod or nowhere.
  bool leads_nowhere_else(const HeldSlot& slot, const api::PortBindingItem& entry) const {
    const auto fine = [&](const claims::ListenerPtr& one) {
      return claims::has_targets(one->spec) ? names(one->spec, *view_.pod, entry)
                                            : claims::leads_nowhere(*one);
    };
    return fine(slot.lock) && std::ranges::all_of(slot.peers, fine);
  }

  static bool rests(const HeldSlot& slot) {
    return claims::leads_nowhere(*slot.lock) &&
           std::ranges::all_of(slot.peers, [](const claims::ListenerPtr& peer) {
             return claims::leads_nowhere(*peer);
           });
  }

  bool is_sealed() const { return view_.proof.verdict == crypto::SealVerdict::good; }

  // By us: what it was told has our seal, and it came when the seal was made. A copy, of which we
  // were not asked, is younger, or meets the claim of the Pod that it was copied from.
  bool was_admitted() const {
    if (!is_sealed()) return false;
    const kube::Pod& pod = *view_.pod;
    const auto made = ledger::token_time(kube::get(pod.meta.labels, ledger::kTokenLabel));
    return made && pod.meta.created - *made <= kCreation && *made - pod.meta.created <= kCreation;
  }

  // Nobody has it: somebody took the claim off, or the Listener is a new one.
  void plan_lost(const HeldSlot& slot) {
    if (!has_living_pod()) return;
    if (may_have_again(slot)) return take_again(slot);
    if (view_.pod->meta.deleting) return;
    requeue_after(view_.lost_for < kLostGrace ? kLostGrace - view_.lost_for : kLookForLost);
    if (view_.lost_for >= kLostGrace) lost_ = slot.lock;
  }

  bool may_have_again(const HeldSlot& slot) const {
    const kube::Pod& pod = *view_.pod;
    const api::PortBindingItem* const entry = entry_for(told_, *slot.lock);
    if (!entry || claims::is_peer(*slot.lock) || !claims::claim_text(*slot.lock).empty())
      return false;
    if (!was_admitted() || !leads_nowhere_else(slot, *entry)) return false;
    if (leads_somewhere(slot)) return true;
    // What terminates has no use for it any more.
    if (pod.meta.deleting) return false;
    // Of a young Pod without an address the claim is on its way to our cache.
    return claims::has_targets(spec_for(slot.lock->spec, pod, *entry)) ||
           view_.lost_for >= kLostGrace;
  }

  // Also without an address, so that nobody else takes it.
  void take_again(const HeldSlot& slot) {
    const kube::Pod& pod = *view_.pod;
    const std::string_view token = kube::get(pod.meta.labels, ledger::kTokenLabel);
    const api::PortBindingItem& entry = *entry_for(told_, *slot.lock);
    lead_here(slot, entry,
              bound({.token = std::string(token),
                     .ns = view_.key.ns,
                     .request = view_.proof.request,
                     .pod_port = {.port = model::port_of(entry.rs_start_port),
                                  .on_host = entry.host_port},
                     .keep = keep_of(pod, view_.max_keep)}));
  }

  void change(const claims::ListenerPtr& listener, std::optional<std::string> claim,
              const api::ListenerSpec& spec, std::optional<kube::ObjectKey> source) {
    claims::ListenerChange out;
    if (claim && *claim != claims::claim_text(*listener)) out.claim = std::move(claim);
    if (spec != listener->spec) {
      out.spec = spec;
      out.source = std::move(source);
    }
    if (!out.empty()) plan_.changes.push_back({listener, std::move(out)});
  }

  void requeue_after(Duration after) {
    plan_.requeue_after = std::min(plan_.requeue_after.value_or(after), after);
  }

  bool is_ready() const { return !told_.empty() && ready_.size() == told_.size(); }

  void plan_object() {
    const bool wanted = has_living_pod() && (own_ > 0 || has_lost_all());
    if (!wanted) return plan_farewell();
    if (!view_.binding) {
      plan_.create_binding = new_binding(*view_.pod, told_);
      return;
    }
    if (view_.binding->meta.deleting) {
      plan_.delete_binding = true;  // lets it go; the next round makes a new one
      return;
    }
    plan_.patch_binding = binding_patch(*view_.binding, *view_.pod, told_, is_ready(), view_.now);
    // While it drains, Listeners change once more; that it is NotReady or Ready again helps nobody.
    if (view_.pod->meta.deleting) return;
    const Duration age = view_.now - view_.pod->meta.created;
    if (!is_ready() && view_.binding->status.status.empty() && age < kQuickBinding)
      return requeue_after(kQuickBinding - age);
    plan_.binding_status = status_patch(*view_.binding, told_, ready_, view_.now);
    if (is_ready() && view_.binding->status.status != api::kReady)
      plan_.binding_events.push_back(binding_is_ready(*view_.binding, told_));
  }

  // Its PortBinding says so, and does not go on saying Ready.
  bool has_lost_all() const {
    if (!view_.binding || told_.empty() || (!view_.misses_lock && !lost_)) return false;
    const kube::StringMap& annotations = view_.binding->meta.annotations;
    if (!kube::has(annotations, kPodUidAnnotation)) return was_admitted();
    return kube::get(annotations, kPodUidAnnotation) == view_.pod->meta.uid;
  }

  // In its spec, or in its status if somebody changed that.
  bool binding_names(const api::Listener& lock) const {
    const auto is_it = [&](const api::PortPoolBindStatus& one) {
      return kube::ObjectKey(one.port_pool_namespace, one.port_pool_name) ==
                 claims::pool_of(lock) &&
             one.pool_item_name == claims::item_of(lock) && one.start_port == lock.spec.port;
    };
    return entry_for(view_.binding->spec.port_binding_list, lock) ||
           (is_lock_of_its_port(lock) &&
            std::ranges::any_of(view_.binding->status.port_pool_bind_status_list, is_it));
  }

  // The Pod whose ports, named by the PortBinding, are kept or taken back: then it is ours,
  // whatever somebody took off it. Empty: there is none.
  std::string departed() const {
    for (const HeldSlot& slot : view_.slots) {
      const SlotState state = slot.claim.state;
      const bool waits = state == SlotState::claimed || state == SlotState::quarantined;
      if (!waits && binding_names(*slot.lock)) return slot.claim.pod_uid;
    }
    return {};
  }

  // The Pod is gone or has ended.
  void plan_farewell() {
    if (!view_.binding) return;
    const bool is_marked = kube::has(view_.binding->meta.annotations, kPodUidAnnotation);
    const std::string pod_uid = is_marked ? std::string() : departed();
    // Another controller made it, for a Pod or for a Node. Who deletes it means it.
    if (!is_marked && pod_uid.empty() && !view_.binding->meta.deleting) return;
    // Not seen yet, or its slots are not: nothing says that it is over.
    if (is_unseen_ || (has_living_pod() && !told_.empty())) return;
    // Admission finds a kept name's ports through it: the next attempt, if this one fails, too.
    if (name_returns_) return;
    if (draining_ || kept_) {
      if (!pod_uid.empty()) plan_.patch_binding = mark_patch(*view_.binding, pod_uid);
      plan_.binding_status =
          cleaning_patch(*view_.binding, !draining_,
                         kept_ ? std::optional(kept_->since) : std::nullopt, view_.now);
      if (plan_.binding_status) plan_farewell_event();
      return;
    }
    plan_.delete_binding = true;
    const bool was_said = view_.binding->status.status == api::kCleaned;
    // Without our finalizer it only waits for somebody else's.
    const bool is_let_go =
        view_.binding->meta.deleting && !claims::has_our_finalizer(view_.binding->meta);
    if (!was_said && !is_let_go) plan_farewell_event();
  }

  void plan_farewell_event() {
    plan_.binding_events.push_back(
        draining_
            ? binding_is_cleaning(*view_.binding)
            : binding_is_clean(*view_.binding, kept_ ? std::optional(kept_->until) : std::nullopt));
  }

  void plan_note() {
    const kube::Pod& pod = *view_.pod;
    const std::string_view said = kube::get(pod.meta.annotations, api::kBindStatusAnnotation);
    if (!has_living_pod()) return withdraw_ready();
    if (told_.empty()) return;
    const std::string text = api::encode_pool_bindings(told_);
    const auto written =
        api::decode_pool_bindings(kube::get(pod.meta.annotations, api::kPoolBindingsAnnotation));
    if (!written || *written != told_) plan_.pod_note.bindings = text;
    plan_seal();

    const bool ready = is_ready();
    if (ready && said != api::kReady) {
      plan_.pod_note.status = std::string(api::kReady);
      plan_.pod_events.push_back(pod_is_ready(pod));
    }
    if (!ready && said == api::kReady) plan_.pod_note.status = std::string(api::kNotReady);
    plan_condition(ready);
  }

  // Of a Pod of the version before us, of keys that were lost, or of one that will be retired: its
  // claims say what it has. One that has lost them meanwhile would have nothing else to show.
  void plan_seal() {
    if (!view_.seal || (is_sealed() && view_.proof.is_current)) return;
    if (is_sealed())
      if (const auto wait = until_turn(view_.pod->meta.uid, view_.now)) return requeue_after(*wait);
    const std::string_view token = kube::get(view_.pod->meta.labels, ledger::kTokenLabel);
    std::string_view request;
    std::size_t proven = 0;
    for (const HeldSlot& slot : view_.slots) {
      const bool is_its = slot.claim.state == SlotState::bound &&
                          slot.claim.pod_uid == view_.pod->meta.uid && slot.claim.token == token;
      if (!is_its || !entry_for(told_, *slot.lock)) continue;
      request = slot.claim.request;
      ++proven;
    }
    if (token.empty() || proven != told_.size()) return;
    if (std::string seal = view_.seal(request, told_); !seal.empty())
      plan_.pod_note.seal = std::move(seal);
  }

  void plan_condition(bool ready) {
    const kube::Pod& pod = *view_.pod;
    const auto now = pod.condition(api::kPortsReadyCondition);
    const bool has_gate = std::ranges::any_of(pod.readiness_gates, [](const kube::Interned& gate) {
      return gate.view() == api::kPortsReadyCondition;
    });
    if (lost_) {
      if (now == kube::ConditionStatus::no) return;
      const Error error = was_admitted() ? claim_lost(pod, *lost_) : never_claimed(*lost_);
      plan_.pod_note.condition = {false, std::string(kClaimLostReason), error.to_string()};
      plan_.pod_events.push_back(pod_lost_claim(pod, error));
    } else if (ready && (has_gate || now == kube::ConditionStatus::no) &&
               now != kube::ConditionStatus::yes) {
      plan_.pod_note.condition = {true, std::string(api::kReady),
                                  std::string(api::kPortsReadyMessage)};
    } else if (!ready && now == kube::ConditionStatus::yes) {
      plan_.pod_note.condition = {false, std::string(api::kNotReady),
                                  std::string(api::kPortsNotReadyMessage)};
    }
  }

  const BindingView& view_;
  BindingPlan plan_;
  std::vector<api::PortBindingItem> told_;  // what the Pod was told, as the pools have it now
  std::vector<const api::PortBindingItem*> ready_;
  std::size_t own_ = 0;
  bool draining_ = false;
  bool name_returns_ = false;
  bool is_unseen_ = false;  // the server has the Pod, and our cache does not show it
  std::optional<ledger::Claim> kept_;
  claims::ListenerPtr lost_;
};

}  // namespace

BindingPlan plan_binding(const BindingView& view) { return Planner(view).plan(); }

const api::PortBindingItem* entry_for(const std::vector<api::PortBindingItem>& told,
                                      const api::Listener& lock) {
  const auto it = std::ranges::find_if(told, [&](const api::PortBindingItem& entry) {
    return api::pool_of(entry) == claims::pool_of(lock) &&
           entry.pool_item_name == claims::item_of(lock) && entry.protocol == lock.spec.protocol &&
           entry.start_port == lock.spec.port;
  });
  return it == told.end() || !is_lock_of_its_port(lock) ? nullptr : &*it;
}

bool is_lock_of_its_port(const api::Listener& listener) {
  const auto lb = claims::load_balancer_of(listener, {});
  return lb && claims::has_name_of_its_port(listener, *lb);
}

}  // namespace berth::controllers::portpool
