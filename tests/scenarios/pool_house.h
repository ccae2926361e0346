// A world with port pools in it, and those who use it: people, a StatefulSet, a Deployment, and a
// quota that refuses Pods after our webhook has answered.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "pieces.h"
#include "room_book.h"
#include "scenario.h"

namespace berth::scenario {

inline const std::string kPods = "/api/v1/namespaces/games/pods";
inline const std::string kPools =
    "/apis/networkextension.bkbcs.tencent.com/v1/namespaces/games/portpools";

// Pools: `rooms` has TCP ports on one load balancer; `halls` has an item `pair` with TCP and UDP on
// two load balancers, and an item `wide` with segments of UDP ports.
inline constexpr std::size_t kRoomPorts = 6;

// What a Pod asks for. A name always asks for the same, as those of a StatefulSet do.
struct RoomKind {
  std::string_view request;
  std::string_view keep{};
  bool gate = false;
};
inline constexpr std::size_t kRoomKinds = 6;
const RoomKind& kind_of(std::size_t index);

// Refuses Pods after our webhook has answered, as a quota does.
struct Quota {
  Random random{1};
  double refuses = 0;
};

class PoolHouse {
 public:
  PoolHouse(std::uint64_t seed, world::WorldOptions options);
  ~PoolHouse();

  world::World& world() { return *world_; }
  RoomBook& book() { return *book_; }
  Quota& quota() { return *quota_; }
  world::Cluster& cluster() { return world_->cluster(); }

  // Until Berth is installed and the pools are there: those of above, or others.
  Result<> open();
  Result<> open_with(std::string pools);
  Result<> run_until(const std::function<bool()>& done);
  // Until nothing has been written for long.
  Result<> rest();
  // The same; then everything must be as it should.
  Result<> settle();
  // All Pods and pools go, and nothing of them may be left.
  Result<> close();
  // The first failure of an invariant, if there was one.
  Result<sim::RunReport> report();

 private:
  SmallPieces pieces_;  // first: everything else is made of them
  std::shared_ptr<Quota> quota_;
  std::unique_ptr<world::World> world_;
  std::unique_ptr<RoomBook> book_;
};

// Tries until it works, as controllers of workloads do: after each refusal they wait longer.
// At least once. False: it never worked, or the run has failed.
bool keep_trying(world::World& world, Duration patience, const std::function<bool()>& works);

// A person with kubectl, or a controller of workloads; on a task of the world or outside of all.
// Each call tries until it works, as they do; false: patience was not enough.
class User {
 public:
  static constexpr int kPatience = 60;

  explicit User(world::World& world) : world_(world) {}

  bool create(const std::string& name, const RoomKind& kind, int patience = kPatience);
  // With generateName and an owner. The name that it got; empty when it was refused.
  std::string spawn(const std::string& prefix, const RoomKind& kind, int patience);
  // Returns when it is gone.
  void remove(const std::string& name);
  // Its program has ended by itself.
  void finish(const std::string& name);
  bool create_pool(std::string_view yaml, int patience = kPatience);
  // A merge patch of a PortPool.
  bool change_pool(const std::string& name, const std::function<bool(wire::Value& pool)>& change,
                   int patience = kPatience);
  void remove_pool(const std::string& name);
  const std::string& last_refusal() const { return last_refusal_; }

 private:
  bool try_until(int patience, const std::function<Result<wire::Value>()>& deed);
  bool is_there(std::string_view group, std::string_view plural, std::string_view name) const;
  bool gives_up() const { return world_.kernel().failure().has_value(); }

  world::World& world_;
  std::string last_refusal_;
};

}  // namespace berth::scenario
