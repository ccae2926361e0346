// Watches over what Berth writes into its own objects, at every write: claims move only as the
// table of states says, a slot becomes free only when nothing is reached through it, grants do not
// overlap, no Listener exists outside of a grant, and none goes before its listener at the
// provider.
//
// Fed by RoomBook. Not thread-safe.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "claims/grant_book.h"
#include "claims/slot.h"
#include "net/http.h"
#include "sim/world/world.h"

namespace berth::scenario {

// A port of a load balancer.
struct Place {
  model::LoadBalancerRef lb{};
  model::Transport protocol = model::Transport::tcp;
  model::Port port = 0;
  friend auto operator<=>(const Place&, const Place&) = default;
};
std::string shown(const Place& place);
// Of TCP or UDP, as all listeners of pools are.
Place place_of(const model::LoadBalancerRef& lb, const lb::ObservedListener& listener);

class LedgerBook {
 public:
  explicit LedgerBook(world::World& world) : world_(world) {}

  // An answer of the server to a write that succeeded.
  void see(const net::Request& request, const wire::Value& object);
  void look_only_at(std::set<std::string> namespaces) { namespaces_ = std::move(namespaces); }
  // While it looks away it notes claims, and says nothing of them.
  void look_away(bool away) { looks_away_ = away; }

 private:
  bool is_watched(const net::Request& request) const;
  void see_listener(const wire::Value& object, bool made);
  void see_listener_gone(const std::string& name);
  void check_move(const api::Listener& before, const api::Listener& after);
  // Nobody is reached through the slot of this lock, on any of its load balancers.
  void check_rests(const api::Listener& lock);
  void check_granted(const api::Listener& listener, const std::string& owner_uid);
  // A LoadBalancer object or a PortBlock: together they say who has what.
  void see_grants(const wire::Value& object, bool gone);
  std::vector<ledger::Grant> grants_of(const api::LoadBalancer& balancer) const;

  world::World& world_;
  bool looks_away_ = false;
  // Those of others are what people wrote by hand: no pool is there.
  std::set<std::string> namespaces_{"games"};
  std::map<std::string, api::Listener> listeners_;  // by name
  std::map<std::string, api::LoadBalancer> balancers_;
  std::map<std::string, claims::BlockPtr> blocks_;
};

}  // namespace berth::scenario
