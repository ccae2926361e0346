#include "sim/workloads/deployment.h"

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <map>
#include <tuple>

namespace berth::workloads {
namespace {

using kube::types::kDeployment;
using kube::types::kReplicaSet;
using wire::Array;
using wire::Object;
using wire::Value;

constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

std::string annotation_pointer(std::string_view key) {
  return "/metadata/annotations/" + wire::escape_pointer_step(key);
}

std::int64_t number_of(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::int64_t ready_of(const AnyObject& set) {
  return int_or(set.value, "/status/availableReplicas", 0);
}

bool is_own_annotation(std::string_view key) {
  return key == kRevisionAnnotation || key == kDesiredAnnotation || key == kMaxAnnotation ||
         key == kLastApplied;
}

// One round of decisions: sizes are changed here first, and become writes at the end.
class Round {
 public:
  Round(const AnyObject& deployment, AnyList ours, const PodList& pods)
      : deployment_(deployment),
        ours_(std::move(ours)),
        pods_(pods),
        wanted_(wanted_replicas(deployment)),
        bounds_(rollout_bounds(deployment)),
        newest_(new_replica_set(deployment, ours_)) {
    for (const AnyPtr& set : ours_) sizes_[set.get()] = wanted_replicas(*set);
  }

  void decide(DeploymentPlan& plan) {
    const bool paused = wire::bool_at(deployment_.value, "/spec/paused").value_or(false);
    const bool recreate = wire::string_at(deployment_.value, "/spec/strategy/type") == "Recreate";
    if (paused || was_resized()) {
      resize_in_proportion();
    } else if (recreate) {
      roll_by_recreation(plan);
    } else {
      roll_step_by_step(plan);
    }
    write_sizes(plan);
    if (!paused) write_revision(plan);
    if (is_complete()) remove_old_history(plan);
  }

 private:
  bool is_old(const AnyPtr& set) const { return set != newest_; }
  std::int64_t size_of(const AnyPtr& set) const { return sizes_.at(set.get()); }
  std::int64_t total() const {
    std::int64_t sum = 0;
    for (const auto& [set, size] : sizes_) sum += size;
    return sum;
  }
  std::int64_t available() const {
    std::int64_t sum = 0;
    for (const AnyPtr& set : ours_) sum += ready_of(*set);
    return sum;
  }

  // Somebody changed `replicas`, and a ReplicaSet that runs was sized for the former number.
  bool was_resized() const {
    return std::ranges::any_of(ours_, [&](const AnyPtr& set) {
      const std::string_view sized_for = kube::get(set->meta.annotations, kDesiredAnnotation);
      return size_of(set) > 0 && !sized_for.empty() && number_of(sized_for) != wanted_;
    });
  }

  void resize_in_proportion() {
    AnyList running;
    std::ranges::copy_if(ours_, std::back_inserter(running),
                         [&](const AnyPtr& set) { return size_of(set) > 0; });
    if (running.size() <= 1) {
      const AnyPtr only = running.empty() ? newest_ : running.front();
      if (only != nullptr) sizes_[only.get()] = wanted_;
      return;
    }
    const std::int64_t allowed = wanted_ > 0 ? wanted_ + bounds_.max_surge : 0;
    std::int64_t spare = allowed - total();
    // The largest takes what rounding leaves over.
    std::ranges::sort(running, std::less{}, [&](const AnyPtr& set) {
      return std::tuple(-size_of(set), set->meta.created, set->meta.name);
    });
    const std::int64_t before = total();
    const std::int64_t to_give = spare;
    for (const AnyPtr& set : running) {
      const std::int64_t share = size_of(set) * to_give / before;
      sizes_[set.get()] += share;
      spare -= share;
    }
    std::int64_t& largest = sizes_[running.front().get()];
    largest = std::max<std::int64_t>(0, largest + spare);
  }

  void roll_by_recreation(DeploymentPlan& plan) {
    bool waiting = false;
    for (const AnyPtr& set : ours_) {
      if (!is_old(set)) continue;
      if (size_of(set) > 0) waiting = true;
      sizes_[set.get()] = 0;
      waiting = waiting || has_pods(*set);
    }
    if (waiting) return;
    if (newest_ == nullptr) return create_newest(true, plan);
    sizes_[newest_.get()] = wanted_;
  }

  bool has_pods(const AnyObject& set) const {
    return std::ranges::any_of(pods_, [&](const PodPtr& pod) {
      return is_controlled_by(pod->meta, set.meta) && !pod->finished();
    });
  }

  void roll_step_by_step(DeploymentPlan& plan) {
    if (newest_ == nullptr) return create_newest(false, plan);
    const std::int64_t size = size_of(newest_);
    if (size != wanted_) {
      sizes_[newest_.get()] = size > wanted_ ? wanted_ : grown(size);
      if (size_of(newest_) != size) return;
    }
    shrink_old();
  }

  std::int64_t grown(std::int64_t size) const {
    const std::int64_t room = wanted_ + bounds_.max_surge - total();
    return room <= 0 ? size : std::min(wanted_, size + room);
  }

  void shrink_old() {
    const std::int64_t least = wanted_ - bounds_.max_unavailable;
    const std::int64_t missing_in_new = size_of(newest_) - ready_of(*newest_);
    std::int64_t may_go = total() - least - missing_in_new;
    AnyList old;
    std::ranges::copy_if(ours_, std::back_inserter(old),
                         [&](const AnyPtr& set) { return is_old(set) && size_of(set) > 0; });
    std::ranges::sort(old, std::less{}, [](const AnyPtr& set) {
      return std::tuple(set->meta.created, set->meta.name);
    });
    // Pods that do not serve go first: nobody misses them.
    for (const AnyPtr& set : old) {
      const std::int64_t broken = size_of(set) - ready_of(*set);
      const std::int64_t go =
          std::clamp<std::int64_t>(broken, 0, std::max<std::int64_t>(may_go, 0));
      sizes_[set.get()] -= go;
      may_go -= go;
    }
    std::int64_t spare = std::min(may_go, available() - least);
    for (const AnyPtr& set : old) {
      const std::int64_t go = std::clamp<std::int64_t>(spare, 0, size_of(set));
      sizes_[set.get()] -= go;
      spare -= go;
    }
  }

  Object sized_annotations() const {
    return {{kDesiredAnnotation, std::to_string(wanted_)},
            {kMaxAnnotation, std::to_string(wanted_ + bounds_.max_surge)}};
  }

  std::int64_t next_revision() const {
    std::int64_t highest = 0;
    for (const AnyPtr& set : ours_) {
      if (is_old(set)) highest = std::max(highest, revision_of(*set));
    }
    return highest + 1;
  }

  // A Deployment that is created anew from one ReplicaSet's template takes its room at once.
  void create_newest(bool whole, DeploymentPlan& plan) {
    const std::int64_t size = whole ? wanted_ : grown(0);
    const Value& pod_template = *wire::find(deployment_.value, "/spec/template");
    const std::string hash = content_hash(pod_template);
    Value hashed = pod_template;
    Value selector = *wire::find(deployment_.value, "/spec/selector");
    (void)wire::set_at(hashed, "/metadata/labels/pod-template-hash", Value(hash));
    (void)wire::set_at(selector, "/matchLabels/pod-template-hash", Value(hash));
    Object annotations = sized_annotations();
    for (const auto& [key, value] : deployment_.meta.annotations) {
      if (!is_own_annotation(key.view())) annotations[key.view()] = value;
    }
    annotations[kRevisionAnnotation] = std::to_string(next_revision());
    plan.sets.push_back(create_write(Object{
        {"apiVersion", kReplicaSet.api_version()},
        {"kind", kReplicaSet.kind},
        {"metadata",
         Object{{"namespace", deployment_.meta.ns.view()},
                {"name", deployment_.meta.name + "-" + hash},
                {"labels", object_or_empty(hashed, "/metadata/labels")},
                {"annotations", std::move(annotations)},
                {"ownerReferences", Array{controller_reference(kDeployment, deployment_.meta)}}}},
        {"spec", Object{{"replicas", size},
                        {"minReadySeconds", int_or(deployment_.value, "/spec/minReadySeconds", 0)},
                        {"selector", std::move(selector)},
                        {"template", std::move(hashed)}}}}));
    created_revision_ = next_revision();
  }

  void write_sizes(DeploymentPlan& plan) const {
    for (const AnyPtr& set : ours_) {
      Array operations;
      if (size_of(set) != wanted_replicas(*set))
        operations.push_back(set_operation("/spec/replicas", size_of(set)));
      Object wanted = size_of(set) > 0 || !operations.empty() ? sized_annotations() : Object{};
      if (!is_old(set) && revision_of(*set) < next_revision())
        wanted[kRevisionAnnotation] = std::to_string(next_revision());
      if (set->meta.annotations.empty() && !wanted.empty())
        operations.push_back(set_operation("/metadata/annotations", Object{}));
      for (const auto& entry : wanted) {
        if (Value(kube::get(set->meta.annotations, entry.key())) == entry.value()) continue;
        operations.push_back(set_operation(annotation_pointer(entry.key()), entry.value()));
      }
      if (!operations.empty()) plan.sets.push_back(patch_write(set->meta, std::move(operations)));
    }
  }

  // The Deployment shows the revision of its newest ReplicaSet.
  void write_revision(DeploymentPlan& plan) const {
    if (newest_ == nullptr && created_revision_ == 0) return;
    const std::int64_t revision =
        newest_ == nullptr ? created_revision_ : std::max(revision_of(*newest_), next_revision());
    const std::string text = std::to_string(revision);
    if (kube::get(deployment_.meta.annotations, kRevisionAnnotation) == text) return;
    Array operations;
    if (deployment_.meta.annotations.empty())
      operations.push_back(set_operation("/metadata/annotations", Object{}));
    operations.push_back(set_operation(annotation_pointer(kRevisionAnnotation), Value(text)));
    plan.deployment.push_back(patch_write(deployment_.meta, std::move(operations)));
  }

  bool is_complete() const {
    return newest_ != nullptr && ready_of(*newest_) >= wanted_ && total() == size_of(newest_);
  }

  void remove_old_history(DeploymentPlan& plan) const {
    const std::int64_t limit = int_or(deployment_.value, "/spec/revisionHistoryLimit", 10);
    AnyList idle;
    std::ranges::copy_if(ours_, std::back_inserter(idle), [&](const AnyPtr& set) {
      return is_old(set) && size_of(set) == 0 && !set->meta.deleting &&
             int_or(set->value, "/status/replicas", 0) == 0;
    });
    std::ranges::sort(idle, std::less{}, [](const AnyPtr& set) { return revision_of(*set); });
    const auto spare = static_cast<std::int64_t>(idle.size()) - limit;
    for (std::int64_t i = 0; i < spare; ++i)
      plan.sets.push_back(remove_write(idle[static_cast<std::size_t>(i)]->meta));
  }

  const AnyObject& deployment_;
  const AnyList ours_;
  const PodList& pods_;
  const std::int64_t wanted_;
  const RolloutBounds bounds_;
  const AnyPtr newest_;
  std::map<const AnyObject*, std::int64_t> sizes_;
  std::int64_t created_revision_ = 0;
};

}  // namespace

std::int64_t wanted_replicas(const AnyObject& workload) {
  return int_or(workload.value, "/spec/replicas", 1);
}

std::int64_t revision_of(const AnyObject& set) {
  return number_of(kube::get(set.meta.annotations, kRevisionAnnotation));
}

RolloutBounds rollout_bounds(const AnyObject& deployment) {
  if (wire::string_at(deployment.value, "/spec/strategy/type") == "Recreate") return {};
  const std::int64_t wanted = wanted_replicas(deployment);
  const auto bound = [&](const char* name, bool round_up) {
    static const Value kDefault("25%");
    const Value* given =
        wire::find(deployment.value, std::string("/spec/strategy/rollingUpdate/") + name);
    return scaled_value(given == nullptr ? &kDefault : given, wanted, round_up, 0);
  };
  RolloutBounds bounds{.max_surge = bound("maxSurge", true),
                       .max_unavailable = bound("maxUnavailable", false)};
  // With neither, a rollout could not take its first step.
  if (bounds.max_surge == 0 && bounds.max_unavailable == 0) bounds.max_unavailable = 1;
  bounds.max_unavailable = std::min(bounds.max_unavailable, wanted);
  return bounds;
}

bool same_template(const Value& one, const Value& other) {
  Value a = one;
  Value b = other;
  for (Value* pod_template : {&a, &b}) {
    (void)wire::remove_at(*pod_template, "/metadata/labels/pod-template-hash");
    (void)wire::remove_at(*pod_template, "/metadata/creationTimestamp");
  }
  return a == b;
}

AnyPtr new_replica_set(const AnyObject& deployment, const AnyList& ours) {
  AnyPtr found;
  for (const AnyPtr& set : ours) {
    if (!same_template(*wire::find(set->value, "/spec/template"),
                       *wire::find(deployment.value, "/spec/template")))
      continue;
    if (found == nullptr || set->meta.created < found->meta.created) found = set;
  }
  return found;
}

DeploymentPlan plan_deployment(const AnyObject& deployment, const AnyList& sets,
                               const PodList& pods, WallTime now) {
  DeploymentPlan plan;
  AnyList ours = claim(kDeployment, deployment, sets, plan.sets);
  if (!deployment.meta.deleting) Round(deployment, ours, pods).decide(plan);
  plan_deployment_status(deployment, ours, now, plan.deployment);
  return plan;
}

}  // namespace berth::workloads
