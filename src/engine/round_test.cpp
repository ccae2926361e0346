#include "engine/round.h"

#include <gtest/gtest.h>

namespace berth::engine {
namespace {

using Kind = Round::Kind;

const model::Abilities kSerial{.create_batch = 2, .remove_batch = 2, .target_batch = 3};

lb::TargetStep targets(std::size_t wish, int count) {
  lb::TargetStep step{.wish = wish, .change = {.rule = {model::ListenerId("l"), {}}}};
  for (int i = 0; i < count; ++i) step.change.add.push_back({{"10.0.0.1", model::Port(i)}, 10});
  return step;
}

TEST(Rounds, KindsTakeTurns) {
  Rounds rounds;
  const auto id = [](const char* text) { return model::ListenerId(text); };
  const lb::Plan plan{.removals = {{0, id("a")}, {1, id("b")}, {2, id("c")}},
                      .creations = {{3}, {4}, {5}},
                      .listeners = {{6, {}}},
                      .rule_removals = {{7, {}}},
                      .rule_creations = {{8, {}}},
                      .rules = {{9, {}}}};
  for (int i = 0; i < 2; ++i) {
    for (const Kind kind : {Kind::removals, Kind::creations, Kind::listeners, Kind::rule_removals,
                            Kind::rule_creations, Kind::rules})
      EXPECT_EQ(rounds.next(plan, kSerial, false).kind, kind);
  }
}

TEST(Rounds, TargetsThatSomebodyWaitsForComeInBetween) {
  Rounds rounds;
  const lb::Plan plan{.creations = {{0}, {1}, {2}}, .targets = {targets(3, 1)}};
  EXPECT_EQ(rounds.next(plan, kSerial, true).kind, Kind::targets);
  EXPECT_EQ(rounds.next(plan, kSerial, true).kind, Kind::creations);
  EXPECT_EQ(rounds.next(plan, kSerial, true).kind, Kind::targets);
}

TEST(Rounds, OtherTargetsAreCollectedUntilTheyFillACall) {
  Rounds rounds;
  lb::Plan plan{.creations = {{0}}, .targets = {targets(1, 1)}};
  EXPECT_EQ(rounds.next(plan, kSerial, false).kind, Kind::creations);
  plan.targets.push_back(targets(2, 3));
  EXPECT_EQ(rounds.next(plan, kSerial, false).kind, Kind::targets);
  plan.creations.clear();
  EXPECT_EQ(rounds.next(plan, kSerial, false).kind, Kind::targets);
}

TEST(Rounds, SerialWritesGoOneByOneAndOthersTogether) {
  lb::Plan plan;
  for (std::size_t i = 0; i < 20; ++i) plan.creations.push_back({i});
  EXPECT_EQ(Rounds{}.next(plan, kSerial, false).calls.creations.size(), 1u);
  model::Abilities parallel = kSerial;
  parallel.serial_writes = false;
  EXPECT_EQ(Rounds{}.next(plan, parallel, false).calls.creations.size(), 4u);
}

TEST(Rounds, TheCallsOfOneWishFollowEachOther) {
  model::Abilities parallel = kSerial;
  parallel.serial_writes = false;
  const lb::Plan plan{.targets = {targets(0, 7), targets(1, 2)}};
  const Round round = Rounds{}.next(plan, parallel, false);
  ASSERT_EQ(round.calls.targets.size(), 1u);
  EXPECT_EQ(round.calls.targets[0].size(), 1u);
}

}  // namespace
}  // namespace berth::engine
