// Where attacks are played: a real control plane with a `berth controller` beside it, a victim with
// rooms that players use, somebody honest, and a tenant of its own for each attack.
//
// Owned by the suite; for its thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "edge/echo_station.h"
#include "support/scratch_dir.h"
#include "tenant.h"
#include "trap.h"

namespace berth::adversary {

// Rooms `room-0` to `room-2` on a pool `rooms` of six ports from 30000 on, which lets no other
// namespace in. Tenants have ports of the same load balancer.
struct Victim {
  std::string ns{};
  std::string load_balancer{};
  std::vector<Room> rooms{};
  std::map<std::string, std::string> ready_since{};  // by room

  // The Listener that leads to its first room, and one of a port that nobody has.
  wire::Value listener{};
  wire::Value free_listener{};
  wire::Value pod{};
  wire::Value pool{};
};

class Stage {
 public:
  // The guard is down.
  static Result<std::unique_ptr<Stage>> open();

  BerthCluster& cluster() { return *cluster_; }
  const Victim& victim() const { return victim_; }
  Trap& trap() { return *trap_; }
  net::Transport& transport() { return transport_; }

  bool guarded() const { return guarded_; }
  // As `berth manifests` prints it.
  Result<> set_guard(bool up);

  // Many at a time, so that an attack need not wait for its own.
  struct Cast {
    std::string name{};
    bool pool = false;
    bool room = false;
  };
  std::string prepare(const std::vector<Cast>& cast);
  Tenant* tenant(const std::string& name);

  // What the victim would complain about; empty when nobody has touched it: its rooms have been
  // Ready all the time at the addresses they had, the load balancer answers there, nobody else is
  // Ready on a port of its pool, and its other ports are free.
  std::string harm();
  // Another one in place of the one that was harmed.
  Result<> replace_victim();

  // Somebody honest makes a room after what was done before, and it is Ready: who would act on what
  // was done has had the chance to.
  std::string fence();
  // A load balancer on which nobody has anything. Tenants use twenty ports of it, beginning with
  // the first of their place.
  std::string spare_load_balancer() const;
  // What becomes of a connection to this address ("127.0.0.1:30000"): whether somebody accepts it,
  // and whether it ends at the trap.
  bool answers(const std::string& address);

  // Somebody who says back what he hears, at the first port of a Pod: its program. Nobody, where
  // this machine does not let a test have the addresses of Pods.
  struct OpenRoom {
    std::unique_ptr<edge::EchoStation::Place> room{};
  };
  OpenRoom open_room(const Room& room);

  bool leads_to_trap(const std::string& address);

 private:
  Stage() = default;
  Result<> make_victim();
  std::string room_harm();
  std::string neighbour_harm();

  net::CurlTransport transport_;
  std::unique_ptr<BerthCluster> cluster_;
  std::unique_ptr<Trap> trap_;
  std::optional<testing::ScratchDir> scripts_;
  std::unique_ptr<edge::EchoStation> programs_;
  Victim victim_;
  int victims_ = 0;
  std::unique_ptr<Tenant> honest_;
  int fences_ = 0;
  int places_ = 0;
  std::map<std::string, std::unique_ptr<Tenant>> tenants_;
  bool guarded_ = false;
};

}  // namespace berth::adversary
