#include "ledger/claim.h"

#include <gtest/gtest.h>

#include <set>

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
  EXPECT_EQ(claim.state(), SlotState::claimed);
  EXPECT_EQ(decode_claim(encode(claim)).value().value(), claim);
  claim.pod_name = "room-0";
  claim.pod_uid = "u1";
  EXPECT_EQ(claim.state(), SlotState::bound);
  EXPECT_EQ(decode_claim(encode(claim)).value().value(), claim);
}

TEST(Claim, TheTextIsWhatOtherVersionsOfUsCompare) {
  EXPECT_EQ(
      encode(sample()),
      R"({"v":1,"token":"t1","namespace":"games","pod":"","uid":"","owner":"o1","request":"r1",)"
      R"("since":"2026-03-04T00:00:00.000005Z"})");
}

TEST(Claim, TheEmptyTextIsAFreeSlot) { EXPECT_EQ(decode_claim("").value(), std::nullopt); }

TEST(Claim, ATextThatCannotBeReadIsNeverAFreeSlot) {
  for (const char* bad : {"x", "{}", "[]", "null", R"({"v":2,"token":"t"})",
                          R"({"v":1,"since":"2026-03-04T00:00:00Z"})",
                          R"({"v":1,"token":"t","since":"yesterday"})"}) {
    const auto claim = decode_claim(bad);
    ASSERT_FALSE(claim) << bad;
    EXPECT_EQ(claim.error().field, "metadata.annotations[berth.dev/claim]");
    EXPECT_FALSE(claim.error().hint.empty());
  }
}

// The whole table, exhaustively: a slot is only given when it is free, and only two events free it.
TEST(SlotStates, ASlotIsGivenOnlyWhenFree) {
  for (const SlotState state : {SlotState::free, SlotState::claimed, SlotState::bound}) {
    EXPECT_EQ(next_state(state, Event::admit).has_value(), state == SlotState::free);
    EXPECT_EQ(next_state(state, Event::claim_expired).has_value(), state == SlotState::claimed);
  }
  EXPECT_FALSE(next_state(SlotState::claimed, Event::pod_gone));
  EXPECT_FALSE(next_state(SlotState::free, Event::pod_seen))
      << "a Pod whose claim was lost is never bound";
  EXPECT_EQ(next_state(SlotState::bound, Event::pod_gone).value(), SlotState::free);
}

TEST(SlotStates, EveryStateIsReachedAndLeft) {
  std::set<SlotState> reached{SlotState::free};
  for (int round = 0; round < 3; ++round) {
    for (const SlotState state : std::set(reached)) {
      for (const Event event :
           {Event::admit, Event::pod_seen, Event::pod_gone, Event::claim_expired}) {
        if (const auto next = next_state(state, event)) reached.insert(*next);
      }
    }
  }
  EXPECT_EQ(reached.size(), 3u);
}

TEST(SlotStates, ARefusalNamesEventAndState) {
  EXPECT_EQ(next_state(SlotState::bound, Event::admit).error().message,
            "admit may not happen to a slot that is Bound");
}

}  // namespace
}  // namespace berth::ledger
