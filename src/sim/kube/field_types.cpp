#include "sim/kube/field_types.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "sim/kube/schema.h"

namespace berth::sim::kube {

namespace {

constexpr std::string_view kAsSet = "=";

// Within a field or a kind ("" is everywhere), a list and its keys. The first row that fits counts.
struct ListRow {
  std::string_view within, field;
  std::string_view patch_key;
  std::array<std::string_view, 2> apply_keys;
};

constexpr ListRow kLists[] = {
    {"", "containers", "name", {"name"}},
    {"", "initContainers", "name", {"name"}},
    {"", "ephemeralContainers", "name", {"name"}},
    {"containers", "ports", "containerPort", {"containerPort", "protocol"}},
    {"initContainers", "ports", "containerPort", {"containerPort", "protocol"}},
    {"ephemeralContainers", "ports", "containerPort", {"containerPort", "protocol"}},
    {"Service", "ports", "port", {"port", "protocol"}},
    {"", "env", "name", {"name"}},
    {"", "volumeMounts", "mountPath", {"mountPath"}},
    {"", "volumeDevices", "devicePath", {"devicePath"}},
    {"resources", "claims", "", {"name"}},
    {"", "volumes", "name", {"name"}},
    {"", "resourceClaims", "name", {"name"}},
    {"", "resourceClaimStatuses", "name", {"name"}},
    {"", "schedulingGates", "name", {"name"}},
    {"", "hostAliases", "ip", {"ip"}},
    {"", "topologySpreadConstraints", "topologyKey", {"topologyKey", "whenUnsatisfiable"}},
    {"ServiceAccount", "imagePullSecrets", "", {}},
    {"", "imagePullSecrets", "name", {"name"}},
    {"", "secrets", "name", {"name"}},
    {"", "podIPs", "ip", {"ip"}},
    {"", "hostIPs", "ip", {}},
    {"Node", "podCIDRs", kAsSet, {kAsSet}},
    {"Node", "addresses", "type", {"type"}},
    {"Job", "conditions", "type", {}},
    {"CustomResourceDefinition", "conditions", "", {"type"}},
    {"", "conditions", "type", {"type"}},
    {"", "webhooks", "name", {"name"}},
    {"webhooks", "matchConditions", "name", {"name"}},
    {"metadata", "ownerReferences", "uid", {"uid"}},
    {"metadata", "finalizers", kAsSet, {kAsSet}},
};

// Objects that have one owner as a whole, wherever they are; for elements, the name of their list.
constexpr std::string_view kAtomicMaps[] = {"selector",
                                            "nodeSelector",
                                            "labelSelector",
                                            "namespaceSelector",
                                            "objectSelector",
                                            "fieldRef",
                                            "podSelector",
                                            "fileKeyRef",
                                            "configMapKeyRef",
                                            "resourceFieldRef",
                                            "secretRef",
                                            "secretKeyRef",
                                            "scaleTargetRef",
                                            "involvedObject",
                                            "nodePublishSecretRef",
                                            "targetRef",
                                            "related",
                                            "dataSource",
                                            "roleRef"};
constexpr std::string_view kAtomicAffinity = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kAtomicItems[] = {"ownerReferences", "imagePullSecrets", "secrets"};

// Structs that are no pointers, and fields that are written even when empty.
constexpr std::string_view kAlwaysThere[] = {
    "metadata",       "spec",         "status",         "template",       "strategy",
    "updateStrategy", "containers",   "serviceName",    "resources",      "names",
    "source",         "loadBalancer", "jobTemplate",    "nodeInfo",       "acceptedNames",
    "rules",          "roleRef",      "involvedObject", "daemonEndpoints"};

template <std::size_t N>
bool lists(const std::string_view (&names)[N], std::string_view name) {
  return std::ranges::find(names, name) != std::end(names);
}

const ListRow* row_of(const Kind& kind, std::string_view parent, std::string_view name) {
  const auto found = std::ranges::find_if(kLists, [&](const ListRow& row) {
    return row.field == name &&
           (row.within.empty() || row.within == parent || row.within == kind.kind);
  });
  return found == std::end(kLists) ? nullptr : &*found;
}

}  // namespace

FieldType::FieldType(const ServedKind& served)
    : kind_(served.kind.get()),
      schema_(served.version->schema.get()),
      builtin_(!served.kind->custom) {}

FieldType FieldType::field(std::string_view name) const {
  FieldType next = *this;
  next.parent_ = name_;
  next.name_ = name;
  next.item_ = false;
  // The metadata of a custom object, or of one embedded in it, has the type that all kinds share.
  const bool root = name_.empty() && !item_;
  if (name == "metadata" && (root || (schema_ != nullptr && schema_->embedded))) {
    next.builtin_ = true;
  }
  next.schema_ = schema_ == nullptr ? nullptr : schema_->child(name);
  return next;
}

FieldType FieldType::item() const {
  FieldType next = *this;
  next.item_ = true;
  next.schema_ = schema_ == nullptr ? nullptr : schema_->items.get();
  return next;
}

ListRule FieldType::list() const {
  ListRule rule;
  if (builtin_) {
    const ListRow* row = row_of(*kind_, parent_, name_);
    if (row == nullptr || item_) return rule;
    rule.set = row->apply_keys[0] == kAsSet;
    for (const std::string_view key : row->apply_keys) {
      if (!rule.set && !key.empty()) rule.keys.push_back(key);
    }
  } else if (schema_ != nullptr && schema_->list_type == "map") {
    rule.keys.assign(schema_->list_map_keys.begin(), schema_->list_map_keys.end());
    std::ranges::sort(rule.keys);
  } else if (schema_ != nullptr) {
    rule.set = schema_->list_type == "set";
  }
  return rule;
}

bool FieldType::atomic_map() const {
  if (!builtin_) return schema_ != nullptr && schema_->atomic_map;
  if (item_) return lists(kAtomicItems, name_);
  return name_ == kAtomicAffinity || lists(kAtomicMaps, name_);
}

bool FieldType::declares(std::string_view name) const {
  return builtin_ || name_.empty() || (schema_ != nullptr && schema_->properties.contains(name));
}

bool FieldType::knows(std::string_view name) const {
  if (builtin_ || schema_ == nullptr || schema_->preserve_unknown || schema_->additional_any) {
    return true;
  }
  const bool envelope = name == "metadata" || name == "apiVersion" || name == "kind";
  const bool root = name_.empty() && !item_;
  return schema_->child(name) != nullptr || (envelope && (root || schema_->embedded));
}

bool FieldType::has_always(std::string_view name) const {
  return builtin_ && lists(kAlwaysThere, name);
}

wire::Value FieldType::key_of(const wire::Value& item, std::string_view key) const {
  const wire::Value* value = item.is_object() ? item.get_object().if_contains(key) : nullptr;
  if (value != nullptr) return *value;
  if (builtin_) return key == "protocol" ? wire::Value("TCP") : wire::Value();
  const Schema* inner =
      schema_ == nullptr || schema_->items == nullptr ? nullptr : schema_->items->child(key);
  return inner == nullptr || !inner->default_value ? wire::Value() : *inner->default_value;
}

std::string_view FieldType::patch_key() const {
  const ListRow* row = item_ ? nullptr : row_of(*kind_, parent_, name_);
  return row == nullptr ? std::string_view() : row->patch_key;
}

}  // namespace berth::sim::kube
