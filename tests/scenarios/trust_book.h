// Watches over what Berth promises while people write what they like: over Pods of all namespaces,
// from the objects of the API server and the state of the provider alone.
//
// A Pod has our word when we called it Ready, by its annotation or by its condition; what a person
// wrote there is not our word. While it has, each port that it was told of leads to it, so no two
// Pods can have our word for one port. A Pod that somebody laid hands on, on itself, its
// PortBinding, its Listeners or its pool, has some time in which that is put in order; time in
// which nobody leads does not count, for nobody is there who could. Pods of guarded namespaces,
// which nobody may touch, keep our word, their ports and their listeners throughout.
//
// Not thread-safe; the world outlives it.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "room_book.h"

namespace berth::scenario {

// After this the load balancers were compared with what is wished: an audit, and some time to act.
inline constexpr Duration kAuditPeriod = std::chrono::minutes{2};
inline constexpr Duration kAudited = std::chrono::minutes{5};
// After this every replica has looked whether our keys are there.
inline constexpr Duration kKeysChecked = std::chrono::minutes{13};

// An object of a namespace, as "Pod games/room-1".
std::string shown_object(std::string_view kind, std::string_view ns, std::string_view name);

class TrustBook {
 public:
  // How long a Pod whose objects were touched may be in disorder.
  TrustBook(world::World& world, Duration grace);

  // Whose edits give a port to nobody else. Those of all others are taken as they are.
  void know_tenant(std::string name) { tenants_.insert(std::move(name)); }
  void guard(std::string ns) { guarded_.insert(std::move(ns)); }
  // Somebody does what they are not promised anything against.
  void let_go(const std::string& ns) { guarded_.erase(ns); }
  // Everything may have been touched: a state was restored, or the provider was changed by hand.
  // Disorder is found by an audit at the latest.
  void note_upheaval(Duration grace);
  // Somebody changes what is at this port, at the provider. Until an audit it may lead anywhere; it
  // is still nobody else's.
  void note_place(const Place& place, Duration grace);
  // It ends, and with it all that lies in it: this is said again for as long as it does.
  void note_namespace(const std::string& ns);
  // A restored state is not in anybody's cache yet.
  bool is_in_upheaval() const { return world_.kernel().now() < upheaval_over_; }
  // Somebody laid hands on it, not long ago.
  bool is_touched(std::string_view kind, std::string_view ns, std::string_view name) const;
  bool is_touched(const Place& place) const;
  // When everything must be in order again.
  Instant disorder_over() const { return std::max(upheaval_over_, places_over_); }
  // A listener at the provider that is none of ours: nobody but people may change it.
  void note_foreign(const model::ListenerId& id, const model::LoadBalancerRef& lb) {
    foreign_[id] = lb;
  }
  const std::map<model::ListenerId, model::LoadBalancerRef>& foreign() const { return foreign_; }
  void forget_foreign() { foreign_.clear(); }
  // Reads all Pods anew. Those that are Ready have our word if they ever had it: what people called
  // Ready is not ours by being restored.
  void take_stock();
  void see_change(const sim::lb::Change& change);
  // Once in a while: what was touched long ago must be in order.
  void check_all();

  // Listeners and PortBindings that people made, as paths.
  const std::set<std::string>& forged() const { return forged_; }
  // Pods that people made, or told of other ports, as paths.
  const std::set<std::string>& guests() const { return made_pods_; }
  // Listeners that people wrote to, as paths.
  const std::set<std::string>& edited_listeners() const { return edited_; }
  std::size_t words_given() const { return words_given_; }

 private:
  struct Guest {
    std::string ns{};
    Room room{};
    bool has_word = false;
    std::vector<api::PortBindingItem> told{};  // when it got our word
  };

  void see(const net::Request& request, const world::SeenReply& reply);
  void keep_time();
  Duration time_led() const;
  void note_touch(const net::Request& request, const wire::Value& object);
  void see_pod(const net::Request& request, const wire::Value& pod);
  void judge(const Guest& before, const Guest& now);
  void check_alone();
  void check_reached(const Guest& guest);
  using Touches =
      std::map<std::string, Duration>;  // by shown_object: how long somebody led by then
  bool is_touched(const Guest& guest, const Touches& touches) const;
  bool is_in(const Touches& touches, std::string_view kind, std::string_view ns,
             std::string_view name) const;
  void complain(const Guest& guest, const std::string& what);

  world::World& world_;
  const Duration grace_;
  std::set<std::string> guarded_;
  std::map<std::string, Guest> guests_;  // by uid
  std::set<std::string> given_;          // uids of those that ever had our word
  std::set<std::string, std::less<>> tenants_;
  Touches touched_;                           // by anybody
  Touches moved_;                             // by others than tenants
  std::map<std::string, std::string> hands_;  // who touched it last
  bool is_led_ = true;                        // when time was kept last
  Instant time_kept_{};
  Duration time_led_{};
  Instant upheaval_over_{};
  std::map<Place, Instant> places_;  // when they must be in order
  Instant places_over_{};
  std::map<model::ListenerId, model::LoadBalancerRef> foreign_;  // by id
  std::set<std::string> forged_;
  std::set<std::string> edited_;
  std::set<std::string> made_pods_;
  std::size_t words_given_ = 0;
  std::shared_ptr<const world::ServerGateway::Observer> observing_;
};

}  // namespace berth::scenario
