// What a Deployment does next, as the real controller decides it: which ReplicaSet is the new one,
// how far each is scaled, and what the status says. Pure.
#pragma once

#include "sim/workloads/write.h"

namespace berth::workloads {

inline constexpr std::string_view kRevisionAnnotation = "deployment.kubernetes.io/revision";
inline constexpr std::string_view kDesiredAnnotation = "deployment.kubernetes.io/desired-replicas";
inline constexpr std::string_view kMaxAnnotation = "deployment.kubernetes.io/max-replicas";

struct DeploymentPlan {
  Writes sets{};        // to ReplicaSets
  Writes deployment{};  // to the Deployment itself
};

// `sets` and `pods` are those of its namespace.
DeploymentPlan plan_deployment(const AnyObject& deployment, const AnyList& sets,
                               const PodList& pods, WallTime now);

// Of its ReplicaSets, the one with the Deployment's template; null before it was created. The
// oldest counts where several have it.
AnyPtr new_replica_set(const AnyObject& deployment, const AnyList& ours);

// The same without the ReplicaSets' own label.
bool same_template(const wire::Value& one, const wire::Value& other);

// Its status, given its ReplicaSets as they are.
void plan_deployment_status(const AnyObject& deployment, const AnyList& ours, WallTime now,
                            Writes& writes);

// How many more, and how many fewer Pods than wanted there may be during a rollout.
struct RolloutBounds {
  std::int64_t max_surge = 0;
  std::int64_t max_unavailable = 0;
};
RolloutBounds rollout_bounds(const AnyObject& deployment);
std::int64_t wanted_replicas(const AnyObject& workload);
std::int64_t revision_of(const AnyObject& set);

}  // namespace berth::workloads
