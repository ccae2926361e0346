#include "sim/workloads/deployment.h"

#include <gmock/gmock.h>

#include "sim/workloads/test_objects.h"
#include "wire/patch.h"

namespace berth::workloads {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view kTemplate =
    "{{metadata: {{labels: {{app: room{1}}}}}, spec: {{containers: [{{name: room, image: "
    "'{0}'}}]}}}}";

std::string template_of(const std::string& image, const std::string& hash = "") {
  return fmt::format(fmt::runtime(kTemplate), image,
                     hash.empty() ? "" : ", pod-template-hash: " + hash);
}

struct DeploymentShape {
  int replicas = 10;
  std::string image = "room:2";
  std::string strategy =
      "{type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}}";
  std::string annotations = "{deployment.kubernetes.io/revision: '1'}";
  std::string more{};
};
AnyPtr deployment(const DeploymentShape& shape) {
  return object(kube::types::kDeployment,
                fmt::format("metadata: {{name: web, annotations: {}}}\n"
                            "spec:\n"
                            "  replicas: {}\n"
                            "  strategy: {}\n"
                            "  selector: {{matchLabels: {{app: room}}}}\n"
                            "  template: {}\n"
                            "{}",
                            shape.annotations, shape.replicas, shape.strategy,
                            template_of(shape.image), shape.more));
}

struct SetShape {
  std::string name{};
  std::string image{};
  int replicas = 0;
  int ready = -1;  // as many as replicas
  int revision = 1;
  int desired = 10;
  int running = -1;  // as many as replicas
};
AnyPtr replica_set(const SetShape& shape) {
  const int ready = shape.ready < 0 ? shape.replicas : shape.ready;
  const int running = shape.running < 0 ? shape.replicas : shape.running;
  return object(
      kube::types::kReplicaSet,
      fmt::format(
          "metadata:\n"
          "  name: {0}\n"
          "  labels: {{app: room, pod-template-hash: {0}}}\n"
          "  creationTimestamp: '2026-01-02T0{4}:00:00Z'\n"
          "  annotations: {{deployment.kubernetes.io/revision: '{4}',"
          " deployment.kubernetes.io/desired-replicas: '{5}',"
          " deployment.kubernetes.io/max-replicas: '{6}'}}\n"
          "  ownerReferences: [{{apiVersion: apps/v1, kind: Deployment, name: web,"
          " uid: uid-of-web, controller: true}}]\n"
          "spec: {{replicas: {1}, selector: {{matchLabels: {{app: room}}}}, template: {3}}}\n"
          "status: {{replicas: {7}, readyReplicas: {2}, availableReplicas: {2}}}\n",
          shape.name, shape.replicas, ready, template_of(shape.image, shape.name), shape.revision,
          shape.desired, shape.desired + (shape.desired + 3) / 4, running));
}

Writes plan_sets(const DeploymentShape& shape, const AnyList& sets, const PodList& pods = {}) {
  return plan_deployment(*deployment(shape), sets, pods, kNow).sets;
}

TEST(DeploymentPlan, TheFirstRolloutCreatesOneReplicaSet) {
  const DeploymentPlan plan =
      plan_deployment(*deployment({.replicas = 3, .annotations = "{note: hello}"}), {}, {}, kNow);
  ASSERT_THAT(plan.sets, SizeIs(1));
  const wire::Value& set = plan.sets.front().body;
  const std::string hash(wire::string_at(set, "/metadata/labels/pod-template-hash"));
  EXPECT_EQ(plan.sets.front().key.name, "web-" + hash);
  EXPECT_EQ(wire::int_at(set, "/spec/replicas"), 3);
  EXPECT_EQ(wire::string_at(set, "/spec/selector/matchLabels/pod-template-hash"), hash);
  EXPECT_EQ(wire::string_at(set, "/spec/template/metadata/labels/pod-template-hash"), hash);
  EXPECT_EQ(wire::string_at(set, "/metadata/annotations/deployment.kubernetes.io~1revision"), "1");
  EXPECT_EQ(wire::string_at(set, "/metadata/annotations/note"), "hello");
  EXPECT_EQ(wire::string_at(set, "/metadata/ownerReferences/0/uid"), "uid-of-web");
  EXPECT_THAT(
      shown(plan.deployment),
      ElementsAre("patch web /metadata/annotations/deployment.kubernetes.io~1revision=\"1\"",
                  "status web"));
}

TEST(DeploymentPlan, NothingIsWrittenWhenAllIsWell) {
  const AnyPtr set = replica_set({.name = "new", .image = "room:2", .replicas = 10});
  const AnyPtr before = deployment({});
  const Writes status = plan_deployment(*before, {set}, {}, kNow).deployment;
  const AnyPtr after = object(kube::types::kDeployment,
                              wire::apply_json_patch(before->value, status.back().body).value());
  const DeploymentPlan plan = plan_deployment(*after, {set}, {}, kNow + std::chrono::hours{1});
  EXPECT_THAT(plan.sets, IsEmpty());
  EXPECT_THAT(plan.deployment, IsEmpty());
}

struct RollingStep {
  const char* what;
  SetShape old;
  SetShape fresh;
  std::vector<std::string> writes;
};

// Of ten: at most three more, at least eight that serve.
TEST(DeploymentPlan, RollsStepByStepWithinItsBounds) {
  const std::vector<RollingStep> steps{
      {"room for three more, taken by the new one",
       {.replicas = 10},
       {.replicas = 0, .revision = 2},
       {"patch new /spec/replicas=3"}},
      {"two may be missing",
       {.replicas = 10},
       {.replicas = 3, .ready = 0, .revision = 2},
       {"patch old /spec/replicas=8"}},
      {"nothing while the new ones are not ready",
       {.replicas = 8},
       {.replicas = 5, .ready = 0, .revision = 2},
       {}},
      {"the new one grows into the room that the old one left",
       {.replicas = 8},
       {.replicas = 3, .ready = 0, .revision = 2},
       {"patch new /spec/replicas=5"}},
      {"each that serves lets one go",
       {.replicas = 8},
       {.replicas = 5, .ready = 3, .revision = 2},
       {"patch old /spec/replicas=5"}},
      {"old Pods that do not serve go first",
       {.replicas = 8, .ready = 4},
       {.replicas = 5, .ready = 5, .revision = 2},
       {"patch old /spec/replicas=3"}},
      {"the last ones",
       {.replicas = 2},
       {.replicas = 10, .revision = 2},
       {"patch old /spec/replicas=0"}},
      {"through", {.replicas = 0}, {.replicas = 10, .revision = 2}, {}},
  };
  for (const RollingStep& step : steps) {
    SCOPED_TRACE(step.what);
    SetShape old = step.old;
    old.name = "old";
    old.image = "room:1";
    SetShape fresh = step.fresh;
    fresh.name = "new";
    fresh.image = "room:2";
    EXPECT_EQ(shown(plan_sets({}, {replica_set(old), replica_set(fresh)})), step.writes);
  }
}

TEST(DeploymentPlan, WithoutSurgeOldPodsMakeRoomFirst) {
  const DeploymentShape shape{.replicas = 4,
                              .strategy =
                                  "{type: RollingUpdate, rollingUpdate: "
                                  "{maxSurge: 0, maxUnavailable: 1}}"};
  const AnyPtr old = replica_set({.name = "old", .image = "room:1", .replicas = 4, .desired = 4});
  const Writes first = plan_sets(shape, {old});
  EXPECT_EQ(wire::int_at(first.front().body, "/spec/replicas"), 0);
  const AnyPtr fresh = replica_set({.name = "new", .image = "room:2", .revision = 2, .desired = 4});
  EXPECT_THAT(shown(plan_sets(shape, {old, fresh})),
              testing::Contains(HasSubstr("patch old /spec/replicas=3")));
}

TEST(DeploymentPlan, RecreateWaitsForTheLastOldPod) {
  const DeploymentShape shape{.replicas = 2, .strategy = "{type: Recreate}"};
  const SetShape running{.name = "old", .image = "room:1", .replicas = 2, .desired = 2};
  EXPECT_THAT(shown(plan_sets(shape, {replica_set(running)})),
              ElementsAre(HasSubstr("patch old /spec/replicas=0")));
  const SetShape stopped{.name = "old", .image = "room:1", .replicas = 0, .desired = 2};
  const PodList ending{pod({.name = "old-a", .owner = "old", .deleting = true})};
  EXPECT_THAT(plan_sets(shape, {replica_set(stopped)}, ending), IsEmpty());
  const Writes next = plan_sets(shape, {replica_set(stopped)});
  ASSERT_THAT(next, SizeIs(1));
  EXPECT_EQ(wire::int_at(next.front().body, "/spec/replicas"), 2);
}

TEST(DeploymentPlan, GoingBackUsesTheOldReplicaSetUnderANewRevision) {
  const AnyPtr one = replica_set({.name = "one", .image = "room:1", .revision = 1});
  const AnyPtr two = replica_set({.name = "two", .image = "room:2", .replicas = 10, .revision = 2});
  const DeploymentPlan plan =
      plan_deployment(*deployment({.image = "room:1"}), {one, two}, {}, kNow);
  EXPECT_THAT(shown(plan.sets), ElementsAre(AllOf(HasSubstr("patch one /spec/replicas=3"),
                                                  HasSubstr("~1revision=\"3\""))));
  EXPECT_THAT(shown(plan.deployment).front(), HasSubstr("~1revision=\"3\""));
}

TEST(DeploymentPlan, ScalingDuringARolloutIsShared) {
  const AnyPtr old = replica_set({.name = "old", .image = "room:1", .replicas = 8});
  const AnyPtr fresh =
      replica_set({.name = "new", .image = "room:2", .replicas = 5, .revision = 2});
  const std::vector<std::string> writes = shown(plan_sets({.replicas = 20}, {old, fresh}));
  // 25 may be there: twelve more, in the proportion of 8 to 5.
  EXPECT_THAT(writes, ElementsAre(HasSubstr("patch old /spec/replicas=16"),
                                  HasSubstr("patch new /spec/replicas=9")));
}

TEST(DeploymentPlan, APausedOneIsScaledButNotRolled) {
  const AnyPtr old = replica_set({.name = "old", .image = "room:1", .replicas = 10});
  const AnyPtr paused =
      object(kube::types::kDeployment,
             wire::apply_merge_patch(deployment({.replicas = 4})->value,
                                     wire::Object{{"spec", wire::Object{{"paused", true}}}}));
  EXPECT_THAT(shown(plan_deployment(*paused, {old}, {}, kNow).sets),
              ElementsAre(HasSubstr("patch old /spec/replicas=4")));
}

TEST(DeploymentPlan, HistoryIsCutWhenARolloutIsThrough) {
  AnyList sets{replica_set({.name = "now", .image = "room:2", .replicas = 10, .revision = 5})};
  for (int i = 1; i <= 4; ++i) {
    sets.push_back(replica_set(
        {.name = fmt::format("old{}", i), .image = fmt::format("room:old{}", i), .revision = i}));
  }
  const AnyPtr limited =
      object(kube::types::kDeployment,
             wire::apply_merge_patch(
                 deployment({.annotations = "{deployment.kubernetes.io/revision: '5'}"})->value,
                 wire::Object{{"spec", wire::Object{{"revisionHistoryLimit", 2}}}}));
  EXPECT_THAT(shown(plan_deployment(*limited, sets, {}, kNow).sets),
              ElementsAre("remove old1", "remove old2"));
}

struct StatusCase {
  const char* what;
  SetShape fresh;
  const char* available;
  const char* progressing;
};

TEST(DeploymentStatus, ConditionsSayHowFarItIs) {
  const std::vector<StatusCase> cases{
      {"all there", {.replicas = 10}, "MinimumReplicasAvailable", "NewReplicaSetAvailable"},
      {"enough there",
       {.replicas = 10, .ready = 8},
       "MinimumReplicasAvailable",
       "ReplicaSetUpdated"},
      {"too few", {.replicas = 10, .ready = 7}, "MinimumReplicasUnavailable", "ReplicaSetUpdated"},
  };
  for (const StatusCase& one : cases) {
    SCOPED_TRACE(one.what);
    SetShape fresh = one.fresh;
    fresh.name = "new";
    fresh.image = "room:2";
    const Writes writes =
        plan_deployment(*deployment({}), {replica_set(fresh)}, {}, kNow).deployment;
    EXPECT_THAT(status_at(writes, "/conditions/0"), HasSubstr(one.available));
    EXPECT_THAT(status_at(writes, "/conditions/1"), HasSubstr(one.progressing));
    EXPECT_EQ(status_at(writes, "/observedGeneration"), "1");
    EXPECT_EQ(status_at(writes, "/updatedReplicas"), "10");
  }
}

TEST(DeploymentStatus, ARolloutThatStandsStillIsSaidToHaveFailed) {
  const AnyPtr set = replica_set({.name = "new", .image = "room:2", .replicas = 10, .ready = 1});
  const AnyPtr before = deployment({});
  const Writes first = plan_deployment(*before, {set}, {}, kNow).deployment;
  const AnyPtr after = object(kube::types::kDeployment,
                              wire::apply_json_patch(before->value, first.back().body).value());
  EXPECT_THAT(plan_deployment(*after, {set}, {}, kNow + std::chrono::seconds{599}).deployment,
              IsEmpty());
  const Writes late =
      plan_deployment(*after, {set}, {}, kNow + std::chrono::seconds{601}).deployment;
  EXPECT_THAT(status_at(late, "/conditions/1"),
              AllOf(HasSubstr("ProgressDeadlineExceeded"), HasSubstr("\"False\"")));
}

TEST(DeploymentStatus, ItsReplicaSetsTroubleIsItsOwn) {
  const AnyPtr set = replica_set({.name = "new", .image = "room:2", .replicas = 10, .ready = 0});
  wire::Value value = set->value;
  (void)wire::set_at(value, "/status/conditions",
                     wire::Array{wire::Object{{"type", "ReplicaFailure"},
                                              {"status", "True"},
                                              {"reason", "FailedCreate"},
                                              {"message", "the pool is full"}}});
  const Writes writes =
      plan_deployment(*deployment({}), {object(kube::types::kReplicaSet, value)}, {}, kNow)
          .deployment;
  EXPECT_THAT(status_at(writes, "/conditions/2"),
              AllOf(HasSubstr("ReplicaFailure"), HasSubstr("the pool is full")));
}

}  // namespace
}  // namespace berth::workloads
