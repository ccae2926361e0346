// What reports read from an API server, and what they make of what is not there or not for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admission/refusal_event.h"
#include "api/pod_ports.h"
#include "kube/client/test_scripted_api.h"
#include "report/explain.h"
#include "report/test_support.h"
#include "report/workloads.h"

namespace berth::report {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using wire::Array;
using wire::Object;
using wire::Value;
namespace types = kube::types;

class ReportReadTest : public ::testing::Test {
 protected:
  static Object meta(std::string_view name, std::string_view uid) {
    return {{"namespace", "games"}, {"name", name}, {"uid", uid}};
  }
  static Object owned_by(Object meta, std::string_view kind, std::string_view name,
                         std::string_view uid) {
    meta["ownerReferences"] =
        Array{Object{{"kind", kind}, {"name", name}, {"uid", uid}, {"controller", true}}};
    return meta;
  }
  // A Deployment "lobby" with its ReplicaSet.
  void has_lobby(int wanted, int there) {
    api_.put(types::kDeployment,
             Object{{"metadata", meta("lobby", "uid-d")}, {"spec", Object{{"replicas", wanted}}}});
    api_.put(
        types::kReplicaSet,
        Object{{"metadata", owned_by(meta("lobby-5f", "uid-r"), "Deployment", "lobby", "uid-d")},
               {"spec", Object{{"replicas", wanted}}},
               {"status", Object{{"replicas", there}}}});
  }
  void has_pod(std::string_view name, bool ready) {
    Object of_pod =
        owned_by(meta(name, fmt::format("uid-{}", name)), "ReplicaSet", "lobby-5f", "uid-r");
    of_pod["annotations"] = Object{{api::kPortPoolsAnnotation, "true"},
                                   {api::kBindStatusAnnotation, ready ? "Ready" : "NotReady"}};
    api_.put(types::kPod, Object{{"metadata", std::move(of_pod)}});
  }
  void has_event(std::string name, std::string_view reason, std::string_view message, Duration ago,
                 std::string_view uid = "uid-r") {
    api_.put(types::kEvent, Object{{"metadata", meta(name, "uid-" + name)},
                                   {"reason", reason},
                                   {"message", message},
                                   {"lastTimestamp", format_rfc3339(tasks_.wall_time() - ago)},
                                   {"involvedObject", Object{{"kind", "ReplicaSet"},
                                                             {"namespace", "games"},
                                                             {"name", "lobby-5f"},
                                                             {"uid", uid}}}});
  }
  void was_refused(std::string name, std::string_view message, Duration ago,
                   std::string_view uid = "uid-r") {
    has_event(std::move(name), admission::kAllocatePortFailedReason, message, ago, uid);
  }
  std::vector<Refusal> refusals() {
    return read_refusals(context_, client_, tasks_.wall_time()).value();
  }
  Result<ExplainView> read(const std::string& kind, const std::string& name) {
    return read_for_explain(context_, client_, app::all_report_parts(), "", kind, {"games", name});
  }

  kube::testing::JumpingTasks tasks_;
  kube::testing::ScriptedApi api_;
  kube::Client client_{api_, kube::fixed_config("https://api:6443", {})};
  const Context context_{.tasks = tasks_};
};

TEST_F(ReportReadTest, RefusalsNameTheDeploymentThatPeopleKnow) {
  has_lobby(3, 1);
  was_refused("e1", "PortPool games/rooms: full", 30s);
  const auto found = refusals();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].object, "Deployment games/lobby");
  EXPECT_EQ(found[0].message, "PortPool games/rooms: full");
  EXPECT_EQ(found[0].ago, 30s);
  EXPECT_FALSE(found[0].over);
}

TEST_F(ReportReadTest, ARefusalIsOverWhenTheWorkloadHasItsPodsOrIsGone) {
  has_lobby(3, 3);
  was_refused("e1", "full", 30s);
  EXPECT_TRUE(refusals().at(0).over);
  api_.erase(types::kReplicaSet, {"games", "lobby-5f"});
  EXPECT_TRUE(refusals().at(0).over);
  has_lobby(3, 1);
  EXPECT_FALSE(refusals().at(0).over);
  api_.erase(types::kEvent, {"games", "e1"});
  was_refused("e2", "full", 30s, "uid-of-one-before");
  EXPECT_TRUE(refusals().at(0).over) << "another workload has its name";
}

TEST_F(ReportReadTest, OfOneWorkloadTheNewestThatSaysWhyCounts) {
  has_lobby(3, 1);
  was_refused("e1", "an older reason", 5min);
  was_refused("e2", "the reason", 2min);
  was_refused("e3", "(combined from similar events): ...", 10s);
  was_refused("e4", "long ago", 11min);
  const auto found = refusals();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "the reason");
  EXPECT_EQ(found[0].ago, 10s);
}

TEST_F(ReportReadTest, WhatWasRefusedLongAgoIsNotTold) {
  has_lobby(3, 1);
  was_refused("e1", "full", 11min);
  EXPECT_THAT(refusals(), IsEmpty());
}

TEST_F(ReportReadTest, EventsThatWeMayNotReadAreSaidToBeUnseen) {
  api_.on({"GET", "events"}, {.refused = 403});
  EXPECT_THAT(read_cluster(context_, client_, app::all_report_parts(), "").value().unseen,
              ElementsAre("events"));
  api_.on({"GET", "events"}, {.refused = 500});
  EXPECT_FALSE(read_cluster(context_, client_, app::all_report_parts(), ""));
}

TEST_F(ReportReadTest, OfSeveralLeasesTheOneThatWasRenewedLastCounts) {
  for (const auto& [ns, ago] :
       {std::pair("old", Duration(1h)), std::pair("berth-system", Duration(2s))}) {
    Value lease = testing::lease(fmt::format("berth-in-{}", ns), ago);
    ASSERT_TRUE(wire::set_at(lease, "/metadata/namespace", ns));
    api_.put(types::kLease, std::move(lease));
  }
  const ClusterView view = read_cluster(context_, client_, app::all_report_parts(), "").value();
  EXPECT_EQ(view.ns, "berth-system");
  EXPECT_EQ(leader_of(view).holder, "berth-in-berth-system");
  EXPECT_EQ(
      leader_of(read_cluster(context_, client_, app::all_report_parts(), "old").value()).holder,
      "berth-in-old");
}

TEST_F(ReportReadTest, WithoutTheRightToListLeasesTheUsualPlacesAreLookedAt) {
  api_.put(types::kLease, testing::lease("berth-1", 2s));
  api_.on({"GET", "leases"}, {.refused = 403});
  EXPECT_EQ(read_cluster(context_, client_, app::all_report_parts(), "").value().ns,
            "berth-system");
}

TEST_F(ReportReadTest, APodIsReadWithTheWorkloadAtTheTop) {
  has_lobby(1, 1);
  has_pod("lobby-5f-x", false);
  has_event("e1", "FailedCreate", "the older", 2min);
  has_event("e2", "FailedCreate", "the newer", 1min);
  has_event("e3", "SuccessfulCreate", "created", 1min);
  const ExplainView view = read("Pod", "lobby-5f-x").value();
  EXPECT_EQ(wire::string_at(view.workload, "/kind"), "Deployment");
  EXPECT_THAT(view.failures, ElementsAre("the older", "the newer"));
}

TEST_F(ReportReadTest, OfAWorkloadThePodIsMeantThatWaits) {
  has_lobby(2, 2);
  has_pod("lobby-5f-a", true);
  has_pod("lobby-5f-b", false);
  const ExplainView view = read("Deployment", "lobby").value();
  EXPECT_EQ(view.kind, "Pod");
  EXPECT_EQ(view.key.name, "lobby-5f-b");
}

TEST_F(ReportReadTest, OfAWorkloadThatLacksPodsTheMissingOneIsMeant) {
  has_lobby(2, 1);
  has_pod("lobby-5f-a", true);
  const ExplainView view = read("Deployment", "lobby").value();
  EXPECT_EQ(view.kind, "Deployment");
  EXPECT_TRUE(view.pod.is_null());
}

TEST_F(ReportReadTest, APodThatIsNotThereMayBeOneOfAStatefulSet) {
  api_.put(types::kStatefulSet, Object{{"metadata", meta("room", "uid-s")}});
  EXPECT_EQ(wire::string_at(read("Pod", "room-3")->workload, "/kind"), "StatefulSet");
  const auto missing = read("Pod", "lobby-3");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::not_found);
  EXPECT_EQ(read("Deployment", "lobby").error().message, "there is no Deployment games/lobby");
}

TEST_F(ReportReadTest, WhatIsNotForUsToSeeIsNotThere) {
  api_.put(types::kPod, Object{{"metadata", meta("room-0", "uid-1")}});
  EXPECT_EQ(wire::string_at(
                find_object(context_, client_, types::kPod, {"games", "room-0"}).value(), "/kind"),
            "Pod")
      << "lists leave it out";
  api_.on({"GET", "pods"}, {.refused = 403});
  EXPECT_TRUE(find_object(context_, client_, types::kPod, {"games", "room-0"})->is_null());
  api_.on({"GET", "pods"}, {.refused = 500});
  EXPECT_FALSE(find_object(context_, client_, types::kPod, {"games", "room-0"}));
}

TEST(ReportWorkloads, AreKnownByKind) {
  EXPECT_EQ(type_of_kind("GameStatefulSet")->plural, "gamestatefulsets");
  EXPECT_EQ(type_of_kind("DaemonSet"), nullptr);
  EXPECT_EQ(controller_of(Object{}), nullptr);
}

}  // namespace
}  // namespace berth::report
