#include "admission/pod_patch.h"

#include <algorithm>
#include <boost/json.hpp>

#include "wire/patch.h"

namespace berth::admission {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

std::string pointer_to(std::string_view map, std::string_view key) {
  return fmt::format("/metadata/{}/{}", map, wire::escape_pointer_step(key));
}

void set_variables_of(Object& container, const Array& variables) {
  Value& env = container["env"];
  if (!env.is_array()) env = Array{};
  Array& present = env.get_array();
  std::ptrdiff_t added = 0;
  for (const Value& variable : variables) {
    const auto is_same = [&](const Value& other) {
      return wire::string_at(other, "/name") == wire::string_at(variable, "/name");
    };
    const auto same = std::ranges::find_if(present, is_same);
    if (same == present.end()) {
      present.insert(present.begin() + added++, variable);
      continue;
    }
    *same = variable;
    for (auto again = same + 1; again != present.end();) {  // the last one would count
      again = is_same(*again) ? present.erase(again) : again + 1;
    }
  }
}

}  // namespace

std::string_view annotation_of(const Value& pod, std::string_view key) {
  return wire::string_at(pod, pointer_to("annotations", key));
}

std::string_view label_of(const Value& pod, std::string_view key) {
  return wire::string_at(pod, pointer_to("labels", key));
}

bool has_annotation(const Value& pod, std::string_view key) {
  return wire::find(pod, pointer_to("annotations", key)) != nullptr;
}

void set_annotation(Value& pod, std::string_view key, std::string_view value) {
  (void)wire::set_at(pod, pointer_to("annotations", key), Value(value));
}

void set_label(Value& pod, std::string_view key, std::string_view value) {
  (void)wire::set_at(pod, pointer_to("labels", key), Value(value));
}

void set_variables(Value& pod, const Array& variables) {
  for_each_container(pod, [&](Value& container) {
    if (container.is_object()) set_variables_of(container.get_object(), variables);
  });
}

Object plain_variable(std::string_view name, std::string_view value) {
  return {{"name", name}, {"value", value}};
}

Object field_variable(std::string_view name, std::string_view field_path) {
  return {
      {"name", name},
      {"valueFrom", Object{{"fieldRef", Object{{"apiVersion", "v1"}, {"fieldPath", field_path}}}}}};
}

Array patch_between(const Value& before, const Value& after) {
  return wire::diff_json_patch(before, after);
}

}  // namespace berth::admission
