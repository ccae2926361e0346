// Listeners of ours that nobody wishes any more, and everything that looks like one.

#include <gmock/gmock.h>

#include "engine/test_engine.h"

namespace berth::engine {
namespace {

using namespace std::chrono_literals;
using model::Transport;
using sim::lb::Call;
using testing::IsEmpty;
using testing::SizeIs;

class LeftoversTest : public EngineTest {
 protected:
  model::ListenerId leave(model::Port port, const std::string& name = {}) {
    return provider_.add_listener(kLb, left_at(port, name));
  }
};

TEST_F(LeftoversTest, AreRemovedAfterTheirGraceAndCounted) {
  leave(30000);
  start();
  running_->engine().audit(kLb);
  pass(50s);
  EXPECT_TRUE(is_there(30000)) << "its wish may be on its way";
  pass(20s);
  EXPECT_FALSE(is_there(30000));
  EXPECT_THAT(cluster_.outcomes, IsEmpty()) << "nobody asked";
  EXPECT_THAT(registry_.text(),
              testing::HasSubstr("berth_lb_leftovers_removed_total{lb=\"ap-nanjing:lb-1\"} 1"));
}

TEST_F(LeftoversTest, AnObjectThatVanishesWhileWeWorkLeavesNothing) {
  start_settled();
  want("games/a", wish_for(30000, {target(1)}));
  want("games/b", wish_for(30001, {target(1)}));
  run_until_applied();
  cluster_.objects.erase("games/a");
  running_->engine().forget(WishKey("games/a"));
  pass(15min);
  EXPECT_FALSE(is_there(30000));
  EXPECT_TRUE(is_there(30001));
}

TEST_F(LeftoversTest, StayUntilAllWishesAreKnown) {
  leave(30000);
  cluster_.complete = false;
  start();
  want("games/b", wish_for(30001));
  pass(2h);
  EXPECT_TRUE(is_there(30000));
  EXPECT_EQ(provider_.calls(Call::remove), 0u);
  cluster_.complete = true;
  pass(20min);
  EXPECT_FALSE(is_there(30000));
}

// What was seen while not all was known does not count.
TEST_F(LeftoversTest, TheGraceBeginsAnewWhenWishesWereNotKnownMeanwhile) {
  leave(30000);
  start();
  want("games/b", wish_for(30001));
  pass(30s);
  cluster_.complete = false;
  pass(11min);
  cluster_.complete = true;
  running_->engine().audit(kLb);
  pass(50s);
  EXPECT_TRUE(is_there(30000));
  pass(20s);
  EXPECT_FALSE(is_there(30000));
}

TEST_F(LeftoversTest, OfOtherClustersAndOfPeopleAreNotTouched) {
  const std::string prefix(kPrefix);
  leave(30000, "berth-c2-30000");
  leave(30001, "theirs");
  leave(30002, prefix.substr(0, prefix.size() - 1));
  leave(30003, "x" + prefix);
  leave(30004, "BERTH-C1-30004");
  provider_.add_listener(kLb, {.ports = {30005, 30005}});
  start();
  want("games/b", wish_for(30010));
  pass(2h);
  EXPECT_THAT(provider_.listeners(kLb), SizeIs(7));
  EXPECT_EQ(provider_.calls(Call::remove), 0u);
}

TEST_F(LeftoversTest, WithoutAPrefixNothingIsOurs) {
  leave(30000);
  running_ = std::make_unique<EngineProcess>(
      process_, provider_, cluster_, EngineOptions{}, [] { return true; }, 7);
  want("games/b", wish_for(30001));
  pass(2h);
  EXPECT_TRUE(is_there(30000));
}

TEST_F(LeftoversTest, AWishThatComesLateFindsItsListener) {
  const model::ListenerId id = leave(30000);
  start();
  running_->engine().audit(kLb);
  pass(40s);
  want("games/a", wish_for(30000, {target(1)}));
  pass(10min);
  EXPECT_TRUE(cluster_.objects["games/a"].applied);
  EXPECT_EQ(provider_.find(kLb, Transport::tcp, 30000)->id, id);
}

// It is not applied, it cannot be, or it is to go: it is named all the same.
TEST_F(LeftoversTest, WhatAnyObjectNamesIsNotALeftover) {
  const model::ListenerId id = leave(30000, fmt::format("{}renamed", kPrefix));
  leave(30001);
  Wish by_id = wish_for(30100);
  by_id.known_id = id;
  by_id.spec.reset();
  cluster_.objects["games/by-id"] = {by_id, false};
  cluster_.objects["games/by-name"] = {Wish{.lb = kLb, .name = fmt::format("{}30001", kPrefix)},
                                       false};
  start();
  running_->engine().audit(kLb);
  pass(2h);
  EXPECT_TRUE(is_there(30000));
  EXPECT_TRUE(is_there(30001));
}

TEST_F(LeftoversTest, WhatIsStillBeingWorkedOnIsNotALeftover) {
  const model::ListenerId id = leave(30000);
  for (int i = 0; i < 100; ++i) script_error(Call::targets, Code::unavailable);
  start();
  running_->engine().want(WishKey("games/nobody-knows"), wish_for(30000, {target(1)}));
  pass(5min);
  ASSERT_TRUE(is_there(30000));
  EXPECT_EQ(provider_.find(kLb, Transport::tcp, 30000)->id, id);
}

// Many leftovers take many calls. Before each of them it is asked again who wishes what.
TEST_F(LeftoversTest, WhatIsWishedWhileOthersGoStays) {
  for (model::Port port = 30000; port < 30050; ++port) leave(port);
  start();
  provider_.observe([&](const sim::lb::Change&) {
    for (model::Port port = 30000; port < 30050; ++port)
      if (is_there(port)) cluster_.objects[fmt::format("games/{}", port)] = {wish_for(port), false};
  });
  running_->engine().audit(kLb);
  pass(5min);
  EXPECT_EQ(provider_.calls(Call::remove), 1u);
  EXPECT_THAT(provider_.listeners(kLb), SizeIs(30));
}

TEST_F(LeftoversTest, NothingIsRemovedWhileWeMayNot) {
  leave(30000);
  start();
  running_->engine().audit(kLb);
  pass(30s);
  may_act_ = false;
  pass(1h);
  EXPECT_TRUE(is_there(30000));
  may_act_ = true;
  pass(30s);
  EXPECT_TRUE(is_there(30000)) << "another one was in charge: what was seen before is void";
  pass(15min);
  EXPECT_FALSE(is_there(30000));
}

TEST_F(LeftoversTest, GoInFullCallsAndWithoutHaste) {
  for (model::Port port = 30000; port < 30050; ++port) leave(port);
  start();
  want("games/b", wish_for(30100));
  pass(5min);
  EXPECT_THAT(provider_.listeners(kLb), SizeIs(1));
  EXPECT_EQ(provider_.calls(Call::remove), 3u);
}

TEST_F(LeftoversTest, ACallThatFailsIsNotRepeatedBeforeTheNextAudit) {
  leave(30000);
  script_error(Call::remove, Code::unavailable);
  start();
  want("games/b", wish_for(30001));
  pass(5min);
  EXPECT_EQ(provider_.calls(Call::remove), 1u);
  pass(15min);
  EXPECT_FALSE(is_there(30000));
}

TEST_F(LeftoversTest, MakeRoomForThoseWhoWaitForIt) {
  leave(30000);
  provider_.set_quota(1);
  start();
  want("games/b", wish_for(30001));
  run_until_told(1);
  EXPECT_EQ(cluster_.outcomes[0].result.error().code, Code::exhausted);
  pass(65s);
  EXPECT_TRUE(cluster_.objects["games/b"].applied);
}

TEST_F(LeftoversTest, AnAuditForNobodyEnds) {
  for (int i = 0; i < 100; ++i) script_error(Call::list, Code::forbidden);
  start();
  running_->engine().audit(kLb);
  pass(2h);
  EXPECT_EQ(provider_.calls(Call::list), 1u);
}

}  // namespace
}  // namespace berth::engine
