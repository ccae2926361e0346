#include "sim/kube/strategic_merge.h"

#include <algorithm>
#include <boost/json.hpp>
#include <map>

#include <fmt/format.h>

#include "sim/kube/field_types.h"

namespace berth::sim::kube {

namespace {

using wire::Array;
using wire::Object;
using wire::Value;

constexpr std::string_view kPatch = "$patch";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kDeleteFrom = "$deleteFromPrimitiveList/";
constexpr std::string_view kElementOrder = "$setElementOrder/";
constexpr std::string_view kAsSet = "=";

// A value as Go prints it, in which refusals are worded.
std::string go_text(const Value& value) {
  if (value.is_null()) return "<nil>";
  if (value.is_string()) return std::string(value.get_string());
  std::string text;
  if (value.is_array()) {
    for (const Value& item : value.get_array()) {
      text += (text.empty() ? "" : " ") + go_text(item);
    }
    return "[" + text + "]";
  }
  if (!value.is_object()) return wire::to_json(value);
  std::map<std::string_view, const Value*> sorted;
  for (const auto& field : value.get_object()) sorted[field.key()] = &field.value();
  for (const auto& [key, field] : sorted) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", key, go_text(*field));
  }
  return "map[" + text + "]";
}

ApiError failure(std::string message) {
  ApiError error;
  error.message = std::move(message);
  return error;
}

ApiError unknown_directive(const Value& patch) {
  return failure(fmt::format("unknown patch type: {} in map: {}",
                             go_text(patch.get_object().at(kPatch)), go_text(patch)));
}

std::string_view directive_of(const Value& patch) {
  const Value* value = patch.is_object() ? patch.get_object().if_contains(kPatch) : nullptr;
  return value != nullptr && value->is_string() ? std::string_view(value->get_string())
                                                : std::string_view();
}

// What is new in the object comes in without directives and without fields that shall not be. A
// part that is to be deleted or replaced is not there to do that with, and left out (`new_part`),
// unless an element brings it along.
Value without_directives(const Value& patch, bool new_part) {
  const auto left_out = [new_part](const Value& value) {
    return value.is_null() || (new_part && !directive_of(value).empty());
  };
  if (patch.is_array()) {
    Array items;
    for (const Value& item : patch.get_array()) {
      if (!left_out(item)) items.push_back(without_directives(item, new_part));
    }
    return items;
  }
  if (!patch.is_object()) return patch;
  Object fields;
  for (const auto& field : patch.get_object()) {
    const std::string_view key = field.key();
    const bool directive = key == kPatch || key == kRetainKeys || key.starts_with(kDeleteFrom) ||
                           key.starts_with(kElementOrder);
    if (directive || left_out(field.value())) continue;
    fields[key] = without_directives(field.value(), new_part);
  }
  return fields;
}

// The elements of a list are told apart by this field, or by their value ("").
struct Identity {
  std::string_view key{};

  bool same(const Value& a, const Value& b) const {
    if (key.empty()) return a == b;
    const Value* left = a.is_object() ? a.get_object().if_contains(key) : nullptr;
    const Value* right = b.is_object() ? b.get_object().if_contains(key) : nullptr;
    return left != nullptr && right != nullptr && *left == *right;
  }
  std::size_t index(const Array& list, const Value& item) const {
    const auto found =
        std::ranges::find_if(list, [&](const Value& one) { return same(one, item); });
    return static_cast<std::size_t>(found - list.begin());
  }
  bool contains(const Array& list, const Value& item) const {
    return index(list, item) < list.size();
  }
};

// Those in `wanted` come in its order. The others keep the order of `server`, and come before a
// wanted one only if they did there.
Array in_order(const Array& items, const Array& wanted, const Array& server, Identity identity) {
  std::vector<const Value*> first;
  std::vector<const Value*> others;
  for (const Value& item : items) {
    (identity.contains(wanted, item) ? first : others).push_back(&item);
  }
  const auto by = [identity](const Array& list) {
    return [identity, &list](const Value* item) {
      return std::pair(identity.index(list, *item), item);
    };
  };
  std::ranges::sort(first, {}, by(wanted));
  std::ranges::sort(others, {}, by(server));
  Array ordered;
  auto other = others.begin();
  for (const Value* item : first) {
    const std::size_t at = identity.index(server, *item);
    for (; other != others.end() && at < server.size(); ++other) {
      if (identity.index(server, **other) > at) break;
      ordered.push_back(**other);
    }
    ordered.push_back(*item);
  }
  for (; other != others.end(); ++other) ordered.push_back(**other);
  return ordered;
}

class StrategicMerge {
 public:
  Outcome<Value> map(const FieldType& type, Object original, const Value& patch) const {
    const Object& fields = patch.get_object();
    if (fields.contains(kPatch)) return replaced(patch);
    if (Outcome<> fine = retain_keys(original, fields); !fine) return refuse(fine);
    for (const auto& field : fields) {
      if (!std::string_view(field.key()).starts_with(kElementOrder)) continue;
      Outcome<> fine = ordered_list(type, original, fields, field.key(), field.value());
      if (!fine) return refuse(fine);
    }
    for (const auto& field : fields) {
      const std::string_view key = field.key();
      const bool ordered = fields.contains(std::string(kElementOrder).append(key));
      if (key == kRetainKeys || key.starts_with(kElementOrder) || ordered) continue;
      if (Outcome<> fine = merge_field(type, original, key, field.value()); !fine) {
        return refuse(fine);
      }
    }
    return original;
  }

 private:
  static Outcome<Value> replaced(const Value& patch) {
    const std::string_view directive = directive_of(patch);
    if (directive == "delete") return Object{};
    if (directive != "replace") return refuse(unknown_directive(patch));
    return without_directives(patch, false);
  }

  static Outcome<> retain_keys(Object& original, const Object& patch) {
    const Value* list = patch.if_contains(kRetainKeys);
    if (list == nullptr) return {};
    const auto retained = [list](std::string_view key) {
      return list->is_array() &&
             std::ranges::find(list->get_array(), Value(key)) != list->get_array().end();
    };
    const bool complete = std::ranges::all_of(patch, [&](const auto& field) {
      const std::string_view key = field.key();
      return field.value().is_null() || key == kRetainKeys || key.starts_with(kDeleteFrom) ||
             key.starts_with(kElementOrder) || retained(key);
    });
    if (!list->is_array() || !complete) {
      return refuse(bad_request("invalid patch format of retainKeys"));
    }
    for (auto field = original.begin(); field != original.end();) {
      field = retained(field->key()) ? field + 1 : original.stable_erase(field);
    }
    return {};
  }

  // $setElementOrder/x, together with x.
  Outcome<> ordered_list(const FieldType& type, Object& original, const Object& patch,
                         std::string_view directive, const Value& order) const {
    const std::string_view name = directive.substr(kElementOrder.size());
    const FieldType list = type.field(name);
    const Identity identity{list.patch_key() == kAsSet ? std::string_view() : list.patch_key()};
    const Value* before = original.if_contains(name);
    const Value* change = patch.if_contains(name);
    for (const Value* value : {&order, before, change}) {
      if (value == nullptr || value->is_array()) continue;
      return refuse(failure(fmt::format("expected a []interface {{}}, but received a {}",
                                        value->is_object() ? "map[string]interface {}"
                                        : value->is_null() ? "<nil>"
                                                           : "string")));
    }
    static const Array kNone;
    const Array& wanted = order.get_array();
    if (Outcome<> fine =
            check_order(change == nullptr ? kNone : change->get_array(), wanted, identity);
        !fine) {
      return fine;
    }
    if (before == nullptr && change == nullptr) return {};
    const Array server = before == nullptr ? kNone : before->get_array();
    Outcome<Value> merged = change == nullptr   ? Outcome<Value>(*before)
                            : before == nullptr ? Outcome<Value>(without_directives(*change, true))
                                                : merge_lists(list, *before, *change, false);
    if (!merged) return refuse(merged);
    original[name] = in_order(merged->get_array(), wanted, server, identity);
    return {};
  }

  static Outcome<> check_order(const Array& items, const Array& order, Identity identity) {
    for (std::size_t i = 0; !identity.key.empty() && i < order.size(); ++i) {
      if (order[i].is_object()) continue;
      return refuse(failure(fmt::format("value for key {} is not a map", i)));
    }
    std::size_t next = 0;
    for (const Value& item : items) {
      // What is deleted or replaced needs no place.
      if (!directive_of(item).empty()) continue;
      while (next < order.size() && !identity.same(order[next], item)) ++next;
      if (next++ < order.size()) continue;
      return refuse(failure(
          fmt::format("The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
                      go_text(items), go_text(order))));
    }
    return {};
  }

  Outcome<> merge_field(const FieldType& type, Object& original, std::string_view key,
                        const Value& patch) const {
    const bool deletes = key.starts_with(kDeleteFrom);
    if (deletes) key.remove_prefix(kDeleteFrom.size());
    if (patch.is_null()) {
      original.erase(key);
      return {};
    }
    Value* before = original.if_contains(key);
    const bool maps = before != nullptr && before->is_object() && patch.is_object();
    const bool lists = before != nullptr && before->is_array() && patch.is_array();
    if (!maps && !lists) {
      // A part to delete or replace where there is none.
      const bool idle = !directive_of(patch).empty();
      if (idle && before != nullptr) original.erase(key);
      if (!deletes && !idle) original[key] = without_directives(patch, true);
      return {};
    }
    Outcome<Value> merged = maps ? map(type.field(key), std::move(before->get_object()), patch)
                                 : merge_lists(type.field(key), *before, patch, deletes);
    if (!merged) return refuse(merged);
    *before = std::move(*merged);
    return {};
  }

  Outcome<Value> merge_lists(const FieldType& type, const Value& original, const Value& patch,
                             bool deletes) const {
    const std::string_view key = type.patch_key();
    if (key.empty()) return patch;
    const Array& before = original.get_array();
    const Array& change = patch.get_array();
    const auto is_map = [](const Value& item) { return item.is_object(); };
    const bool maps = key != kAsSet;
    for (const Array* list : {&before, &change}) {
      if (maps ? std::ranges::all_of(*list, is_map) : std::ranges::none_of(*list, is_map)) continue;
      return refuse(failure(fmt::format("list element types are not identical: [{} {}]",
                                        go_text(before), go_text(change))));
    }
    return maps ? merge_maps(type, before, change) : merge_scalars(before, change, deletes);
  }

  static Value merge_scalars(const Array& original, const Array& patch, bool deletes) {
    const Identity identity;
    Array merged;
    for (const Value& item : original) {
      const bool gone = identity.contains(deletes ? patch : merged, item);
      if (!gone) merged.push_back(item);
    }
    if (deletes) return merged;
    for (const Value& item : patch) {
      if (!identity.contains(merged, item)) merged.push_back(item);
    }
    return in_order(merged, patch, original, identity);
  }

  // $patch in an element: "delete" takes the one with its key out, "replace" drops all others.
  Outcome<Value> merge_maps(const FieldType& type, Array original, const Array& patch) const {
    const Identity identity{type.patch_key()};
    Array changes;
    bool replaces = false;
    for (const Value& item : patch) {
      const std::string_view directive = directive_of(item);
      const bool special = item.get_object().contains(kPatch);
      if (directive == "merge") {
        return refuse(failure("merging lists cannot yet be specified in the patch"));
      }
      if (special && directive != "delete" && directive != "replace") {
        return refuse(unknown_directive(item));
      }
      if (directive != "replace" && !item.get_object().contains(identity.key)) {
        return refuse(failure(fmt::format("map: {} does not contain declared merge key: {}",
                                          go_text(item), identity.key)));
      }
      replaces = replaces || directive == "replace";
      if (!special) changes.push_back(item);
      if (directive == "delete") {
        for (auto one = original.begin(); one != original.end();) {
          one = identity.same(*one, item) ? original.erase(one) : one + 1;
        }
      }
    }
    if (replaces) return changes;
    Array merged = original;
    for (const Value& item : changes) {
      const std::size_t at = identity.index(merged, item);
      if (at == merged.size()) {
        merged.push_back(without_directives(item, false));
        continue;
      }
      Outcome<Value> one = map(type.item(), std::move(merged[at].get_object()), item);
      if (!one) return one;
      merged[at] = std::move(*one);
    }
    return in_order(merged, changes, original, identity);
  }
};

}  // namespace

Outcome<Value> strategic_merge(Value object, const Value& patch, const ServedKind& served) {
  return StrategicMerge().map(FieldType(served), std::move(object.get_object()), patch);
}

}  // namespace berth::sim::kube
