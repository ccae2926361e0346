// Of everybody but the leader: the API server, followers, Pods, users, people who edit what is
// ours, and the end of a lead.
#include <algorithm>

#include "house.h"

namespace berth::house {
namespace {

using Kind = Write::Kind;
using About = Step::About;

Step by_people(const char* what, About about, std::size_t who) {
  return {what, static_cast<std::uint8_t>(who), false, about};
}
Step by_us(const char* what, About about, std::size_t who) {
  return {what, static_cast<std::uint8_t>(who), true, about};
}

bool is_on_listener(const Write& write) {
  return write.kind >= Kind::make_listener && write.kind <= Kind::finish_listener;
}

unsigned touched_bit(const Place& place) { return 1u << (place.lb * kPorts + place.port); }

}  // namespace

void House::changed(State& s, std::size_t place) {
  const bool gone = !s.listeners[place].there;
  Listener& copy = s.leader.listeners[place];
  copy.current = false;
  if (gone) copy.same_uid = false;
  for (Round& round : s.leader.rounds)
    if (round.orphan == place + 1) round.orphan_current = false;
  if (!is_on_listener(s.late) || s.late.target != place) return;
  s.late.current = false;
  if (gone) s.late.same_uid = false;
}

void House::changed_balancer(State& s, std::size_t lb) {
  s.leader.lbs[lb].current = false;
  if (s.late.kind == Kind::swap_grants && s.late.target == lb) s.late.current = false;
}

// The leader has it as the server has it. What the provider did for another text says nothing.
void House::remember(State& s, std::size_t place) {
  Listener& copy = s.leader.listeners[place];
  const Listener& now = s.listeners[place];
  const bool same = copy.there && copy.same_uid && copy.claim == now.claim &&
                    copy.leads == now.leads && copy.deleting == now.deleting &&
                    copy.forged == now.forged;
  const bool done = copy.done && same;
  copy = now;
  copy.current = copy.same_uid = now.there;
  copy.done = done && now.there;
}

bool House::land(State& s, const Write& write) const {
  const std::size_t at = write.target;
  switch (write.kind) {
    case Kind::none: return false;
    case Kind::make_balancer:
      if (s.lbs[at].there) return false;
      s.lbs[at] = {true, write.grants, false};
      changed_balancer(s, at);
      return true;
    case Kind::swap_grants:
      if (!s.lbs[at].there || (write.by_version && !write.current)) return false;
      s.lbs[at].grants = write.grants;
      changed_balancer(s, at);
      return true;
    case Kind::note_pod:
      if (!is_alive(s, at)) return false;
      s.pods[at].ready = write.leads != 0;
      return true;
    default: return land_on_listener(s, write);
  }
}

bool House::land_on_listener(State& s, const Write& write) const {
  Listener& one = s.listeners[write.target];
  if (write.kind == Kind::make_listener) {
    if (one.there) return false;
    one = {.there = true};
    changed(s, write.target);
    return true;
  }
  if (!one.there || !write.same_uid || (write.by_version && !write.current)) return false;
  // A change that leaves the target as it is does not ask for it.
  const bool asks_target = write.kind == Kind::confirm_listener || write.leads != write.leads_was;
  if (write.by_value &&
      (one.claim != write.claim_was || (asks_target && one.leads != write.leads_was)))
    return false;
  switch (write.kind) {
    case Kind::remove_listener: one.deleting = true; break;
    case Kind::seal_listener: one.forged = false; break;
    case Kind::change_listener:
      one.claim = write.claim;
      if (write.leads != write.leads_was) {
        one.leads = write.leads;
        one.applied = false;
      }
      break;
    case Kind::confirm_listener: one.made = one.applied = true; break;
    case Kind::finish_listener:
      if (!one.deleting) return false;
      one = {};
      break;
    default: return false;
  }
  changed(s, write.target);
  return true;
}

void House::leader_step(const State& s, const Choice& choice, const Emit& emit) {
  State next = s;
  const bool landed = land(next, choice.write);
  choice.then(next, landed);
  emit(choice.step, next);
}

// A watch brings what is true by now, kind by kind.
void House::refreshes(const State& s, const Emit& emit) {
  State next = s;
  for (std::size_t at = 0; at < kPlaces; ++at) remember(next, at);
  emit(by_us("learns of Listeners", About::nothing, 0), next);
  next = s;
  for (std::size_t lb = 0; lb < size_.balancers; ++lb)
    next.leader.lbs[lb] = {s.lbs[lb].there, s.lbs[lb].grants, s.lbs[lb].there};
  emit(by_us("learns of LoadBalancers", About::nothing, 0), next);
  next = s;
  next.leader.wanted = s.wanted;
  emit(by_us("learns of pools", About::nothing, 0), next);
}

// Any replica: a free slot that was made, whatever its cache says of it by now.
void House::webhook(const State& s, const Emit& emit) {
  const auto pod = std::ranges::find(s.pods, PodState::none, &Pod::state);
  const auto number = static_cast<std::size_t>(pod - s.pods.begin());
  if (number >= size_.pods) return;  // Pods that were never seen are all alike
  for (std::size_t at = 0; at < kPlaces; ++at) {
    const Place place = Place::at(at);
    if (!is_used(place) || !is_lock(place)) continue;
    // A follower that knows the lock knows what we did to its peer before; not so what a hand did.
    const bool made = std::ranges::all_of(slot_of(place), [&](const Place& part) {
      const Listener& one = s.listeners[part.index()];
      return one.there && one.made && (!one.deleting || (s.touched & touched_bit(part)) != 0);
    });
    const bool free = s.listeners[at].claim == 0 || plant_ == Plant::claim_without_test;
    if (!made || !free || s.listeners[at].deleting) continue;
    State next = s;
    next.listeners[at].claim = claims_.admitted(number);
    changed(next, at);
    next.pods[number] = {PodState::answered, static_cast<Index>(at + 1), false};
    emit(by_people("a follower claims it for a Pod", About::place, at), next);
  }
}

void House::pods_move(const State& s, const Emit& emit) {
  for (std::size_t pod = 0; pod < size_.pods; ++pod) {
    State next = s;
    if (s.pods[pod].state == PodState::answered) {
      next.pods[pod].state = PodState::alive;
      emit(by_us("the Pod is created", About::pod, pod), next);
      next = s;
      next.pods[pod].state = PodState::gone;
      emit(by_people("the Pod's creation fails", About::pod, pod), next);
      const std::size_t at = s.pods[pod].told - 1u;
      if (s.listeners[at].claim != claims_.admitted(pod)) continue;
      next.listeners[at].claim = 0;
      changed(next, at);
      emit(by_people("the claim is given back, no Pod comes", About::pod, pod), next);
    } else if (s.pods[pod].state == PodState::alive) {
      next.pods[pod].state = PodState::gone;
      next.pods[pod].ready = false;
      emit(by_people("the Pod ends", About::pod, pod), next);
    }
  }
}

void House::people(const State& s, const Emit& emit) {
  for (std::size_t pool = 0; pool < size_.pools.size(); ++pool) {
    for (std::size_t index = 0; index < size_.pools[pool].size(); ++index) {
      State next = s;
      next.wanted[pool] = static_cast<Index>(index);
      emit(by_people("somebody edits the pool", About::pool, pool), next);
    }
  }
  if (s.hands > 0) {
    hand(s, emit);
    hand_on_listeners(s, emit);
  }
}

void House::hand(const State& s, const Emit& emit) {
  for (std::size_t lb = 0; lb < size_.balancers; ++lb) {
    if (!s.lbs[lb].there) continue;
    State spent = s;
    --spent.hands;
    State next = spent;
    next.lbs[lb] = {};
    changed_balancer(next, lb);
    // No request is on its way for as long as the whole life of what it would have made.
    if (s.late.kind == Kind::make_balancer && s.late.target == lb) next.late = {};
    emit(by_people("a hand deletes the LoadBalancer object", About::lb, lb), next);
    for (std::size_t pool = 0; pool < size_.pools.size(); ++pool) {
      next = spent;
      next.lbs[lb].grants = grants_.without_written(s.lbs[lb].grants, pool);
      changed_balancer(next, lb);
      if (next.lbs[lb].grants != s.lbs[lb].grants)
        emit(by_people(pool == 0 ? "a hand takes the grant of p away"
                                 : "a hand takes the grant of q away",
                       About::lb, lb),
             next);
      for (std::size_t port = 0; port < size_.ports; ++port) {
        if ((grants_.owners(s.lbs[lb].grants, port) & (1u << pool)) != 0) continue;
        next = spent;
        next.lbs[lb].grants = grants_.with_written(s.lbs[lb].grants, pool, port);
        next.hand_granted = true;
        changed_balancer(next, lb);
        emit(by_people("a hand writes a grant", About::place, Place{pool, lb, port}.index()), next);
      }
    }
  }
}

void House::hand_on_listeners(const State& s, const Emit& emit) {
  State spent = s;
  --spent.hands;
  for (std::size_t at = 0; at < kPlaces; ++at) {
    const Place place = Place::at(at);
    const Listener& one = s.listeners[at];
    if (!one.there) continue;
    State next = spent;
    for (const Place& part : slot_of({place.pool, size_.paired ? 0 : place.lb, place.port}))
      next.touched = static_cast<Index>(next.touched | touched_bit(part));
    if (!one.deleting) {
      State removed = next;
      removed.listeners[at].deleting = true;
      changed(removed, at);
      emit(by_people("a hand deletes the Listener", About::place, at), removed);
    }
    if (one.claim != 0) {
      next.listeners[at].claim = 0;
      changed(next, at);
      emit(by_people("a hand takes the claim off", About::place, at), next);
    }
    const std::size_t other = Place{1 - place.pool, place.lb, place.port}.index();
    if (size_.pools.size() < 2 || s.listeners[other].there || one.forged) continue;
    next = spent;
    next.listeners[other] = {
        .there = true, .forged = true, .made = one.made, .applied = one.applied};
    changed(next, other);
    emit(by_people("a hand copies the Listener to the other pool", About::place, at), next);
  }
}

// The other replica leads, from lists of its own. One request of the former may be on its way.
void House::takeover(const State& s, const Choices& choices, const Emit& emit) {
  State next = s;
  next.leader = {};
  next.leader.wanted = s.wanted;
  for (std::size_t lb = 0; lb < size_.balancers; ++lb)
    next.leader.lbs[lb] = {s.lbs[lb].there, s.lbs[lb].grants, s.lbs[lb].there};
  for (std::size_t at = 0; at < kPlaces && plant_ != Plant::lead_before_list; ++at)
    remember(next, at);
  emit(by_people("the other replica leads", About::nothing, 0), next);
  for (const Choice& choice : choices) {
    if (choice.write.kind == Kind::none || !size_.late_writes) continue;
    // A peer has no claim that tells two Pods apart, so its generation is tested.
    const bool speaks_of_peer =
        choice.write.kind == Kind::confirm_listener && !is_lock(Place::at(choice.write.target));
    if (speaks_of_peer && plant_ != Plant::note_peer_late) continue;
    next.late = choice.write;
    Step step = choice.step;
    step.is_ours = false;
    step.is_late = true;
    emit(step, next);
  }
}

void House::late_write(const State& s, const Emit& emit) {
  if (s.late.kind == Kind::none) return;
  State next = s;
  next.late = {};
  emit(by_us("the former leader's request is lost", About::nothing, 0), next);
  const Write late = s.late;
  if (!land(next, late)) return;
  emit(by_people("the former leader's request arrives", About::nothing, 0), next);
}

// A Pod that is gone and that nothing names any more is as one that never was.
void House::settle(State& s) const {
  const auto names = [&](const auto& listeners, std::size_t pod) {
    return std::ranges::any_of(listeners, [&](const Listener& one) {
      return one.leads == pod + 1 || (one.claim != 0 && claims_.pod(one.claim) == pod);
    });
  };
  for (std::size_t pod = 0; pod < size_.pods; ++pod) {
    if (s.pods[pod].state != PodState::gone) continue;
    bool named = names(s.listeners, pod) || names(s.leader.listeners, pod);
    named = named || s.late.leads == pod + 1 || s.late.leads_was == pod + 1 ||
            (s.late.claim != 0 && claims_.pod(s.late.claim) == pod) ||
            (s.late.claim_was != 0 && claims_.pod(s.late.claim_was) == pod) ||
            (s.late.kind == Kind::note_pod && s.late.target == pod);
    for (const auto& doors : s.doors)
      for (const Door& door : doors) named = named || door.leads == pod + 1;
    if (!named) s.pods[pod] = {};
  }
}

}  // namespace berth::house
