// What becomes of an object whose owners go, and of an owner whose dependents must go first: the
// decisions of the garbage collector. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/workloads/write.h"

namespace berth::workloads {

inline constexpr std::string_view kForegroundFinalizer = "foregroundDeletion";
inline constexpr std::string_view kOrphanFinalizer = "orphan";

enum class OwnerState : std::uint8_t {
  solid,
  waiting,  // being deleted, and waits for its dependents
  gone,
};

struct GarbageView {
  const kube::ObjectMeta& meta;
  std::vector<OwnerState> owners{};  // of `meta.owners`, in their order
  // Of the objects that name this one as owner.
  std::size_t dependents = 0;
  std::size_t blocking = 0;  // those that want to be waited for
};

struct GarbageStep {
  std::string remove_as{};  // delete it, with this propagation policy
  wire::Array patch{};      // or change it
  bool release_dependents = false;
  bool remind_dependents = false;  // look at them: this one waits for them
};

GarbageStep plan_garbage(const GarbageView& view);

}  // namespace berth::workloads
