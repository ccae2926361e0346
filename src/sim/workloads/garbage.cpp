#include "sim/workloads/garbage.h"

#include <algorithm>
#include <boost/json.hpp>

namespace berth::workloads {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

bool has_finalizer(const kube::ObjectMeta& meta, std::string_view name) {
  return std::ranges::find(meta.finalizers, name, &kube::Interned::view) != meta.finalizers.end();
}

Array without_finalizer(const kube::ObjectMeta& meta, std::string_view name) {
  const auto at = std::ranges::find(meta.finalizers, name, &kube::Interned::view);
  const std::string path = fmt::format("/metadata/finalizers/{}", at - meta.finalizers.begin());
  return {Object{{"op", "test"}, {"path", path}, {"value", name}},
          Object{{"op", "remove"}, {"path", path}}};
}

GarbageStep step_of_deleted(const GarbageView& view) {
  if (has_finalizer(view.meta, kOrphanFinalizer)) {
    if (view.dependents > 0) return {.release_dependents = true};
    return {.patch = without_finalizer(view.meta, kOrphanFinalizer)};
  }
  if (has_finalizer(view.meta, kForegroundFinalizer)) {
    if (view.blocking > 0) return {.remind_dependents = true};
    return {.patch = without_finalizer(view.meta, kForegroundFinalizer),
            .remind_dependents = view.dependents > 0};
  }
  return {};
}

}  // namespace

GarbageStep plan_garbage(const GarbageView& view) {
  if (view.meta.deleting) return step_of_deleted(view);
  if (view.owners.empty()) return {};
  const auto count = [&](OwnerState state) { return std::ranges::count(view.owners, state); };
  if (count(OwnerState::solid) > 0) {
    if (count(OwnerState::solid) == static_cast<std::ptrdiff_t>(view.owners.size())) return {};
    // One that is kept by another owner outlives those that go.
    std::size_t i = 0;
    std::vector<std::string> leaving;
    for (const kube::OwnerReference& owner : view.meta.owners) {
      if (view.owners[i++] != OwnerState::solid) leaving.push_back(owner.uid);
    }
    return {.patch = without_owners(view.meta, [&](const kube::OwnerReference& owner) {
              return std::ranges::find(leaving, owner.uid) != leaving.end();
            })};
  }
  const bool in_turn = count(OwnerState::waiting) > 0 && view.dependents > 0;
  return {.remove_as = in_turn ? "Foreground" : "Background"};
}

}  // namespace berth::workloads
