#include "sim/workloads/stateful_set.h"

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <map>
#include <optional>

namespace berth::workloads {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

bool is_healthy(const kube::Pod& pod) { return is_active(pod) && pod.ready(); }

std::string_view pod_revision(const kube::Pod& pod) {
  return kube::get(pod.meta.labels, kRevisionLabel);
}

// The number at the end of "<set>-<number>".
std::optional<std::int64_t> ordinal_of(const AnyObject& set, const kube::Pod& pod) {
  std::string_view name = pod.meta.name;
  if (!name.starts_with(set.meta.name + "-")) return std::nullopt;
  name.remove_prefix(set.meta.name.size() + 1);
  std::int64_t number = 0;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
  if (read.ec != std::errc{} || read.ptr != name.data() + name.size()) return std::nullopt;
  return number;
}

std::int64_t revision_number(const AnyObject& revision) {
  return int_or(revision.value, "/revision", 0);
}

Value revision_data(const Value& pod_template) {
  Value marked = pod_template;
  (void)wire::set_at(marked, "/$patch", Value("replace"));
  return Object{{"spec", Object{{"template", std::move(marked)}}}};
}

Value template_of(const AnyObject& revision) {
  const Value* found = wire::find(revision.value, "/data/spec/template");
  Value out = found == nullptr ? Value(Object{}) : *found;
  (void)wire::remove_at(out, "/$patch");
  return out;
}

// The operations that turn one template's Pod into the other's without replacing it: none when more
// than images differs.
std::optional<Array> image_changes(const Value& from, const Value& to) {
  const Array& before = array_or_empty(from, "/spec/containers");
  const Array& after = array_or_empty(to, "/spec/containers");
  if (before.size() != after.size()) return std::nullopt;
  Value patched = from;
  Array operations;
  for (std::size_t i = 0; i < after.size(); ++i) {
    const std::string at = fmt::format("/spec/containers/{}", i);
    const std::string_view image = wire::string_at(after[i], "/image");
    if (image == wire::string_at(before[i], "/image")) continue;
    operations.push_back(Object{
        {"op", "test"}, {"path", at + "/name"}, {"value", wire::string_at(after[i], "/name")}});
    operations.push_back(set_operation(at + "/image", Value(image)));
    (void)wire::set_at(patched, at + "/image", Value(image));
  }
  if (patched != to) return std::nullopt;
  return operations;
}

class Round {
 public:
  Round(const kube::ResourceType& type, const AnyObject& set, const AnyList& revisions,
        const PodList& pods)
      : type_(type),
        set_(set),
        wanted_(int_or(set.value, "/spec/replicas", 1)),
        start_(int_or(set.value, "/spec/ordinals/start", 0)),
        partition_(int_or(set.value, "/spec/updateStrategy/rollingUpdate/partition", 0)) {
    for (const AnyPtr& revision : revisions) {
      if (is_controlled_by(revision->meta, set.meta)) revisions_.push_back(revision);
    }
    std::ranges::sort(revisions_, std::less{}, [](const AnyPtr& r) { return revision_number(*r); });
    for (const PodPtr& pod : claim(type, set, pods, plan_.pods)) {
      const auto ordinal = ordinal_of(set, *pod);
      if (ordinal) pods_[*ordinal] = pod;
    }
  }

  StatefulSetPlan decide() {
    choose_revisions();
    if (!set_.meta.deleting) {
      if (create_missing() && remove_spare()) update_old();
      remove_old_history();
    }
    write_status();
    return std::move(plan_);
  }

 private:
  bool one_by_one() const {
    const std::string_view policy = wire::string_at(set_.value, "/spec/podManagementPolicy");
    if (policy.empty()) return type_ == kube::types::kStatefulSet;
    return policy == "OrderedReady";
  }
  std::string_view strategy() const {
    return wire::string_at(set_.value, "/spec/updateStrategy/type");
  }
  bool is_wanted(std::int64_t ordinal) const {
    return ordinal >= start_ && ordinal < start_ + wanted_;
  }
  PodPtr pod_at(std::int64_t ordinal) const {
    const auto found = pods_.find(ordinal);
    return found == pods_.end() ? nullptr : found->second;
  }

  void choose_revisions() {
    const Value pod_template(object_or_empty(set_.value, "/spec/template"));
    const std::int64_t last = revisions_.empty() ? 0 : revision_number(*revisions_.back());
    for (const AnyPtr& revision : revisions_) {
      if (template_of(*revision) == pod_template) update_ = revision->meta.name;
      if (template_of(*revision) == pod_template && revision_number(*revision) != last) {
        plan_.revisions.push_back(
            patch_write(revision->meta, {set_operation("/revision", last + 1)}));
      }
      templates_[revision->meta.name] = template_of(*revision);
    }
    if (update_.empty()) create_revision(pod_template, last + 1);
    current_ = wire::string_at(set_.value, "/status/currentRevision");
    if (current_.empty() || !templates_.contains(current_)) current_ = update_;
  }

  void create_revision(const Value& pod_template, std::int64_t number) {
    const std::string hash = content_hash(pod_template);
    update_ = set_.meta.name + "-" + hash;
    templates_[update_] = pod_template;
    Object labels = object_or_empty(pod_template, "/metadata/labels");
    labels["controller.kubernetes.io/hash"] = hash;
    plan_.revisions.push_back(create_write(Object{
        {"apiVersion", types::kControllerRevision.api_version()},
        {"kind", types::kControllerRevision.kind},
        {"metadata", Object{{"namespace", set_.meta.ns.view()},
                            {"name", update_},
                            {"labels", std::move(labels)},
                            {"ownerReferences", Array{controller_reference(type_, set_.meta)}}}},
        {"data", revision_data(pod_template)},
        {"revision", number}}));
  }

  // True: every Pod that shall be is there, and may be looked at further.
  bool create_missing() {
    for (std::int64_t ordinal = start_; ordinal < start_ + wanted_; ++ordinal) {
      const PodPtr pod = pod_at(ordinal);
      if (pod == nullptr) {
        plan_.pods.push_back(create_write(new_pod(ordinal)));
      } else if (pod->finished() && !pod->meta.deleting) {
        plan_.pods.push_back(remove_write(pod->meta));
      } else if (is_healthy(*pod) || !one_by_one()) {
        continue;
      }
      if (one_by_one()) return false;
    }
    return true;
  }

  Value new_pod(std::int64_t ordinal) const {
    const bool rolling = strategy() != "OnDelete";
    const std::string& revision = rolling && ordinal < start_ + partition_ ? current_ : update_;
    Value pod = pod_from_template(type_, set_, templates_.at(revision));
    const std::string name = fmt::format("{}-{}", set_.meta.name, ordinal);
    (void)wire::set_at(pod, "/metadata/name", Value(name));
    Object labels = object_or_empty(pod, "/metadata/labels");
    labels[kPodNameLabel] = name;
    labels[kPodIndexLabel] = std::to_string(ordinal);
    labels[kRevisionLabel] = revision;
    (void)wire::set_at(pod, "/metadata/labels", std::move(labels));
    (void)wire::set_at(pod, "/spec/hostname", Value(name));
    const std::string_view service = wire::string_at(set_.value, "/spec/serviceName");
    if (!service.empty()) (void)wire::set_at(pod, "/spec/subdomain", Value(service));
    return pod;
  }

  // Highest first. True: there are none.
  bool remove_spare() {
    bool none = true;
    for (auto at = pods_.rbegin(); at != pods_.rend(); ++at) {
      if (is_wanted(at->first)) continue;
      none = false;
      if (!at->second->meta.deleting) plan_.pods.push_back(remove_write(at->second->meta));
      if (one_by_one()) return false;
    }
    return none;
  }

  // One at a time from the highest down to the partition, each healthy before the next.
  void update_old() {
    if (strategy() == "OnDelete") return;
    for (std::int64_t ordinal = start_ + wanted_ - 1; ordinal >= start_ + partition_; --ordinal) {
      const PodPtr pod = pod_at(ordinal);
      if (pod == nullptr || pod->meta.deleting) return;
      if (pod_revision(*pod) != update_) return update(*pod);
      if (!is_healthy(*pod)) return;
    }
  }

  void update(const kube::Pod& pod) {
    const auto old = templates_.find(std::string(pod_revision(pod)));
    const bool in_place = strategy() == "InplaceUpdate" && old != templates_.end();
    auto changes = in_place ? image_changes(old->second, templates_.at(update_)) : std::nullopt;
    if (!changes) return plan_.pods.push_back(remove_write(pod.meta));
    changes->push_back(set_operation("/metadata/labels/controller-revision-hash", Value(update_)));
    plan_.pods.push_back(patch_write(pod.meta, std::move(*changes)));
  }

  void remove_old_history() {
    const std::int64_t limit = int_or(set_.value, "/spec/revisionHistoryLimit", 10);
    AnyList unused;
    std::ranges::copy_if(revisions_, std::back_inserter(unused), [&](const AnyPtr& revision) {
      const std::string& name = revision->meta.name;
      const bool in_use = std::ranges::any_of(
          pods_, [&](const auto& entry) { return pod_revision(*entry.second) == name; });
      return name != current_ && name != update_ && !in_use;
    });
    const auto spare = static_cast<std::int64_t>(unused.size()) - limit;
    for (std::int64_t i = 0; i < spare; ++i) {
      plan_.revisions.push_back(remove_write(unused[static_cast<std::size_t>(i)]->meta));
    }
  }

  void write_status() {
    std::int64_t replicas = 0, ready = 0, current = 0, updated = 0;
    for (const auto& [ordinal, pod] : pods_) {
      if (pod->finished()) continue;
      ++replicas;
      if (pod->ready()) ++ready;
      if (!is_active(*pod)) continue;
      if (pod_revision(*pod) == current_) ++current;
      if (pod_revision(*pod) == update_) ++updated;
    }
    // A rollout is through when every Pod has the new revision and serves.
    const bool through =
        strategy() != "OnDelete" && updated == replicas && ready == replicas && replicas == wanted_;
    if (through) {
      current_ = update_;
      current = updated;
    }
    Object status{{"observedGeneration", set_.meta.generation}, {"replicas", replicas}};
    if (ready > 0) status["readyReplicas"] = ready;
    if (current > 0) status["currentReplicas"] = current;
    if (updated > 0) status["updatedReplicas"] = updated;
    status["availableReplicas"] = ready;
    status["currentRevision"] = current_;
    status["updateRevision"] = update_;
    status["collisionCount"] = 0;
    add_status_write(set_, std::move(status), plan_.set);
  }

  const kube::ResourceType& type_;
  const AnyObject& set_;
  const std::int64_t wanted_;
  const std::int64_t start_;
  const std::int64_t partition_;
  AnyList revisions_;                       // ours, oldest first
  std::map<std::string, Value> templates_;  // by revision
  std::map<std::int64_t, PodPtr> pods_;     // ours, by ordinal
  std::string current_;
  std::string update_;
  StatefulSetPlan plan_;
};

}  // namespace

StatefulSetPlan plan_stateful_set(const kube::ResourceType& type, const AnyObject& set,
                                  const AnyList& revisions, const PodList& pods) {
  return Round(type, set, revisions, pods).decide();
}

}  // namespace berth::workloads
