#include "house.h"

#include <algorithm>

#include <fmt/format.h>

namespace berth::house {
namespace {

using ledger::SlotState;

std::string name_of(const Place& place) {
  return fmt::format("{}'s {}:{}", place.pool == 0 ? "p" : "q", place.lb == 0 ? "a" : "b",
                     place.port + 1);
}

}  // namespace

bool Wanted::has(std::size_t lb, std::size_t port) const {
  return std::ranges::find(lbs, lb) != lbs.end() && ports.contains(static_cast<model::Port>(port));
}

House::House(const Size& size, Plant plant) : size_(size), plant_(plant) {}

State House::beginning() const {
  State out;
  out.hands = static_cast<Index>(size_.hands);
  return out;
}

bool House::is_used(const Place& place) const {
  return place.pool < size_.pools.size() && place.lb < size_.balancers && place.port < size_.ports;
}

std::vector<Place> House::slot_of(const Place& lock) const {
  if (!size_.paired) return {lock};
  return {lock, peer_of(lock)};
}

Standing House::standing(const std::array<Listener, kPlaces>& listeners, std::size_t lb) {
  Standing out{.lb = lb};
  for (std::size_t at = 0; at < kPlaces; ++at) {
    const Place place = Place::at(at);
    if (place.lb != lb || !listeners[at].there) continue;
    out.there |= Standing::bit(place.pool, place.port);
    if (listeners[at].forged) out.forged |= Standing::bit(place.pool, place.port);
  }
  return out;
}

void House::each_step(const State& state, const Emit& emit) {
  const Emit settled = [&](const Step& step, const State& next) {
    State after = next;
    settle(after);
    if (!(after == state)) emit(step, after);
  };
  Choices choices;
  for (std::size_t pool = 0; pool < size_.pools.size(); ++pool) pool_choices(state, pool, choices);
  for (std::size_t at = 0; at < kPlaces; ++at) {
    const Place place = Place::at(at);
    if (!is_used(place)) continue;
    if (is_lock(place)) slot_choices(state, place, choices);
    note_choices(state, place, choices);
  }
  for (std::size_t pod = 0; pod < size_.pods; ++pod) pod_choices(state, pod, choices);

  refreshes(state, settled);
  pods_move(state, settled);
  late_write(state, settled);
  for (const Choice& choice : choices) leader_step(state, choice, settled);
  for (std::size_t at = 0; at < kPlaces; ++at)
    if (is_used(Place::at(at))) engine_steps(state, Place::at(at), settled);
  webhook(state, settled);
  people(state, settled);
  takeover(state, choices, settled);
}

std::string House::fault_in(const State& s) {
  for (std::size_t lb = 0; lb < size_.balancers; ++lb) {
    for (std::size_t port = 0; port < size_.ports; ++port) {
      const Listener& p = s.listeners[Place{0, lb, port}.index()];
      const Listener& q = s.listeners[Place{1, lb, port}.index()];
      const bool both = p.there && q.there && !p.forged && !q.forged;
      if (both && p.claim != 0 && q.claim != 0 && claims_.pod(p.claim) != claims_.pod(q.claim))
        return fmt::format("{} and its twin of the other pool are claimed by two Pods",
                           name_of({0, lb, port}));
      if (grants_.owners(s.lbs[lb].grants, port) == 3 && !s.hand_granted)
        return fmt::format("{} is granted to two pools", name_of({0, lb, port}));
      const Door& door = s.doors[lb][port];
      if (door.owner == 0 || door.leads == 0) continue;
      const Place lock{door.owner - 1u, size_.paired ? 0 : lb, port};
      if (s.pods[door.leads - 1u].told != lock.index() + 1)
        return fmt::format("{} leads to a Pod that was not told of it", name_of({0, lb, port}));
      const Listener& held = s.listeners[lock.index()];
      const bool is_touched = (s.touched >> (lb * kPorts + port) & 1) != 0;
      if (held.there && !is_touched &&
          (held.claim == 0 || claims_.pod(held.claim) != door.leads - 1u))
        return fmt::format("{} leads to a Pod that has it no more", name_of({0, lb, port}));
    }
  }
  for (std::size_t pod = 0; pod < size_.pods; ++pod) {
    if (!is_alive(s, pod)) continue;
    const Place lock = Place::at(s.pods[pod].told - 1u);
    for (const Place& place : slot_of(lock)) {
      const bool is_touched = (s.touched >> (place.lb * kPorts + place.port) & 1) != 0;
      const Door& door = s.doors[place.lb][place.port];
      if (s.pods[pod].ready && door.leads != pod + 1 && !is_touched)
        return fmt::format("Pod {} is Ready, and {} leads {}", pod + 1, name_of(place),
                           door.leads == 0 ? "nowhere" : "to another Pod");
      for (std::size_t other = 0; other < pod; ++other) {
        if (!is_alive(s, other)) continue;
        const Place its = Place::at(s.pods[other].told - 1u);
        if (its.lb != lock.lb || its.port != lock.port) continue;
        // That a Pod is Ready is said without a test: said late, after a hand took its claim, it
        // stands until the leader looks at it.
        const bool said_late = is_touched && (size_.late_writes || its.pool != lock.pool);
        if (s.pods[other].ready && s.pods[pod].ready && !said_late)
          return fmt::format("two Pods are Ready at {}", name_of(place));
        if (its.pool == lock.pool && !is_touched)
          return fmt::format("two Pods that live were told of {}", name_of(place));
      }
    }
  }
  return "";
}

std::string House::fault_between(const State& before, const Step& step, const State& after) {
  const bool by_product = step.is_ours || before.late.kind != after.late.kind;
  for (std::size_t lb = 0; lb < size_.balancers && by_product; ++lb) {
    // What arrives late is in nobody's cache, and grants are decided by caches: then only what
    // players see is held to, and an object that is made anew, for which all were listed.
    const bool is_made = step.is_ours && !before.lbs[lb].there;
    if (!after.lbs[lb].there || (size_.late_writes && !is_made)) continue;
    for (std::size_t port = 0; port < size_.ports; ++port) {
      const unsigned had = grants_.owners(before.lbs[lb].grants, port);
      const unsigned has = grants_.owners(after.lbs[lb].grants, port);
      for (std::size_t pool = 0; pool < size_.pools.size(); ++pool) {
        const Listener& one = before.listeners[Place{pool, lb, port}.index()];
        const Listener& twin = before.listeners[Place{1 - pool, lb, port}.index()];
        if (!one.there || one.forged) continue;
        const unsigned own = 1u << pool;
        if ((had & own) != 0 && (has & own) == 0)
          return fmt::format("{} lives, and its grant has left it", name_of({pool, lb, port}));
        const bool has_twin = size_.late_writes && twin.there && !twin.forged;
        if (had == 0 && (has & own) == 0 && has != 0 && !has_twin)
          return fmt::format("{} lives, and its port was granted to another pool",
                             name_of({pool, lb, port}));
      }
    }
  }
  for (std::size_t at = 0; at < kPlaces; ++at) {
    const Place place = Place::at(at);
    const Door& now = after.doors[place.lb][place.port];
    if (before.leader.listeners[at].forged && now.owner == place.pool + 1 &&
        !(now == before.doors[place.lb][place.port]))
      return fmt::format("{}, which somebody copied, is acted on", name_of(place));
  }
  return "";
}

// Where nobody is in its way, a pool has what it wants; nothing else is left.
std::string House::fault_at_rest(const State& s) {
  // What a hand wrote under a name of ours, where the port is another's, is the hand's to take
  // away. So is a grant over another's.
  if (s.hand_granted || std::ranges::any_of(s.listeners, &Listener::forged)) return "";
  // Two pools have a Listener each for one port, of which one came late: neither gets the grant
  // back when a hand takes it away.
  for (std::size_t at = 0; at < kPlaces / kPools && size_.late_writes; ++at)
    if (s.listeners[at].there && s.listeners[at + kPlaces / kPools].there) return "";
  const auto in_the_way = [&](std::size_t pool, std::size_t lb, std::size_t port) {
    const Listener& others = s.listeners[Place{1 - pool, lb, port}.index()];
    return (grants_.owners(s.lbs[lb].grants, port) & ~(1u << pool)) != 0 ||
           (others.there && !others.forged);
  };
  for (std::size_t pool = 0; pool < size_.pools.size(); ++pool) {
    const Wanted& item = wanted(pool, s.wanted[pool]);
    bool can = true;
    bool lives_elsewhere = false;
    bool lives = false;
    for (std::size_t at = 0; at < kPlaces; ++at) {
      const Place place = Place::at(at);
      if (!is_used(place) || place.pool != pool) continue;
      const Listener& one = s.listeners[at];
      lives = lives || one.there;
      if (item.has(place.lb, place.port)) can = can && !in_the_way(pool, place.lb, place.port);
      if (!item.has(place.lb, place.port) && one.there) lives_elsewhere = true;
    }
    // A hand took its grant, another has the port, and then its Listener came: who is refused and
    // has Listeners keeps what it has elsewhere, too, until it is out of that.
    const bool is_stuck = !can && lives;
    can = can && !lives_elsewhere;
    for (std::size_t at = 0; at < kPlaces; ++at) {
      const Place place = Place::at(at);
      if (!is_used(place) || place.pool != pool) continue;
      const Listener& one = s.listeners[at];
      const bool is_wanted = item.has(place.lb, place.port);
      const Listener& lock =
          s.listeners[Place{pool, size_.paired ? 0 : place.lb, place.port}.index()];
      const bool used = lock.claim != 0 && is_alive(s, claims_.pod(lock.claim));
      if (is_wanted && can && (!one.there || one.forged || !one.applied))
        return fmt::format("{} is wanted, and is not there for good", name_of(place));
      if (!is_wanted && one.there && !used) return fmt::format("{} is left over", name_of(place));
      if (one.there && one.claim != 0 && !used)
        return fmt::format("{} is claimed for ever", name_of(place));
      const bool granted = (grants_.owners(s.lbs[place.lb].grants, place.port) & (1u << pool)) != 0;
      const bool is_spare =
          std::ranges::find(item.lbs, place.lb) == item.lbs.end();  // others grow and shrink
      if (granted && !is_wanted && !lives_elsewhere && !is_stuck && is_spare)
        return fmt::format("a grant of {} is left over", name_of(place));
      const Door& door = s.doors[place.lb][place.port];
      if (door.owner == pool + 1 && (!one.there || one.leads != door.leads))
        return fmt::format("{} at the provider is not as its Listener says", name_of(place));
    }
  }
  for (std::size_t pod = 0; pod < size_.pods; ++pod) {
    if (!is_alive(s, pod) || s.pods[pod].ready) continue;
    const Place lock = Place::at(s.pods[pod].told - 1u);
    const Listener& one = s.listeners[lock.index()];
    // A lock that was made late, when its item had left and its peer was being removed, stays
    // alone; so does one whose peer a hand deletes then.
    const bool is_half = std::ranges::any_of(slot_of(lock), [&](const Place& place) {
      return !s.listeners[place.index()].there &&
             !wanted(lock.pool, s.wanted[lock.pool]).has(place.lb, place.port);
    });
    const bool is_touched = (s.touched >> (lock.lb * kPorts + lock.port) & 1) != 0;
    if (is_half && (size_.late_writes || is_touched)) continue;
    if (one.there && !one.forged && claims_.state(one.claim) == SlotState::bound &&
        claims_.pod(one.claim) == pod && !in_the_way(lock.pool, lock.lb, lock.port))
      return fmt::format("Pod {} has {}, and is never Ready", pod + 1, name_of(lock));
  }
  return "";
}

std::string House::to_string(const Step& step) const {
  std::string about;
  switch (step.about) {
    case Step::About::nothing: break;
    case Step::About::place: about = name_of(Place::at(step.who)) + ": "; break;
    case Step::About::lb: about = step.who == 0 ? "a: " : "b: "; break;
    case Step::About::pod: about = fmt::format("Pod {}: ", step.who + 1); break;
    case Step::About::pool: about = step.who == 0 ? "p: " : "q: "; break;
  }
  return about + step.what + (step.is_late ? ", and loses the lead before that arrives" : "");
}

std::string House::to_string(const State& s) const {
  std::string out;
  const auto add = [&](const auto& lbs, const auto& listeners) {
    for (std::size_t lb = 0; lb < size_.balancers; ++lb)
      out += fmt::format(" {}[{}]", lb == 0 ? "a" : "b",
                         lbs[lb].there ? grants_.to_string(lbs[lb].grants) : "absent");
    for (std::size_t at = 0; at < kPlaces; ++at) {
      const Listener& one = listeners[at];
      if (!one.there) continue;
      out += fmt::format(" {}(", name_of(Place::at(at)));
      if (one.forged) out += "forged ";
      if (one.deleting) out += "deleting ";
      if (one.claim != 0)
        out += fmt::format("{} for {} ", ledger::to_string(claims_.state(one.claim)),
                           claims_.pod(one.claim) + 1);
      out += fmt::format("leads {}{})", one.leads, one.applied ? " applied" : "");
    }
  };
  out += "server:";
  add(s.lbs, s.listeners);
  out += fmt::format(" wanted {} {}; leader:", s.wanted[0], s.wanted[1]);
  add(s.leader.lbs, s.leader.listeners);
  out += fmt::format(" wanted {} {}; Pods", s.leader.wanted[0], s.leader.wanted[1]);
  for (std::size_t pod = 0; pod < size_.pods; ++pod)
    out += fmt::format(" {}{}@{}", static_cast<int>(s.pods[pod].state),
                       s.pods[pod].ready ? " ready" : "", s.pods[pod].told);
  return out;
}

}  // namespace berth::house
