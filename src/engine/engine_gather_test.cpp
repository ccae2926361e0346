// Wishes that are on their way, or may be: who waits for them, and for how long.
#include <gtest/gtest.h>

#include "engine/test_engine.h"

namespace berth::engine {
namespace {

using namespace std::chrono_literals;
using sim::lb::Call;

constexpr Duration kCall = 500ms;
constexpr Duration kForNext = kCall / 25;  // what everybody waits who finds nobody served

class EngineGatherTest : public EngineTest {
 protected:
  EngineGatherTest() : EngineTest({.min_latency = kCall, .max_latency = kCall}) {}

  // Two listeners stand, and how long a call takes is known.
  void start_with_two() {
    start_settled();
    want("games/a", wish_for(30000));
    want("games/b", wish_for(30001));
    come_to_rest();
  }
  void come_to_rest() {
    run_until_applied();
    pass(1ms);  // nobody serves it any more
    begun_ = kernel_.now();
    calls_ = provider_.calls(Call::targets);
  }
  void expect(const std::string& key, Notice notice) {
    running_->engine().expect(WishKey(key), lb::Place(kLb), notice);
  }
  std::uint64_t target_calls() { return provider_.calls(Call::targets) - calls_; }
  Duration passed() { return kernel_.now() - begun_; }

  Instant begun_{};
  std::uint64_t calls_ = 0;
};

TEST_F(EngineGatherTest, ALoneWishWaitsForASmallPartOfACall) {
  start_with_two();
  expect("games/a", Notice::likely);
  expect("games/a", Notice::written);
  want("games/a", wish_for(30000, {target(1)}));
  run_until_applied();
  EXPECT_EQ(target_calls(), 1u);
  EXPECT_LE(passed(), kCall + kForNext + 20ms);
}

TEST_F(EngineGatherTest, AStormThatNobodyAnnouncedIsOneCall) {
  start_with_two();
  for (int i = 2; i < 50; ++i)
    want(fmt::format("games/{}", i), wish_for(static_cast<model::Port>(30000 + i)));
  come_to_rest();
  for (int i = 2; i < 50; ++i) {
    want(fmt::format("games/{}", i), wish_for(static_cast<model::Port>(30000 + i), {target(1)}));
    pass(500us);
  }
  run_until_applied();
  EXPECT_EQ(target_calls(), 1u);
  EXPECT_LE(passed(), kCall + 24ms + kForNext + 20ms);
}

// Each of them waits for the call that is under way, for its own, and for nothing else.
TEST_F(EngineGatherTest, WhatComesOneByOneIsDoneWithoutDelay) {
  start_with_two();
  for (int i = 2; i < 12; ++i)
    want(fmt::format("games/{}", i), wish_for(static_cast<model::Port>(30000 + i)));
  come_to_rest();
  std::map<std::string, Instant> asked;
  Duration longest{};
  cluster_.on_success = [&](const std::string& key, const auto&) {
    if (asked.contains(key)) longest = std::max(longest, kernel_.now() - asked.at(key));
  };
  for (int i = 2; i < 12; ++i) {
    const std::string key = fmt::format("games/{}", i);
    asked[key] = kernel_.now();
    want(key, wish_for(static_cast<model::Port>(30000 + i), {target(1)}));
    pass(200ms);
  }
  run_until_applied();
  // The first one leaves a little later than at once, and so those that find it under way.
  EXPECT_LE(longest, 2 * kCall + kForNext + 20ms);
  EXPECT_LE(passed(), 2s + 2 * kCall);
}

TEST_F(EngineGatherTest, WhatIsBeingWrittenGoesAlong) {
  start_with_two();
  expect("games/b", Notice::written);
  want("games/a", wish_for(30000, {target(1)}));
  pass(20ms);
  want("games/b", wish_for(30001, {target(2)}));
  run_until_applied();
  EXPECT_EQ(target_calls(), 1u);
  EXPECT_LE(passed(), kCall + 20ms + kForNext + 20ms) << "no longer than if they came together";
}

TEST_F(EngineGatherTest, ABurstThatIsSeenComingIsOneCall) {
  start_with_two();
  for (int i = 2; i < 50; ++i)
    want(fmt::format("games/{}", i), wish_for(static_cast<model::Port>(30000 + i)));
  come_to_rest();
  for (int i = 2; i < 50; ++i) expect(fmt::format("games/{}", i), Notice::likely);
  for (int i = 2; i < 50; ++i) {
    want(fmt::format("games/{}", i), wish_for(static_cast<model::Port>(30000 + i), {target(1)}));
    pass(500us);
  }
  run_until_applied();
  EXPECT_EQ(target_calls(), 1u);
  EXPECT_LE(passed(), kCall + 24ms + 20ms);
}

TEST_F(EngineGatherTest, WhatDoesNotComeIsWaitedForALittle) {
  start_with_two();
  expect("games/b", Notice::written);
  want("games/a", wish_for(30000, {target(1)}));
  run_until_applied();
  EXPECT_EQ(target_calls(), 1u);
  EXPECT_LE(passed(), kCall + kCall / 10 + 30ms);
}

// A call has just given them time enough.
TEST_F(EngineGatherTest, WhatCollectedDuringACallLeavesAtOnce) {
  start_with_two();
  want("games/a", wish_for(30000, {target(1)}));
  pass(kCall / 2);
  want("games/b", wish_for(30001, {target(2)}));
  expect("games/a", Notice::written);
  expect("games/a", Notice::likely);
  run_until_applied();
  EXPECT_EQ(target_calls(), 2u);
  EXPECT_LE(passed(), 2 * kCall + kForNext + 40ms);
}

TEST_F(EngineGatherTest, AnotherLoadBalancerIsNotWaitedFor) {
  start_with_two();
  running_->engine().expect(WishKey("games/b"), lb::Place(kOtherLb), Notice::written);
  want("games/a", wish_for(30000, {target(1)}));
  run_until_applied();
  EXPECT_LE(passed(), kCall + kForNext + 20ms);
}

}  // namespace
}  // namespace berth::engine
