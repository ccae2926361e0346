#include "sim/workloads/replica_set.h"

#include <gmock/gmock.h>

#include "sim/workloads/test_objects.h"
#include "wire/patch.h"

namespace berth::workloads {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

AnyPtr set_of(int replicas, const std::string& more = "") {
  return object(kube::types::kReplicaSet,
                fmt::format("metadata: {{name: web{}}}\n"
                            "spec:\n"
                            "  replicas: {}\n"
                            "  selector: {{matchLabels: {{app: room}}}}\n"
                            "  template:\n"
                            "    metadata: {{labels: {{app: room}}, annotations: {{a: b}}}}\n"
                            "    spec: {{containers: [{{name: room, image: 'room:1'}}]}}\n",
                            more, replicas));
}
PodPtr owned(std::string name) { return pod({.name = std::move(name), .owner = "web"}); }

TEST(ReplicaSetPlan, CreatesWhatIsMissing) {
  const Writes writes = plan_replica_set(*set_of(3), {owned("web-a")});
  EXPECT_THAT(shown(writes), ElementsAre("create web-*", "create web-*"));
  const wire::Value& made = writes.front().body;
  EXPECT_EQ(wire::string_at(made, "/metadata/labels/app"), "room");
  EXPECT_EQ(wire::string_at(made, "/metadata/annotations/a"), "b");
  EXPECT_EQ(wire::string_at(made, "/metadata/ownerReferences/0/uid"), "uid-of-web");
  EXPECT_EQ(wire::bool_at(made, "/metadata/ownerReferences/0/controller"), true);
  EXPECT_EQ(wire::string_at(made, "/spec/containers/0/image"), "room:1");
}

TEST(ReplicaSetPlan, PodsThatEndDoNotCount) {
  const PodList pods{owned("web-a"), pod({.name = "web-b", .owner = "web", .deleting = true}),
                     pod({.name = "web-c", .owner = "web", .phase = "Failed"})};
  EXPECT_THAT(shown(plan_replica_set(*set_of(2), pods)), ElementsAre("create web-*"));
}

TEST(ReplicaSetPlan, DoesAtMostABurstInOneRound) {
  EXPECT_EQ(plan_replica_set(*set_of(2000), {}).size(), kBurst);
}

TEST(ReplicaSetPlan, RemovesWhatIsMissedLeast) {
  const PodList pods{pod({.name = "old", .owner = "web", .created = "2026-01-02T01:00:00Z"}),
                     pod({.name = "new", .owner = "web", .created = "2026-01-02T02:00:00Z"}),
                     pod({.name = "unready", .owner = "web", .ready = false}),
                     pod({.name = "pending", .owner = "web", .phase = "Pending", .ready = false}),
                     pod({.name = "unplaced",
                          .owner = "web",
                          .phase = "Pending",
                          .ready = false,
                          .scheduled = false}),
                     pod({.name = "cheap",
                          .owner = "web",
                          .annotations = "{controller.kubernetes.io/pod-deletion-cost: '-5'}"})};
  EXPECT_THAT(shown(plan_replica_set(*set_of(1), pods)),
              ElementsAre("remove unplaced", "remove pending", "remove unready", "remove cheap",
                          "remove new"));
}

TEST(ReplicaSetPlan, AdoptsOrphansAndLetsStrangersGo) {
  const PodList pods{pod({.name = "orphan"}), pod({.name = "foreign", .owner = "other"}),
                     pod({.name = "stray", .labels = "{app: other}", .owner = "web"})};
  EXPECT_THAT(shown(plan_replica_set(*set_of(1), pods)),
              ElementsAre(HasSubstr("patch orphan /metadata/ownerReferences="),
                          "patch stray -/metadata/ownerReferences/0"));
}

TEST(ReplicaSetPlan, OneThatIsBeingDeletedDoesNothing) {
  const AnyPtr set = set_of(3, ", deletionTimestamp: '2026-01-02T03:00:00Z'");
  EXPECT_THAT(plan_replica_set(*set, {pod({.name = "orphan"})}), IsEmpty());
}

TEST(ReplicaSetStatus, CountsItsPods) {
  const PodList pods{owned("a"), pod({.name = "b", .owner = "web", .ready = false}),
                     pod({.name = "c", .owner = "web", .deleting = true})};
  const Writes writes = plan_replica_set_status(*set_of(2), pods, std::nullopt, kNow);
  EXPECT_THAT(shown(writes), ElementsAre("status web"));
  EXPECT_EQ(status_at(writes, "/replicas"), "2");
  EXPECT_EQ(status_at(writes, "/readyReplicas"), "1");
  EXPECT_EQ(status_at(writes, "/availableReplicas"), "1");
  EXPECT_EQ(status_at(writes, "/terminatingReplicas"), "1");
  EXPECT_EQ(status_at(writes, "/observedGeneration"), "1");
  EXPECT_EQ(status_at(writes, "/conditions"), "(none)");
}

TEST(ReplicaSetStatus, SaysWhyPodsCannotBeCreatedAndTakesItBack) {
  const Writes failed = plan_replica_set_status(
      *set_of(1), {}, ReplicaFailure{"FailedCreate", "the pool is full"}, kNow);
  EXPECT_THAT(status_at(failed, "/conditions/0"),
              testing::AllOf(HasSubstr("ReplicaFailure"), HasSubstr("\"True\""),
                             HasSubstr("FailedCreate"), HasSubstr("the pool is full")));
  const AnyPtr before =
      object(kube::types::kReplicaSet,
             wire::apply_json_patch(set_of(1)->value, failed.front().body).value());
  EXPECT_THAT(
      plan_replica_set_status(*before, {}, ReplicaFailure{"FailedCreate", "the pool is full"},
                              kNow + std::chrono::seconds{60}),
      IsEmpty())
      << "the same failure is no news";
  EXPECT_EQ(status_at(plan_replica_set_status(*before, {}, std::nullopt, kNow), "/conditions"),
            "(none)");
}

}  // namespace
}  // namespace berth::workloads
