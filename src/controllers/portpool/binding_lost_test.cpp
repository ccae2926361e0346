// Pods that have lost their claims: people changed or deleted Listeners by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/portpool/test_support.h"

namespace berth::controllers::portpool {
namespace {

using ledger::SlotState;
using std::chrono::seconds;
using ::testing::ElementsAre;
using testing::entry;
using ::testing::HasSubstr;
using testing::is_idle;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::put;
using testing::reasons;
using testing::Room;

// The Pod was told of 30000, and nothing on the Listener says that it is the Pod's.
class LostClaim : public ::testing::Test {
 protected:
  LostClaim() {
    room_.set_claim("");
    room_.give_token(*room_.pod, kToken);
  }
  void give_to_another() {
    ledger::Claim claim = Room::admission("another");
    claim.pod_name = "room-9";
    claim.state = SlotState::bound;
    room_.set_claim(claim);
  }
  const std::string kToken = ledger::make_token(testing::kNow - seconds{20}, 1, 2);
  Room room_;
};

TEST_F(LostClaim, AFreePortIsItsOwnAgain) {
  room_.step();
  EXPECT_EQ(room_.claim().state, SlotState::bound);
  EXPECT_EQ(room_.claim().pod_uid, "uid-1");
  EXPECT_EQ(room_.claim().token, kToken);
  EXPECT_EQ(room_.target(), "10.0.0.1:8000 w10");
}

// `kubectl get pod -o yaml`, and created again where our webhook is not called: later, or with a
// label and an annotation of the tenant's own making.
TEST_F(LostClaim, APodThatWeDidNotAdmitIsNotBoundAndIsToldWhy) {
  for (const bool sealed : {true, false}) {
    const std::string token =
        ledger::make_token(testing::kNow - (sealed ? std::chrono::minutes{5} : seconds{1}), 1, 2);
    Room room;
    room.set_claim("");
    if (sealed) room.give_token(*room.pod, token);
    put(room.pod->meta.labels, ledger::kTokenLabel, token);
    EXPECT_THAT(room.step().changes, IsEmpty()) << token;
    room.now += seconds{10};
    const BindingPlan plan = room.step();
    EXPECT_THAT(plan.changes, IsEmpty()) << token;
    EXPECT_FALSE(room.object) << token;
    ASSERT_TRUE(plan.pod_note.condition) << token;
    EXPECT_THAT(plan.pod_note.condition->message, HasSubstr("was never given to this Pod"));
    EXPECT_THAT(plan.pod_note.condition->message, HasSubstr("bcs-ingress-controller-inject=true"));
  }
}

TEST_F(LostClaim, APortThatStillLeadsSomewhereIsWaitedFor) {
  room_.listeners["demo-tcp-30000"] = claims::testing::applied(
      claims::testing::leading_to(room_.listeners["demo-tcp-30000"], "10.0.0.9"));
  EXPECT_THAT(room_.plan().changes, IsEmpty());
  EXPECT_TRUE(room_.plan().requeue_after);
}

// Its lock has the claim, whichever load balancer somebody writes first.
TEST_F(LostClaim, NoClaimIsWrittenOnAPeer) {
  Room room({entry(30000, {"east", "west"})});
  room.give_token(*room.pod, kToken);
  room.make_ready();
  put(room.listeners["west-tcp-30000"].meta.annotations, ledger::kClaimAnnotation, "");
  for (const BindingPlan::Change& one : room.plan().changes)
    EXPECT_FALSE(one.change.claim) << one.listener->meta.name;
}

TEST_F(LostClaim, ThePortOfAPodThatIsReachedIsItsOwnAgainAndItStaysReady) {
  Room room({entry(30000, {"east", "west"})});
  room.make_ready();
  const ledger::Claim before = room.claim("east-tcp-30000");
  room.set_claim("", "east-tcp-30000");
  const BindingPlan plan = room.step();
  EXPECT_EQ(room.claim("east-tcp-30000"), before);
  EXPECT_EQ(plan.changes.size(), 1u) << "nothing changes for the load balancers";
  EXPECT_TRUE(plan.pod_note.empty());
  EXPECT_TRUE(is_idle(room.plan()));
}

TEST_F(LostClaim, APodThatWaitsForItsAddressHasItsPortAgain) {
  room_.pod->ips.clear();
  EXPECT_TRUE(is_idle(room_.step())) << "its claim may only be late";
  room_.now += *room_.plan().requeue_after;
  room_.step();
  EXPECT_EQ(room_.claim().pod_uid, "uid-1") << "or somebody else would have it";
  EXPECT_EQ(room_.target(), "");
  room_.pod->ips = {"10.0.0.1"};
  room_.step();
  EXPECT_EQ(room_.target(), "10.0.0.1:8000 w10");
}

TEST_F(LostClaim, APortThatLeadsToAPodThatEndsIsDrainedAsAnyOther) {
  room_ = Room();
  room_.make_ready();
  room_.pod->meta.deleting = true;
  room_.set_claim("");
  room_.step();
  EXPECT_EQ(room_.claim().state, SlotState::bound);
  EXPECT_EQ(room_.target(), "10.0.0.1:8000 w0");
}

TEST_F(LostClaim, WhatMayOnlyBeLateIsNotCalledLost) {
  give_to_another();
  room_.now += seconds{4};
  const BindingPlan plan = room_.plan();
  EXPECT_TRUE(is_idle(plan));
  EXPECT_EQ(plan.requeue_after, seconds{6});
}

TEST_F(LostClaim, APodWhosePortIsAnothersIsNeverBoundAndIsToldOnce) {
  give_to_another();
  room_.now += seconds{10};
  const BindingPlan plan = room_.step();
  EXPECT_THAT(plan.changes, IsEmpty());
  ASSERT_TRUE(plan.pod_note.condition);
  EXPECT_FALSE(plan.pod_note.condition->ready);
  EXPECT_EQ(plan.pod_note.condition->reason, "ClaimLost");
  EXPECT_THAT(plan.pod_note.condition->message, HasSubstr("held by Pod games/room-9"));
  EXPECT_THAT(reasons(plan.pod_events), ElementsAre("ClaimLost"));
  EXPECT_TRUE(is_idle(room_.plan()));
  EXPECT_TRUE(room_.plan().requeue_after) << "it may become free";
}

// Condition and event are for people of the Pod's namespace.
TEST_F(LostClaim, APodOfAnotherNamespaceIsNotNamed) {
  for (const std::string_view name : {"room-9", ""}) {
    Room room;
    room.give_token(*room.pod, kToken);
    ledger::Claim claim = Room::admission("another");
    claim.ns = "studio";
    claim.pod_name = name;
    claim.state = SlotState::bound;
    room.set_claim(claim);
    room.now += seconds{10};
    const BindingPlan plan = room.plan();
    ASSERT_TRUE(plan.pod_note.condition);
    const std::string& message = plan.pod_note.condition->message;
    EXPECT_THAT(message, HasSubstr("is held by a Pod of another namespace"));
    EXPECT_THAT(message, Not(HasSubstr("studio")));
    ASSERT_EQ(plan.pod_events.size(), 1u);
    EXPECT_EQ(plan.pod_events.front().message, message);
  }
}

TEST_F(LostClaim, WhenThePortIsFreeAgainEverythingIsRight) {
  give_to_another();
  room_.now += seconds{10};
  room_.step();
  room_.set_claim("");
  room_.make_ready();
  EXPECT_EQ(room_.pod_says(api::kBindStatusAnnotation), "Ready");
  EXPECT_EQ(room_.pod->condition(api::kPortsReadyCondition), kube::ConditionStatus::yes)
      << "also without a gate: the condition says that it was lost";
}

TEST(BindingPlan, AClaimThatIsTakenAgainKnowsWhatWasAskedFor) {
  Room room;
  room.make_ready();
  room.set_claim("");
  room.step();
  EXPECT_EQ(room.claim().request, "request") << "a kept name gets its ports by it";
}

// The tenant owns the Pod's annotations.
TEST(BindingPlan, EditingWhatAPodWasToldChangesNothing) {
  Room room;
  room.make_ready();
  const std::string told = room.pod_says(api::kPoolBindingsAnnotation);
  for (const std::string& text :
       {api::encode_pool_bindings({entry(30001)}), std::string("[]"), std::string("not json")}) {
    put(room.pod->meta.annotations, api::kPoolBindingsAnnotation, text);
    const BindingPlan plan = room.step();
    EXPECT_THAT(plan.changes, IsEmpty()) << text;
    EXPECT_FALSE(plan.pod_note.condition) << text;
    EXPECT_EQ(room.pod_says(api::kPoolBindingsAnnotation), told) << text;
    EXPECT_EQ(room.status(), "Ready") << text;
    EXPECT_TRUE(is_idle(room.plan())) << text;
  }
}

TEST(BindingPlan, TakingTheAnnotationOffThatAsksForPortsGivesThemBack) {
  Room room;
  room.make_ready();
  std::erase_if(room.pod->meta.annotations,
                [](const auto& one) { return one.first.view() == api::kPortPoolsAnnotation; });
  for (int i = 0; i < 3; ++i) {
    room.step();
    room.confirm();
  }
  EXPECT_EQ(room.target(), "");
  EXPECT_EQ(room.claim().state, SlotState::quarantined);
  EXPECT_EQ(room.status(), "gone");
  EXPECT_EQ(room.pod_says(api::kBindStatusAnnotation), "NotReady");
}

// Of the version before us.
TEST(BindingPlan, APodWithoutASealGetsOneByItsClaims) {
  Room room;
  room.make_ready();
  const std::string seal = room.pod_says(claims::kPortsSealAnnotation);
  put(room.pod->meta.annotations, claims::kPortsSealAnnotation, "");
  room.step();
  EXPECT_EQ(room.pod_says(claims::kPortsSealAnnotation), seal);
  EXPECT_TRUE(is_idle(room.plan())) << "once";

  put(room.pod->meta.annotations, claims::kPortsSealAnnotation, "");
  room.set_claim("");
  EXPECT_FALSE(room.plan().pod_note.seal) << "not by what it says of itself";
}

// Keys are replaced, and the old one ends some day.
class RotatedKeys : public ::testing::Test {
 protected:
  RotatedKeys() {
    room_.make_ready();
    room_.sealer = &both_;
  }
  static crypto::Key key(const char* id, char byte, int made) {
    return {.id = id,
            .bytes = Secret(std::string(32, byte)),
            .made = WallTime() + std::chrono::hours{made}};
  }
  static claims::Sealer with(std::vector<crypto::Key> keys) {
    const auto ring = std::make_shared<const crypto::KeyRing>(std::move(keys));
    return claims::Sealer([ring] { return ring; });
  }
  // When the Pod's seal is renewed; bounded, as a day has no more turns.
  std::vector<WallTime> renewals(Duration span) {
    std::vector<WallTime> out;
    const WallTime end = room_.now + span;
    for (int i = 0; i < 100 && room_.now < end; ++i) {
      const BindingPlan plan = room_.step();
      if (plan.pod_note.seal) out.push_back(room_.now);
      if (!plan.requeue_after) break;
      room_.now += *plan.requeue_after;
    }
    return out;
  }

  const claims::Sealer both_ = with({key("k1", 'k', 0), key("k2", 'n', 1)});
  const claims::Sealer after_ = with({key("k2", 'n', 1)});
  Room room_;
};

TEST_F(RotatedKeys, ASealIsRenewedOnceWithinADay) {
  const WallTime begin = room_.now;
  const std::vector<WallTime> all = renewals(std::chrono::hours{100});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_LE(all.front() - begin, std::chrono::hours{24});
  EXPECT_TRUE(is_idle(room_.plan()));
  EXPECT_FALSE(room_.plan().requeue_after);
}

TEST_F(RotatedKeys, ARoomWhoseKeyHasEndedHasItsPortAgain) {
  (void)renewals(std::chrono::hours{100});
  room_.sealer = &after_;
  room_.set_claim("");
  room_.step();
  EXPECT_EQ(room_.claim().state, SlotState::bound);
  EXPECT_EQ(room_.claim().pod_uid, "uid-1");
}

// Ten thousand rooms are not written at once.
TEST_F(RotatedKeys, EachPodHasATimeOfItsOwn) {
  constexpr int kPods = 240;
  int at_once = 0;
  for (int i = 0; i < kPods; ++i) {
    Room room;
    room.pod = room.new_pod(fmt::format("uid-{}", i), Room::kToken);
    room.make_ready();
    room.sealer = &both_;
    if (room.plan().pod_note.seal) ++at_once;
  }
  EXPECT_LE(at_once, 5);
}

// A seal alone proves nothing for months: whoever has the port does.
TEST_F(RotatedKeys, WhoHasNoClaimGetsNoNewSeal) {
  ledger::Claim claim = Room::admission("another");
  claim.pod_name = "room-9";
  claim.state = SlotState::bound;
  room_.set_claim(claim);
  EXPECT_THAT(renewals(std::chrono::hours{1}), IsEmpty());
}

// A newer version of us wrote it.
TEST(BindingPlan, AClaimThatCannotBeReadIsHeld) {
  Room room;
  room.make_ready();
  room.set_claim(R"({"v":2,"state":"Bound"})");
  EXPECT_TRUE(is_idle(room.plan()));
}

TEST(BindingPlan, APodThatAsksNoMoreIsNotReadyWhateverItsClaimSays) {
  Room room;
  room.make_ready();
  room.set_claim("{}");
  std::erase_if(room.pod->meta.annotations,
                [](const auto& one) { return one.first.view() == api::kPortPoolsAnnotation; });
  const BindingPlan plan = room.step();
  EXPECT_EQ(room.pod_says(api::kBindStatusAnnotation), "NotReady");
  EXPECT_THAT(plan.changes, IsEmpty()) << "the claim is held";
  EXPECT_TRUE(is_idle(room.plan()));
}

TEST(BindingPlan, APodIsNotReadyWhenAPortWithAClaimThatCannotBeReadLosesAListener) {
  Room room({entry(30000, {"east", "west"})});
  room.make_ready();
  room.set_claim(R"({"v":2,"state":"Bound"})", "east-tcp-30000");
  ASSERT_TRUE(is_idle(room.plan()));
  room.listeners.erase("west-tcp-30000");
  const BindingPlan plan = room.plan();
  EXPECT_EQ(plan.pod_note.status, "NotReady");
  EXPECT_THAT(plan.changes, IsEmpty()) << "the claim is held";
}

TEST(BindingPlan, WhatCanBeReadIsKeptUpBesideAClaimThatCannot) {
  Room room({entry(30000), entry(30001)});
  room.make_ready();
  room.set_claim(R"({"v":99,"state":"Bound"})", "demo-tcp-30000");
  ASSERT_TRUE(is_idle(room.plan()));
  room.listeners.at("demo-tcp-30001").spec.target_group.reset();
  EXPECT_EQ(room.plan().pod_note.status, "NotReady") << "it is known to lead nowhere";
  ASSERT_EQ(room.plan().changes.size(), 1u);
  EXPECT_EQ(room.plan().changes.front().listener->meta.name, "demo-tcp-30001");
  room.listeners.at("demo-tcp-30000").spec.target_group.reset();
  EXPECT_EQ(room.plan().changes.size(), 1u) << "whose the other is, is not for us to judge";
}

// Two hands: one claim cannot be read, and another names somebody else.
TEST(BindingPlan, APortThatWentToAnotherIsNotReadyBesideAClaimThatCannotBeRead) {
  Room room({entry(30000), entry(30001)});
  room.make_ready();
  room.set_claim(R"({"v":99,"state":"Bound"})", "demo-tcp-30000");
  ASSERT_TRUE(is_idle(room.plan()));
  ledger::Claim claim = room.claim("demo-tcp-30001");
  claim.pod_name = "room-7";
  claim.pod_uid = "uid-7";
  claim.token = "token-7";
  room.set_claim(claim, "demo-tcp-30001");
  EXPECT_EQ(room.plan().pod_note.status, "NotReady");
}

// Somebody wrote another Pod's name into the claim: both were told of the port.
TEST(BindingPlan, OfTwoPodsThatWereToldOfAPortOneIsReady) {
  Room room;
  kube::Pod other = room.new_pod("uid-2", ledger::make_token(testing::kNow, 2, 2));
  other.meta.name = "room-1";
  other.conditions = {{kube::Interned(api::kPortsReadyCondition), kube::ConditionStatus::yes}};
  room.others = {other};
  room.make_ready();
  EXPECT_EQ(room.target(), "10.0.0.1:8000 w10");
  EXPECT_NE(room.pod_says(api::kBindStatusAnnotation), "Ready");
  EXPECT_TRUE(room.plan().requeue_after);
  room.others.clear();
  room.make_ready();
  EXPECT_EQ(room.pod_says(api::kBindStatusAnnotation), "Ready");
}

// Its pool puts it right; until then nothing is given away on its word.
TEST(BindingPlan, ALockThatSomebodyChangedIsLeftAsItIs) {
  Room room;
  room.make_ready();
  room.pool = claims::testing::pool_with({claims::testing::tcp_item("item1", 30000, 30010)});
  const api::Listener before = room.listeners.at("demo-tcp-30000");
  put(room.listeners.at("demo-tcp-30000").meta.annotations, claims::kSealAnnotation, "edited");
  EXPECT_TRUE(is_idle(room.plan()));
  room.lose_pod();
  EXPECT_THAT(room.plan().changes, IsEmpty());
  room.listeners["demo-tcp-30000"] = before;
  EXPECT_EQ(room.plan().changes.size(), 1u);
}

// `kubectl delete listener`: its pool makes another one, which has no claim.
TEST(BindingPlan, APodWhoseListenerWasDeletedHasItsPortAgainFromTheNewOne) {
  Room room;
  room.make_ready();
  const api::Listener listener = room.listeners["demo-tcp-30000"];
  room.listeners.clear();
  const BindingPlan without = room.step();
  EXPECT_FALSE(without.requeue_after) << "the new one brings it back; many would look all the time";
  EXPECT_EQ(room.status(), "NotReady");
  EXPECT_EQ(room.pod_says(api::kBindStatusAnnotation), "NotReady");

  room.listeners["demo-tcp-30000"] = claims::testing::lock_at({});
  room.make_ready();
  EXPECT_EQ(room.target(), "10.0.0.1:8000 w10");
  EXPECT_EQ(room.status(), "Ready");
}

}  // namespace
}  // namespace berth::controllers::portpool
