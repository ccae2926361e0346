// A house that another version of Berth furnished: pools and rooms of every shape, what people
// would notice of its rooms, and players who visit them.
//
// Plain functions on a BerthCluster, for the thread of the test; players are owned by it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "edge/echo_station.h"
#include "rooms.h"

namespace berth {

inline const std::string kHouse = "house";

// Pools with plain ports, with segments, with both protocols on two load balancers, and with names
// that keep their ports; rooms in all of them, and a name whose Pod is away. Works with any version
// of the replicas; returns when it has settled.
Result<> furnish(BerthCluster& cluster);
// A Pod goes while nobody looks after its port.
Result<> leave_unseen(BerthCluster& cluster);

// What people, and their programs, see of a room.
struct Lodger {
  std::string uid{};
  std::string ip{};
  std::string addresses{};
  std::string told{};
  // Since when it is Ready, and its gate open: a moment of unreadiness shows, however short.
  std::string ready_since{};
  std::string gate_since{};

  friend bool operator==(const Lodger&, const Lodger&) = default;
};
using Census = std::map<std::string, Lodger>;
Census census(BerthCluster& cluster, const std::string& ns = kHouse);
// Of everybody who was there before; empty when nobody has noticed anything.
std::string noticed(const Census& before, const Census& now);

// Listeners and rooms without a seal, and Listeners that do not name their load balancer in full.
std::string unsealed(BerthCluster& cluster, const std::string& ns = kHouse);
// The text of each Pod and object of ours in a namespace, and of the LoadBalancers, with its
// version.
using Inventory = std::map<std::string, std::string>;
Inventory inventory(BerthCluster& cluster, const std::string& ns = kHouse);
// What was written between the two; empty for nothing.
std::string written(const Inventory& before, const Inventory& now);

// Somebody answers in each room, at its own address, and visitors come through the load balancers.
class Players {
 public:
  // They are in this network (support/own_network.h).
  static Result<std::unique_ptr<Players>> start();

  // Who can be reached neither way or is somebody else; empty when all are at home.
  std::string not_reached(const std::vector<Room>& rooms);

 private:
  using Place = std::unique_ptr<edge::EchoStation::Place>;
  Players() = default;
  Result<> move_in(const Room& room);

  std::unique_ptr<edge::EchoStation> station_;
  std::map<std::string, std::vector<Place>> places_;  // by uid
};

}  // namespace berth
