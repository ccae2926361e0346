// Grants that lie in PortBlocks, and people who take those away: no room loses its port, and
// nothing is left in the end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/pod_ports.h"
#include "pool_house.h"

namespace berth::scenario {
namespace {

using std::chrono::seconds;
using wire::Array;
using wire::Object;
using wire::Value;

const std::string kBlocks = "/apis/berth.dev/v1/portblocks";
const std::string kBalancers = "/apis/berth.dev/v1/loadbalancers";
const std::string kCrds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

// Nearly all of the house's grants lie in blocks.
class GrantBlocksTest : public ::testing::Test {
 protected:
  GrantBlocksTest() : house_(7, small_blocks()) {}
  static world::WorldOptions small_blocks() {
    world::WorldOptions options;
    options.replicas = 2;
    options.config.grants = {.long_list = 0, .block_ports = 8};
    return options;
  }
  void SetUp() override {
    ASSERT_TRUE(house_.open());
    const auto done = house_.cluster().play("user", [this](std::stop_token) {
      User user(house_.world());
      (void)user.create("room-1", kind_of(1));
      (void)user.create("room-2", kind_of(2));
    });
    ASSERT_TRUE(house_.run_until([&] { return *done; }));
    settle();
    ASSERT_FALSE(blocks().empty());
    rooms_ = addresses();
  }
  void settle() {
    const Result<> settled = house_.settle();
    ASSERT_TRUE(settled) << settled.error().to_string();
  }
  // Everybody has what he had, and everything can go.
  void TearDown() override {
    settle();
    EXPECT_EQ(addresses(), rooms_);
    const Result<> closed = house_.close();
    EXPECT_TRUE(closed) << closed.error().to_string();
    EXPECT_TRUE(blocks().empty());
    const Result<sim::RunReport> report = house_.report();
    EXPECT_TRUE(report) << report.error().to_string();
  }
  std::vector<Value> blocks() { return house_.cluster().list(kBlocks).value(); }
  std::map<std::string, std::string> addresses() {
    std::map<std::string, std::string> out;
    const auto pods = house_.cluster().list(kPods);
    for (const Value& pod : pods ? *pods : std::vector<Value>{})
      out[std::string(wire::string_at(pod, "/metadata/name"))] = wire::string_at(
          pod, "/metadata/annotations/" + wire::escape_pointer_step(api::kPoolBindingsAnnotation));
    return out;
  }
  void ask(const char* method, const std::string& path, const Value& body = nullptr) {
    const auto done = house_.cluster().ask(method, path, body);
    ASSERT_TRUE(done) << done.error().to_string();
  }

  PoolHouse house_;
  std::map<std::string, std::string> rooms_;
};

TEST_F(GrantBlocksTest, AReplicaThatStartsFindsThemThere) {
  house_.world().crash_all();
  ASSERT_TRUE(house_.cluster().run_for(seconds{30}));
}

TEST_F(GrantBlocksTest, BlocksThatAreDeletedAreRebuilt) { ask("DELETE", kBlocks); }

TEST_F(GrantBlocksTest, BlocksThatAreEmptiedAreFilledAgain) {
  for (const Value& block : blocks())
    ask("PATCH", kBlocks + "/" + std::string(wire::string_at(block, "/metadata/name")),
        Object{{"spec", Object{{"grants", Array{}}}}});
}

TEST_F(GrantBlocksTest, LoadBalancerObjectsThatAreDeletedGetNewBlocks) {
  ask("DELETE", kBalancers);
}

TEST_F(GrantBlocksTest, BlocksThatNobodyNamesGo) {
  const auto balancers = house_.cluster().list(kBalancers).value();
  for (const Value& one : balancers)
    ask("PATCH", kBalancers + "/" + std::string(wire::string_at(one, "/metadata/name")),
        Object{{"spec", Object{{"grants", Array{}}}}});
}

TEST_F(GrantBlocksTest, TheirDefinitionCanBeDeleted) {
  ask("DELETE", kCrds + "/portblocks.berth.dev");
}

TEST_F(GrantBlocksTest, BlocksThatAreClosedByHandAreCalledIn) {
  for (const Value& block : blocks())
    ask("PATCH", kBlocks + "/" + std::string(wire::string_at(block, "/metadata/name")),
        Object{{"spec", Object{{"closed", true}}}});
  // Their pools ask for nothing new: what was called in stays where it is, until one of them does.
  settle();
  EXPECT_EQ(addresses(), rooms_);
  ask("DELETE", kBalancers);
}

}  // namespace
}  // namespace berth::scenario
