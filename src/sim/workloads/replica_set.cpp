#include "sim/workloads/replica_set.h"

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <tuple>

namespace berth::workloads {
namespace {

using kube::types::kReplicaSet;
using wire::Array;
using wire::Object;
using wire::Value;

int deletion_cost(const kube::Pod& pod) {
  const std::string_view text = kube::get(pod.meta.annotations, kDeletionCostAnnotation);
  int cost = 0;
  std::from_chars(text.data(), text.data() + text.size(), cost);
  return cost;
}

int phase_rank(const kube::Pod& pod) {
  if (pod.phase == kube::PodPhase::pending) return 0;
  return pod.phase == kube::PodPhase::running ? 2 : 1;
}

PodList active(PodList pods) {
  std::erase_if(pods, [](const PodPtr& pod) { return !is_active(*pod); });
  return pods;
}

Value new_pod(const AnyObject& set) {
  Value pod = pod_from_template(kReplicaSet, set, *wire::find(set.value, "/spec/template"));
  (void)wire::set_at(pod, "/metadata/generateName", Value(set.meta.name + "-"));
  return pod;
}

}  // namespace

void sort_for_deletion(PodList& pods) {
  const auto rank = [](const PodPtr& pod) {
    return std::tuple(!pod->node.empty(), phase_rank(*pod), pod->ready(), deletion_cost(*pod));
  };
  std::ranges::sort(pods, [&](const PodPtr& a, const PodPtr& b) {
    if (rank(a) != rank(b)) return rank(a) < rank(b);
    if (a->meta.created != b->meta.created) return a->meta.created > b->meta.created;
    return a->meta.name > b->meta.name;
  });
}

Writes plan_replica_set(const AnyObject& set, const PodList& pods) {
  Writes writes;
  PodList ours = active(claim(kReplicaSet, set, pods, writes));
  if (set.meta.deleting || wire::find(set.value, "/spec/template") == nullptr) return writes;
  const auto wanted = static_cast<std::size_t>(int_or(set.value, "/spec/replicas", 1));
  if (ours.size() < wanted) {
    const std::size_t missing = std::min(wanted - ours.size(), kBurst);
    for (std::size_t i = 0; i < missing; ++i) writes.push_back(create_write(new_pod(set)));
  } else if (ours.size() > wanted) {
    const std::size_t spare = std::min(ours.size() - wanted, kBurst);
    sort_for_deletion(ours);
    for (std::size_t i = 0; i < spare; ++i) writes.push_back(remove_write(ours[i]->meta));
  }
  return writes;
}

Writes plan_replica_set_status(const AnyObject& set, const PodList& pods,
                               const std::optional<ReplicaFailure>& failure, WallTime now) {
  Writes ignored;
  const PodList all = claim(kReplicaSet, set, pods, ignored);
  const PodList ours = active(all);
  const auto terminating = std::ranges::count_if(
      all, [](const PodPtr& pod) { return pod->meta.deleting && !pod->finished(); });
  const auto ready = std::ranges::count_if(ours, [](const PodPtr& pod) { return pod->ready(); });
  const Object& template_labels = object_or_empty(set.value, "/spec/template/metadata/labels");
  const auto labeled = std::ranges::count_if(
      ours, [&](const PodPtr& pod) { return selects(template_labels, pod->meta.labels); });

  Object status{{"replicas", ours.size()}};
  if (labeled > 0) status["fullyLabeledReplicas"] = labeled;
  if (ready > 0) status["readyReplicas"] = ready;
  if (ready > 0) status["availableReplicas"] = ready;
  status["terminatingReplicas"] = terminating;
  status["observedGeneration"] = set.meta.generation;
  Array conditions = array_or_empty(set.value, "/status/conditions");
  if (failure) {
    set_condition(
        conditions,
        {.type = "ReplicaFailure", .reason = failure->reason, .message = failure->message}, now);
  } else {
    remove_condition(conditions, "ReplicaFailure");
  }
  if (!conditions.empty()) status["conditions"] = std::move(conditions);
  Writes writes;
  add_status_write(set, std::move(status), writes);
  return writes;
}

}  // namespace berth::workloads
