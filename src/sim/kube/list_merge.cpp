#include "sim/kube/list_merge.h"

#include <algorithm>
#include <boost/json.hpp>

#include "sim/kube/schema.h"

namespace berth::sim::kube {

namespace {

using wire::Array;
using wire::Object;
using wire::Value;
using Keys = std::vector<std::string>;

// How a list is merged: by these keys, as a set (`set`), or replaced (neither).
struct ListRule {
  Keys keys{};
  bool set = false;
};

// Lists of built-in kinds, by the name of their field.
ListRule builtin_rule(std::string_view field, const Array& items) {
  static const std::map<std::string_view, Keys> kRules = {
      {"containers", {"name"}},     {"initContainers", {"name"}},         {"env", {"name"}},
      {"volumes", {"name"}},        {"volumeMounts", {"mountPath"}},      {"conditions", {"type"}},
      {"ownerReferences", {"uid"}}, {"imagePullSecrets", {"name"}},       {"secrets", {"name"}},
      {"webhooks", {"name"}},       {"readinessGates", {"conditionType"}}};
  if (field == "finalizers") return {.set = true};
  if (field == "ports") {
    const bool container = !items.empty() && items.front().is_object() &&
                           items.front().get_object().contains("containerPort");
    return {.keys = {container ? "containerPort" : "port", "protocol"}};
  }
  const auto found = kRules.find(field);
  return found == kRules.end() ? ListRule{} : ListRule{.keys = found->second};
}

// The protocol of a port may be left out, and then counts as TCP.
Value key_value(const Value& item, const std::string& key) {
  const Value* value = item.is_object() ? item.get_object().if_contains(key) : nullptr;
  if (value != nullptr) return *value;
  return key == "protocol" ? Value("TCP") : Value();
}

bool same_item(const Value& a, const Value& b, const Keys& keys) {
  return std::ranges::all_of(
      keys, [&](const std::string& key) { return key_value(a, key) == key_value(b, key); });
}

class Merger {
 public:
  Value merge(const Value* current, const Value& applied, const Schema* schema, bool builtin,
              std::string_view field) const {
    if (current == nullptr) return applied;
    if (applied.is_object() && current->is_object()) {
      return merge_objects(current->get_object(), applied.get_object(), schema, builtin);
    }
    if (applied.is_array() && current->is_array()) {
      return merge_lists(current->get_array(), applied.get_array(), schema, builtin, field);
    }
    return applied;
  }

 private:
  Value merge_objects(const Object& current, const Object& applied, const Schema* schema,
                      bool builtin) const {
    if (schema != nullptr && schema->atomic_map) return applied;
    Object merged = current;
    for (const auto& field : applied) {
      const Schema* inner = schema == nullptr ? nullptr : schema->child(field.key());
      merged[field.key()] =
          merge(current.if_contains(field.key()), field.value(), inner, builtin, field.key());
    }
    return merged;
  }

  Value merge_lists(const Array& current, const Array& applied, const Schema* schema, bool builtin,
                    std::string_view field) const {
    ListRule rule;
    if (builtin) {
      rule = builtin_rule(field, applied);
    } else if (schema != nullptr) {
      rule = {.keys = schema->list_map_keys, .set = schema->list_type == "set"};
    }
    if (rule.keys.empty() && !rule.set) return applied;
    const Schema* item_schema = schema == nullptr ? nullptr : schema->items.get();
    const auto same = [&rule](const Value& a, const Value& b) {
      return rule.set ? a == b : same_item(a, b, rule.keys);
    };
    const auto find_in = [&same](const Array& list, const Value& item) {
      return std::ranges::find_if(list, [&](const Value& one) { return same(one, item); });
    };
    // The applied order holds; items of others stay where they stood among their neighbours.
    Array merged;
    auto next = current.begin();
    const auto take_others = [&] {
      for (; next != current.end() && find_in(applied, *next) == applied.end(); ++next) {
        merged.push_back(*next);
      }
    };
    for (const Value& item : applied) {
      take_others();
      const auto before = find_in(current, item);
      merged.push_back(before == current.end() ? item
                                               : merge(&*before, item, item_schema, builtin, {}));
      if (next != current.end() && same(*next, item)) ++next;
    }
    for (; next != current.end(); ++next) {
      if (find_in(applied, *next) == applied.end()) merged.push_back(*next);
    }
    return merged;
  }
};

}  // namespace

Value merge_by_keys(const Value& object, const Value& applied, const ServedKind& served) {
  const Merger merger;
  const Schema* schema = served.version->schema.get();
  Object merged = object.get_object();
  for (const auto& field : applied.get_object()) {
    const bool builtin = !served.kind->custom || field.key() == "metadata";
    const Schema* inner = schema == nullptr ? nullptr : schema->child(field.key());
    merged[field.key()] = merger.merge(object.get_object().if_contains(field.key()), field.value(),
                                       inner, builtin, field.key());
  }
  return merged;
}

}  // namespace berth::sim::kube
