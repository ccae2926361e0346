#include "ledger/claim.h"

#include <gtest/gtest.h>

namespace berth::ledger {
namespace {

Claim sample() {
  return {.token = "t1",
          .ns = "games",
          .owner_uid = "o1",
          .request = "r1",
          .since = WallTime{std::chrono::sys_days{std::chrono::year{2026} / 3 / 4}} +
                   std::chrono::microseconds{5}};
}

TEST(Claim, TextRoundTrips) {
  Claim claim = sample();
  EXPECT_EQ(decode_claim(encode(claim)).value().value(), claim);
  claim = bound_to(claim, "room-0", "u1", claim.since);
  EXPECT_EQ(decode_claim(encode(claim)).value().value(), claim);
  claim.keep = std::chrono::minutes{5};
  const auto gone = abandoned(claim, false, {}, claim.since);
  EXPECT_EQ(decode_claim(encode(*gone)).value(), gone);
  const auto rest = drained(*gone, {}, claim.since);
  EXPECT_EQ(decode_claim(encode(*rest)).value(), rest);
}

TEST(Claim, TheTextIsWhatOtherVersionsOfUsCompare) {
  EXPECT_EQ(encode(sample()),
            R"({"v":1,"state":"Claimed","token":"t1","namespace":"games","pod":"","uid":"",)"
            R"("owner":"o1","request":"r1","entry":0,"since":"2026-03-04T00:00:00.000005Z"})");
}

TEST(Claim, TheEmptyTextIsAFreeSlot) { EXPECT_EQ(decode_claim("").value(), std::nullopt); }

TEST(Claim, ATextThatCannotBeReadIsNeverAFreeSlot) {
  for (const char* bad : {"x", "{}", "[]", "null", R"({"v":2,"token":"t"})",
                          R"({"v":1,"since":"2026-03-04T00:00:00Z"})",
                          R"({"v":1,"token":"t","state":"Bound","since":"yesterday"})",
                          R"({"v":1,"token":"t","state":"Free","since":"2026-03-04T00:00:00Z"})"}) {
    const auto claim = decode_claim(bad);
    ASSERT_FALSE(claim) << bad;
    EXPECT_EQ(claim.error().field, "metadata.annotations[berth.dev/claim]");
    EXPECT_FALSE(claim.error().hint.empty());
  }
}

TEST(SlotStates, AnotherOwnerGetsASlotOnlyWhenItIsFree) {
  for (const Move& move : all_moves()) {
    if (move.event == Event::admit) {
      EXPECT_EQ(move.from, SlotState::free);
    }
    if (move.to == SlotState::free) {
      EXPECT_NE(move.from, SlotState::bound) << "not drained";
    }
  }
  EXPECT_FALSE(may_move(SlotState::bound, Event::abandoned, SlotState::free));
  EXPECT_FALSE(may_move(SlotState::quarantined, Event::pod_returns, SlotState::claimed));
}

TEST(SlotStates, KeepingCountsAsQuarantine) {
  const WallTime now = sample().since;
  Claim claim = bound_to(sample(), "room-0", "u1", now);
  claim.keep = std::chrono::seconds{10};
  const auto kept = drained(claim, std::chrono::seconds{30}, now);
  ASSERT_EQ(kept->state, SlotState::kept);
  EXPECT_EQ(kept->until, now + std::chrono::seconds{10});
  const Duration rested = kept->until - kept->since;
  const auto rest = window_over(*kept, std::chrono::seconds{30}, rested, kept->until);
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->state, SlotState::quarantined);
  EXPECT_EQ(rest->until, now + std::chrono::seconds{30});
  EXPECT_FALSE(window_over(*kept, std::chrono::seconds{5}, rested, kept->until));
  EXPECT_FALSE(window_over(*rest, std::chrono::seconds{30}, rested, rest->until));
}

TEST(SlotStates, AClaimThatLedNowhereNeedsNoQuarantine) {
  EXPECT_FALSE(abandoned(sample(), true, std::chrono::seconds{30}, sample().since));
  EXPECT_EQ(abandoned(sample(), false, std::chrono::seconds{30}, sample().since)->state,
            SlotState::draining);
}

TEST(ClaimToken, SaysWhenItWasMade) {
  const WallTime now{std::chrono::sys_days{std::chrono::year{2026} / 1 / 2}};
  const std::string token = make_token(now + std::chrono::milliseconds{700}, 1, 2);
  EXPECT_EQ(token_time(token), now);
  EXPECT_LE(token.size(), 63u) << "it is the value of a label";
  EXPECT_NE(token, make_token(now, 1, 3));
  for (const char* other : {"", "-", "token-1", "0123456789abcdef", "ffffffffffff-1", "-1-2"})
    EXPECT_EQ(token_time(other), std::nullopt) << other;
}

// Whoever saw the whole of it goes by what it saw, whatever its clock says.
TEST(Claim, WaitsForAsLongAsItWasMeantTo) {
  using std::chrono::hours;
  using std::chrono::minutes;
  const WallTime now{hours{1000}};
  const Claim claim{.state = SlotState::quarantined, .since = now, .until = now + minutes{2}};
  for (const minutes ahead : {minutes{-9}, minutes{0}, minutes{9}}) {
    EXPECT_EQ(still_waits(claim, claim.until, minutes{0}, now + ahead), minutes{2});
    EXPECT_EQ(still_waits(claim, claim.until, minutes{2}, now + minutes{2} + ahead), minutes{0});
  }
}

// Of a long wait, a new leader has seen only the end.
TEST(Claim, ALongWaitDoesNotBeginAnewWithEachLeader) {
  using std::chrono::hours;
  using std::chrono::minutes;
  const WallTime now{hours{1000}};
  const Claim claim{.state = SlotState::kept, .since = now - hours{24}, .until = now};
  EXPECT_EQ(still_waits(claim, claim.until, minutes{0}, now), kClockSkew);
  EXPECT_EQ(still_waits(claim, claim.until, minutes{4}, now - hours{3}), hours{3});
  EXPECT_EQ(still_waits(claim, claim.until, kClockSkew, now), minutes{0});
}

// People can write any time.
TEST(Claim, WaitsForNothingThatMakesNoSense) {
  const Claim backwards{.since = WallTime::max(), .until = WallTime::min()};
  EXPECT_LE(still_waits(backwards, backwards.until, Duration::zero(), WallTime{}),
            Duration::zero());
  const Claim endless{.since = WallTime::min(), .until = WallTime::max()};
  EXPECT_GT(still_waits(endless, endless.until, Duration::zero(), WallTime{}), Duration::zero());
}

// A creation that failed after our answer: a quota, or a post that no API server sent.
TEST(Claim, NothingIsKeptThatWasNoPods) {
  const WallTime now{std::chrono::hours{1}};
  Claim claim{.ns = "games", .pod_name = "room-0", .since = now, .keep = std::chrono::hours{1}};
  EXPECT_FALSE(abandoned(claim, true, {}, now));
  claim.pod_uid = "u1";
  const auto kept = abandoned(claim, true, {}, now);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->state, SlotState::kept);
  EXPECT_EQ(kept_until(*kept, kMaxKeep), kept->until);
  EXPECT_EQ(kept_until(*kept, std::chrono::minutes{5}), now + std::chrono::minutes{5});
}

}  // namespace
}  // namespace berth::ledger
