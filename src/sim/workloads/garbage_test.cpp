#include "sim/workloads/garbage.h"

#include <gmock/gmock.h>

#include "sim/workloads/test_objects.h"

namespace berth::workloads {
namespace {

struct Case {
  const char* what;
  std::vector<OwnerState> owners;
  std::size_t dependents = 0;
  std::string expected{};
};

AnyPtr owned_by(std::size_t owners, const std::string& more = "") {
  std::string list;
  for (std::size_t i = 0; i < owners; ++i) {
    list += fmt::format("{{apiVersion: v1, kind: ConfigMap, name: o{0}, uid: u{0}}}, ", i);
  }
  return object(kube::types::kConfigMap,
                fmt::format("metadata: {{name: x, ownerReferences: [{}]{}}}\n", list, more));
}

std::string shown(const GarbageStep& step) {
  std::string out = step.remove_as;
  if (step.release_dependents) out += "release";
  if (step.remind_dependents) out += "remind";
  for (const wire::Value& operation : step.patch) {
    if (wire::string_at(operation, "/op") == "remove")
      out += fmt::format("-{}", wire::string_at(operation, "/path"));
  }
  return out;
}

TEST(GarbagePlan, OwnersDecide) {
  using enum OwnerState;
  const std::vector<Case> cases{
      {"nobody's", {}, 0, ""},
      {"its owner is there", {solid}, 0, ""},
      {"its owner is gone", {gone}, 0, "Background"},
      {"all are gone", {gone, gone}, 2, "Background"},
      {"one is left", {gone, solid}, 0, "-/metadata/ownerReferences/0"},
      {"one is left of three",
       {gone, solid, waiting},
       0,
       "-/metadata/ownerReferences/2-/metadata/ownerReferences/0"},
      {"its owner waits for it", {waiting}, 0, "Background"},
      {"its owner waits, and it has dependents too", {waiting}, 3, "Foreground"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.what);
    const AnyPtr dependent = owned_by(one.owners.size());
    EXPECT_EQ(shown(plan_garbage(
                  {.meta = dependent->meta, .owners = one.owners, .dependents = one.dependents})),
              one.expected);
  }
}

TEST(GarbagePlan, AnOwnerThatGoesMindsItsDependents) {
  const auto deleted = [](const std::string& finalizers) {
    return owned_by(0, ", deletionTimestamp: '2026-01-02T03:00:00Z', finalizers: " + finalizers);
  };
  const AnyPtr foreground = deleted("[other, foregroundDeletion]");
  EXPECT_EQ(shown(plan_garbage({.meta = foreground->meta, .dependents = 2, .blocking = 1})),
            "remind");
  EXPECT_EQ(shown(plan_garbage({.meta = foreground->meta})), "-/metadata/finalizers/1");
  EXPECT_EQ(shown(plan_garbage({.meta = foreground->meta, .dependents = 2})),
            "remind-/metadata/finalizers/1")
      << "those that do not block are not waited for";
  const AnyPtr orphan = deleted("[orphan]");
  EXPECT_EQ(shown(plan_garbage({.meta = orphan->meta, .dependents = 1})), "release");
  EXPECT_EQ(shown(plan_garbage({.meta = orphan->meta})), "-/metadata/finalizers/0");
  EXPECT_EQ(shown(plan_garbage({.meta = deleted("[mine]")->meta, .dependents = 1})), "");
}

}  // namespace
}  // namespace berth::workloads
