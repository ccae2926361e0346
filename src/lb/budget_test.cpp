#include "lb/budget.h"

#include <gtest/gtest.h>

namespace berth::lb {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart{1000s};

// How many calls fit a span when every one is made as early as possible.
int calls_within(Budget& budget, Instant from, Duration span) {
  int calls = 0;
  for (Instant now = from; now < from + span;) {
    const Instant at = budget.take(now);
    if (at <= now) {
      ++calls;
      now += 1ms;
    } else {
      now = at;
    }
  }
  return calls;
}

TEST(Budget, HasNoLimitBeforeTheFirstRefusal) {
  Budget budget;
  EXPECT_EQ(calls_within(budget, kStart, 1s), 1000);
  EXPECT_EQ(budget.per_second(), 0);
}

TEST(Budget, ARefusalHalvesThePaceAtWhichCallsWereMade) {
  Budget budget;
  for (int i = 0; i < 40; ++i) EXPECT_LE(budget.take(kStart + i * 25ms), kStart + i * 25ms);
  budget.refused(kStart + 1s, {});
  EXPECT_NEAR(budget.per_second(), 20, 1);
  EXPECT_NEAR(calls_within(budget, kStart + 1s, 10s), 200, 15);
}

TEST(Budget, RefusalsOfCallsThatWereOnTheirWayCountOnce) {
  Budget budget;
  for (int i = 0; i < 40; ++i) (void)budget.take(kStart + i * 25ms);
  for (int i = 0; i < 4; ++i) budget.refused(kStart + 1s + i * 10ms, {});
  EXPECT_NEAR(budget.per_second(), 20, 1);
}

TEST(Budget, NothingIsSentBeforeTheProviderAllowsIt) {
  Budget budget;
  (void)budget.take(kStart);
  budget.refused(kStart, 7s);
  EXPECT_EQ(budget.take(kStart + 1s), kStart + 7s);
  EXPECT_LE(budget.take(kStart + 7s), kStart + 7s);
}

TEST(Budget, ThePaceGrowsSlowlyAndTheLimitGoesAway) {
  Budget budget;
  for (int i = 0; i < 40; ++i) (void)budget.take(kStart + i * 25ms);
  budget.refused(kStart + 1s, {});
  const double cut = budget.per_second();
  Instant now = kStart + 1s;
  for (int i = 0; i < 10; ++i) budget.accepted(now += 1s);
  EXPECT_GT(budget.per_second(), cut * 1.4);
  EXPECT_LT(budget.per_second(), cut * 2);
  for (int i = 0; i < 200; ++i) budget.accepted(now += 1s);
  EXPECT_EQ(budget.per_second(), 0);
}

// A provider that says what it takes need not be asked by trying.
TEST(Budget, KeepsToAKnownLimitInAnySecond) {
  Budget budget;
  budget.set_limit(20);
  std::vector<Instant> sent;
  for (Instant now = kStart; now < kStart + 10s;) {
    const Instant at = budget.take(now);
    if (at <= now) sent.push_back(now);
    now = std::max(at, now + 1ms);
  }
  EXPECT_GE(sent.size(), 190u) << "all that is allowed";
  EXPECT_LE(sent[19], kStart + 20ms) << "as many as a second takes go at once";
  for (std::size_t i = 20; i < sent.size(); ++i) EXPECT_GT(sent[i] - sent[i - 20], 1s) << i;
}

TEST(Budget, SaysWhenALimitHasRoom) {
  Budget budget;
  budget.set_limit(20);
  EXPECT_LE(budget.free_at(kStart, 20), kStart);
  EXPECT_GT(budget.free_at(kStart, 21), kStart);
  for (int i = 0; i < 20; ++i) EXPECT_LE(budget.take(kStart), kStart);
  const Instant at = budget.free_at(kStart);
  EXPECT_GT(at, kStart + 1s);
  EXPECT_LT(at, kStart + 1100ms);
  EXPECT_EQ(budget.take(kStart), at);
  EXPECT_LE(budget.take(at), at);
}

TEST(Budget, ARefusalBelowTheLimitSlowsDownForAWhile) {
  Budget budget;
  budget.set_limit(20);
  for (int i = 0; i < 20; ++i) (void)budget.take(kStart);
  budget.refused(kStart, {});  // somebody else calls with the same account
  EXPECT_NEAR(budget.per_second(), 10, 1);
  Instant now = kStart;
  for (int i = 0; i < 60; ++i) budget.accepted(now += 1s);
  EXPECT_EQ(budget.per_second(), 0) << "then the limit alone counts";
  EXPECT_GT(budget.free_at(now, 21), now);
}

TEST(Budget, SaysWhenThereIsRoomAndTakesNothing) {
  Budget budget;
  EXPECT_LE(budget.free_at(kStart, 1000), kStart);
  for (int i = 0; i < 40; ++i) (void)budget.take(kStart + i * 25ms);
  budget.refused(kStart + 1s, 5s);
  EXPECT_EQ(budget.free_at(kStart + 2s), kStart + 6s);
  const Instant later = kStart + 10s;
  for (int i = 0; i < 100; ++i) EXPECT_LE(budget.free_at(later), later);
  EXPECT_GT(budget.free_at(later, 11), later) << "not so many at once";
  while (budget.take(later) <= later) continue;
  const Instant at = budget.free_at(later);
  EXPECT_GT(at, later);
  EXPECT_LE(budget.take(at), at);
}

TEST(Budget, NeverStopsForGood) {
  Budget budget;
  Instant now = kStart;
  for (int i = 0; i < 50; ++i) budget.refused(now += 2s, {});
  EXPECT_GE(calls_within(budget, now, 60s), 25);
}

}  // namespace
}  // namespace berth::lb
