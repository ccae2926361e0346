#include "wire/patch.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <span>

#include "wire/pointer.h"

namespace berth::wire {
namespace {

// What all `copy` operations of one patch may add up to, in values and bytes of text: a few copies
// of a document into itself would fill the memory. kube-apiserver stops at 3 MiB as well.
constexpr std::size_t kMaxCopied = 3u << 20;

using Steps = std::vector<std::string>;

struct Extent {
  std::size_t depth = 0;   // containers inside each other
  std::size_t weight = 1;  // values and bytes of text
};

Extent extent_of(const Value& value) {
  Extent extent;
  const auto include = [&](const Value& child) {
    const Extent inner = extent_of(child);
    extent.depth = std::max(extent.depth, inner.depth);
    extent.weight += inner.weight;
  };
  if (const Object* object = value.if_object()) {
    for (const auto& field : *object) {
      extent.weight += field.key().size();
      include(field.value());
    }
    ++extent.depth;
  } else if (const Array* array = value.if_array()) {
    for (const Value& item : *array) include(item);
    ++extent.depth;
  } else if (const auto* text = value.if_string()) {
    extent.weight += text->size();
  }
  return extent;
}

// Equality of `test`: numbers count by value, so 1 equals 1.0.
bool same(const Value& a, const Value& b) {
  if (a.is_double() != b.is_double() && a.is_number() && b.is_number()) {
    return a.to_number<double>() == b.to_number<double>();
  }
  if (a.is_array() && b.is_array()) {
    return std::ranges::equal(a.get_array(), b.get_array(), same);
  }
  if (a.is_object() && b.is_object()) {
    if (a.get_object().size() != b.get_object().size()) return false;
    return std::ranges::all_of(a.get_object(), [&](const auto& field) {
      const Value* other = b.get_object().if_contains(field.key());
      return other != nullptr && same(field.value(), *other);
    });
  }
  return a == b;
}

Failure missing(const Steps& steps) {
  return fail(Code::invalid, "there is nothing at '/{}'", fmt::join(steps, "/"));
}

Value* find_steps(Value& root, std::span<const std::string> steps) {
  Value* at = &root;
  for (const std::string& step : steps) {
    at = child_of(*at, step);
    if (at == nullptr) break;
  }
  return at;
}

class Patcher {
 public:
  explicit Patcher(Value& document) : document_(document) {}

  Result<> apply(const Value& operation) {
    std::string_view op = string_at(operation, "/op");
    auto path = steps_of(operation, "path");
    if (!path) return pass(path);
    if (op == "remove") return remove(*path);
    if (op == "move" || op == "copy") return transfer(operation, *path, op == "move");
    if (op != "add" && op != "replace" && op != "test") {
      return fail(Code::invalid, "op must be add, remove, replace, move, copy or test");
    }
    const Value* value = find(operation, "/value");
    if (value == nullptr) return fail(Code::invalid, "value is missing");
    if (op == "test") return test(*path, *value);
    if (op == "add") return add(*path, *value);
    return replace(*path, *value);
  }

 private:
  static Result<Steps> steps_of(const Value& operation, std::string_view field) {
    const auto* object = operation.if_object();
    const Value* pointer = object == nullptr ? nullptr : object->if_contains(field);
    if (pointer == nullptr || !pointer->is_string()) {
      return fail(Code::invalid, "{} is missing or no string", field);
    }
    return pointer_steps(pointer->get_string());
  }

  static Result<> check_depth(const Steps& path, const Value& value) {
    const std::size_t depth = path.size() + extent_of(value).depth;
    if (depth <= kMaxDepth) return {};
    return fail(Code::invalid, "the result would nest {} deep, {} are allowed", depth, kMaxDepth);
  }

  Result<> add(const Steps& path, Value value) {
    if (auto checked = check_depth(path, value); !checked) return checked;
    if (path.empty()) {
      document_ = std::move(value);
      return {};
    }
    Value* parent = find_steps(document_, std::span(path).first(path.size() - 1));
    if (parent == nullptr) return missing({path.begin(), path.end() - 1});
    if (Object* object = parent->if_object()) {
      object->insert_or_assign(path.back(), std::move(value));
      return {};
    }
    Array* array = parent->if_array();
    if (array == nullptr) return fail(Code::invalid, "the parent is neither object nor array");
    const auto index = path.back() == "-" ? array->size() : array_index(path.back());
    if (!index || *index > array->size()) {
      return fail(Code::invalid, "'{}' is no index of an array of {}", path.back(), array->size());
    }
    array->insert(array->begin() + static_cast<std::ptrdiff_t>(*index), std::move(value));
    return {};
  }

  Result<> remove(const Steps& path) {
    if (path.empty()) return fail(Code::invalid, "the whole document cannot be removed");
    Value* parent = find_steps(document_, std::span(path).first(path.size() - 1));
    if (parent == nullptr || !remove_child(*parent, path.back())) return missing(path);
    return {};
  }

  Result<> replace(const Steps& path, const Value& value) {
    if (auto checked = check_depth(path, value); !checked) return checked;
    Value* at = find_steps(document_, path);
    if (at == nullptr) return missing(path);
    *at = value;
    return {};
  }

  Result<> transfer(const Value& operation, const Steps& path, bool move) {
    auto from = steps_of(operation, "from");
    if (!from) return pass(from);
    Value* source = find_steps(document_, *from);
    if (source == nullptr) return missing(*from);
    if (!move) {
      copied_ += extent_of(*source).weight;
      if (copied_ > kMaxCopied) {
        return fail(Code::invalid, "the patch copies more than {} values and bytes", kMaxCopied);
      }
      return add(path, *source);
    }
    if (*from == path) return {};
    if (from->size() < path.size() && std::equal(from->begin(), from->end(), path.begin())) {
      return fail(Code::invalid, "a value cannot move into itself");
    }
    Value value = std::move(*source);
    if (auto removed = remove(*from); !removed) return removed;
    return add(path, std::move(value));
  }

  Result<> test(const Steps& path, const Value& value) {
    if (const Value* at = find_steps(document_, path)) {
      if (same(*at, value)) return {};
      return fail(Code::precondition, "the value is another one");
    }
    // The document itself is never missing, so the path has a last step here.
    const Value* parent = find_steps(document_, std::span(path).first(path.size() - 1));
    if (value.is_null() && parent != nullptr && parent->is_object()) return {};
    return fail(Code::precondition, "there is nothing");
  }

  Value& document_;
  std::size_t copied_ = 0;
};

Object operation(std::string_view op, std::string_view path) {
  return Object{{"op", op}, {"path", path}};
}
Object operation(std::string_view op, std::string_view path, const Value& value) {
  return Object{{"op", op}, {"path", path}, {"value", value}};
}

void diff_into(Array& out, const std::string& path, const Value& from, const Value& to) {
  if (from == to) return;
  const Object* before = from.if_object();
  const Object* after = to.if_object();
  if (before != nullptr && after != nullptr) {
    for (const auto& field : *before) {
      const std::string child = path + '/' + escape_pointer_step(field.key());
      if (const Value* now = after->if_contains(field.key())) {
        diff_into(out, child, field.value(), *now);
      } else {
        out.push_back(operation("remove", child));
      }
    }
    for (const auto& field : *after) {
      if (before->contains(field.key())) continue;
      const std::string child = path + '/' + escape_pointer_step(field.key());
      out.push_back(operation("add", child, field.value()));
    }
    return;
  }
  if (from.is_array() && to.is_array() && from.get_array().size() == to.get_array().size()) {
    for (std::size_t i = 0; i < from.get_array().size(); ++i) {
      diff_into(out, fmt::format("{}/{}", path, i), from.get_array()[i], to.get_array()[i]);
    }
    return;
  }
  out.push_back(operation("replace", path, to));
}

// Fields that are null mean "remove" in a merge patch, at any depth but inside arrays.
Value without_nulls(const Value& value) {
  const Object* object = value.if_object();
  if (object == nullptr) return value;
  Object out;
  for (const auto& field : *object) {
    if (!field.value().is_null()) out.emplace(field.key(), without_nulls(field.value()));
  }
  return out;
}

void merge_into(Value& target, const Value& patch) {
  const Object* changes = patch.if_object();
  if (changes == nullptr) {
    target = patch;
    return;
  }
  if (!target.is_object()) target.emplace_object();
  Object& object = target.get_object();
  for (const auto& change : *changes) {
    if (!change.value().is_null()) {
      merge_into(object[change.key()], change.value());
    } else if (const auto found = object.find(change.key()); found != object.end()) {
      object.stable_erase(found);
    }
  }
}

}  // namespace

Result<Value> apply_json_patch(Value document, const Value& patch) {
  const Array* operations = patch.if_array();
  if (operations == nullptr) return fail(Code::invalid, "a JSON Patch must be an array");
  if (operations->size() > kMaxPatchOperations) {
    return fail(Code::invalid, "a JSON Patch of {} operations; {} are allowed", operations->size(),
                kMaxPatchOperations);
  }
  Patcher patcher(document);
  for (std::size_t i = 0; i < operations->size(); ++i) {
    const Value& operation = (*operations)[i];
    auto applied = patcher.apply(operation);
    if (applied) continue;
    Error error = std::move(applied.error());
    error.message = fmt::format("op {} ({} {}): {}", i, string_at(operation, "/op"),
                                string_at(operation, "/path"), error.message);
    return fail(std::move(error));
  }
  return document;
}

Array diff_json_patch(const Value& from, const Value& to) {
  Array operations;
  diff_into(operations, "", from, to);
  if (operations.size() > kMaxPatchOperations) {
    operations.clear();
    operations.push_back(operation("replace", "", to));
  }
  return operations;
}

Value apply_merge_patch(Value document, const Value& patch) {
  merge_into(document, patch);
  return document;
}

Value diff_merge_patch(const Value& from, const Value& to) {
  const Object* before = from.if_object();
  const Object* after = to.if_object();
  if (before == nullptr || after == nullptr) return without_nulls(to);
  Object patch;
  for (const auto& field : *before) {
    if (!after->contains(field.key())) patch.emplace(field.key(), nullptr);
  }
  for (const auto& field : *after) {
    const Value* old = before->if_contains(field.key());
    if (old == nullptr) {
      if (!field.value().is_null()) patch.emplace(field.key(), without_nulls(field.value()));
    } else if (*old != field.value()) {
      Value change = diff_merge_patch(*old, field.value());
      const bool nothing = old->is_object() && change.is_object() && change.get_object().empty();
      if (!nothing) patch.emplace(field.key(), std::move(change));
    }
  }
  return patch;
}

}  // namespace berth::wire
