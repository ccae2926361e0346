#include "claims/claimer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "claims/test_claimer.h"

namespace berth::claims {
namespace {

using namespace std::chrono_literals;
using model::Protocol;
using ::testing::ElementsAre;
using testing::encoded;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::lock_at;
using testing::with_claim;
using wire::Object;

const SlotRequest kBoth{.pool = {"games", "rooms"},
                        .protocols = {Protocol::tcp, Protocol::udp},
                        .pod_port = {.port = 8000}};

TEST_F(ClaimerTest, WhatIsTakenIsOnTheServer) {
  open(30003);
  const auto taken = claim_at(here_, "a", {kTcp, kTcp});
  ASSERT_EQ(ports(taken), "30000 30001");
  ledger::Claim second = claim("a");
  second.entry = 1;
  second.pod_port.port = 8000;
  EXPECT_EQ(claim_on(30001), ledger::encode(second));
  EXPECT_EQ(holder_of(30000), "a");
  EXPECT_EQ(holder_of(30002), "");
  EXPECT_EQ(ports(claim_at(here_, "b")), "30002") << "its own writes are known at once";
}

TEST_F(ClaimerTest, OfTwoThatWantTheLastPortOneGetsIt) {
  open(30001);
  Result<std::vector<TakenSlot>> faster = fail(Code::internal, "not asked yet");
  api_.on({"PATCH", "listeners"}, {.before = [&] { faster = claim_at(there_, "b"); }});
  EXPECT_EQ(ports(claim_at(here_, "a")), "exhausted");
  EXPECT_EQ(ports(faster), "30000");
  EXPECT_EQ(holder_of(30000), "b");
}

TEST_F(ClaimerTest, WhoIsTooLateGetsTheNextPort) {
  open(30002);
  api_.on({"PATCH", "listeners/demo-tcp-30000"}, {.before = [&] { (void)claim_at(there_, "b"); }});
  EXPECT_EQ(ports(claim_at(here_, "a")), "30001");
  EXPECT_EQ(holder_of(30000), "b");
  EXPECT_EQ(holder_of(30001), "a");
}

TEST_F(ClaimerTest, AListenerThatIsGoneOrGoingIsPassedOver) {
  open(30003);
  api_.erase(kListener, listener(30000));
  api_.edit(kListener, listener(30001),
            Object{{"metadata", Object{{"deletionTimestamp", "2026-01-02T00:00:00Z"},
                                       {"finalizers", wire::Array{"berth"}}}}});
  EXPECT_EQ(ports(claim_at(here_, "a")), "30002");
  EXPECT_EQ(holder_of(30001), "") << "it would go with its claim";
}

// Made anew, it may be of another pool.
TEST_F(ClaimerTest, AListenerThatWasMadeAnewIsNotTheOneThatWeKnow) {
  open(30002);
  api::Listener anew = lock_at({});
  anew.meta.uid = "another";
  api_.put(kListener, encoded(anew));
  EXPECT_EQ(ports(claim_at(here_, "a")), "30001");
  EXPECT_EQ(holder_of(30000), "");
}

TEST_F(ClaimerTest, AWriteWhoseAnswerIsLostIsUndone) {
  open(30001);
  api_.on({"PATCH", "listeners"}, {.lost_after = true});
  EXPECT_EQ(ports(claim_at(here_, "a")), "timeout");
  EXPECT_EQ(holder_of(30000), "");
  EXPECT_EQ(ports(claim_at(here_, "b")), "30000");
}

TEST_F(ClaimerTest, UndoingWhatNeverArrivedTakesNothingFromWhoHasIt) {
  open(30001);
  api_.on({"PATCH", "listeners"},
          {.before = [&] { (void)claim_at(there_, "b"); }, .lost_before = true});
  EXPECT_EQ(ports(claim_at(here_, "a")), "timeout");
  EXPECT_EQ(holder_of(30000), "b");
}

TEST_F(ClaimerTest, APortThatCouldNotBeAskedForIsNotHeldBack) {
  open(30001);
  api_.on({"PATCH", "listeners"}, {.refused = 500});
  EXPECT_EQ(ports(claim_at(here_, "a")), "unavailable");
  api_.forget_calls();
  EXPECT_EQ(ports(claim_at(here_, "b")), "30000");
  EXPECT_THAT(api_.calls(), ElementsAre("PATCH listeners/demo-tcp-30000"))
      << "this replica knew that it is free";
}

TEST_F(ClaimerTest, UndoingGoesOnAfterTheDeadline) {
  open(30001);
  api_.on({"PATCH", "listeners"}, {.late = 30s});
  const Context short_of_time = context_.within(10s);
  EXPECT_EQ(ports(here_.claimer.claim_all(short_of_time, {kTcp}, claim("a"))), "timeout");
  EXPECT_TRUE(short_of_time.expired());
  EXPECT_EQ(holder_of(30000), "");
}

TEST_F(ClaimerTest, AllPortsOrNone) {
  open(30002);
  EXPECT_EQ(ports(claim_at(here_, "a", {kTcp, kTcp, kTcp})), "exhausted");
  EXPECT_EQ(holder_of(30000), "");
  EXPECT_EQ(holder_of(30001), "");
  api_.on({"PATCH", "listeners", 2}, {.lost_after = true});
  EXPECT_EQ(ports(claim_at(here_, "a", {kTcp, kTcp})), "timeout");
  EXPECT_EQ(holder_of(30000), "");
  EXPECT_EQ(holder_of(30001), "");
  EXPECT_EQ(ports(claim_at(here_, "b", {kTcp, kTcp})), "30000 30001");
}

TEST_F(ClaimerTest, BothProtocolsOfOnePortOrAnotherPort) {
  open(30002, "TCP,UDP");
  api_.on({"PATCH", "listeners/demo-udp-30000"}, {.before = [&] {
            api_.put(kListener,
                     encoded(with_claim(lock_at({.protocol = Protocol::udp}), claim("b"))));
          }});
  EXPECT_EQ(ports(claim_at(here_, "a", {kBoth})), "30001");
  EXPECT_EQ(holder_of(30000, "tcp"), "") << "half of a port is given back";
  EXPECT_EQ(holder_of(30000, "udp"), "b");
  EXPECT_EQ(holder_of(30001, "tcp"), "a");
  EXPECT_EQ(holder_of(30001, "udp"), "a");
}

// A Pod with that token would hold the one that it was told of and the one that is left behind.
TEST_F(ClaimerTest, NoOtherPortWhileHalfOfOneCannotBeGivenBack) {
  for (const int refused : {409, 500}) {
    open(30002, "TCP,UDP");
    api_.on({"PATCH", "listeners/demo-udp-30000"}, {.refused = 409});
    api_.on({"PATCH", "listeners/demo-tcp-30000", 2}, {.refused = refused});
    EXPECT_EQ(ports(claim_at(here_, fmt::format("a{}", refused), {kBoth})), "unavailable");
    EXPECT_EQ(holder_of(30001), "");
    api_.edit(
        kListener, listener(30000),
        Object{{"metadata", Object{{"annotations", Object{{ledger::kClaimAnnotation, ""}}}}}});
  }
}

TEST_F(ClaimerTest, APoolThatIsFullInItsCacheIsAskedForOnTheServer) {
  open(30001);
  ASSERT_EQ(ports(claim_at(there_, "b")), "30000");
  here_.catch_up();
  const auto of_b = there_.listeners.get(listener(30000));
  there_.claimer.give_back(
      context_,
      {{.locks = {{listener(30000), of_b->meta.uid, "", std::string(claim_text(*of_b))}}}});
  api_.forget_calls();
  EXPECT_EQ(ports(claim_at(here_, "a")), "30000");
  EXPECT_THAT(api_.calls(), ElementsAre("GET listeners", "PATCH listeners/demo-tcp-30000"));
}

TEST_F(ClaimerTest, ExhaustedIsSaidOnlyAfterALiveList) {
  open(30001);
  ASSERT_EQ(ports(claim_at(here_, "b")), "30000");
  api_.forget_calls();
  const auto taken = claim_at(here_, "a");
  ASSERT_EQ(ports(taken), "exhausted");
  EXPECT_THAT(taken.error().to_string(), HasSubstr("games/pod-b")) << "it says who has them";
  EXPECT_THAT(api_.calls(), ElementsAre("GET listeners"));
  api_.on({"GET", "listeners"}, {.refused = 500});
  EXPECT_EQ(ports(claim_at(here_, "c")), "unavailable") << "nobody knows whether it is";
}

TEST_F(ClaimerTest, NothingIsWrittenForWhoHasNoTimeLeft) {
  open(30001);
  const Context over{.tasks = tasks_, .deadline = tasks_.now()};
  EXPECT_EQ(ports(here_.claimer.claim_all(over, {kTcp}, claim("a"))), "timeout");
  EXPECT_THAT(api_.calls(), IsEmpty());
}

TEST_F(ClaimerTest, ALookTakesNothing) {
  open(30001);
  EXPECT_EQ(here_.claimer.peek(kTcp, "games").value().ports.first, 30000);
  EXPECT_EQ(here_.claimer.peek(kTcp, "games").value().ports.first, 30000);
  EXPECT_THAT(api_.calls(), IsEmpty());
  ASSERT_EQ(ports(claim_at(here_, "a")), "30000");
  EXPECT_EQ(here_.claimer.peek(kTcp, "games").error().code, Code::exhausted);
}

TEST_F(ClaimerTest, GivesBackOnlyWhatIsStillItsOwn) {
  open(30002);
  const auto taken = claim_at(here_, "a", {kTcp, kTcp});
  // A controller has bound one of them meanwhile.
  const std::string bound = ledger::encode(ledger::bound_to(claim("a"), "pod-a", "uid-1", {}));
  api_.put(kListener, encoded(with_claim(lock_at({}), bound)));
  here_.claimer.give_back(context_, *taken);
  EXPECT_EQ(claim_on(30000), bound);
  EXPECT_EQ(claim_on(30001), "");
}

TEST_F(ClaimerTest, OneThatCannotBeGivenBackKeepsNoOther) {
  open(30002);
  const auto taken = claim_at(here_, "a", {kTcp, kTcp});
  api_.on({"PATCH", "listeners/demo-tcp-30000"}, {.refused = 500});
  here_.claimer.give_back(context_, *taken);
  EXPECT_EQ(holder_of(30000), "a") << "until its lifetime is over";
  EXPECT_EQ(holder_of(30001), "");
}

TEST_F(ClaimerTest, SaysWhenTheServerHasItOtherwise) {
  open(30001);
  const auto known = here_.listeners.get(listener(30000));
  EXPECT_TRUE(here_.claimer.need_current(context_, *known));
  ASSERT_EQ(ports(claim_at(there_, "b")), "30000");
  const Result<> now = here_.claimer.need_current(context_, *known);
  ASSERT_FALSE(now);
  EXPECT_EQ(now.error().code, Code::precondition);
  EXPECT_THAT(claim_text(*here_.listeners.get(listener(30000))), HasSubstr("pod-b"))
      << "we know it now";
  api_.on({"GET", "listeners"}, {.refused = 500});
  EXPECT_EQ(here_.claimer.need_current(context_, *known).error().code, Code::unavailable);
}

TEST_F(ClaimerTest, AChangeNeedsTheClaimThatItKnows) {
  open(30001);
  const auto known = here_.listeners.get(listener(30000));
  ASSERT_EQ(ports(claim_at(there_, "b")), "30000");
  const ListenerChange change{.claim = ledger::encode(claim("a"))};
  EXPECT_EQ(here_.claimer.change(context_, *known, change).error().code, Code::precondition);
  EXPECT_EQ(holder_of(30000), "b");
  const auto now = here_.listeners.get(listener(30000));
  ASSERT_TRUE(here_.claimer.change(context_, *now, change)) << "what overtook it is known";
  EXPECT_EQ(holder_of(30000), "a");
  EXPECT_THAT(claim_text(*here_.listeners.get(listener(30000))), HasSubstr("pod-a"));
}

// Somebody's tool left a member that says nothing.
TEST_F(ClaimerTest, AChangeOfWhatIsTheSameInOtherWordsIsMade) {
  open(30001);
  const auto known = here_.listeners.get(listener(30000));
  api_.edit(kListener, listener(30000), Object{{"spec", Object{{"unknownToUs", "x"}}}});
  api::ListenerSpec spec = known->spec;
  spec.target_group = api::ListenerTargetGroup{.backends = {{.ip = "10.0.0.1", .port = 8000}}};
  EXPECT_TRUE(here_.claimer.change(context_, *known, {.spec = spec}));
  EXPECT_EQ(here_.listeners.get(listener(30000))->spec, spec);
}

}  // namespace
}  // namespace berth::claims
