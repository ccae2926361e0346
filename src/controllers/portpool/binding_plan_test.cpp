// From the claim to Ready, and while the Pod lives. How it ends is in binding_farewell_test.cpp.
#include "controllers/portpool/binding_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/portpool/test_support.h"

namespace berth::controllers::portpool {
namespace {

using ledger::SlotState;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using testing::entry;
using ::testing::HasSubstr;
using testing::is_idle;
using ::testing::IsEmpty;
using testing::put;
using testing::reasons;
using testing::Room;

TEST(BindingPlan, AClaimThatFindsItsPodIsBoundAndLeadsToItInOneWrite) {
  Room room;
  const BindingPlan plan = room.step();
  ASSERT_EQ(plan.changes.size(), 1u);
  EXPECT_EQ(plan.changes.front().change.source, (kube::ObjectKey{"games", "room-0"}));
  EXPECT_EQ(room.claim().state, SlotState::bound);
  EXPECT_EQ(room.claim().pod_name, "room-0");
  EXPECT_EQ(room.claim().pod_uid, "uid-1");
  EXPECT_EQ(room.target(), "10.0.0.1:8000 w10");
  EXPECT_TRUE(plan.create_binding);
  EXPECT_TRUE(plan.pod_note.empty()) << "the load balancer has not confirmed";
}

TEST(BindingPlan, APodOfAnotherControllerStaysAsItIs) {
  Room room;
  room.listeners.clear();
  room.pod->meta.labels = {};
  put(room.pod->meta.annotations, api::kBindStatusAnnotation, std::string(api::kReady));
  room.pod->conditions = {{kube::Interned(api::kPortsReadyCondition), kube::ConditionStatus::yes}};
  EXPECT_FALSE(is_idle(room.plan())) << "nothing leads to it";
  room.listeners["demo-tcp-30000"] = claims::testing::foreign_at({});
  EXPECT_TRUE(is_idle(room.plan())) << "players reach it through the other controller's Listeners";
}

TEST(BindingPlan, APodWithoutAnAddressWaits) {
  Room room;
  room.pod->ips.clear();
  EXPECT_TRUE(is_idle(room.plan()));
  EXPECT_EQ(room.claim().state, SlotState::claimed);
}

TEST(BindingPlan, AHostPortIsReachedOnTheNodeOnceThePodIsThere) {
  api::PortBindingItem told = entry(30000);
  told.host_port = true;
  Room room({told});
  room.pod->ports = {{.port = 8001, .host_port = 7001}, {.port = 8000, .host_port = 7000}};
  EXPECT_TRUE(is_idle(room.plan())) << "it has no node yet";
  room.pod->host_ip = kube::Interned("192.168.0.9");
  room.step();
  EXPECT_EQ(room.target(), "192.168.0.9:7000 w10");
}

TEST(BindingPlan, APortWithoutAHostPortLeadsNowhere) {
  api::PortBindingItem told = entry(30000);
  told.host_port = true;
  Room room({told});
  room.pod->host_ip = kube::Interned("192.168.0.9");
  EXPECT_TRUE(is_idle(room.plan()));
}

TEST(BindingPlan, ThePodIsReadyWhenTheLoadBalancerHasConfirmed) {
  Room room;
  room.step();
  EXPECT_TRUE(is_idle(room.plan()));
  room.confirm();
  const BindingPlan plan = room.step();
  EXPECT_EQ(plan.pod_note.status, "Ready");
  EXPECT_EQ(room.status(), "Ready");
  EXPECT_THAT(reasons(plan.pod_events), ElementsAre("Ready"));
  EXPECT_THAT(reasons(plan.binding_events), ElementsAre("Ready"));
  EXPECT_THAT(plan.binding_events.front().message,
              HasSubstr("TCP port 8000 is reached at 1.1.1.1:30000"));
  EXPECT_EQ(plan.binding_events.front().target.kind, "PortBinding");
  EXPECT_EQ(plan.binding_events.front().target.uid, "uid-of-binding-1");
  const BindingPlan after = room.step();
  EXPECT_TRUE(after.pod_events.empty() && after.binding_events.empty());
  EXPECT_TRUE(is_idle(room.plan())) << "and is told so once";
}

TEST(BindingPlan, ReadyMeansEveryLoadBalancerOfEveryPort) {
  Room room({entry(30000, {"east", "west"}), entry(30001)});
  room.step();
  EXPECT_EQ(room.target("west-tcp-30000"), "10.0.0.1:8000 w10");
  EXPECT_EQ(room.target("demo-tcp-30001"), "10.0.0.1:8001 w10");
  for (const std::string name : {"east-tcp-30000", "demo-tcp-30001"}) {
    room.confirm(name);
    EXPECT_TRUE(room.plan().pod_note.empty()) << name;
  }
  room.now += seconds{5};
  room.step();
  EXPECT_EQ(room.status(), "NotReady");
  const auto items = room.binding()->status.port_pool_bind_status_list;
  EXPECT_EQ(items.at(0).status, "NotReady");
  EXPECT_EQ(items.at(1).status, "Ready") << "who looks sees which one is missing";
  room.confirm("west-tcp-30000");
  EXPECT_EQ(room.plan().pod_note.status, "Ready");
}

// Somebody deletes one of them with kubectl; its pool makes another.
TEST(BindingPlan, AListenerThatIsLeavingOrGoneReachesNobody) {
  for (const std::string name : {"east-tcp-30000", "west-tcp-30000"}) {
    Room room({entry(30000, {"east", "west"})});
    room.make_ready();
    ASSERT_EQ(room.status(), "Ready");
    room.listeners.at(name).meta.deleting = true;
    room.step();
    EXPECT_EQ(room.status(), "NotReady") << name;
    EXPECT_EQ(room.pod_says(api::kBindStatusAnnotation), "NotReady") << name;
  }
  Room room({entry(30000, {"east", "west"})});
  room.make_ready();
  const api::Listener west = room.listeners.at("west-tcp-30000");
  room.listeners.erase("west-tcp-30000");
  room.step();
  EXPECT_EQ(room.status(), "NotReady") << "of two load balancers one does not lead to it";
  room.listeners["west-tcp-30000"] = west;
  room.step();
  EXPECT_EQ(room.status(), "Ready");
}

TEST(BindingPlan, NothingOfAQuickBindingSaysNotReady) {
  Room room;
  room.step();
  const BindingPlan plan = room.plan();
  EXPECT_FALSE(plan.binding_status);
  EXPECT_EQ(plan.requeue_after, seconds{2});
  room.now += milliseconds{1900};
  EXPECT_FALSE(room.plan().binding_status);
  room.now += milliseconds{100};
  EXPECT_TRUE(room.plan().binding_status);
  room.step();
  EXPECT_EQ(room.status(), "NotReady");
  EXPECT_TRUE(is_idle(room.plan()));
}

TEST(BindingPlan, AGateIsOpenedAndAPodWithoutOneGetsNoCondition) {
  Room room;
  room.make_ready();
  EXPECT_EQ(room.pod->condition(api::kPortsReadyCondition), kube::ConditionStatus::unknown);
  Room gated;
  gated.pod->readiness_gates = {kube::Interned(api::kPortsReadyCondition)};
  gated.make_ready();
  EXPECT_EQ(gated.pod->condition(api::kPortsReadyCondition), kube::ConditionStatus::yes);
}

TEST(BindingPlan, APortThatStopsLeadingToThePodSaysSoAndIsPutRight) {
  Room room;
  room.pod->readiness_gates = {kube::Interned(api::kPortsReadyCondition)};
  room.make_ready();
  // Somebody edits the Listener.
  room.listeners["demo-tcp-30000"].spec.target_group.reset();
  room.step();
  EXPECT_EQ(room.target(), "10.0.0.1:8000 w10");
  EXPECT_EQ(room.status(), "NotReady");
  EXPECT_EQ(room.pod_says(api::kBindStatusAnnotation), "NotReady");
  EXPECT_EQ(room.pod->condition(api::kPortsReadyCondition), kube::ConditionStatus::no);
  room.confirm();
  room.step();
  EXPECT_EQ(room.pod_says(api::kBindStatusAnnotation), "Ready");
  EXPECT_EQ(room.pod->condition(api::kPortsReadyCondition), kube::ConditionStatus::yes);
}

TEST(BindingPlan, ANewAddressOfThePodIsFollowed) {
  Room room({entry(30000, {"east", "west"})});
  room.make_ready();
  room.pod->ips = {"10.0.0.7"};
  room.step();
  EXPECT_EQ(room.target("east-tcp-30000"), "10.0.0.7:8000 w10");
  EXPECT_EQ(room.target("west-tcp-30000"), "10.0.0.7:8000 w10");
  EXPECT_EQ(room.status(), "NotReady");
}

TEST(BindingPlan, ALongerKeepingOfALivingPodCounts) {
  Room room;
  room.make_ready();
  put(room.pod->meta.annotations, api::kKeepDurationAnnotation, "5m");
  const BindingPlan plan = room.step();
  EXPECT_EQ(room.claim().keep, std::chrono::minutes{5});
  EXPECT_EQ(room.claim().state, SlotState::bound);
  EXPECT_EQ(plan.changes.size(), 1u);
  EXPECT_FALSE(plan.changes.front().change.spec) << "the load balancer has nothing to do";
  EXPECT_TRUE(is_idle(room.plan()));
}

TEST(BindingPlan, TheBindingSaysHowLongThePodsPortsAreKeptNow) {
  Room room;
  room.make_ready();
  const auto said = [&] { return room.binding_says(api::kKeepDurationAnnotation); };
  EXPECT_EQ(said(), std::nullopt);
  put(room.pod->meta.annotations, api::kKeepDurationAnnotation, "5m");
  room.step();
  EXPECT_EQ(said(), "5m");
  put(room.pod->meta.annotations, api::kKeepDurationAnnotation, "10m");
  room.step();
  EXPECT_EQ(said(), "10m");
  std::erase_if(room.pod->meta.annotations,
                [](const auto& one) { return one.first.view() == api::kKeepDurationAnnotation; });
  room.step();
  EXPECT_EQ(said(), std::nullopt);
  EXPECT_TRUE(is_idle(room.plan()));
}

TEST(BindingPlan, TheBindingSaysSinceWhenItIsNotReadyAndNothingOnceItIs) {
  Room room;
  const auto said = [&] { return room.binding_says(api::kUnreadySinceAnnotation); };
  room.step();
  EXPECT_EQ(said(), "") << "most are ready in a moment";
  room.now += seconds{3};
  room.step();
  EXPECT_EQ(said(), "2026-01-02T00:00:03.000000Z");
  room.confirm();
  EXPECT_FALSE(room.step().patch_binding) << "nobody waits for it before Ready is told";
  EXPECT_EQ(room.status(), "Ready");
  room.step();
  EXPECT_EQ(said(), "");
  EXPECT_TRUE(is_idle(room.plan()));

  room.listeners["demo-tcp-30000"].spec.target_group.reset();
  room.step();
  EXPECT_EQ(said(), "2026-01-02T00:00:03.000000Z");
  room.now += seconds{3};
  EXPECT_TRUE(is_idle(room.plan())) << "it is not ready since then";
  room.confirm();
  room.step();
  room.step();
  EXPECT_EQ(said(), "");
}

TEST(BindingPlan, WhatThePoolChangesReachesPodAndBinding) {
  Room room;
  room.make_ready();
  api::PortPool pool = claims::testing::pool_with({});
  pool.status.pool_items = {{.item_name = "item1",
                             .pool_item_load_balancers = {{.id = "edge:demo", .ips = {"2.2.2.2"}}},
                             .external = "outside"}};
  room.pool = pool;
  room.step();
  const auto told = api::decode_pool_bindings(room.pod_says(api::kPoolBindingsAnnotation));
  ASSERT_TRUE(told);
  EXPECT_EQ(told->front().external, "outside");
  EXPECT_EQ(told->front().pool_item_load_balancers.front().ips.front(), "2.2.2.2");
  EXPECT_EQ(room.binding()->spec.port_binding_list.front().external, "outside");
  EXPECT_EQ(room.status(), "Ready");
  EXPECT_TRUE(is_idle(room.plan()));
}

TEST(BindingPlan, AnItemThatLeftThePoolLeavesItsPodsAsTheyAre) {
  Room room;
  room.make_ready();
  room.pool = claims::testing::pool_with({});
  EXPECT_TRUE(is_idle(room.plan()));
}

// The copy has the claim and says that it leads to the Pod.
TEST(BindingPlan, ACopyOfAListenerIsNoPortOfThePod) {
  Room room({entry(30000), entry(30001)});
  room.make_ready();
  room.listeners["copied"] = room.listeners.at("demo-tcp-30001");
  room.listeners["copied"].meta.name = "copied";
  room.listeners["demo-tcp-30000"].spec.target_group.reset();
  room.confirm("demo-tcp-30000");
  room.step();
  EXPECT_EQ(room.status(), "NotReady");
}

TEST(BindingPlan, ABindingThatSomebodyDeletesComesBack) {
  Room room;
  room.make_ready();
  room.object->as_object()["metadata"].as_object()["deletionTimestamp"] = "2026-01-02T00:00:00Z";
  const BindingPlan plan = room.step();
  EXPECT_TRUE(plan.delete_binding);
  EXPECT_THAT(plan.binding_events, IsEmpty()) << "nothing was cleaned";
  room.step();
  EXPECT_EQ(room.binding()->meta.uid, "uid-of-binding-2");
  EXPECT_EQ(room.target(), "10.0.0.1:8000 w10") << "the Pod was reached all the while";
  EXPECT_THAT(reasons(room.step().binding_events), ElementsAre("Ready"));
}

// Somebody wrote the token of another Pod on this one, whose name is not in the claim.
TEST(BindingPlan, ATokenOfAnotherPodIsNoKeyToItsPort) {
  Room room;
  ledger::Claim claim = room.claim();
  ASSERT_EQ(claim.state, SlotState::claimed);
  claim.pod_name = "room-7";
  room.set_claim(claim);
  EXPECT_THAT(room.plan().changes, IsEmpty());
  claim.pod_name = "room-0";
  room.set_claim(claim);
  EXPECT_EQ(room.plan().changes.size(), 1u);
}

TEST(BindingPlan, APodThatTerminatesGetsNoNewConnections) {
  Room room;
  room.make_ready();
  room.pod->meta.deleting = true;
  const BindingPlan plan = room.step();
  EXPECT_EQ(room.target(), "10.0.0.1:8000 w0");
  EXPECT_EQ(room.claim().state, SlotState::bound) << "it keeps the connections that it has";
  EXPECT_TRUE(plan.pod_note.empty());
  EXPECT_EQ(room.status(), "Ready");
  room.confirm();
  EXPECT_TRUE(is_idle(room.plan())) << "nothing is Ready anew";
}

TEST(BindingPlan, APodThatTerminatesBeforeItWasBoundIsNotBoundAnyMore) {
  Room room;
  room.pod->meta.deleting = true;
  EXPECT_TRUE(is_idle(room.plan()));
}

TEST(BindingPlan, ASlotThatThePodWasNotToldOfDoesNotLeadToIt) {
  Room room;
  put(room.pod->meta.annotations, api::kPoolBindingsAnnotation,
      api::encode_pool_bindings({entry(30009)}));
  EXPECT_EQ(room.plan().changes.size(), 0u);
}

// The name is claimed with a token that the Pod does not have: its creation was repeated, or the
// cache still has the former Pod.
class ClaimByName : public ::testing::Test {
 protected:
  ClaimByName() {
    ledger::Claim claim = Room::admission("another");
    claim.pod_name = "room-0";
    room_.set_claim(claim);
  }
  Room room_;
};

TEST_F(ClaimByName, TheServerIsAskedWhoseItIs) {
  const BindingPlan plan = room_.plan();
  EXPECT_TRUE(plan.ask_server);
  EXPECT_THAT(plan.changes, IsEmpty());
}

TEST_F(ClaimByName, ThePodThatTheServerHasIsBound) {
  room_.server_uid = "uid-1";
  room_.step();
  EXPECT_EQ(room_.claim().pod_uid, "uid-1");
  EXPECT_EQ(room_.target(), "10.0.0.1:8000 w10");
}

TEST_F(ClaimByName, AFormerPodIsNot) {
  room_.server_uid = "uid-2";
  EXPECT_THAT(room_.plan().changes, IsEmpty());
}

}  // namespace
}  // namespace berth::controllers::portpool
