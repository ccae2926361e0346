#include "sim/kube/field_changes.h"
#include "wire/equal.h"

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <set>

#include <fmt/format.h>

namespace berth::sim::kube {

namespace {

using wire::Array;
using wire::Object;
using wire::Value;

constexpr std::string_view kSystemMetadata[] = {
    "name",     "namespace",     "uid",        "resourceVersion", "generation", "creationTimestamp",
    "selfLink", "managedFields", "clusterName"};

bool is_empty(const Value* value) {
  return value == nullptr || value->is_null() ||
         (value->is_object() && value->get_object().empty()) ||
         (value->is_array() && value->get_array().empty());
}

// Nobody owns the envelope, and of a (sub)resource just the part that can be written through it.
bool is_ownable(const FieldScope& scope, std::string_view field) {
  if (field == "apiVersion" || field == "kind") return false;
  if (scope.subresource == "status") {
    return field != "spec" && !(field == "metadata" && scope.served.kind->custom);
  }
  return field != "status" || !scope.served.version->status_subresource;
}

bool is_system(std::string_view field) {
  return std::ranges::find(kSystemMetadata, field) != std::end(kSystemMetadata);
}

std::string item_step(const FieldType& type, const ListRule& rule, const Value& item) {
  if (rule.set) return value_step(item);
  Object keys;
  for (const std::string_view key : rule.keys) {
    if (Value value = type.key_of(item, key); !value.is_null()) keys[key] = std::move(value);
  }
  return key_step(keys);
}

using Items = std::vector<std::pair<std::string, const Value*>>;

Items items_of(const FieldType& type, const ListRule& rule, const Value* list) {
  Items items;
  if (list == nullptr || !list->is_array()) return items;
  for (const Value& item : list->get_array()) {
    items.emplace_back(item_step(type, rule, item), &item);
  }
  return items;
}

class Comparison {
 public:
  explicit Comparison(const FieldScope& scope) : scope_(scope) {}

  FieldChanges run(const Value& before, const Value& after) {
    const FieldType root(scope_.served);
    each_field(root, &before, &after, [&](std::string_view name, const Value* a, const Value* b) {
      if (!is_ownable(scope_, name)) return;
      const FieldPath path{nullptr, name};
      if (name != "metadata") return compare(root.field(name), a, b, path);
      const FieldType metadata = root.field(name);
      each_field(metadata, a, b, [&](std::string_view field, const Value* c, const Value* d) {
        if (!is_system(field)) compare(metadata.field(field), c, d, {&path, field});
      });
    });
    return std::move(changes_);
  }

 private:
  // Calls `visit` for the fields that may differ.
  template <class Visit>
  void each_field(const FieldType& type, const Value* before, const Value* after, Visit visit) {
    static const Object kNone;
    const Object& old = before != nullptr && before->is_object() ? before->get_object() : kNone;
    const Object& now = after != nullptr && after->is_object() ? after->get_object() : kNone;
    // What Go's zero value has is not added with the first thing in it, nor removed with the last.
    const auto counterpart = [&](const Value* parent, std::string_view name, const Value& other) {
      if (parent == nullptr || !type.has_always(name)) return static_cast<const Value*>(nullptr);
      return zero_of(other);
    };
    std::size_t shared = 0;
    for (const auto& field : now) {
      const Value* was = old.if_contains(field.key());
      shared += was != nullptr;
      if (was == nullptr) was = counterpart(before, field.key(), field.value());
      visit(field.key(), was, &field.value());
    }
    if (shared == old.size()) return;
    for (const auto& field : old) {
      if (now.contains(field.key())) continue;
      visit(field.key(), &field.value(), counterpart(after, field.key(), field.value()));
    }
  }

  static const Value* zero_of(const Value& value) {
    static const Value kObject = Object{};
    static const Value kArray = Array{};
    static const Value kText = "";
    static const Value kNumber = 0;
    return value.is_object()   ? &kObject
           : value.is_array()  ? &kArray
           : value.is_string() ? &kText
                               : &kNumber;
  }

  void compare(const FieldType& type, const Value* before, const Value* after,
               const FieldPath& path) {
    const auto is = [](const Value* value, bool as_map) {
      return value != nullptr && (as_map ? value->is_object() : value->is_array());
    };
    const bool descends = is(before, true) && is(after, true) && !type.atomic_map();
    if (before != nullptr && after != nullptr && !descends && wire::equal(*before, *after)) return;
    const bool map = is(before, true) || is(after, true);
    const bool container = map || is(before, false) || is(after, false);
    const bool both = (is_empty(before) || is(before, map)) && (is_empty(after) || is(after, map));
    if (before != nullptr && after != nullptr && container && !both) {
      // It turned into something else.
      compare(type, before, nullptr, path);
      return compare(type, nullptr, after, path);
    }
    const bool leaf = !container || (is_empty(before) && is_empty(after));
    if (leaf && descends) return;
    if (leaf || (map ? type.atomic_map() : type.list().atomic())) {
      FieldSet& changed = before == nullptr  ? changes_.added
                          : after == nullptr ? changes_.removed
                                             : changes_.modified;
      return changed.insert(path);
    }
    if (map) {
      each_field(type, before, after, [&](std::string_view name, const Value* a, const Value* b) {
        compare(type.field(name), a, b, {&path, name});
      });
    } else {
      compare_items(type, before, after, path);
    }
    if (before == nullptr) changes_.added.insert(path);
    if (after == nullptr) changes_.removed.insert(path);
  }

  void compare_items(const FieldType& type, const Value* before, const Value* after,
                     const FieldPath& path) {
    const ListRule rule = type.list();
    Items old = items_of(type, rule, before);
    Items now = items_of(type, rule, after);
    // Where keys are the same, the order in the list stays: it is that of the addresses.
    std::ranges::sort(old);
    std::ranges::sort(now);
    auto a = old.begin();
    auto b = now.begin();
    while (a != old.end() || b != now.end()) {
      const int order = a == old.end() ? 1 : b == now.end() ? -1 : a->first.compare(b->first);
      const FieldPath item{&path, order <= 0 ? a->first : b->first, true};
      const Value* was = order <= 0 ? a++->second : nullptr;
      const Value* is = order >= 0 ? b++->second : nullptr;
      compare(type.item(), was, is, item);
    }
  }

  const FieldScope& scope_;
  FieldChanges changes_;
};

class Collector {
 public:
  FieldSet set{};

  void field(const FieldType& parent, std::string_view name, const Value& value,
             const FieldPath& path) {
    visit(parent.field(name), value, path);
    const bool empty = value.is_null() || (value.is_object() && value.get_object().empty());
    if (empty || !parent.declares(name)) set.insert(path);
  }

 private:
  void visit(const FieldType& type, const Value& value, const FieldPath& path) {
    if (value.is_object() && !type.atomic_map()) {
      for (const auto& one : value.get_object()) {
        field(type, one.key(), one.value(), {&path, one.key()});
      }
      return;
    }
    const ListRule rule = value.is_array() ? type.list() : ListRule{};
    if (rule.atomic()) return set.insert(path);
    for (const auto& [step, item] : items_of(type, rule, &value)) {
      const FieldPath below{&path, step, true};
      visit(type.item(), *item, below);
      set.insert(below);
    }
  }
};

Value merge(const FieldType& type, const Value* current, const Value& applied);

Value merge_maps(const FieldType& type, const Object& current, const Object& applied) {
  Object merged = current;
  for (const auto& field : applied) {
    const Value* before = current.if_contains(field.key());
    merged[field.key()] = merge(type.field(field.key()), before, field.value());
  }
  return merged;
}

Value merge_lists(const FieldType& type, const ListRule& rule, const Value& current,
                  const Value& applied) {
  const Items ours = items_of(type, rule, &applied);
  const Items theirs = items_of(type, rule, &current);
  std::map<std::string_view, const Value*> known;
  for (const auto& [step, item] : theirs) known.emplace(step, item);
  std::set<std::string_view> wanted;
  for (const auto& [step, item] : ours) wanted.insert(step);
  // For each of ours, the first from there on that is in both lists.
  std::vector<std::string_view> meeting(ours.size() + 1);
  for (std::size_t i = ours.size(); i-- > 0;) {
    meeting[i] = known.contains(ours[i].first) ? std::string_view(ours[i].first) : meeting[i + 1];
  }
  Array merged;
  auto next = theirs.begin();
  for (std::size_t i = 0; i < ours.size(); ++i) {
    // Those of others that stand here come first; a shared one that stands too early waits.
    for (; next != theirs.end() && next->first != meeting[i]; ++next) {
      if (!wanted.contains(next->first)) merged.push_back(*next->second);
    }
    const auto& [step, item] = ours[i];
    const auto before = known.find(step);
    merged.push_back(merge(type.item(), before == known.end() ? nullptr : before->second, *item));
    if (next != theirs.end() && next->first == step) ++next;
  }
  for (; next != theirs.end(); ++next) {
    if (!wanted.contains(next->first)) merged.push_back(*next->second);
  }
  return merged;
}

Value merge(const FieldType& type, const Value* current, const Value& applied) {
  if (current == nullptr) return applied;
  if (applied.is_object() && current->is_object() && !type.atomic_map()) {
    return merge_maps(type, current->get_object(), applied.get_object());
  }
  if (applied.is_array() && current->is_array()) {
    const ListRule rule = type.list();
    if (!rule.atomic()) return merge_lists(type, rule, *current, applied);
  }
  return applied;
}

class Remover {
 public:
  void run(const FieldType& type, Value& value, const FieldSet& dropped, const FieldSet& wanted,
           bool root) {
    if (value.is_object() && !type.atomic_map()) {
      in_map(type, value.get_object(), dropped, wanted, root);
      if (value.get_object().empty() && !root) value = nullptr;
    } else if (value.is_array() && !type.list().atomic()) {
      in_list(type, value.get_array(), dropped, wanted);
      if (value.get_array().empty()) value = nullptr;
    }
  }

 private:
  void in_map(const FieldType& type, Object& fields, const FieldSet& dropped,
              const FieldSet& wanted, bool root) {
    for (auto field = fields.begin(); field != fields.end();) {
      const std::string step = field_step(field->key());
      const FieldSet::Node* node = dropped.find(step);
      const FieldSet::Node* other = wanted.find(step);
      const bool declared = type.declares(field->key());
      const auto speaks_of = [declared](const FieldSet::Node* one) {
        return one != nullptr && (one->member || declared);
      };
      // An object keeps its metadata, whoever owns something in it.
      const bool kept = root && field->key() == "metadata";
      if (speaks_of(node) && !speaks_of(other) && !kept) {
        field = fields.stable_erase(field);
        continue;
      }
      if (node != nullptr && !node->below.empty()) {
        run(type.field(field->key()), field->value(), node->below,
            other == nullptr ? kNone : other->below, kept);
      }
      ++field;
    }
  }

  void in_list(const FieldType& type, Array& items, const FieldSet& dropped,
               const FieldSet& wanted) {
    const ListRule rule = type.list();
    Array kept;
    for (Value& item : items) {
      const std::string step = item_step(type, rule, item);
      const FieldSet::Node* node = dropped.find(step);
      const FieldSet::Node* other = wanted.find(step);
      if (node != nullptr && node->member && (other == nullptr || !other->member)) continue;
      if (node != nullptr && !node->below.empty()) {
        run(type.item(), item, node->below, other == nullptr ? kNone : other->below, false);
      }
      kept.push_back(std::move(item));
    }
    items = std::move(kept);
  }

  static inline const FieldSet kNone{};
};

void find_defects(const FieldType& type, const Value& value, const std::string& path,
                  std::vector<std::string>& defects) {
  if (value.is_object()) {
    for (const auto& field : value.get_object()) {
      const std::string at = fmt::format("{}.{}", path, std::string_view(field.key()));
      if (!type.knows(field.key())) {
        return defects.push_back(at + ": field not declared in schema");
      }
      find_defects(type.field(field.key()), field.value(), at, defects);
    }
  }
  const ListRule rule = value.is_array() ? type.list() : ListRule{};
  if (rule.atomic()) return;
  std::map<std::string, int> seen;
  for (const auto& [step, item] : items_of(type, rule, &value)) {
    const std::string shown = shown_step(step);
    if (++seen[step] == 2) {
      defects.push_back(fmt::format("{}: duplicate entries for key {}", path, shown));
    }
    find_defects(type.item(), *item, path + shown, defects);
  }
}

}  // namespace

FieldChanges compare_fields(const FieldScope& scope, const Value& before, const Value& after) {
  return Comparison(scope).run(before, after);
}

FieldSet fields_of(const FieldScope& scope, const Value& configuration) {
  Collector collector;
  const FieldType root(scope.served);
  for (const auto& part : configuration.get_object()) {
    const std::string_view name = part.key();
    if (!is_ownable(scope, name)) continue;
    const FieldPath path{nullptr, name};
    if (name != "metadata" || !part.value().is_object()) {
      collector.field(root, name, part.value(), path);
      continue;
    }
    for (const auto& field : part.value().get_object()) {
      if (is_system(field.key())) continue;
      collector.field(root.field(name), field.key(), field.value(), {&path, field.key()});
    }
  }
  return std::move(collector.set);
}

Value merge_fields(const ServedKind& served, const Value& object, const Value& configuration) {
  return merge(FieldType(served), &object, configuration);
}

void remove_fields(const ServedKind& served, Value& object, const FieldSet& dropped,
                   const FieldSet& wanted) {
  Remover().run(FieldType(served), object, dropped, wanted, true);
}

std::vector<std::string> configuration_defects(const ServedKind& served,
                                               const Value& configuration) {
  std::vector<std::string> defects;
  find_defects(FieldType(served), configuration, {}, defects);
  return defects;
}

}  // namespace berth::sim::kube
