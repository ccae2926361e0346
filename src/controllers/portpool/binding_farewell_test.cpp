// What becomes of a Pod's ports when it is gone, has ended, or comes back under its name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/go_duration.h"
#include "controllers/portpool/test_support.h"

namespace berth::controllers::portpool {
namespace {

using ledger::SlotState;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using testing::entry;
using ::testing::HasSubstr;
using testing::is_idle;
using ::testing::IsEmpty;
using testing::put;
using testing::reasons;
using testing::Room;

Room ready_room(const std::vector<api::PortBindingItem>& told = {entry(30000)},
                const std::string& keep = "") {
  Room room(told);
  if (!keep.empty()) {
    put(room.pod->meta.annotations, api::kKeepDurationAnnotation, keep);
    for (auto& [name, listener] : room.listeners) {
      if (!kube::has(listener.meta.annotations, ledger::kClaimAnnotation)) continue;
      ledger::Claim claim = room.claim(name);
      claim.pod_name = "room-0";
      claim.keep = api::parse_go_duration(keep).value();
      room.set_claim(claim, name);
    }
  }
  room.make_ready();
  return room;
}

TEST(BindingFarewell, TheServerIsAskedBeforeAnythingIsTaken) {
  Room room = ready_room();
  room.pod.reset();
  const BindingPlan plan = room.plan();
  EXPECT_TRUE(plan.ask_server);
  EXPECT_THAT(plan.changes, IsEmpty());
  EXPECT_FALSE(plan.delete_binding);
}

TEST(BindingFarewell, APodThatOnlyTheCacheDoesNotHaveKeepsItsPorts) {
  Room room = ready_room();
  room.pod.reset();
  room.server_uid = "uid-1";
  const BindingPlan plan = room.plan();
  EXPECT_THAT(plan.changes, IsEmpty());
  EXPECT_TRUE(plan.requeue_after) << "the cache catches up";
}

TEST(BindingFarewell, APortRestsBetweenTwoOwners) {
  Room room = ready_room();
  room.lose_pod();

  const BindingPlan cleaning = room.step();
  EXPECT_EQ(room.claim().state, SlotState::draining);
  EXPECT_EQ(room.target(), "");
  EXPECT_EQ(cleaning.changes.front().change.source, kube::ObjectKey{}) << "its labels go";
  EXPECT_EQ(room.status(), "Cleaning");
  EXPECT_EQ(room.binding()->status.port_pool_bind_status_list.front().status, "Deleting");
  EXPECT_THAT(reasons(cleaning.binding_events), ElementsAre("Cleaning"));
  EXPECT_TRUE(is_idle(room.plan())) << "until the load balancer has confirmed";

  room.confirm();
  const BindingPlan clean = room.step();
  EXPECT_EQ(room.claim().state, SlotState::quarantined);
  EXPECT_EQ(room.status(), "gone");
  EXPECT_THAT(reasons(clean.binding_events), ElementsAre("CleanSuccess"));

  room.now += seconds{4};
  EXPECT_TRUE(is_idle(room.plan()));
  EXPECT_EQ(room.plan().requeue_after, seconds{6});
  room.now += seconds{6};
  room.step();
  EXPECT_EQ(claims::claim_text(room.listeners["demo-tcp-30000"]), "");
  EXPECT_TRUE(is_idle(room.plan()));
}

TEST(BindingFarewell, WithoutQuarantineAPortIsFreeOnceItLeadsNowhere) {
  Room room = ready_room();
  room.quarantine = {};
  room.lose_pod();
  room.step();
  EXPECT_EQ(room.claim().state, SlotState::draining);
  room.confirm();
  room.step();
  EXPECT_EQ(claims::claim_text(room.listeners["demo-tcp-30000"]), "");
}

TEST(BindingFarewell, APortIsTakenBackFromEveryLoadBalancerBeforeItIsGivenOn) {
  Room room = ready_room({entry(30000, {"east", "west"})});
  room.lose_pod();
  room.step();
  EXPECT_EQ(room.target("east-tcp-30000"), "");
  EXPECT_EQ(room.target("west-tcp-30000"), "");
  room.confirm("east-tcp-30000");
  EXPECT_TRUE(is_idle(room.plan())) << "west may still lead to the Pod";
  room.confirm("west-tcp-30000");
  room.step();
  EXPECT_EQ(room.claim("east-tcp-30000").state, SlotState::quarantined);
}

TEST(BindingFarewell, APortIsGivenOnOnlyWhenTheServerSaysTheSameOfItsPeers) {
  Room room = ready_room({entry(30000, {"east", "west"})});
  room.lose_pod();
  EXPECT_THAT(room.step().changes.front().resting, IsEmpty()) << "taking back needs no look";
  room.confirm();
  for (const seconds pause : {seconds{0}, seconds{10}}) {
    room.now += pause;
    const BindingPlan plan = room.step();
    ASSERT_EQ(plan.changes.size(), 1u);
    ASSERT_EQ(plan.changes.front().resting.size(), 1u);
    EXPECT_EQ(plan.changes.front().resting.front()->meta.name, "west-tcp-30000");
  }
  EXPECT_EQ(claims::claim_text(room.listeners["east-tcp-30000"]), "");
}

TEST(BindingFarewell, APortThatLeadsToThePodAgainWhileItRestsIsDrainedAgain) {
  for (const char* const keep : {"", "1m"}) {
    Room room = ready_room({entry(30000, {"east", "west"})}, keep);
    room.lose_pod();
    room.step();
    room.confirm();
    room.step();
    const SlotState resting = room.claim("east-tcp-30000").state;
    EXPECT_NE(resting, SlotState::draining);

    room.listeners["west-tcp-30000"] =
        claims::testing::leading_to(room.listeners["west-tcp-30000"], "10.0.0.1");
    room.now += minutes{5};
    room.step();
    EXPECT_EQ(room.claim("east-tcp-30000").state, SlotState::draining);
    EXPECT_EQ(room.target("west-tcp-30000"), "");
    EXPECT_TRUE(is_idle(room.plan())) << "until the load balancer has confirmed";
    room.confirm();
    room.step();
    EXPECT_EQ(room.claim("east-tcp-30000").state, resting);
    EXPECT_EQ(room.claim("east-tcp-30000").since, room.now);
  }
}

TEST(BindingFarewell, ALateWriteThatLeadsToThePodAgainIsTakenBackOnceMore) {
  Room room = ready_room();
  room.lose_pod();
  room.step();
  room.listeners["demo-tcp-30000"] = claims::testing::applied(
      claims::testing::leading_to(room.listeners["demo-tcp-30000"], "10.0.0.1"));
  room.step();
  EXPECT_EQ(room.target(), "");
  EXPECT_EQ(room.claim().state, SlotState::draining);
}

TEST(BindingFarewell, ItIsCleanedWhenTheLastOfItsPortsIs) {
  Room room = ready_room({entry(30000), entry(30001)});
  room.lose_pod();
  room.step();
  room.confirm("demo-tcp-30000");
  const BindingPlan half = room.step();
  EXPECT_EQ(room.claim("demo-tcp-30000").state, SlotState::quarantined);
  EXPECT_EQ(room.status(), "Cleaning");
  EXPECT_THAT(half.binding_events, IsEmpty());
  room.confirm();
  EXPECT_THAT(reasons(room.step().binding_events), ElementsAre("CleanSuccess"));
  EXPECT_EQ(room.status(), "gone");
}

TEST(BindingFarewell, PodsThatEndGiveTheirPortsBackWhileTheyAreStillThere) {
  for (const kube::PodPhase phase : {kube::PodPhase::succeeded, kube::PodPhase::failed}) {
    Room room = ready_room();
    room.pod->phase = phase;
    EXPECT_FALSE(room.plan().ask_server) << "it says so itself";
    EXPECT_THAT(reasons(room.step().binding_events), ElementsAre("Cleaning"));
    EXPECT_EQ(room.target(), "");
    room.confirm();
    room.step();
    EXPECT_EQ(room.claim().state, SlotState::quarantined);
    EXPECT_EQ(room.status(), "gone");
    EXPECT_TRUE(is_idle(room.plan())) << "it is not bound to it again";
  }
}

TEST(BindingFarewell, APodThatEndsBeforeItWasBoundGivesItsPortBackAtOnce) {
  Room room;
  room.pod->phase = kube::PodPhase::failed;
  room.step();
  EXPECT_EQ(claims::claim_text(room.listeners["demo-tcp-30000"]), "");
}

TEST(BindingFarewell, AKeptNameIsWaitedForUntilItsWindowEnds) {
  Room room = ready_room({entry(30000)}, "5m");
  room.lose_pod();
  room.step();
  room.confirm();
  const BindingPlan kept = room.step();
  EXPECT_EQ(room.claim().state, SlotState::kept);
  EXPECT_EQ(room.status(), "Cleaned");
  EXPECT_THAT(reasons(kept.binding_events), ElementsAre("CleanSuccess"));
  EXPECT_THAT(kept.binding_events.front().message, HasSubstr("until 2026-01-02T00:05:00Z"));

  room.now += minutes{2};
  EXPECT_TRUE(is_idle(room.plan()));
  EXPECT_EQ(room.plan().requeue_after, minutes{3});
  room.now += minutes{3};
  const BindingPlan over = room.step();
  EXPECT_EQ(claims::claim_text(room.listeners["demo-tcp-30000"]), "") << "it has rested enough";
  EXPECT_TRUE(over.delete_binding);
  EXPECT_THAT(over.binding_events, IsEmpty()) << "said already";
}

TEST(BindingFarewell, AKeepingShorterThanTheQuarantineIsMadeUpFor) {
  Room room = ready_room({entry(30000)}, "4s");
  room.lose_pod();
  room.step();
  room.confirm();
  room.step();
  room.now += seconds{4};
  room.step();
  EXPECT_EQ(room.claim().state, SlotState::quarantined);
  EXPECT_EQ(room.plan().requeue_after, seconds{6});
}

// A StatefulSet's Pod comes back while its ports are on one of these ways, and took them back at
// its admission.
class NameComesBack : public ::testing::Test {
 protected:
  void name_comes_back() {
    ledger::Claim claim = Room::admission("token-2");
    claim.pod_name = "room-0";
    claim.keep = minutes{5};
    room_.set_claim(ledger::taken_back(room_.claim(), claim, room_.now));
  }
  void bring_pod() {
    room_.pod = room_.new_pod("uid-2", "token-2");
    room_.pod->ips = {"10.0.0.2"};
    put(room_.pod->meta.annotations, api::kKeepDurationAnnotation, "5m");
    room_.server_uid.reset();
  }
  // From here on everything is as with any other Pod.
  void expect_ready() {
    EXPECT_EQ(room_.claim().pod_uid, "uid-2");
    EXPECT_EQ(room_.target(), "10.0.0.2:8000 w10");
    EXPECT_EQ(room_.status(), "NotReady");
    EXPECT_EQ(room_.binding()->meta.uid, "uid-of-binding-1") << "it takes the old one over";
    EXPECT_EQ(kube::get(room_.binding()->meta.annotations, kPodUidAnnotation), "uid-2");
    room_.confirm();
    EXPECT_THAT(reasons(room_.step().binding_events), ElementsAre("Ready"));
    EXPECT_EQ(room_.pod_says(api::kBindStatusAnnotation), "Ready");
  }

  Room room_ = ready_room({entry(30000)}, "5m");
};

TEST_F(NameComesBack, WhileItsPortsAreKept) {
  room_.lose_pod();
  room_.step();
  room_.confirm();
  room_.step();
  ASSERT_EQ(room_.status(), "Cleaned");
  name_comes_back();
  EXPECT_TRUE(is_idle(room_.plan())) << "the new Pod has not been seen yet";
  bring_pod();
  room_.step();
  expect_ready();
}

TEST_F(NameComesBack, WhileTheyAreStillBeingCleaned) {
  room_.lose_pod();
  room_.step();
  ASSERT_EQ(room_.status(), "Cleaning");
  name_comes_back();
  bring_pod();
  room_.step();
  expect_ready();
}

TEST_F(NameComesBack, BeforeAnybodyHasCleanedUp) {
  name_comes_back();
  EXPECT_THAT(room_.plan().changes, IsEmpty()) << "the cache has the old Pod: it is not bound anew";
  bring_pod();
  room_.step();
  expect_ready();
}

TEST_F(NameComesBack, NothingOfTheFormerPodStaysOnTheBinding) {
  wire::Object& meta = room_.object->as_object()["metadata"].as_object();
  meta["labels"].as_object()["portpool.lobbies.games"] = "item9";
  meta["labels"].as_object()["team"] = "red";
  room_.now += minutes{1};
  name_comes_back();
  bring_pod();
  std::erase_if(room_.pod->meta.annotations,
                [](const auto& one) { return one.first.view() == api::kKeepDurationAnnotation; });
  room_.step();
  const kube::SharedMap labels = room_.binding()->meta.labels;
  EXPECT_FALSE(kube::has(labels, "portpool.lobbies.games"));
  EXPECT_EQ(kube::get(labels, "portpool.rooms.games"), "item1");
  EXPECT_EQ(kube::get(labels, "team"), "red") << "somebody else's";
  EXPECT_EQ(room_.binding_says(api::kKeepDurationAnnotation), std::nullopt);
  EXPECT_EQ(room_.binding_says(api::kUnreadySinceAnnotation), "");
}

// Without keepduration the new Pod has a port of its own, and the old one's is cleaned beside it.
TEST(BindingFarewell, ANewPodOfTheNameIsBoundWhileTheOldOnesPortIsCleaned) {
  Room room = ready_room({entry(30000), entry(30001)});
  room.pod = room.new_pod("uid-2", "token-2", {entry(30001)});
  room.pod->ips = {"10.0.0.2"};
  room.set_claim(Room::admission("token-2"), "demo-tcp-30001");
  room.listeners["demo-tcp-30001"].spec.target_group.reset();
  room.confirm();
  room.server_uid = "uid-2";
  room.step();
  EXPECT_EQ(room.claim("demo-tcp-30000").state, SlotState::draining);
  EXPECT_EQ(room.target("demo-tcp-30000"), "");
  EXPECT_EQ(room.claim("demo-tcp-30001").pod_uid, "uid-2");
  EXPECT_EQ(room.target("demo-tcp-30001"), "10.0.0.2:8001 w10");
  ASSERT_EQ(room.binding()->spec.port_binding_list.size(), 1u);
  EXPECT_EQ(room.status(), "NotReady") << "the binding speaks of the new Pod";
  room.confirm();
  room.step();
  EXPECT_EQ(room.status(), "Ready");
  EXPECT_EQ(room.claim("demo-tcp-30000").state, SlotState::quarantined);
}

TEST(BindingFarewell, ABindingWhoseSlotsAreNotSeenStays) {
  Room room = ready_room();
  room.listeners.clear();
  const BindingPlan plan = room.plan();
  EXPECT_FALSE(plan.delete_binding) << "the Pod lives and was told of a port";
  EXPECT_THAT(plan.binding_events, IsEmpty());
  EXPECT_EQ(plan.pod_note.status, "NotReady");
}

TEST(BindingFarewell, ABindingOfNobodyGoes) {
  Room room = ready_room();
  room.lose_pod();
  room.set_claim("");
  EXPECT_TRUE(room.plan().delete_binding);
}

TEST(BindingFarewell, ABindingThatWaitsForAFinalizerOfOthersIsCleanedOnce) {
  Room room = ready_room();
  room.lose_pod();
  room.set_claim("");
  wire::Object& meta = room.object->as_object()["metadata"].as_object();
  meta["deletionTimestamp"] = "2026-01-02T00:00:00Z";
  EXPECT_THAT(reasons(room.plan().binding_events), ElementsAre("CleanSuccess"))
      << "a leader that ended half-way had not said it";
  meta["finalizers"] = wire::Array{"somebody.example/else"};
  EXPECT_THAT(room.plan().binding_events, IsEmpty());
}

TEST(BindingFarewell, WhoeverDeletesThePortBindingOfAGonePodGivesUpItsKeptPorts) {
  Room room = ready_room({entry(30000)}, "24h");
  room.lose_pod();
  room.step();
  room.confirm();
  room.step();
  ASSERT_EQ(room.claim().state, SlotState::kept);
  EXPECT_TRUE(is_idle(room.plan()));

  room.object->as_object()["metadata"].as_object()["deletionTimestamp"] = "2026-01-02T00:00:00Z";
  room.step();
  EXPECT_EQ(room.claim().state, SlotState::quarantined) << "players may still know it";
  EXPECT_EQ(room.status(), "gone");
}

// It may be that of a Node, or that of a name whose ports the other controller keeps.
TEST(BindingFarewell, ABindingOfAnotherControllerStaysUntilSomebodyDeletesIt) {
  Room room = ready_room();
  room.lose_pod();
  room.set_claim("");
  wire::Object& meta = room.object->as_object()["metadata"].as_object();
  meta["annotations"].as_object().erase(kPodUidAnnotation);
  EXPECT_TRUE(is_idle(room.plan()));
  meta["deletionTimestamp"] = "2026-01-02T00:00:00Z";
  EXPECT_TRUE(room.plan().delete_binding) << "its finalizer is taken off";
}

void take_mark_off(Room& room) {
  wire::Object& meta = room.object->as_object()["metadata"].as_object();
  meta["annotations"].as_object().erase(kPodUidAnnotation);
}

// The ports that it names are ours: they say whose it is.
TEST(BindingFarewell, AMarkThatSomebodyTookOffComesBackWhilePortsAreTakenBackOrKept) {
  Room room = ready_room({entry(30000)}, "1m");
  room.lose_pod();
  take_mark_off(room);
  room.step();
  EXPECT_EQ(room.status(), "Cleaning");
  EXPECT_EQ(room.binding_says(kPodUidAnnotation), "uid-1");

  room.confirm();
  room.step();
  ASSERT_EQ(room.claim().state, SlotState::kept);
  take_mark_off(room);
  room.step();
  EXPECT_EQ(room.binding_says(kPodUidAnnotation), "uid-1");
  EXPECT_TRUE(is_idle(room.plan()));

  take_mark_off(room);
  room.now += minutes{2};
  room.step();
  EXPECT_EQ(room.status(), "gone");
}

// Anybody can write a claim of that name on a Listener of his own.
TEST(BindingFarewell, AClaimOnAPortThatItDoesNotNameMakesNoBindingOurs) {
  Room room = ready_room({entry(30000), entry(30001)}, "1m");
  room.lose_pod();
  room.set_claim("");
  wire::Object& spec = room.object->as_object()["spec"].as_object();
  spec["portBindingList"].as_array().pop_back();
  wire::Object& status = room.object->as_object()["status"].as_object();
  status["portPoolBindStatusList"].as_array().pop_back();
  take_mark_off(room);
  const wire::Value before = *room.object;
  room.step();
  room.confirm();
  room.step();
  ASSERT_EQ(room.claim("demo-tcp-30001").state, SlotState::kept);
  EXPECT_EQ(*room.object, before);
}

// Somebody rewrote its list too: its status still says which ports it stood for.
TEST(BindingFarewell, ABindingWithoutItsMarkAndItsListGoesWithItsPod) {
  Room room = ready_room();
  room.lose_pod();
  take_mark_off(room);
  wire::Object& spec = room.object->as_object()["spec"].as_object();
  spec["portBindingList"].as_array().front().as_object()["startPort"] = 39999;
  room.step();
  EXPECT_EQ(room.binding_says(kPodUidAnnotation), "uid-1");
  room.confirm();
  room.step();
  room.now += minutes{2};
  room.step();
  EXPECT_EQ(room.status(), "gone");
}

TEST(BindingFarewell, AMarkThatSomebodyTookOffComesBackWhileThePodWaitsForItsPort) {
  Room room = ready_room();
  room.listeners.clear();
  take_mark_off(room);
  room.step();
  EXPECT_EQ(room.binding_says(kPodUidAnnotation), "uid-1");
  EXPECT_EQ(room.status(), "NotReady");
}

// The cache alone has lost it.
TEST(BindingFarewell, APodThatTheServerHasKeepsItsPortBinding) {
  Room room;
  room.make_ready();
  room.pod.reset();
  EXPECT_TRUE(room.plan().ask_server);
  room.server_uid = "uid-1";
  EXPECT_TRUE(is_idle(room.plan()));
  EXPECT_TRUE(room.plan().requeue_after);
  room.server_uid = "";
  EXPECT_FALSE(is_idle(room.plan()));
}

}  // namespace
}  // namespace berth::controllers::portpool
