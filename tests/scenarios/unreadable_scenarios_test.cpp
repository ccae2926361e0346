// A Listener that a replica cannot read, because somebody wrote into it what no version knows, or
// another version did: what it has at the load balancer is somebody's all the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "meddling.h"

namespace berth::scenario {
namespace {

using wire::Value;

using std::chrono::minutes;

class UnreadableTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(house_.open());
    User user(house_.world());
    ASSERT_TRUE(user.create("room-0", kind_of(0))) << user.last_refusal();
    settle();
  }
  void settle() {
    const Result<> settled = house_.settle();
    ASSERT_TRUE(settled) << settled.error().to_string();
  }
  world::WorldOptions options() {
    world::WorldOptions out;
    const Plant garble = meddle_with_reads(
        {.resource = "listeners", .reads = [this](Value& object, const crypto::KeyRing&) {
           if (wire::string_at(object, "/metadata/name") == garbled_)
             object.as_object()["spec"].as_object()["port"] = "thirty thousand";
         }});
    garble(out);
    return out;
  }
  // From now on, and from the beginning: nobody has ever read it.
  void start_again_without(const std::string& listener) {
    garbled_ = listener;
    house_.world().crash_all();
  }
  std::optional<lb::ObservedListener> at(model::Port port) {
    return house_.world().provider().find(kDemo, model::Transport::tcp, port);
  }
  // Two audits say of a leftover that it is one.
  void let_audits_pass() { ASSERT_TRUE(house_.cluster().run_for(minutes{30})); }

  static inline const model::LoadBalancerRef kDemo{model::Provider::edge, "", "demo"};
  std::string garbled_;
  PoolHouse house_{1, options()};
};

TEST_F(UnreadableTest, AListenerThatIsNotReadAfterARestartIsNoLeftover) {
  const auto before = at(30000);
  ASSERT_TRUE(before);
  ASSERT_FALSE(model::targets_of(before->spec).empty());
  start_again_without("demo-tcp-30000");
  let_audits_pass();
  const auto after = at(30000);
  ASSERT_TRUE(after) << "its players are in it";
  EXPECT_EQ(after->id, before->id);
  EXPECT_EQ(after->spec, before->spec);

  start_again_without("");
  let_audits_pass();
  settle();
  EXPECT_EQ(at(30000)->id, before->id);
}

// The same leader, in the same time, takes away what is nobody's when it can read all.
TEST_F(UnreadableTest, WhatIsNobodysWaitsUntilAllCanBeRead) {
  const auto room = at(30000);
  ASSERT_TRUE(room);
  model::ListenerSpec left = room->spec;
  left.ports = {39000, 39000};
  left.name += "-left";
  house_.world().provider().add_listener(kDemo, left);
  start_again_without("demo-tcp-30005");
  let_audits_pass();
  EXPECT_TRUE(at(39000)) << "it may be the one that cannot be read";
  start_again_without("");
  let_audits_pass();
  EXPECT_FALSE(at(39000));
  EXPECT_TRUE(at(30000));
  settle();
}

}  // namespace
}  // namespace berth::scenario
