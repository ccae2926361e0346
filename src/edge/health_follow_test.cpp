// Who waits for a target of the edge hears how it is, without asking again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edge/test_support.h"

namespace berth::edge {
namespace {

using lb::Health;
using model::Transport;
using namespace testing;

const model::HealthCheck kQuick{
    .timeout_seconds = 2, .interval_seconds = 1, .healthy_count = 2, .unhealthy_count = 2};

class HealthFollowTest : public ::testing::Test {
 protected:
  HealthFollowTest() : edge_({.threads = 1, .second = std::chrono::milliseconds{50}}) {}

  std::unique_ptr<lb::Following> follow(const Edge::Door& door) {
    return edge_.driver->follow(edge_.lb, {door.id, {}}, [this](const lb::TargetHealth& one) {
      const MutexLock lock(mu_);
      heard_[one.target].push_back(one.health);
    });
  }
  std::vector<Health> heard_of(const model::Target& target) {
    const MutexLock lock(mu_);
    return heard_[target];
  }
  bool ends_with(const model::Target& target, Health health) {
    return eventually([&] {
      const auto heard = heard_of(target);
      return !heard.empty() && heard.back() == health;
    });
  }

  Mutex mu_;
  std::map<model::Target, std::vector<Health>> heard_ GUARDED_BY(mu_);
  Edge edge_;  // last: it calls back until it has gone
};

TEST_F(HealthFollowTest, WhatIsHeardEndsWithWhatIsTrue) {
  const auto alive = edge_.open_room("a"), late = edge_.room_at();
  const auto door = edge_.open_door(Transport::tcp, {{alive}, {late}}, {.health_check = kQuick});
  const auto following = follow(door);
  ASSERT_TRUE(ends_with(alive, Health::healthy));
  ASSERT_TRUE(ends_with(late, Health::unhealthy));
  edge_.open_room_at(late, "b");
  ASSERT_TRUE(ends_with(late, Health::healthy));
  const auto heard = heard_of(late);
  for (std::size_t i = 1; i < heard.size(); ++i) EXPECT_NE(heard[i], heard[i - 1]);
}

TEST_F(HealthFollowTest, NobodyIsCalledHealthyBeforeItWasAsked) {
  const auto dead = edge_.room_at();
  const auto door = edge_.open_door(Transport::tcp, {{dead}}, {.health_check = kQuick});
  const auto following = follow(door);
  ASSERT_TRUE(ends_with(dead, Health::unhealthy));
  for (const Health health : heard_of(dead)) EXPECT_NE(health, Health::healthy);
}

TEST_F(HealthFollowTest, ATargetThatComesLaterIsHeardOf) {
  const auto first = edge_.open_room("a"), second = edge_.open_room("b");
  const auto door = edge_.open_door(Transport::tcp, {{first}}, {.health_check = kQuick});
  const auto following = follow(door);
  const lb::TargetChange change{.rule = {door.id, {}}, .add = {{second}}};
  ASSERT_TRUE(edge_.driver->change_targets(edge_.context, edge_.lb, {&change, 1}).front());
  EXPECT_TRUE(ends_with(second, Health::healthy));
}

TEST_F(HealthFollowTest, WithoutACheckNothingIsKnown) {
  const auto room = edge_.open_room("a");
  const auto door = edge_.open_door(Transport::tcp, {{room}});
  const auto following = follow(door);
  EXPECT_EQ(heard_of(room), (std::vector{Health::unknown}));
  ASSERT_TRUE(edge_.set_attributes(door.id, {.health_check = kQuick}));
  EXPECT_TRUE(ends_with(room, Health::healthy));
  ASSERT_TRUE(edge_.set_attributes(door.id, {}));
  EXPECT_TRUE(ends_with(room, Health::unknown));
}

// Callbacks take the lock of whoever follows, and may ask the driver.
TEST_F(HealthFollowTest, ACallbackMayAskTheDriver) {
  const auto room = edge_.open_room("a");
  const auto door = edge_.open_door(Transport::tcp, {{room}}, {.health_check = kQuick});
  std::atomic<std::size_t> seen = 0;
  const auto following = edge_.driver->follow(
      edge_.lb, {door.id, {}},
      [&](const lb::TargetHealth&) { seen += edge_.driver->last(edge_.lb).size(); });
  EXPECT_TRUE(eventually([&] { return seen > 0; }));
}

TEST_F(HealthFollowTest, WhoHasLetGoIsNotCalled) {
  const auto room = edge_.open_room("a");
  const auto door = edge_.open_door(Transport::tcp, {{room}}, {.health_check = kQuick});
  for (int i = 0; i < 200; ++i) {
    auto told = std::make_unique<std::vector<Health>>();
    auto following = edge_.driver->follow(
        edge_.lb, {door.id, {}}, [&](const lb::TargetHealth& one) { told->push_back(one.health); });
    ASSERT_TRUE(edge_.set_attributes(door.id, i % 2 == 0
                                                  ? model::RuleAttributes{}
                                                  : model::RuleAttributes{.health_check = kQuick}));
    following.reset();
    told.reset();  // a call now would be seen by sanitizers
  }
}

}  // namespace
}  // namespace berth::edge
