#pragma once

// Berth on real nodes, as docs/install.md puts it there: the image of this build, applied from what
// `berth manifests` prints; rooms in containers; and players who reach them.
//
// Owner: a test suite, which skips itself for the reason that start() gives. Threads: one at a
// time, and the thread that calls start() must outlive the object.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "edge/test_support.h"
#include "real_nodes.h"

namespace berth {

// Of the edge load balancer "lb-rooms", which lives on node 1.
inline constexpr std::string_view kEdge = "10.62.2.1";
inline constexpr std::string_view kRoomImage = "registry.example/room:1";
// What a busy machine may take for anything that is waited for.
inline constexpr std::chrono::seconds kPatience{120};

// Where a room is reached, as it was told.
struct Door {
  std::string ip{};
  model::Port port = 0;
  bool operator==(const Door&) const = default;
  [[nodiscard]] std::string to_string() const { return ip + ":" + std::to_string(port); }
};

struct RoomsOf {
  std::string kind = "StatefulSet";
  std::string name = "room";
  int replicas = 1;
  std::string ports = "rooms TCP_UDP 8000";
  // More of the template's annotations, and of the container and of the Pod: lines of YAML.
  std::string annotations{};
  std::string container{};
  std::string pod{};
};
// With a readiness gate, its annotations as a file, and ten minutes in which a name keeps its
// ports.
std::string rooms_yaml(const RoomsOf& rooms);
// A room by itself, with the label app=guest.
std::string guest_yaml(const std::string& name);
// Namespace "games", whose Pods may use pools, and the pool "rooms": ports 31000 to 31099 of
// lb-rooms.
std::string pool_yaml();

class InstalledBerth {
 public:
  // Nodes that are Ready, with our image and the rooms' on them. Berth is not yet installed.
  static std::expected<std::unique_ptr<InstalledBerth>, std::string> start(int nodes);

  testing::RealNodes& nodes() { return *nodes_; }
  // Two, each with an address of their own: the edge gives none of them all of its connections.
  const testing::Player& player(std::size_t which = 0) const { return *players_[which]; }
  testing::CommandResult kubectl(std::vector<std::string> args, std::string_view input = {}) const {
    return nodes_->kubectl(std::move(args), input);
  }
  // Our image once more, under another name. Empty, or what went wrong.
  std::string load_as(const std::string& image);
  // The program of this build, as the administrator.
  testing::CommandResult berth(std::vector<std::string> args) const;

  // What `berth manifests` prints with these flags, its image included, is applied and rolled out.
  // Empty, or what went wrong.
  std::string install(std::vector<std::string> flags = on_the_edge());
  static std::vector<std::string> on_the_edge() {
    return {"--edge-address", "lb-rooms=" + std::string(kEdge), "--node",
            testing::RealNodes::name(1)};
  }
  // Applies it until it is taken: our webhooks may not be there yet. Empty, or the last refusal.
  std::string apply(const std::string& yaml);

  // Empty until the Pod is Ready and knows its doors; TCP first.
  std::vector<Door> doors_of(const std::string& pod) const;
  // Waits for that. One without an address, and the reason on stderr, when it does not come.
  Door door_of(const std::string& pod) const;
  std::string uid_of(const std::string& pod) const;
  std::string field(const std::string& object, const std::string& path) const;

  // What the room behind the door calls itself; empty when nobody answers.
  std::string who_is_at(const Door& door) const;
  std::string who_is_at_over_udp(const Door& door) const;
  edge::testing::Client connect(const Door& door) const;

  // Somebody else on node 1 listens there ("9443", "10.62.2.1:32000") until told to go.
  bool occupy(const std::string& port);
  bool vacate(const std::string& port);

  // What controllers wrote, those that were restarted included.
  std::string log() const;
  // All that helps to understand a failure.
  std::string story() const;

 private:
  InstalledBerth() = default;

  std::unique_ptr<testing::RealNodes> nodes_;
  std::array<testing::Player*, 2> players_{};
};

}  // namespace berth
