#include "engine/gather.h"

#include <gtest/gtest.h>

namespace berth::engine {
namespace {

using namespace std::chrono_literals;

constexpr Duration kCall = 500ms;
constexpr Duration kMost = kCall / 4;
constexpr Duration kForWritten = kCall / 10;
constexpr Duration kForLikely = kCall / 25;
constexpr Instant kStart{1000s};
const WishKey kA("a");
const WishKey kB("b");

TEST(Gather, WhoIsAloneLeavesAtOnce) {
  Gather gather;
  EXPECT_LE(gather.came(kA, kStart, kCall), kStart);
}

TEST(Gather, WhoWasAnnouncedHimselfLeavesAtOnce) {
  for (const Notice notice : {Notice::likely, Notice::written}) {
    Gather gather;
    gather.expect(kA, notice, kStart, kCall);
    EXPECT_LE(gather.came(kA, kStart + 1ms, kCall), kStart + 1ms);
  }
}

TEST(Gather, WhatIsBeingWrittenIsWaitedForUntilItComes) {
  Gather gather;
  gather.expect(kA, Notice::written, kStart, kCall);
  gather.expect(kB, Notice::written, kStart, kCall);
  EXPECT_EQ(gather.came(kA, kStart + 2ms, kCall), kStart + 2ms + kForWritten) << "and no longer";
  EXPECT_LE(gather.came(kB, kStart + 20ms, kCall), kStart + 20ms);
}

TEST(Gather, WhatMayComeIsWaitedForALittle) {
  Gather gather;
  gather.expect(kB, Notice::likely, kStart, kCall);
  gather.expect(WishKey("c"), Notice::likely, kStart, kCall);
  EXPECT_EQ(gather.came(kA, kStart, kCall), kStart + kForLikely);
  EXPECT_EQ(gather.came(kB, kStart + 4ms, kCall), kStart + 4ms + kForLikely) << "again for each";
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
  EXPECT_LE(gather.came(kB, later, kCall), later);
}

TEST(Gather, AnnouncedAgainCountsFromThen) {
  Gather gather;
  gather.expect(kA, Notice::likely, kStart, kCall);
  gather.expect(kA, Notice::likely, kStart + 900ms, kCall);
  EXPECT_GT(gather.came(kB, kStart + 1500ms, kCall), kStart + 1500ms);
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
  EXPECT_EQ(gather.came(kB, later, kCall), later + kForLikely);
}

}  // namespace
}  // namespace berth::engine
