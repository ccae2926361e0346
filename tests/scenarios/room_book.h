// Watches over what Berth promises to Pods, at every write of the world, and looks at the whole
// when all is quiet.
//
// At every moment: no port belongs to two Pods that live; a Pod that was told Ready is reached
// through each of its ports, until it is gone or has ended; at most one replica leads. When quiet:
// every Pod is Ready, every claim belongs to such a Pod, and no port leads anywhere else.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/pod_ports.h"
#include "sim/world/world.h"

namespace berth::scenario {

class RoomBook {
 public:
  // The world outlives it. Before the first Pod is created.
  explicit RoomBook(world::World& world);
  ~RoomBook();

  // After each step of the world.
  void check_leaders();
  Result<> check_settled();
  // Ports that Pods of now have.
  std::size_t ports_in_use() const;
  std::size_t ever_ready() const { return ever_ready_; }

 private:
  struct Room {
    std::string name{};
    std::string ip{};
    std::size_t asked_for = 0;
    std::vector<api::PortBindingItem> bindings{};
    bool ready = false;
    bool leaving = false;  // it is being deleted: drained is enough
    bool ended = false;    // gone, or it will never run again
  };

  // A port of a load balancer.
  struct Place {
    model::LoadBalancerRef lb{};
    model::Protocol protocol = model::Protocol::tcp;
    model::Port port = 0;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  static std::vector<Place> places_of(const api::PortBindingItem& binding);
  static std::string shown(const Place& place);

  void see(const net::Request& request, const net::Reply& reply);
  static bool has(const Room& room, const Place& place);
  static Room read(const wire::Value& pod);
  void check_alone(const std::string& uid, const Room& room);
  void check_reached(const Room& room);
  bool leads_to(const Place& place, const api::PortBindingItem& binding, const Room& room) const;
  const Room* owner_of(const Place& place) const;
  Result<> check_listener(const wire::Value& object) const;
  Result<> check_places() const;

  world::World& world_;
  std::map<std::string, Room> rooms_;  // by uid
  std::size_t ever_ready_ = 0;
  std::shared_ptr<const world::ServerDesk::Observer> observing_;
};

}  // namespace berth::scenario
