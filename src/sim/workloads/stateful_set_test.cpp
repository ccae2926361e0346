#include "sim/workloads/stateful_set.h"

#include <gmock/gmock.h>

#include "sim/workloads/test_objects.h"
#include "wire/patch.h"

namespace berth::workloads {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct SetShape {
  int replicas = 3;
  std::string image = "room:1";
  std::string policy = "OrderedReady";
  std::string strategy = "{type: RollingUpdate, rollingUpdate: {partition: 0}}";
  std::string status = "{}";
};
std::string pod_template(const std::string& image) {
  return fmt::format(
      "{{metadata: {{labels: {{app: room}}}}, spec: {{containers: [{{name: room, image: "
      "'{}'}}]}}}}",
      image);
}
AnyPtr stateful(const SetShape& shape, const kube::ResourceType& type = kube::types::kStatefulSet) {
  return object(type, fmt::format("metadata: {{name: room}}\n"
                                  "spec:\n"
                                  "  replicas: {}\n"
                                  "  serviceName: rooms\n"
                                  "  podManagementPolicy: {}\n"
                                  "  updateStrategy: {}\n"
                                  "  selector: {{matchLabels: {{app: room}}}}\n"
                                  "  template: {}\n"
                                  "status: {}\n",
                                  shape.replicas, shape.policy, shape.strategy,
                                  pod_template(shape.image), shape.status));
}
AnyPtr revision(const std::string& name, const std::string& image, int number) {
  wire::Value data = wire::parse_yaml(pod_template(image)).value();
  (void)wire::set_at(data, "/$patch", "replace");
  return object(
      types::kControllerRevision,
      wire::Object{{"metadata", wire::Object{{"name", name},
                                             {"ownerReferences",
                                              wire::Array{wire::Object{{"apiVersion", "apps/v1"},
                                                                       {"kind", "StatefulSet"},
                                                                       {"name", "room"},
                                                                       {"uid", "uid-of-room"},
                                                                       {"controller", true}}}}}},
                   {"revision", number},
                   {"data", wire::Object{{"spec", wire::Object{{"template", data}}}}}});
}
PodPtr member(int ordinal, const std::string& of = "rev1", PodShape shape = {}) {
  shape.name = fmt::format("room-{}", ordinal);
  shape.labels = fmt::format("{{app: room, controller-revision-hash: {}}}", of);
  shape.owner = "room";
  shape.owner_kind = "StatefulSet";
  return pod(shape);
}
std::vector<std::string> pods_of(const AnyPtr& set, const PodList& pods, AnyList revisions = {},
                                 const kube::ResourceType& type = kube::types::kStatefulSet) {
  if (revisions.empty()) revisions.push_back(revision("rev1", "room:1", 1));
  return shown(plan_stateful_set(type, *set, revisions, pods).pods);
}

TEST(StatefulSetPlan, PodsHaveStableNamesAndTheirIdentity) {
  const StatefulSetPlan plan = plan_stateful_set(kube::types::kStatefulSet, *stateful({}), {}, {});
  ASSERT_THAT(plan.revisions, SizeIs(1));
  const wire::Value& made = plan.revisions.front().body;
  EXPECT_EQ(wire::int_at(made, "/revision"), 1);
  ASSERT_THAT(shown(plan.pods), ElementsAre("create room-0"));
  const wire::Value& first = plan.pods.front().body;
  EXPECT_EQ(wire::string_at(first, "/metadata/labels/statefulset.kubernetes.io~1pod-name"),
            "room-0");
  EXPECT_EQ(wire::string_at(first, "/metadata/labels/apps.kubernetes.io~1pod-index"), "0");
  EXPECT_EQ(wire::string_at(first, "/metadata/labels/controller-revision-hash"),
            wire::string_at(made, "/metadata/name"));
  EXPECT_EQ(wire::string_at(first, "/spec/hostname"), "room-0");
  EXPECT_EQ(wire::string_at(first, "/spec/subdomain"), "rooms");
  EXPECT_EQ(status_at(plan.set, "/updateRevision"),
            wire::to_json(*wire::find(made, "/metadata/name")));
}

TEST(StatefulSetPlan, InOrderEachWaitsForTheOneBefore) {
  EXPECT_THAT(pods_of(stateful({}), {member(0)}), ElementsAre("create room-1"));
  EXPECT_THAT(pods_of(stateful({}), {member(0, "rev1", {.ready = false})}), IsEmpty());
  EXPECT_THAT(pods_of(stateful({}), {member(0), member(2)}), ElementsAre("create room-1"));
  EXPECT_THAT(pods_of(stateful({}), {member(0, "rev1", {.deleting = true})}), IsEmpty());
  EXPECT_THAT(pods_of(stateful({}), {member(0, "rev1", {.phase = "Failed"})}),
              ElementsAre("remove room-0"));
}

TEST(StatefulSetPlan, InParallelAllComeAndGoAtOnce) {
  const SetShape parallel{.policy = "Parallel"};
  EXPECT_THAT(pods_of(stateful(parallel), {}),
              ElementsAre("create room-0", "create room-1", "create room-2"));
  EXPECT_THAT(
      pods_of(stateful({.replicas = 1, .policy = "Parallel"}), {member(0), member(1), member(2)}),
      ElementsAre("remove room-2", "remove room-1"));
}

TEST(StatefulSetPlan, InOrderTheHighestGoesFirst) {
  const SetShape one{.replicas = 1};
  EXPECT_THAT(pods_of(stateful(one), {member(0), member(1), member(2)}),
              ElementsAre("remove room-2"));
  EXPECT_THAT(pods_of(stateful(one), {member(0), member(1), member(2, "rev1", {.deleting = true})}),
              IsEmpty());
}

struct UpdateCase {
  const char* what;
  std::string strategy;
  PodList pods;
  std::vector<std::string> writes;
};

TEST(StatefulSetPlan, UpdatesFromTheHighestDownToThePartition) {
  const AnyList revisions{revision("rev1", "room:1", 1), revision("rev2", "room:2", 2)};
  const std::string rolling = "{type: RollingUpdate, rollingUpdate: {partition: 0}}";
  const std::string partition = "{type: RollingUpdate, rollingUpdate: {partition: 2}}";
  const std::vector<UpdateCase> cases{
      {"the highest first", rolling, {member(0), member(1), member(2)}, {"remove room-2"}},
      {"one at a time", rolling, {member(0), member(1), member(2, "rev1", {.deleting = true})}, {}},
      {"the new one must serve",
       rolling,
       {member(0), member(1), member(2, "rev2", {.ready = false})},
       {}},
      {"then the next", rolling, {member(0), member(1), member(2, "rev2")}, {"remove room-1"}},
      {"not below the partition", partition, {member(0), member(1), member(2, "rev2")}, {}},
      {"by hand only", "{type: OnDelete}", {member(0), member(1), member(2)}, {}},
  };
  for (const UpdateCase& one : cases) {
    SCOPED_TRACE(one.what);
    EXPECT_EQ(pods_of(stateful({.image = "room:2",
                                .strategy = one.strategy,
                                .status = "{currentRevision: rev1}"}),
                      one.pods, revisions),
              one.writes);
  }
}

TEST(StatefulSetPlan, BelowThePartitionANewPodHasTheOldTemplate) {
  const AnyList revisions{revision("rev1", "room:1", 1), revision("rev2", "room:2", 2)};
  const AnyPtr set = stateful({.replicas = 2,
                               .image = "room:2",
                               .policy = "Parallel",
                               .strategy = "{type: RollingUpdate, rollingUpdate: {partition: 1}}",
                               .status = "{currentRevision: rev1}"});
  const Writes pods = plan_stateful_set(kube::types::kStatefulSet, *set, revisions, {}).pods;
  ASSERT_THAT(pods, SizeIs(2));
  EXPECT_EQ(wire::string_at(pods[0].body, "/spec/containers/0/image"), "room:1");
  EXPECT_EQ(wire::string_at(pods[1].body, "/spec/containers/0/image"), "room:2");
}

TEST(StatefulSetPlan, GoingBackRaisesTheOldRevision) {
  const AnyList revisions{revision("rev1", "room:1", 1), revision("rev2", "room:2", 2)};
  const StatefulSetPlan plan =
      plan_stateful_set(kube::types::kStatefulSet, *stateful({.status = "{currentRevision: rev2}"}),
                        revisions, {member(0, "rev2"), member(1, "rev2"), member(2, "rev2")});
  EXPECT_THAT(shown(plan.revisions), ElementsAre("patch rev1 /revision=3"));
  EXPECT_THAT(shown(plan.pods), ElementsAre("remove room-2"));
}

TEST(StatefulSetPlan, TheStatusFollowsTheRollout) {
  const AnyList revisions{revision("rev1", "room:1", 1), revision("rev2", "room:2", 2)};
  const AnyPtr set = stateful({.image = "room:2", .status = "{currentRevision: rev1}"});
  const Writes half = plan_stateful_set(kube::types::kStatefulSet, *set, revisions,
                                        {member(0), member(1), member(2, "rev2")})
                          .set;
  EXPECT_EQ(status_at(half, "/currentReplicas"), "2");
  EXPECT_EQ(status_at(half, "/updatedReplicas"), "1");
  EXPECT_EQ(status_at(half, "/currentRevision"), "\"rev1\"");
  EXPECT_EQ(status_at(half, "/updateRevision"), "\"rev2\"");
  const Writes through =
      plan_stateful_set(kube::types::kStatefulSet, *set, revisions,
                        {member(0, "rev2"), member(1, "rev2"), member(2, "rev2")})
          .set;
  EXPECT_EQ(status_at(through, "/currentRevision"), "\"rev2\"");
  EXPECT_EQ(status_at(through, "/readyReplicas"), "3");
}

TEST(GameStatefulSetPlan, WithoutAPolicyAllPodsComeAtOnce) {
  const AnyPtr set = object(types::kGameStatefulSet,
                            fmt::format("metadata: {{name: room}}\n"
                                        "spec: {{replicas: 2, selector: {{matchLabels: {{app: "
                                        "room}}}}, template: {}}}\n",
                                        pod_template("room:1")));
  const StatefulSetPlan plan = plan_stateful_set(types::kGameStatefulSet, *set, {}, {});
  EXPECT_THAT(shown(plan.pods), ElementsAre("create room-0", "create room-1"));
  EXPECT_EQ(wire::string_at(plan.pods[0].body, "/metadata/ownerReferences/0/kind"),
            "GameStatefulSet");
}

TEST(GameStatefulSetPlan, InplaceUpdateChangesTheImageAndKeepsThePod) {
  const AnyList revisions{revision("rev1", "room:1", 1), revision("rev2", "room:2", 2)};
  const SetShape shape{.image = "room:2",
                       .policy = "Parallel",
                       .strategy = "{type: InplaceUpdate}",
                       .status = "{currentRevision: rev1}"};
  EXPECT_THAT(pods_of(stateful(shape, types::kGameStatefulSet), {member(0), member(1), member(2)},
                      revisions, types::kGameStatefulSet),
              ElementsAre("patch room-2 /spec/containers/0/image=\"room:2\""
                          " /metadata/labels/controller-revision-hash=\"rev2\""));
}

TEST(GameStatefulSetPlan, InplaceUpdateReplacesWhereMoreThanImagesDiffers) {
  wire::Value longer = stateful({.strategy = "{type: InplaceUpdate}"})->value;
  (void)wire::set_at(longer, "/spec/template/spec/terminationGracePeriodSeconds", 5);
  EXPECT_THAT(pods_of(object(types::kGameStatefulSet, longer), {member(0), member(1), member(2)},
                      {}, types::kGameStatefulSet),
              ElementsAre("remove room-2"));
}

}  // namespace
}  // namespace berth::workloads
