// Of pools: grants first, then Listeners; what is free and no longer wanted goes.
// As claims/grantor.cpp and controllers/portpool/pools.cpp do it.
#include <algorithm>
#include <bit>

#include "house.h"

namespace berth::house {
namespace {

using Kind = Write::Kind;

Step on_lb(const char* what, std::size_t lb) {
  return {what, static_cast<std::uint8_t>(lb), true, Step::About::lb};
}
Step on_place(const char* what, const Place& place) {
  return {what, static_cast<std::uint8_t>(place.index()), true, Step::About::place};
}

// Of the places of one pool.
unsigned bit_of(const Place& place) { return 1u << (place.index() % (kBalancers * kPorts)); }

}  // namespace

Write House::swap_of(const State& s, std::size_t lb, GrantsId next) const {
  return {.kind = Kind::swap_grants,
          .target = static_cast<Index>(lb),
          .current = s.leader.lbs[lb].current,
          .by_version = true,
          .grants = next};
}

void House::pool_choices(const State& s, std::size_t pool, Choices& out) {
  const Round& round = s.leader.rounds[pool];
  if (round.orphan != 0) {
    const std::size_t at = round.orphan - 1u;
    out.push_back({on_place("removes the peer of a lock that it removed", Place::at(at)),
                   {.kind = Kind::remove_listener,
                    .target = static_cast<Index>(at),
                    .current = round.orphan_current,
                    .same_uid = s.leader.listeners[at].same_uid,
                    .by_version = plant_ != Plant::remove_peer_by_uid},
                   [pool](State& next, bool) { next.leader.rounds[pool] = {}; }});
    return;
  }
  if (round.missing != 0) return create(s, pool, out);
  if (round.surveys) return survey(s, pool, true, out);
  if (round.granted == 0 && restore(s, pool, out)) return;
  ensure_grants(s, pool, out);
}

// Whether there was something to restore: nothing else is done in that round.
bool House::restore(const State& s, std::size_t pool, Choices& out) {
  for (std::size_t lb = 0; lb < size_.balancers; ++lb) {
    const Standing held = standing(s.leader.listeners, lb);
    const Balancer& object = s.leader.lbs[lb];
    if (!object.there) {
      const unsigned own = held.there & ~held.forged & (Standing::bit(pool, kPorts) - 1) &
                           ~(Standing::bit(pool, 0) - 1);
      if (own == 0) continue;
      rebuild(s, pool, lb, false, out);
      return true;
    }
    const GrantsId next = grants_.restored(object.grants, pool, held);
    if (next == object.grants) continue;
    out.push_back({on_lb("restores grants that Listeners stand on", lb), swap_of(s, lb, next),
                   [lb, next](State& after, bool landed) {
                     if (landed) after.leader.lbs[lb] = {true, next, true};
                   }});
    return true;
  }
  return false;
}

// The object is made from what is listed at that moment.
void House::rebuild(const State& s, std::size_t pool, std::size_t lb, bool wants, Choices& out) {
  State listed = s;
  if (plant_ != Plant::rebuild_from_cache) {
    for (std::size_t at = 0; at < kPlaces; ++at)
      if (Place::at(at).lb == lb && s.listeners[at].there) remember(listed, at);
  }
  const Standing held = standing(listed.leader.listeners, lb);
  GrantsId next = grants_.rebuilt(held);
  if (wants) {
    const Standing seen = plant_ == Plant::grant_without_holdings ? Standing{lb, 0, 0} : held;
    next = grants_.with_grant(next, pool, item_of(s, pool).ports, seen).value_or(next);
  }
  out.push_back({on_lb(wants ? "makes the object anew, and grants" : "makes the object anew", lb),
                 {.kind = Kind::make_balancer, .target = static_cast<Index>(lb), .grants = next},
                 [lb, next, wants, leader = listed.leader](State& after, bool landed) {
                   after.leader = leader;
                   if (landed) after.leader.lbs[lb] = {true, next, true};
                   // It is there already: read, unless only what was lost was to be restored.
                   if (!landed && wants) after.leader.lbs[lb] = {true, after.lbs[lb].grants, true};
                 }});
}

// As plan_grants: somebody has or holds some of the ports, or an older pool wants them.
bool House::is_refused(const State& s, std::size_t pool, std::size_t lb) {
  const model::PortRange ports = item_of(s, pool).ports;
  const Balancer& object = s.leader.lbs[lb];
  const Standing held = plant_ == Plant::grant_without_holdings ? Standing{lb, 0, 0}
                                                                : standing(s.leader.listeners, lb);
  if (grants_.has_grant(object.grants, pool, ports))
    return !grants_.check_unheld(held, pool, ports);
  if (!grants_.with_grant(object.grants, pool, ports, held)) return true;
  for (std::size_t port = ports.first; port <= ports.last; ++port)
    if ((held.there & ~held.forged & Standing::bit(pool, port)) != 0) return false;
  // The first pool is the older one.
  if (pool == 0) return false;
  const Wanted& older = known(s, 0);
  return std::ranges::find(older.lbs, lb) != older.lbs.end() && older.ports.overlaps(ports);
}

bool House::has_all(const State& s, std::size_t pool) {
  const Wanted& item = item_of(s, pool);
  return std::ranges::all_of(item.lbs, [&](std::size_t lb) {
    return (s.leader.rounds[pool].granted & (1u << lb)) != 0 ||
           grants_.has_grant(s.leader.lbs[lb].grants, pool, item.ports);
  });
}

void House::ensure_grants(const State& s, std::size_t pool, Choices& out) {
  const Wanted& item = item_of(s, pool);
  const Round& round = s.leader.rounds[pool];
  const auto refused = [&](std::size_t lb) {
    return (round.granted & (1u << lb)) == 0 && is_refused(s, pool, lb);
  };
  const bool is_wanted = !item.lbs.empty();
  if (is_wanted && std::ranges::any_of(item.lbs, refused)) {
    if (round.granted != 0) return undo_grants(s, pool, out);
    release(s, pool, out);
    return remove_free(s, pool, out);
  }
  if (!is_wanted) {
    release(s, pool, out);
    return remove_free(s, pool, out);
  }
  for (const std::size_t lb : item.lbs) {
    if ((round.granted & (1u << lb)) != 0) continue;
    if (!grants_.has_grant(s.leader.lbs[lb].grants, pool, item.ports))
      return grant(s, pool, lb, out);
  }
  survey(s, pool, true, out);
}

void House::grant(const State& s, std::size_t pool, std::size_t lb, Choices& out) {
  const Balancer& object = s.leader.lbs[lb];
  if (!object.there) return rebuild(s, pool, lb, true, out);
  const Standing held = plant_ == Plant::grant_without_holdings ? Standing{lb, 0, 0}
                                                                : standing(s.leader.listeners, lb);
  const auto next = grants_.with_grant(object.grants, pool, item_of(s, pool).ports, held);
  if (!next) return;
  const GrantsId before = grants_.own_grants(object.grants, pool);
  out.push_back({on_lb(pool == 0 ? "grants pool p its ports" : "grants pool q its ports", lb),
                 swap_of(s, lb, *next), [this, pool, lb, next, before](State& after, bool landed) {
                   Round& round = after.leader.rounds[pool];
                   if (!landed) {  // reads it again
                     if (after.lbs[lb].there)
                       after.leader.lbs[lb] = {true, after.lbs[lb].grants, true};
                     return;
                   }
                   after.leader.lbs[lb] = {true, *next, true};
                   if (round.granted == 0) {
                     round.before = before;
                     round.item = after.leader.wanted[pool];
                   }
                   round.granted = static_cast<Index>(round.granted | (1u << lb));
                   if (has_all(after, pool)) round = {.item = round.item, .surveys = true};
                 }});
}

// The second load balancer was refused: the first is given back.
void House::undo_grants(const State& s, std::size_t pool, Choices& out) {
  const Round& round = s.leader.rounds[pool];
  const auto lb = static_cast<std::size_t>(std::countr_zero(unsigned{round.granted}));
  const Balancer& object = s.leader.lbs[lb];
  const auto end = [pool](State& after) { after.leader.rounds[pool] = {}; };
  const GrantsId next = grants_.without_given(object.grants, pool, item_of(s, pool).ports,
                                              round.before, standing(s.leader.listeners, lb));
  out.push_back({on_lb("takes back a grant whose other half was refused", lb), swap_of(s, lb, next),
                 [end, lb, next](State& after, bool landed) {
                   if (landed) after.leader.lbs[lb] = {true, next, true};
                   if (!landed && after.lbs[lb].there) {
                     after.leader.lbs[lb] = {true, after.lbs[lb].grants, true};
                     return;
                   }
                   end(after);
                 }});
}

// What is missing is decided here, and made one by one.
void House::survey(const State& s, std::size_t pool, bool granted, Choices& out) {
  unsigned missing = 0;
  for (std::size_t at = 0; at < kPlaces; ++at) {
    const Place place = Place::at(at);
    if (place.pool != pool || !item_of(s, pool).has(place.lb, place.port)) continue;
    const Listener& one = s.leader.listeners[at];
    if (!one.there) missing |= bit_of(place);
    if (one.there && one.forged && !one.deleting && granted)
      out.push_back({on_place("seals what somebody wrote under its name", place),
                     {.kind = Kind::seal_listener,
                      .target = static_cast<Index>(at),
                      .same_uid = one.same_uid,
                      .by_value = true,
                      .claim_was = one.claim,
                      .leads_was = one.leads},
                     [at](State& after, bool landed) {
                       if (landed) remember(after, at);
                     }});
  }
  if (missing != 0 || s.leader.rounds[pool].surveys) {
    out.push_back({{"decides which Listeners are missing", static_cast<std::uint8_t>(pool), true,
                    Step::About::pool},
                   {},
                   [pool, missing](State& after, bool) {
                     after.leader.rounds[pool] = {};
                     after.leader.rounds[pool].missing = static_cast<Index>(missing);
                   }});
  }
  if (s.leader.rounds[pool].surveys) return;
  release_elsewhere(s, pool, out);
  remove_free(s, pool, out);
}

void House::create(const State& s, std::size_t pool, Choices& out) {
  for (std::size_t at = 0; at < kPlaces; ++at) {
    const Place place = Place::at(at);
    if (place.pool != pool || (s.leader.rounds[pool].missing & bit_of(place)) == 0) continue;
    out.push_back({on_place("creates the Listener", place),
                   {.kind = Kind::make_listener, .target = static_cast<Index>(at)},
                   [pool, at, place](State& after, bool landed) {
                     Round& round = after.leader.rounds[pool];
                     round.missing = static_cast<Index>(round.missing & ~bit_of(place));
                     if (landed) remember(after, at);
                   }});
  }
}

// Of an item that has gone, or is refused, when no Listener of it is left.
void House::release(const State& s, std::size_t pool, Choices& out) {
  const bool looks = plant_ != Plant::release_without_listeners;
  for (std::size_t at = 0; at < kPlaces && looks; ++at)
    if (Place::at(at).pool == pool && s.leader.listeners[at].there) return;
  for (std::size_t lb = 0; lb < size_.balancers; ++lb)
    if (release_on(s, pool, lb, out)) return;
}

// Of an item that wants other load balancers now.
void House::release_elsewhere(const State& s, std::size_t pool, Choices& out) {
  if (plant_ == Plant::release_by_item) return;
  for (std::size_t lb = 0; lb < size_.balancers; ++lb) {
    const std::vector<std::size_t>& wanted = item_of(s, pool).lbs;
    if (std::ranges::find(wanted, lb) == wanted.end() && release_on(s, pool, lb, out)) return;
  }
}

bool House::release_on(const State& s, std::size_t pool, std::size_t lb, Choices& out) {
  const Balancer& object = s.leader.lbs[lb];
  if (!object.there) return false;
  const bool looks = plant_ != Plant::release_without_listeners;
  const Standing held = looks ? standing(s.leader.listeners, lb) : Standing{lb, 0, 0};
  const GrantsId next = grants_.without_owner(object.grants, pool, held);
  if (next == object.grants) return false;
  out.push_back({on_lb("releases grants that nobody uses", lb), swap_of(s, lb, next),
                 [lb, next](State& after, bool landed) {
                   if (landed) after.leader.lbs[lb] = {true, next, true};
                 }});
  return true;
}

// Slots that nobody has: the lock first, as it is known; from then on nobody can claim it.
void House::remove_free(const State& s, std::size_t pool, Choices& out) {
  for (std::size_t at = 0; at < kPlaces; ++at) {
    const Place place = Place::at(at);
    const Listener& one = s.leader.listeners[at];
    if (place.pool != pool || !one.there || one.deleting || one.claim != 0) continue;
    if (item_of(s, pool).has(place.lb, place.port)) continue;
    const Place lock{place.pool, 0, place.port};
    const bool is_led = !is_lock(place) && s.leader.listeners[lock.index()].there;
    if (is_led) continue;
    const std::size_t peer = peer_of(place).index();
    const bool has_peer = size_.paired && is_lock(place) && s.leader.listeners[peer].there &&
                          !s.leader.listeners[peer].deleting;
    out.push_back({on_place("removes a free Listener", place),
                   {.kind = Kind::remove_listener,
                    .target = static_cast<Index>(at),
                    .current = one.current,
                    .same_uid = one.same_uid,
                    .by_version = plant_ != Plant::remove_without_version},
                   [pool, peer, has_peer](State& after, bool landed) {
                     if (!landed || !has_peer) return;
                     Round& round = after.leader.rounds[pool];
                     round.orphan = static_cast<Index>(peer + 1);
                     round.orphan_current = after.leader.listeners[peer].current;
                   }});
  }
}

}  // namespace berth::house
