// What the controller writes, in which order, and what becomes of writes that fail. What is to be
// written is decided in binding_plan.h, which has tests of its own.
#include "controllers/portpool/bindings.h"

#include <gmock/gmock.h>

#include "controllers/portpool/test_controllers.h"

namespace berth::controllers::portpool {
namespace {

using namespace std::chrono_literals;
using ledger::SlotState;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::entry;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using testing::kBinding;
using testing::kListener;
using testing::kPod;
using testing::kRoom;
using ::testing::Not;
using testing::Room;
using wire::Object;
using wire::Value;

class BindingsTest : public testing::PortPoolControllerTest {
 protected:
  std::string binding_status() const {
    const Value* const object = api_.find(kBinding, kRoom);
    return object ? std::string(wire::string_at(*object, "/status/status")) : "gone";
  }
  std::string pod_says(std::string_view annotation) const {
    return std::string(wire::string_at(
        *api_.find(kPod, kRoom), "/metadata/annotations/" + wire::escape_pointer_step(annotation)));
  }
  bool leads_to_pod(const std::string& name = "demo-tcp-30000") const {
    return claims::has_targets(listener(name).spec);
  }
  // Bound and led to, and all of it is written.
  void make_ready(const Room& room) {
    has(room);
    settle();
    for (const auto& [name, one] : room.listeners) confirm(name);
    settle();
    ASSERT_EQ(pod_says(api::kBindStatusAnnotation), "Ready");
    pass(5s);
    api_.forget_calls();
  }
  void lose_pod() { api_.erase(kPod, kRoom); }

  std::vector<Duration> heard_ready_;
  std::vector<std::string> announced_;
  BindingController controller_{
      tasks_,
      replica_.client,
      caches_,
      replica_.claimer,
      claims::testing::sealer(),
      events_,
      {.quarantine = 10s,
       .may_write = [this] { return may_write_; },
       .on_ready = [this](Duration d) { heard_ready_.push_back(d); },
       .on_likely =
           [this](const api::Listener& one) { announced_.push_back("likely " + one.meta.name); },
       .on_write =
           [this](const api::Listener& one) {
             announced_.push_back(
                 fmt::format("write {} after {}", one.meta.name, api_.writes().size()));
           }},
      &registry_};
  std::unique_ptr<Task> running_ = start(controller_);
};

TEST_F(BindingsTest, ThePortLeadsToThePodBeforeAnybodyIsTold) {
  has(Room());
  settle();
  EXPECT_THAT(api_.writes(), ElementsAre("PATCH listeners/demo-tcp-30000", "POST portbindings"));
  EXPECT_EQ(claim().state, SlotState::bound);
  EXPECT_EQ(claim().pod_uid, "uid-1");
  EXPECT_TRUE(leads_to_pod());
  EXPECT_NE(pod_says(api::kBindStatusAnnotation), "Ready");

  api_.forget_calls();
  confirm();
  settle();
  EXPECT_THAT(api_.writes(),
              ElementsAre("PATCH portbindings/room-0/status", "PATCH pods/room-0/status"));
  EXPECT_EQ(binding_status(), "Ready");
  EXPECT_EQ(pod_says(api::kBindStatusAnnotation), "Ready");
  EXPECT_EQ(heard_ready_.size(), 1u);
}

TEST_F(BindingsTest, ThePodIsToldBeforeItsPortLeadsNowhere) {
  make_ready(Room());
  const std::string asks(api::kPortPoolsAnnotation);
  api_.on({"PATCH", "listeners/demo-tcp-30000"},
          {.before = [&] { EXPECT_EQ(pod_says(api::kBindStatusAnnotation), "NotReady"); }});
  api_.edit(kPod, kRoom, Object{{"metadata", Object{{"annotations", Object{{asks, nullptr}}}}}});
  settle();
  EXPECT_THAT(api_.writes(),
              IsSupersetOf({"PATCH pods/room-0/status", "PATCH listeners/demo-tcp-30000"}));
  EXPECT_FALSE(leads_to_pod());
}

TEST_F(BindingsTest, WhatIsDoneIsNotWrittenAgain) {
  make_ready(Room());
  api_.edit(kPod, kRoom, Object{{"metadata", Object{{"annotations", Object{{"level", "2"}}}}}});
  confirm();
  pass(1min);
  EXPECT_THAT(api_.writes(), IsEmpty());
  EXPECT_EQ(heard_ready_.size(), 1u);
}

TEST_F(BindingsTest, TheLockIsBoundBeforeItsPeersLead) {
  const Room room({entry(30000, {"east", "west"})});
  has(room);
  settle();
  EXPECT_THAT(api_.writes(), ElementsAre("PATCH listeners/east-tcp-30000",
                                         "PATCH listeners/west-tcp-30000", "POST portbindings"));
}

// Load balancers shall not start for the first of them just before the second comes.
TEST_F(BindingsTest, AllListenersAreAnnouncedBeforeTheFirstIsWritten) {
  has(Room({entry(30000, {"east", "west"})}));
  settle();
  EXPECT_THAT(announced_,
              ElementsAre("write east-tcp-30000 after 0", "write west-tcp-30000 after 0"));
}

TEST_F(BindingsTest, APodThatGoesIsAnnouncedAndWhatChangesNobodysTargetIsNot) {
  make_ready(Room());
  announced_.clear();
  api_.edit(kPod, kRoom, Object{{"metadata", Object{{"annotations", Object{{"level", "2"}}}}}});
  settle();
  EXPECT_THAT(announced_, IsEmpty());
  lose_pod();
  settle();
  EXPECT_THAT(announced_, ElementsAre("likely demo-tcp-30000", "write demo-tcp-30000 after 0"));
  announced_.clear();
  confirm();
  pass(1min);
  EXPECT_THAT(announced_, IsEmpty()) << "a claim alone is nothing that a load balancer has";
}

TEST_F(BindingsTest, WithoutTheLockNoPeerLeadsToThePod) {
  const Room room({entry(30000, {"east", "west"})});
  // Swept a moment before: the Pod waited too long for its address.
  api_.on({"PATCH", "listeners/east-tcp-30000"}, {.before = [&] {
            hears_listeners_ = false;
            put(claims::testing::with_claim(listener("east-tcp-30000"), "somebody's"));
          }});
  has(room);
  settle();
  EXPECT_FALSE(leads_to_pod("west-tcp-30000"));
  EXPECT_THAT(api_.writes(), Not(Contains("POST portbindings")));
}

TEST_F(BindingsTest, WhatOvertookAWriteIsPlannedWith) {
  // Its pool has changed an attribute in this moment.
  api_.on({"PATCH", "listeners/demo-tcp-30000"}, {.before = [&] {
            api::Listener changed = listener();
            changed.spec.listener_attribute = api::ListenerAttribute{.session_time = 30};
            put(changed);
          }});
  has(Room());
  pass(2s);
  EXPECT_EQ(claim().state, SlotState::bound);
  EXPECT_TRUE(leads_to_pod());
  EXPECT_EQ(listener().spec.listener_attribute->session_time, 30);
}

TEST_F(BindingsTest, AWriteWhoseAnswerIsLostIsMadeOnce) {
  api_.on({"PATCH", "listeners/demo-tcp-30000"}, {.lost_after = true});
  api_.on({"POST", "portbindings"}, {.lost_after = true});
  has(Room());
  pass(10s);
  confirm();
  settle();
  EXPECT_EQ(binding_status(), "Ready");
  EXPECT_EQ(pod_says(api::kBindStatusAnnotation), "Ready");
}

TEST_F(BindingsTest, ABindingThatIsThereAlreadyBecomesThePods) {
  api_.on({"POST", "portbindings"}, {.before = [&] {
            api_.put(kBinding, Object{{"metadata", Object{{"namespace", "games"},
                                                          {"name", "room-0"},
                                                          {"labels", Object{{"ours", "no"}}}}},
                                      {"spec", Object{}}});
          }});
  has(Room());
  pass(5s);
  const auto binding = api::decode_port_binding(*api_.find(kBinding, kRoom)).value();
  EXPECT_EQ(kube::get(binding.meta.annotations, kPodUidAnnotation), "uid-1");
  EXPECT_EQ(binding.spec.port_binding_list.size(), 1u);
}

// No change of a cache brings it back.
TEST_F(BindingsTest, WhatOvertookAWriteUnseenIsLookedAtAgain) {
  hears_bindings_ = false;
  api_.put(kBinding, Object{{"metadata", Object{{"namespace", "games"}, {"name", "room-0"}}},
                            {"spec", Object{}}});
  has(Room());
  settle();
  api_.forget_calls();
  pass(3s);
  EXPECT_THAT(api_.writes(), Contains("POST portbindings"));
}

TEST_F(BindingsTest, WhatItWroteItselfIsKnownBeforeTheCachesHearOfIt) {
  hears_bindings_ = false;
  has(Room());
  settle();
  hears_pods_ = false;
  confirm();
  settle();
  confirm();
  pass(1s);
  EXPECT_THAT(api_.writes(),
              ElementsAre("PATCH listeners/demo-tcp-30000", "POST portbindings",
                          "PATCH portbindings/room-0/status", "PATCH pods/room-0/status"))
      << "each of them once";
}

// The new Pod of that name has its own ports to wait for.
TEST_F(BindingsTest, ReadyIsNotWrittenOnAnotherPodOfThatName) {
  const Room room;
  has(room);
  settle();
  api_.on({"PATCH", "pods/room-0/status"}, {.before = [&] {
            hears_pods_ = false;
            kube::Pod next = *room.pod;
            next.meta.uid = "uid-2";
            api_.erase(kPod, kRoom);
            put(next);
          }});
  confirm();
  settle();
  EXPECT_THAT(api_.writes(), Contains("PATCH pods/room-0/status"));
  EXPECT_NE(pod_says(api::kBindStatusAnnotation), "Ready");
}

TEST_F(BindingsTest, NothingIsWrittenWithoutTheLead) {
  may_write_ = false;
  has(Room());
  pass(10s);
  EXPECT_THAT(api_.writes(), IsEmpty());
  may_write_ = true;
  pass(1min);
  EXPECT_EQ(claim().state, SlotState::bound);
}

TEST_F(BindingsTest, OnlyAPodThatTheServerHasNotLosesItsPort) {
  make_ready(Room());
  pods_.erase(kRoom, "", api_.version() + 1);  // the cache alone
  pass(5s);
  EXPECT_THAT(api_.calls(), Contains("GET pods/room-0"));
  EXPECT_THAT(api_.writes(), IsEmpty());
  EXPECT_TRUE(leads_to_pod());
}

TEST_F(BindingsTest, WithoutTheServersWordNothingIsTaken) {
  make_ready(Room());
  api_.on({"GET", "pods/room-0"}, {.refused = 500});
  lose_pod();
  ASSERT_TRUE(kernel_.run_until([&] { return !api_.calls().empty(); }));
  EXPECT_THAT(api_.writes(), IsEmpty());
  pass(10s);
  EXPECT_FALSE(leads_to_pod()) << "asked again, it says that the Pod is gone";
}

TEST_F(BindingsTest, APortIsDrainedRestsAndIsFreeAgain) {
  make_ready(Room());
  lose_pod();
  settle();
  EXPECT_EQ(claim().state, SlotState::draining);
  EXPECT_FALSE(leads_to_pod());
  EXPECT_EQ(binding_status(), "Cleaning");
  EXPECT_THAT(api_.calls(), ElementsAre("GET pods/room-0", "PATCH listeners/demo-tcp-30000",
                                        "PATCH portbindings/room-0/status"));

  pass(1h);
  EXPECT_EQ(claim().state, SlotState::draining) << "the load balancer has not confirmed";
  api_.forget_calls();
  confirm();
  settle();
  EXPECT_EQ(claim().state, SlotState::quarantined);
  EXPECT_EQ(binding_status(), "gone");
  EXPECT_THAT(api_.writes(),
              ElementsAre("PATCH listeners/demo-tcp-30000", "DELETE portbindings/room-0",
                          "PATCH portbindings/room-0"));

  pass(9s);
  EXPECT_EQ(claim().state, SlotState::quarantined);
  pass(2s);
  EXPECT_EQ(claims::claim_text(listener()), "");
}

TEST_F(BindingsTest, APortThatItsNameKeepsIsRecorded) {
  Room room;
  testing::put(room.pod->meta.annotations, api::kKeepDurationAnnotation, "10m");
  make_ready(room);
  lose_pod();
  settle();
  confirm();
  settle();
  EXPECT_EQ(claim().state, SlotState::kept);
  EXPECT_EQ(binding_status(), "Cleaned") << "admission finds the port through it";
  pass(11min);
  EXPECT_EQ(claims::claim_text(listener()), "");
  EXPECT_EQ(binding_status(), "gone");
}

// On the word of a cache that is behind, players of the former Pod would meet a stranger.
TEST_F(BindingsTest, APortIsNotGivenAwayWhileAPeerOnTheServerLeads) {
  make_ready(Room({entry(30000, {"east", "west"})}));
  lose_pod();
  settle();
  ASSERT_EQ(claim("east-tcp-30000").state, SlotState::draining);
  confirm("west-tcp-30000");
  hears_listeners_ = false;
  put(claims::testing::leading_to(listener("west-tcp-30000"), "10.0.0.1"));
  hears_listeners_ = true;
  confirm("east-tcp-30000");
  settle();
  EXPECT_EQ(claim("east-tcp-30000").state, SlotState::draining);
  EXPECT_FALSE(leads_to_pod("west-tcp-30000")) << "and it is led away";
}

TEST_F(BindingsTest, WhatSomebodyPointsElsewhereIsPointedBack) {
  make_ready(Room());
  put(claims::testing::leading_to(listener(), "10.6.6.6"));
  settle();
  EXPECT_EQ(listener().spec.target_group->backends.front().ip, "10.0.0.1");
  EXPECT_EQ(pod_says(api::kBindStatusAnnotation), "NotReady") << "until it is seen to lead there";
  confirm();
  settle();
  EXPECT_EQ(pod_says(api::kBindStatusAnnotation), "Ready");
}

}  // namespace
}  // namespace berth::controllers::portpool
