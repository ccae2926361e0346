#include "engine/gather.h"

#include <gtest/gtest.h>

namespace berth::engine {
namespace {

using namespace std::chrono_literals;

constexpr Duration kCall = 500ms;
constexpr Duration kMost = kCall / 4;
constexpr Duration kForWritten = kCall / 10;
constexpr Duration kForNext = kCall / 25;
constexpr Instant kStart{1000s};
const WishKey kA("a");
const WishKey kB("b");

// What a lone one pays: nothing that anybody could notice, and storms fit into one call for it.
TEST(Gather, WhoIsAloneWaitsForASmallPartOfACall) {
  Gather gather;
  EXPECT_EQ(gather.came(kA, kStart, kCall), kStart + kForNext);
}

TEST(Gather, WhoWasAnnouncedHimselfWaitsNoLonger) {
  for (const Notice notice : {Notice::likely, Notice::written}) {
    Gather gather;
    gather.expect(kA, notice, kStart, kCall);
    EXPECT_EQ(gather.came(kA, kStart + 1ms, kCall), kStart + 1ms + kForNext);
  }
}

// A Pod with two ports: the second was promised, too, and is being written. It is no burst.
TEST(Gather, TwoThatAreWrittenTogetherAreAsGoodAsOne) {
  Gather gather;
  for (const Notice notice : {Notice::likely, Notice::written})
    for (const WishKey& key : {kA, kB}) gather.expect(key, notice, kStart, kCall);
  (void)gather.came(kA, kStart, kCall);
  EXPECT_EQ(gather.came(kB, kStart + 5ms, kCall), kStart + 5ms + kForNext);
}

TEST(Gather, WithoutAnAnnouncementTheNextIsWaitedForAsLongAsTheyCome) {
  Gather gather;
  Instant leave = gather.came(kA, kStart, kCall);
  int count = 1;
  for (Instant now = kStart + 10ms; now < leave && count < 100; now += 10ms, ++count)
    leave = gather.came(WishKey(std::to_string(count)), now, kCall);
  EXPECT_EQ(leave, kStart + kMost);
  EXPECT_EQ(count, kMost / 10ms + 1);
}

TEST(Gather, WhoeverComesOneByOneWaitsForNobodyElse) {
  Gather gather;
  for (int i = 0; i < 20; ++i) {
    const Instant now = kStart + i * 200ms;
    EXPECT_EQ(gather.came(WishKey(std::to_string(i)), now, kCall), now + kForNext);
    gather.end();
  }
}

TEST(Gather, WhatIsBeingWrittenIsWaitedForUntilItComes) {
  Gather gather;
  gather.expect(kA, Notice::written, kStart, kCall);
  gather.expect(kB, Notice::written, kStart, kCall);
  EXPECT_EQ(gather.came(kA, kStart + 2ms, kCall), kStart + 2ms + kForWritten) << "and no longer";
  EXPECT_EQ(gather.came(kB, kStart + 10ms, kCall), kStart + 10ms + kForNext);
}

// Of what follows nothing is known, but all that was promised is there.
TEST(Gather, ABurstLeavesWhenTheLastThatWasPromisedIsThere) {
  Gather gather;
  gather.expect(kA, Notice::likely, kStart, kCall);
  gather.expect(kB, Notice::likely, kStart, kCall);
  gather.expect(WishKey("c"), Notice::likely, kStart, kCall);
  (void)gather.came(kA, kStart, kCall);
  (void)gather.came(kB, kStart + 15ms, kCall);
  EXPECT_LE(gather.came(WishKey("c"), kStart + 30ms, kCall), kStart + 30ms);
}

TEST(Gather, ABurstIsNotOverBeforeALoneOneWouldLeave) {
  Gather gather;
  gather.expect(kB, Notice::likely, kStart, kCall);
  (void)gather.came(kA, kStart, kCall);
  EXPECT_EQ(gather.came(kB, kStart + 1ms, kCall), kStart + kForNext);
}

TEST(Gather, TheNextOnesAreAnotherBurst) {
  Gather gather;
  gather.expect(kB, Notice::likely, kStart, kCall);
  (void)gather.came(kA, kStart, kCall);
  (void)gather.came(kB, kStart, kCall);
  gather.end();
  const Instant later = kStart + 600ms;
  (void)gather.came(kA, later, kCall);
  EXPECT_EQ(gather.came(kB, later + 10ms, kCall), later + 10ms + kForNext);
}

TEST(Gather, WhatMayComeIsWaitedForALittle) {
  Gather gather;
  gather.expect(kB, Notice::likely, kStart, kCall);
  gather.expect(WishKey("c"), Notice::likely, kStart, kCall);
  EXPECT_EQ(gather.came(kA, kStart, kCall), kStart + kForNext);
  EXPECT_EQ(gather.came(kB, kStart + 4ms, kCall), kStart + 4ms + kForNext) << "again for each";
}

TEST(Gather, TheFirstOneWaitsNoLongerThanASmallPartOfACall) {
  Gather gather;
  for (int i = 0; i < 1000; ++i)
    gather.expect(WishKey(std::to_string(i)), Notice::likely, kStart, kCall);
  Instant leave = kStart;
  for (int i = 0; i < 1000; ++i) {
    const Instant now = kStart + i * 1ms;
    leave = gather.came(WishKey(std::to_string(i)), now, kCall);
    if (leave <= now) break;
  }
  EXPECT_EQ(leave, kStart + kMost);
}

TEST(Gather, AnnouncementsDoNotCountForEver) {
  Gather gather;
  gather.expect(kA, Notice::written, kStart, kCall);
  gather.expect(WishKey("c"), Notice::likely, kStart, kCall);
  const Instant later = kStart + 2s;
  EXPECT_EQ(gather.came(kB, later, kCall), later + kForNext);
  EXPECT_EQ(gather.came(kB, later + 5ms, kCall), later + 5ms + kForNext) << "it is no burst";
}

TEST(Gather, AnnouncedAgainCountsFromThen) {
  Gather gather;
  gather.expect(kA, Notice::likely, kStart, kCall);
  gather.expect(kA, Notice::likely, kStart + 900ms, kCall);
  const Instant later = kStart + 1500ms;
  (void)gather.came(kB, later, kCall);
  EXPECT_LE(gather.came(kA, later + 40ms, kCall), later + 40ms) << "that was the burst";
}

TEST(Gather, NobodyWaitsWhereCallsAreQuickOrNothingIsKnownOfThem) {
  for (const Duration call : {Duration{}, Duration(1ms), Duration(40ms)}) {
    Gather gather;
    gather.expect(kB, Notice::written, kStart, call);
    gather.expect(kB, Notice::likely, kStart, call);
    EXPECT_LE(gather.came(kA, kStart, call), kStart);
  }
}

TEST(Gather, ASlowCallIsNoReasonToWaitForLong) {
  Gather gather;
  gather.expect(kB, Notice::written, kStart, 1min);
  EXPECT_LE(gather.came(kA, kStart, 1min), kStart + 100ms);
}

TEST(Gather, ThoseThatComeAfterTheyLeftWaitAnew) {
  Gather gather;
  gather.expect(kA, Notice::likely, kStart, kCall);
  (void)gather.came(kB, kStart, kCall);
  gather.end();
  const Instant later = kStart + 600ms;
  EXPECT_EQ(gather.came(kB, later, kCall), later + kForNext);
}

}  // namespace
}  // namespace berth::engine
