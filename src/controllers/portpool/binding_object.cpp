#include "controllers/portpool/binding_object.h"

#include <algorithm>
#include <boost/json.hpp>

#include "api/keys.h"
#include "api/pod_ports.h"
#include "api/walkers.h"
#include "controllers/portpool/binding_plan.h"

namespace berth::controllers::portpool {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

Object labels_for(const std::vector<api::PortBindingItem>& entries) {
  Object labels{{api::kBindingTypeLabel, api::kPodBinding}};
  for (const api::PortBindingItem& entry : entries) {
    labels[api::pool_binding_label(entry.pool_name, entry.pool_namespace)] =
        api::label_value(entry.pool_item_name);
  }
  return labels;
}

Object annotations_for(const kube::Pod& pod) {
  Object annotations{{kPodUidAnnotation, pod.meta.uid}};
  const std::string_view keep = kube::get(pod.meta.annotations, api::kKeepDurationAnnotation);
  if (!keep.empty()) annotations[api::kKeepDurationAnnotation] = keep;
  return annotations;
}

bool is_its(const api::PortBinding& binding, const kube::Pod& pod) {
  return kube::get(binding.meta.annotations, kPodUidAnnotation) == pod.meta.uid;
}

// Empty while it is ready, as users have it, and in the first moment, after which nearly all are:
// emptying it would be one more write for each. What is said of a Pod that terminates stays.
std::string unready_since(const api::PortBinding& binding, const kube::Pod& pod, bool ready,
                          WallTime now) {
  const std::string said(is_its(binding, pod)
                             ? kube::get(binding.meta.annotations, api::kUnreadySinceAnnotation)
                             : std::string_view());
  if (pod.meta.deleting) return said;
  if (said.empty() && now - pod.meta.created < kQuickBinding) return said;
  if (ready) return binding.status.status == api::kReady ? std::string() : said;
  return said.empty() ? format_rfc3339_micro(now) : said;
}

// The merge patch from what is there to what is wanted: null for what `is_ours` and not wanted.
template <class IsOurs>
Object map_patch(kube::MapView now, const Object& wanted, IsOurs is_ours) {
  Object patch;
  for (const auto& [key, value] : wanted) {
    if (!kube::has(now, key) || kube::get(now, key) != value.as_string()) patch[key] = value;
  }
  for (const auto& [key, value] : now) {
    if (is_ours(key.view()) && !wanted.contains(key.view())) patch[key.view()] = nullptr;
  }
  return patch;
}

Object spec_of(const std::vector<api::PortBindingItem>& entries) {
  return api::encode(api::PortBindingSpec{.port_binding_list = entries});
}

std::optional<Value> status_change(const api::PortBinding& binding,
                                   const api::PortBindingStatus& wanted) {
  const Object next = api::encode(wanted);
  if (next == api::encode(binding.status)) return std::nullopt;
  return Array{Object{{"op", "test"}, {"path", "/metadata/uid"}, {"value", binding.meta.uid}},
               Object{{"op", "add"}, {"path", "/status"}, {"value", next}}};
}

}  // namespace

void refresh_entries(std::vector<api::PortBindingItem>& entries, const PoolOf& pool_of) {
  for (api::PortBindingItem& entry : entries) {
    const auto pool = pool_of ? pool_of(api::pool_of(entry)) : nullptr;
    if (!pool) continue;
    const auto item = std::ranges::find(pool->status.pool_items, entry.pool_item_name,
                                        &api::PortPoolItemStatus::item_name);
    if (item == pool->status.pool_items.end()) continue;
    entry.external = item->external;
    // A load balancer whose object was lost has no address until it is described again.
    if (api::has_addresses(*item)) entry.pool_item_load_balancers = item->pool_item_load_balancers;
  }
}

Value new_binding(const kube::Pod& pod, const std::vector<api::PortBindingItem>& entries) {
  const auto& type = api::port_binding_kind().type;
  Object annotations = annotations_for(pod);
  annotations[api::kUnreadySinceAnnotation] = "";
  return Object{{"apiVersion", type.api_version()},
                {"kind", type.kind},
                {"metadata", Object{{"namespace", pod.meta.ns.view()},
                                    {"name", pod.meta.name},
                                    {"labels", labels_for(entries)},
                                    {"annotations", annotations},
                                    {"finalizers", Array{Value(api::kFinalizer)}}}},
                {"spec", spec_of(entries)}};
}

std::optional<Value> binding_patch(const api::PortBinding& binding, const kube::Pod& pod,
                                   const std::vector<api::PortBindingItem>& entries, bool ready,
                                   WallTime now) {
  Object wanted = annotations_for(pod);
  wanted[api::kUnreadySinceAnnotation] = unready_since(binding, pod, ready, now);
  const Object annotations = map_patch(binding.meta.annotations, wanted, [](std::string_view key) {
    return key == api::kKeepDurationAnnotation;
  });
  const Object labels =
      map_patch(binding.meta.labels, labels_for(entries),
                [](std::string_view key) { return key.starts_with(api::kPoolBindingPrefix); });
  const bool same_spec = binding.spec.port_binding_list == entries;
  if (annotations.empty() && labels.empty() && same_spec) return std::nullopt;
  Object metadata{{"uid", binding.meta.uid}};
  if (!labels.empty()) metadata["labels"] = labels;
  if (!annotations.empty()) metadata["annotations"] = annotations;
  Object patch{{"metadata", metadata}};
  if (!same_spec) patch["spec"] = spec_of(entries);
  return patch;
}

Value mark_patch(const api::PortBinding& binding, std::string_view pod_uid) {
  return Object{{"metadata", Object{{"uid", binding.meta.uid},
                                    {"annotations", Object{{kPodUidAnnotation, pod_uid}}}}}};
}

std::optional<Value> status_patch(const api::PortBinding& binding,
                                  const std::vector<api::PortBindingItem>& entries,
                                  const std::vector<const api::PortBindingItem*>& ready,
                                  WallTime now) {
  api::PortBindingStatus status{.port_binding_type = std::string(api::kPodBinding)};
  for (const api::PortBindingItem& entry : entries) {
    const bool is_ready = std::ranges::find(ready, &entry) != ready.end();
    status.port_pool_bind_status_list.push_back(
        {.port_pool_name = entry.pool_name,
         .port_pool_namespace = entry.pool_namespace,
         .pool_item_name = entry.pool_item_name,
         .start_port = entry.start_port,
         .end_port = entry.end_port,
         .status = std::string(is_ready ? api::kReady : api::kNotReady)});
  }
  const bool all = !entries.empty() && ready.size() == entries.size();
  status.status = std::string(all ? api::kReady : api::kNotReady);
  // Of one that was something else before; of a new one its annotation says it.
  const std::string& before = binding.status.status;
  if (!all && before == api::kNotReady) status.update_time = binding.status.update_time;
  if (!all && !before.empty() && before != api::kNotReady)
    status.update_time = format_rfc3339_micro(now);
  return status_change(binding, status);
}

std::optional<Value> cleaning_patch(const api::PortBinding& binding, bool cleaned,
                                    const std::optional<WallTime>& since, WallTime now) {
  api::PortBindingStatus status = binding.status;
  const std::string_view word = cleaned ? api::kCleaned : api::kCleaning;
  if (status.status == word) return std::nullopt;
  status.status = std::string(word);
  status.update_time = format_rfc3339_micro(since.value_or(now));
  for (api::PortPoolBindStatus& item : status.port_pool_bind_status_list)
    item.status = std::string(cleaned ? api::kCleaned : api::kDeleting);
  return status_change(binding, status);
}

}  // namespace berth::controllers::portpool
