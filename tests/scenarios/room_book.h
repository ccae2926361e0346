// Watches over what Berth promises to Pods, at every write of the world.
//
// No port belongs to two Pods that live; a port that had an owner goes to another one only after
// the load balancer has led nowhere for the time of quarantine; a Pod that was told Ready is
// reached through each of its ports, until it is gone or has ended; a kept name gets its ports back
// while they are kept; at most one replica leads. What it knows of the Pods is used by
// settled_house.h, which looks at the whole when all is quiet.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/pod_ports.h"
#include "ledger_book.h"
#include "sim/world/world.h"

namespace berth::scenario {

struct Room {
  std::string name{};
  std::string ip{};
  std::string request{};  // the annotation that asks
  Duration keep{};
  std::size_t asked_for = 0;
  std::vector<api::PortBindingItem> bindings{};
  bool has_gate = false;
  bool gate_open = false;
  bool ready = false;
  bool leaving = false;  // it is being deleted: drained is enough
  bool ended = false;    // it will never run again
  bool asks = false;     // it has the annotation that asks for ports
};

// One for each load balancer of the port.
std::vector<Place> places_of(const api::PortBindingItem& binding,
                             const model::LoadBalancerDefaults& defaults = {});

class RoomBook {
 public:
  // The world outlives it. Before the first Pod is created.
  RoomBook(world::World& world, Duration quarantine);
  ~RoomBook();

  // Other namespaces are none of its business: people there do as they like.
  void look_only_at(std::set<std::string> namespaces);
  // It says nothing any more of what happens to Pods. `take_stock` finds out what is there.
  void close();
  bool is_closed() const { return closed_; }
  // Reads all Pods, whatever it knew of them.
  void take_stock();

  // Hears of each change at the provider too, until the end: the provider tells one alone.
  void also_tell(std::function<void(const sim::lb::Change&)> other) { other_ = std::move(other); }

  // After each step of the world, also when the book is closed: nobody's edit makes two leaders.
  void check_leaders();

  // What people do by hand is taken as it is, however wrong.
  void look_away(bool away) { ledger_.look_away(away); }
  // A load balancer was emptied, and rooms that were told Ready are not reached for a moment.
  void bear_unreached(bool bears) { bears_unreached_ = bears; }

  static Room read(const wire::Value& pod);
  // Pods that are there, by uid; those that have ended as well.
  const std::map<std::string, Room>& rooms() const { return rooms_; }
  // Null: nobody who lives has it.
  const Room* owner_of(const Place& place) const;
  bool leads_to(const Place& place, const api::PortBindingItem& binding, const Room& room) const;
  // Ports of a pool that Pods of now have.
  std::size_t ports_in_use(std::string_view pool) const;
  std::size_t ever_ready() const { return ever_ready_; }
  std::size_t came_back() const { return came_back_; }

 private:
  // The last Pod of a name that has gone or ended.
  struct Past {
    Room room{};
    Instant since{};
  };
  struct LastUse {
    std::string name{};  // of its last owner
    Instant cleared{};   // when the load balancer last led nowhere
  };

  void see(const net::Request& request, const world::SeenReply& reply);
  void see_pod(const net::Request& request, const wire::Value& pod);
  void see_change(const sim::lb::Change& change);
  void note_end(const Room& room);
  std::vector<Place> places_of(const api::PortBindingItem& binding) const {
    return scenario::places_of(binding, world_.defaults());
  }
  bool has(const Room& room, const Place& place) const;

  void check_new(const std::string& uid, const Room& room);
  void check_alone(const std::string& uid, const Room& room);
  void check_rested(const Room& room, const Place& place);
  void check_came_back(const Room& room);
  void check_reached(const Room& room);

  world::World& world_;
  const Duration quarantine_;
  LedgerBook ledger_;
  std::set<std::string> namespaces_;  // empty: all
  std::map<std::string, Room> rooms_;
  std::map<std::string, Past> past_;  // by name
  std::map<Place, LastUse> last_use_;
  bool bears_unreached_ = false;
  std::size_t ever_ready_ = 0;
  std::size_t came_back_ = 0;
  bool closed_ = false;
  std::function<void(const sim::lb::Change&)> other_;
  std::shared_ptr<const world::ServerGateway::Observer> observing_;
};

}  // namespace berth::scenario
