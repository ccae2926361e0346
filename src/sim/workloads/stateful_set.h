// What a StatefulSet does next, as the real controller decides it; and a GameStatefulSet, which is
// one with other defaults and an update in place. Pure.
#pragma once

#include "sim/workloads/write.h"

namespace berth::workloads {

inline constexpr std::string_view kPodNameLabel = "statefulset.kubernetes.io/pod-name";
inline constexpr std::string_view kPodIndexLabel = "apps.kubernetes.io/pod-index";
inline constexpr std::string_view kRevisionLabel = "controller-revision-hash";

struct StatefulSetPlan {
  Writes revisions{};  // to ControllerRevisions
  Writes pods{};
  Writes set{};  // to the object itself
};

// `type` is StatefulSet or GameStatefulSet; `revisions` and `pods` are those of its namespace.
//
// A GameStatefulSet works on all of its Pods side by side unless its podManagementPolicy says
// OrderedReady. Its updateStrategy InplaceUpdate changes the images of running Pods where nothing
// else differs, so that they keep their addresses, and falls back to replacing them.
StatefulSetPlan plan_stateful_set(const kube::ResourceType& type, const AnyObject& set,
                                  const AnyList& revisions, const PodList& pods);

}  // namespace berth::workloads
