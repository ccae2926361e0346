#include "claims/reclaim.h"

#include <gtest/gtest.h>

#include "claims/test_support.h"

namespace berth::claims {
namespace {

using ledger::Claim;
using ledger::SlotState;
using model::Protocol;
using std::chrono::seconds;
using testing::kNow;
using testing::lock_at;
using testing::Place;
using testing::with_claim;

const kube::ObjectKey kRooms{"games", "rooms"};
const SlotRequest kTcp{.pool = kRooms, .protocols = {Protocol::tcp}};
const SlotRequest kUdp{.pool = kRooms, .protocols = {Protocol::udp}};
const SlotRequest kBoth{.pool = kRooms, .protocols = {Protocol::tcp, Protocol::udp}};

bool any(const Claim&) { return true; }

// Of a Pod that was reached; each admission made another one.
Claim claim(const std::string& token, int entry = 0, WallTime since = kNow) {
  return {.state = SlotState::kept,
          .token = token,
          .ns = "games",
          .pod_name = "room-0",
          .pod_uid = "uid-" + token,
          .entry = entry,
          .since = since};
}
// Of an attempt whose Pod was never seen.
Claim attempt(const std::string& token, WallTime since = kNow) {
  Claim out = claim(token, 0, since);
  out.state = SlotState::claimed;
  out.pod_uid.clear();
  return out;
}

ListenerPtr held(model::Port port, const Claim& claim, Protocol protocol = Protocol::tcp,
                 std::string item = "item1") {
  const Place place{.item = std::move(item), .protocol = protocol, .ports = {port, port}};
  return std::make_shared<const api::Listener>(with_claim(lock_at(place), claim));
}

// "TCP 30000" for each lock, by entry.
using Names = std::vector<std::vector<std::string>>;
Names names(const LocksByEntry& by_entry) {
  Names out;
  for (const auto& locks : by_entry) {
    auto& entry = out.emplace_back();
    for (const ListenerPtr& lock : locks)
      entry.push_back(fmt::format("{} {}", lock->spec.protocol, lock->spec.port));
  }
  return out;
}
Names newest(const std::vector<SlotRequest>& requests, const std::vector<ListenerPtr>& locks) {
  return names(newest_match(requests, locks, any));
}

TEST(Reclaim, ANameGetsItsSlotAgain) {
  EXPECT_EQ(newest({kTcp}, {held(30004, claim("a"))}), (Names{{"TCP 30004"}}));
  EXPECT_EQ(newest({kTcp}, {}), Names{});
}

TEST(Reclaim, SeveralPortsComeBackInTheOrderOfTheRequest) {
  EXPECT_EQ(newest({kTcp, kTcp, kUdp}, {held(30009, claim("a", 2), Protocol::udp),
                                        held(30001, claim("a", 1)), held(30007, claim("a", 0))}),
            (Names{{"TCP 30007"}, {"TCP 30001"}, {"UDP 30009"}}));
}

TEST(Reclaim, BothProtocolsComeBackOnTheirPortTcpFirst) {
  EXPECT_EQ(newest({kBoth}, {held(30004, claim("a"), Protocol::udp), held(30004, claim("a"))}),
            (Names{{"TCP 30004", "UDP 30004"}}));
}

TEST(Reclaim, APartOfWhatIsAskedForIsNothing) {
  EXPECT_EQ(newest({kTcp, kTcp}, {held(30000, claim("a", 0))}), Names{}) << "one of two ports";
  EXPECT_EQ(newest({kBoth}, {held(30000, claim("a"))}), Names{}) << "one of two protocols";
  EXPECT_EQ(newest({kBoth}, {held(30000, claim("a")), held(30001, claim("a"), Protocol::udp)}),
            Names{})
      << "two ports where one is asked for";
  EXPECT_EQ(newest({kTcp}, {held(30000, claim("a")), held(30001, claim("a"))}), Names{})
      << "more than is asked for";
}

TEST(Reclaim, WhatTwoAdmissionsGotIsNotMixed) {
  EXPECT_EQ(newest({kTcp, kTcp}, {held(30000, claim("a", 0)), held(30001, claim("b", 1))}),
            Names{});
}

// An admission of the name died when it had taken back one of two.
TEST(Reclaim, WhatOnePodHadComesBackTogetherWhateverItsTokens) {
  Claim taken = claim("a", 0);
  taken.state = SlotState::claimed;
  taken.token = "b";
  EXPECT_EQ(newest({kTcp, kTcp}, {held(30000, taken), held(30001, claim("a", 1))}),
            (Names{{"TCP 30000"}, {"TCP 30001"}}));
}

TEST(Reclaim, AnotherPoolItemOrProtocolIsNoAnswer) {
  SlotRequest pinned = kTcp;
  pinned.item = "item2";
  EXPECT_EQ(newest({pinned}, {held(30000, claim("a"))}), Names{});
  EXPECT_EQ(newest({pinned}, {held(30000, claim("a"), Protocol::tcp, "item2")}),
            (Names{{"TCP 30000"}}));
  SlotRequest elsewhere = kTcp;
  elsewhere.pool.name = "halls";
  EXPECT_EQ(newest({elsewhere}, {held(30000, claim("a"))}), Names{});
  EXPECT_EQ(newest({kUdp}, {held(30000, claim("a"))}), Names{});
}

TEST(Reclaim, AnEntryThatTheRequestDoesNotHaveIsPassedOver) {
  EXPECT_EQ(newest({kTcp}, {held(30000, claim("a", 1))}), Names{});
  EXPECT_EQ(newest({kTcp}, {held(30000, claim("a", -1))}), Names{});
}

TEST(Reclaim, OnlyWhatFitsAndStaysCounts) {
  const auto fits = [](const Claim& one) { return one.state == SlotState::kept; };
  EXPECT_EQ(names(newest_match({kTcp}, {held(30000, attempt("a"))}, fits)), Names{});
  api::Listener leaving = *held(30000, claim("a"));
  leaving.meta.deleting = true;
  EXPECT_EQ(newest({kTcp}, {std::make_shared<const api::Listener>(leaving)}), Names{});
  const auto free = std::make_shared<const api::Listener>(lock_at({}));
  EXPECT_EQ(newest({kTcp}, {free}), Names{});
}

TEST(Reclaim, OfSeveralTheNewestOrTheOldestIsTaken) {
  const std::vector<ListenerPtr> locks{held(30001, claim("b", 0, kNow)),
                                       held(30000, claim("a", 0, kNow - seconds{5})),
                                       held(30002, claim("c", 0, kNow - seconds{1}))};
  EXPECT_EQ(newest({kTcp}, locks), (Names{{"TCP 30001"}}));
  EXPECT_EQ(names(oldest_match({kTcp}, locks, any)), (Names{{"TCP 30000"}}));
}

// A StatefulSet's Pod was reached on 30000; the next attempt at its name was refused after our
// answer. Its players know 30000.
TEST(Reclaim, WhatAnAttemptThatFailedHasClaimedDoesNotCount) {
  const std::vector<ListenerPtr> locks{held(30005, attempt("later", kNow)),
                                       held(30000, claim("reached", 0, kNow - seconds{60}))};
  EXPECT_EQ(newest({kTcp}, locks), (Names{{"TCP 30000"}}));
  EXPECT_EQ(names(oldest_match({kTcp}, locks, any)), (Names{{"TCP 30005"}}))
      << "an owner whose Pods fail uses up its attempts first";
}

TEST(Reclaim, ANameWhosePartsAreGoneGetsItsLastCompleteSet) {
  const std::vector<ListenerPtr> locks{held(30000, claim("half", 0, kNow)),
                                       held(30001, claim("whole", 0, kNow - seconds{9})),
                                       held(30002, claim("whole", 1, kNow - seconds{9}))};
  EXPECT_EQ(newest({kTcp, kTcp}, locks), (Names{{"TCP 30001"}, {"TCP 30002"}}));
}

}  // namespace
}  // namespace berth::claims
