#include "cloud/tencent/pace.h"

#include <gtest/gtest.h>

namespace berth::cloud::tencent {
namespace {

using namespace std::chrono_literals;

// Asks about a task of this length; returns when it was seen to be over and how often it was asked.
std::pair<Duration, int> follow(Pace& pace, Duration length) {
  static Instant now{1000s};
  now += 1min;
  Duration at = pace.first();
  if (at >= length) {
    pace.was_over_at_first(at, now);
    return {at, 1};
  }
  for (int asked = 1;; ++asked) {
    const Duration under_way = at;
    at += pace.gap(asked);
    if (at < length) continue;
    pace.was_over_between(under_way, at);
    return {at, asked + 1};
  }
}

TEST(TencentPace, TheFirstQuestionIsEarly) { EXPECT_LE(Pace{}.first(), 250ms); }

TEST(TencentPace, LearnsHowLongTasksTake) {
  Pace pace;
  for (int i = 0; i < 5; ++i) (void)follow(pace, 500ms);
  int questions = 0;
  Duration lost{};
  for (int i = 0; i < 40; ++i) {
    const auto [over, asked] = follow(pace, 500ms);
    questions += asked;
    lost += over - 500ms;
  }
  EXPECT_LE(questions, 50) << "most tasks cost one question";
  EXPECT_LE(lost / 40, 40ms);
}

TEST(TencentPace, FollowsTasksThatBecomeShorter) {
  Pace pace;
  for (int i = 0; i < 10; ++i) (void)follow(pace, 2s);
  for (int i = 0; i < 400; ++i) (void)follow(pace, 100ms);
  EXPECT_LE(follow(pace, 100ms).first, 150ms);
}

// Twenty load balancers see the end of their tasks at one time.
TEST(TencentPace, TasksThatEndTogetherTeachItOnce) {
  Pace pace;
  for (int i = 0; i < 5; ++i) (void)follow(pace, 500ms);
  const Duration before = pace.first();
  for (int i = 0; i < 20; ++i) pace.was_over_at_first(before, Instant{5000s} + i * 1ms);
  EXPECT_GE(pace.first(), before * 98 / 100);
}

TEST(TencentPace, ASteadyPaceIsSeldomAskedForInVain) {
  Pace pace;
  for (int i = 0; i < 20; ++i) (void)follow(pace, 500ms);
  int questions = 0;
  Duration lost{};
  for (int i = 0; i < 100; ++i) {
    const auto [over, asked] = follow(pace, 500ms);
    questions += asked;
    lost += over - 500ms;
  }
  EXPECT_LE(questions, 108);
  EXPECT_LE(lost / 100, 10ms);
}

// A question that must not be in vain comes when they are over, and not much later.
TEST(TencentPace, SaysWhenTasksAreSurelyOver) {
  Pace pace;
  for (int i = 0; i < 10; ++i) (void)follow(pace, 500ms);
  for (int i = 0; i < 100; ++i) {
    EXPECT_GE(pace.surely(), 500ms);
    EXPECT_LE(pace.surely(), 600ms);
    (void)follow(pace, 500ms);
  }
}

TEST(TencentPace, OneSlowTaskMakesNoneLate) {
  Pace pace;
  for (int i = 0; i < 10; ++i) (void)follow(pace, 500ms);
  (void)follow(pace, 4s);
  EXPECT_LE(pace.first(), 600ms);
  EXPECT_LE(pace.surely(), 700ms);
  (void)follow(pace, 500ms);
  (void)follow(pace, 4s);
  EXPECT_LE(pace.first(), 600ms);
  for (int i = 0; i < 2; ++i) (void)follow(pace, 4s);
  EXPECT_GE(pace.first(), 3s) << "they are slow now";
  EXPECT_GE(pace.surely(), 4s);
}

// Whoever always asks when they are surely over sees nothing else.
TEST(TencentPace, SurelyBecomesLessWhenItIsFarFromWhatIsExpected) {
  Pace pace;
  for (int i = 0; i < 10; ++i) (void)follow(pace, 4s);
  for (int i = 0; i < 3; ++i) pace.was_over_between(400ms, 500ms);
  ASSERT_GE(pace.surely(), 1s);
  for (int i = 0; i < 60; ++i) pace.was_over_at_first(pace.surely(), Instant{5000s} + i * 1min);
  EXPECT_LE(pace.surely(), 600ms);
  EXPECT_GE(pace.surely(), 450ms);
}

TEST(TencentPace, WhatWasSeenToLastLongerIsAskedLater) {
  Pace pace;
  pace.was_longer_than(700ms);
  const Duration after = pace.first();
  EXPECT_GT(after, 700ms);
  EXPECT_LT(after, 1s);
  pace.was_longer_than(300ms);
  EXPECT_EQ(pace.first(), after);
}

TEST(TencentPace, ALongTaskIsAskedAboutMoreAndMoreSeldom) {
  Pace pace;
  const auto [over, asked] = follow(pace, 60s);
  EXPECT_LE(over, 62s);
  EXPECT_LE(asked, 40);
  EXPECT_LE(pace.first(), 5s) << "the next one may be short";
}

}  // namespace
}  // namespace berth::cloud::tencent
