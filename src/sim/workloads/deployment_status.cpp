#include <algorithm>
#include <boost/json.hpp>

#include "sim/workloads/deployment.h"

namespace berth::workloads {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

struct Counts {
  std::int64_t replicas = 0;
  std::int64_t updated = 0;
  std::int64_t ready = 0;
  std::int64_t available = 0;
  std::int64_t terminating = 0;
};

Counts count(const AnyList& ours, const AnyPtr& newest) {
  Counts out;
  for (const AnyPtr& set : ours) {
    out.replicas += int_or(set->value, "/status/replicas", 0);
    out.ready += int_or(set->value, "/status/readyReplicas", 0);
    out.available += int_or(set->value, "/status/availableReplicas", 0);
    out.terminating += int_or(set->value, "/status/terminatingReplicas", 0);
  }
  if (newest) out.updated = int_or(newest->value, "/status/replicas", 0);
  return out;
}

// Conditions of Deployments also tell when they were last looked at with another result.
void put(Array& conditions, const Condition& condition, WallTime now) {
  const Value* before = find_condition(conditions, condition.type);
  const std::string updated(before ? wire::string_at(*before, "/lastUpdateTime") : "");
  const bool same = before != nullptr &&
                    (wire::string_at(*before, "/status") == "True") == condition.holds &&
                    wire::string_at(*before, "/reason") == condition.reason &&
                    wire::string_at(*before, "/message") == condition.message;
  set_condition(conditions, condition, now);
  const Value* now_there = find_condition(conditions, condition.type);
  conditions[static_cast<std::size_t>(now_there - conditions.data())]
      .get_object()["lastUpdateTime"] = same && !updated.empty() ? updated : format_rfc3339(now);
}

void put_available(const AnyObject& deployment, const Counts& counts, Array& conditions,
                   WallTime now) {
  const std::int64_t least =
      wanted_replicas(deployment) - rollout_bounds(deployment).max_unavailable;
  const bool enough = counts.available >= least;
  put(conditions,
      {.type = "Available",
       .holds = enough,
       .reason = enough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
       .message = enough ? "Deployment has minimum availability."
                         : "Deployment does not have minimum availability."},
      now);
}

bool made_progress(const AnyObject& deployment, const Counts& now) {
  const Value& before = deployment.value;
  return now.updated > int_or(before, "/status/updatedReplicas", 0) ||
         now.replicas - now.updated <
             int_or(before, "/status/replicas", 0) - int_or(before, "/status/updatedReplicas", 0) ||
         now.ready > int_or(before, "/status/readyReplicas", 0) ||
         now.available > int_or(before, "/status/availableReplicas", 0);
}

bool ran_out_of_time(const AnyObject& deployment, const Value* progressing, WallTime now) {
  if (progressing == nullptr) return false;
  if (wire::string_at(*progressing, "/reason") == "ProgressDeadlineExceeded") return true;
  const auto since = parse_rfc3339(wire::string_at(*progressing, "/lastUpdateTime"));
  const std::chrono::seconds limit{int_or(deployment.value, "/spec/progressDeadlineSeconds", 600)};
  return since && now - *since > limit;
}

void put_progress(const AnyObject& deployment, const AnyPtr& newest, const Counts& counts,
                  Array& conditions, WallTime now) {
  const std::int64_t wanted = wanted_replicas(deployment);
  const std::string name = newest ? newest->meta.name : std::string();
  const Value* before = find_condition(conditions, "Progressing");
  const std::string before_reason(before ? wire::string_at(*before, "/reason") : "");
  const bool complete =
      newest && counts.updated == wanted && counts.replicas == wanted && counts.available == wanted;
  const auto say = [&](bool holds, std::string_view reason, const std::string& message) {
    put(conditions, {.type = "Progressing", .holds = holds, .reason = reason, .message = message},
        now);
  };
  if (complete) {
    return say(true, "NewReplicaSetAvailable",
               fmt::format("ReplicaSet \"{}\" has successfully progressed.", name));
  }
  // A rollout that was through stays so while Pods come and go.
  const bool same_rollout =
      newest && before_reason == "NewReplicaSetAvailable" && counts.updated == counts.replicas;
  if (same_rollout) return;
  if (before == nullptr || (newest == nullptr && before_reason != "NewReplicaSetCreated")) {
    return say(true, newest ? "ReplicaSetUpdated" : "NewReplicaSetCreated",
               newest ? fmt::format("ReplicaSet \"{}\" is progressing.", name)
                      : "Created new replica set");
  }
  if (!made_progress(deployment, counts) && ran_out_of_time(deployment, before, now)) {
    return say(false, "ProgressDeadlineExceeded",
               fmt::format("ReplicaSet \"{}\" has timed out progressing.", name));
  }
  if (made_progress(deployment, counts) && newest) {
    remove_condition(conditions, "Progressing");
    say(true, "ReplicaSetUpdated", fmt::format("ReplicaSet \"{}\" is progressing.", name));
  }
}

// What keeps its ReplicaSets from having their Pods is the Deployment's trouble too.
void put_failure(const AnyList& ours, Array& conditions, WallTime now) {
  for (const AnyPtr& set : ours) {
    const Value* failure =
        find_condition(array_or_empty(set->value, "/status/conditions"), "ReplicaFailure");
    if (failure == nullptr) continue;
    return put(conditions,
               {.type = "ReplicaFailure",
                .reason = wire::string_at(*failure, "/reason"),
                .message = wire::string_at(*failure, "/message")},
               now);
  }
  remove_condition(conditions, "ReplicaFailure");
}

}  // namespace

void plan_deployment_status(const AnyObject& deployment, const AnyList& ours, WallTime now,
                            Writes& writes) {
  const AnyPtr newest = new_replica_set(deployment, ours);
  const Counts counts = count(ours, newest);
  Object status{{"observedGeneration", deployment.meta.generation}};
  const auto put_number = [&](std::string_view key, std::int64_t number) {
    if (number > 0) status[key] = number;
  };
  put_number("replicas", counts.replicas);
  put_number("updatedReplicas", counts.updated);
  put_number("readyReplicas", counts.ready);
  put_number("availableReplicas", counts.available);
  put_number("unavailableReplicas",
             std::max(counts.replicas, wanted_replicas(deployment)) - counts.available);
  status["terminatingReplicas"] = counts.terminating;
  Array conditions = array_or_empty(deployment.value, "/status/conditions");
  put_available(deployment, counts, conditions, now);
  put_progress(deployment, newest, counts, conditions, now);
  put_failure(ours, conditions, now);
  status["conditions"] = std::move(conditions);
  add_status_write(deployment, std::move(status), writes);
}

}  // namespace berth::workloads
