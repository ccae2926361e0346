// What a ReplicaSet does next, as the real controller decides it. Pure.
#pragma once

#include <optional>
#include <string>

#include "sim/workloads/write.h"

namespace berth::workloads {

// Pods created or deleted in one round at most.
inline constexpr std::size_t kBurst = 500;

// Users lower it on Pods that shall go first.
inline constexpr std::string_view kDeletionCostAnnotation =
    "controller.kubernetes.io/pod-deletion-cost";

// Writes to Pods: adoptions and releases, then creations or deletions. `pods` are those of its
// namespace.
Writes plan_replica_set(const AnyObject& set, const PodList& pods);

// What went wrong with the last round.
struct ReplicaFailure {
  std::string reason;  // FailedCreate or FailedDelete
  std::string message;
};
// The write of its status, if it changes.
Writes plan_replica_set_status(const AnyObject& set, const PodList& pods,
                               const std::optional<ReplicaFailure>& failure, WallTime now);

// In the order in which they would be deleted: those that are missed least come first.
void sort_for_deletion(PodList& pods);

}  // namespace berth::workloads
