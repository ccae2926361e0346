// Of Pods and Listeners: claims are bound, Listeners lead to their Pods, the provider does as they
// say, and all of it is taken back. As controllers/portpool/binding_plan.cpp, sweep.cpp and
// controllers/listener do it.
#include <algorithm>

#include "house.h"

namespace berth::house {
namespace {

using Kind = Write::Kind;
using ledger::SlotState;

Step on_place(const char* what, const Place& place) {
  return {what, static_cast<std::uint8_t>(place.index()), true, Step::About::place};
}

}  // namespace

// Claim and target of a Listener that must still be as the leader knows it.
void House::change(const State& s, const Place& place, ClaimId claim, Index leads, const char* what,
                   Choices& out) {
  const std::size_t at = place.index();
  const Listener& one = s.leader.listeners[at];
  if (one.claim == claim && one.leads == leads) return;
  out.push_back({on_place(what, place),
                 {.kind = Kind::change_listener,
                  .target = static_cast<Index>(at),
                  .same_uid = one.same_uid,
                  .by_value = !(plant_ == Plant::point_without_test && leads != 0),
                  .claim_was = one.claim,
                  .leads_was = one.leads,
                  .claim = claim,
                  .leads = leads},
                 [at](State& after, bool landed) {
                   if (landed) remember(after, at);
                 }});
}

bool House::rests(const State& s, const Place& lock) const {
  return std::ranges::all_of(slot_of(lock), [&](const Place& place) {
    const Listener& one = s.leader.listeners[place.index()];
    return !one.there || (one.leads == 0 && one.applied);
  });
}

// One of a slot whose lock is this: bind, keep up, drain, free.
void House::slot_choices(const State& s, const Place& place, Choices& out) {
  const Listener& lock = s.leader.listeners[place.index()];
  if (!lock.there) return;
  if (lock.claim == 0) {
    take_again(s, place, out);
    return take_stray(s, place, out);
  }
  const std::size_t pod = claims_.pod(lock.claim);
  const SlotState state = claims_.state(lock.claim);
  const bool is_its = s.pods[pod].told == place.index() + 1;
  // The Pod never came: it had no name yet, and nothing can lead to it.
  if (state == SlotState::claimed && s.pods[pod].state == PodState::gone)
    return change(s, place, claims_.abandoned(lock.claim, true), lock.leads,
                  "frees the slot of a Pod that never came", out);
  // Somebody changed it, and its pool will put it right.
  if (lock.forged && !known(s, place.pool).lbs.empty()) return;
  if (state == SlotState::draining) {
    const bool may = rests(s, place) || plant_ == Plant::free_before_confirmed;
    return may ? give_away(s, place, claims_.drained(lock.claim), out)
               : let_go(s, place, lock.claim, out);
  }
  // The server was asked: a Pod that is gone is gone.
  if (is_its && s.pods[pod].state == PodState::answered) return;
  if (is_alive(s, pod)) {
    if (is_its) lead_to(s, place, pod, claims_.bound(lock.claim), out);
    return;
  }
  let_go(s, place, claims_.abandoned(lock.claim, false), out);
}

void House::lead_to(const State& s, const Place& place, std::size_t pod, ClaimId claim,
                    Choices& out) {
  const auto target = static_cast<Index>(pod + 1);
  const std::size_t before = out.size();
  change(s, place, claim, target, "binds the claim and points at its Pod", out);
  if (!size_.paired || out.size() != before) return;
  if (s.leader.listeners[peer_of(place).index()].there)
    change(s, peer_of(place), 0, target, "points the peer at the Pod", out);
}

void House::let_go(const State& s, const Place& place, ClaimId draining, Choices& out) {
  const std::size_t before = out.size();
  change(s, place, draining, 0, "drains", out);
  if (!size_.paired || out.size() != before) return;
  if (s.leader.listeners[peer_of(place).index()].there)
    change(s, peer_of(place), 0, 0, "drains the peer", out);
}

// The peers must be on the server as they are here: no test of the lock speaks of them.
void House::give_away(const State& s, const Place& place, ClaimId next, Choices& out) {
  const bool asks = size_.paired && plant_ != Plant::give_away_beside_peers;
  const std::size_t peer = peer_of(place).index();
  if (asks && s.leader.listeners[peer].there && !s.leader.listeners[peer].current) return;
  change(s, place, next, s.leader.listeners[place.index()].leads, "frees the slot", out);
}

// A Pod that lives and has lost its claim: nobody else has it.
void House::take_again(const State& s, const Place& place, Choices& out) {
  for (std::size_t pod = 0; pod < size_.pods; ++pod) {
    if (!is_alive(s, pod) || s.pods[pod].told != place.index() + 1) continue;
    const bool free_for_it = std::ranges::all_of(slot_of(place), [&](const Place& part) {
      const Listener& one = s.leader.listeners[part.index()];
      return !one.there || one.leads == pod + 1 || (one.leads == 0 && one.applied);
    });
    if (free_for_it)
      change(s, place, claims_.bound_again(pod), static_cast<Index>(pod + 1),
             "gives the Pod its port again", out);
  }
}

// A free slot that leads somewhere.
void House::take_stray(const State& s, const Place& lock, Choices& out) {
  if (!known(s, lock.pool).has(lock.lb, lock.port)) return;
  for (const Place& place : slot_of(lock)) {
    const Listener& one = s.leader.listeners[place.index()];
    if (!one.there || one.deleting || one.leads == 0) continue;
    const Pod& pod = s.pods[one.leads - 1u];
    if (pod.state == PodState::alive && pod.told == lock.index() + 1) continue;
    change(s, place, one.claim, 0, "takes back what leads from a free slot", out);
  }
}

bool House::is_led_here(const State& s, const Place& lock, std::size_t pod) const {
  const Listener& own = s.leader.listeners[lock.index()];
  if (claims_.state(own.claim) != SlotState::bound || claims_.pod(own.claim) != pod) return false;
  for (std::size_t other = 0; other < size_.pods; ++other)
    if (other != pod && is_alive(s, other) && s.pods[other].ready &&
        s.pods[other].told == s.pods[pod].told)
      return false;
  return std::ranges::all_of(slot_of(lock), [&](const Place& place) {
    const Listener& one = s.leader.listeners[place.index()];
    const bool applied = one.applied || plant_ == Plant::ready_before_applied;
    return one.there && !one.deleting && applied && one.leads == pod + 1;
  });
}

void House::pod_choices(const State& s, std::size_t pod, Choices& out) {
  if (!is_alive(s, pod)) return;
  const bool ready = is_led_here(s, Place::at(s.pods[pod].told - 1u), pod);
  if (ready == s.pods[pod].ready) return;
  out.push_back({{ready ? "says that the Pod is Ready" : "says that the Pod is not Ready",
                  static_cast<std::uint8_t>(pod), true, Step::About::pod},
                 {.kind = Kind::note_pod,
                  .target = static_cast<Index>(pod),
                  .same_uid = true,
                  .leads = ready ? Index{1} : Index{0}},
                 [](State&, bool) {}});
}

// What the provider has done is noted on a Listener that is still as it was then.
void House::note_choices(const State& s, const Place& place, Choices& out) {
  const std::size_t at = place.index();
  const Listener& one = s.leader.listeners[at];
  if (!one.there || !one.done) return;
  const bool ends = one.deleting;
  out.push_back({on_place(ends ? "lets the Listener go" : "notes what the provider has", place),
                 {.kind = ends ? Kind::finish_listener : Kind::confirm_listener,
                  .target = static_cast<Index>(at),
                  .same_uid = one.same_uid,
                  .by_value = !ends && plant_ != Plant::confirm_without_test,
                  .claim_was = one.claim,
                  .leads_was = one.leads},
                 [at, ends](State& after, bool landed) {
                   after.leader.listeners[at].done = false;
                   if (landed && !ends) remember(after, at);
                 }});
}

// Calls of the provider. One of a former leader that comes late is waited for by time, which is not
// in the model.
void House::engine_steps(const State& s, const Place& place, const Emit& emit) {
  const std::size_t at = place.index();
  const Listener& one = s.leader.listeners[at];
  const Door& door = s.doors[place.lb][place.port];
  const bool is_own = door.owner == place.pool + 1;
  const auto perform = [&](const char* what, Door next) {
    State after = s;
    after.doors[place.lb][place.port] = next;
    after.leader.listeners[at].done = one.there;
    emit(on_place(what, place), after);
  };
  if (!one.there) {
    if (is_own) perform("clears what nobody wishes at the provider", {});
    return;
  }
  const bool trusted = !one.forged || plant_ == Plant::act_on_forged;
  const bool granted =
      (grants_.owners(s.leader.lbs[place.lb].grants, place.port) & (1u << place.pool)) != 0 ||
      plant_ == Plant::act_on_forged;
  if (one.deleting) {
    if (one.done) return;
    return perform("removes it at the provider", trusted && granted && is_own ? Door{} : door);
  }
  if (!trusted || !granted) return;
  // A target is a Pod that was told of the port, and that the leader has not seen go: then it would
  // have taken the claim.
  const Place lock = is_lock(place) ? place : Place{place.pool, 0, place.port};
  if (one.leads != 0) {
    const ClaimId claim = s.leader.listeners[lock.index()].claim;
    const std::size_t pod = one.leads - 1u;
    const bool is_seen = is_alive(s, pod) || (claim != 0 && claims_.pod(claim) == pod);
    if (!is_seen || s.pods[pod].told != lock.index() + 1) return;
  }
  const Door wished{static_cast<Index>(place.pool + 1), one.leads};
  if (door == wished && (one.done || (one.made && one.applied))) return;
  const std::size_t other = Place{1 - place.pool, place.lb, place.port}.index();
  if (door.owner != 0 && !is_own && s.leader.listeners[other].there) return;  // held
  perform("does at the provider what the Listener says", wished);
}

}  // namespace berth::house
