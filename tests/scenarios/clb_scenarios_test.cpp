// The whole controller with port pools on Tencent's load balancers: the real driver, a simulated
// cloud with its documented limits, and what users find in Pods, Listeners and the cloud.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "clb_cloud.h"
#include "pool_house.h"

namespace berth::scenario {
namespace {

using testing::HasSubstr;
using wire::Value;
using world::WorldOptions;
using namespace std::chrono_literals;

const std::string kHouse = R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {name: rooms, namespace: games}
spec:
  poolItems:
  - {itemName: item1, loadBalancerIDs: ["lb-demo"], protocol: TCP, startPort: 30000, endPort: 30006}
---
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {name: halls, namespace: games}
spec:
  poolItems:
  - {itemName: pair, loadBalancerIDs: ["lb-east", "ap-nanjing:lb-west"], startPort: 40000, endPort: 40003}
  - {itemName: wide, loadBalancerIDs: ["lb-east"], protocol: UDP, startPort: 41000, endPort: 41009, segmentLength: 4}
)";

struct ClbHouse {
  explicit ClbHouse(std::uint64_t seed, ClbOptions options = {}) : outside(std::move(options)) {
    for (const char* lb : {"lb-demo", "lb-east", "lb-west"}) outside.add_load_balancer(lb);
    WorldOptions world;
    world.config.load_balancers = clb_defaults();
    world.cloud = &outside;
    house = std::make_unique<PoolHouse>(seed, world);
  }

  ClbCloud outside;
  std::unique_ptr<PoolHouse> house;
};

TEST(ClbPools, RoomsOfAllShapesAreReachedAndNothingStaysBehind) {
  ClbHouse clb(1);
  PoolHouse& house = *clb.house;
  ASSERT_TRUE(house.open_with(kHouse));
  User user(house.world());
  for (std::size_t kind = 0; kind < kRoomKinds; ++kind)
    ASSERT_TRUE(user.create(fmt::format("room-{}", kind), kind_of(kind))) << user.last_refusal();
  const Result<> settled = house.settle();
  ASSERT_TRUE(settled) << settled.error().to_string();
  const Result<> closed = house.close();
  ASSERT_TRUE(closed) << closed.error().to_string();
}

}  // namespace
}  // namespace berth::scenario
