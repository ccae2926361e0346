// Changes to a Pod under admission. Each handler works on a copy of the Pod with these functions
// and answers with the patch that leads from the one to the other, so that maps and lists that are
// missing, null or there already need no cases of their own. Pure functions.
#pragma once

#include <string_view>

#include "wire/value.h"

namespace berth::admission {

// Empty when it is not there.
std::string_view annotation_of(const wire::Value& pod, std::string_view key);
std::string_view label_of(const wire::Value& pod, std::string_view key);
bool has_annotation(const wire::Value& pod, std::string_view key);

void set_annotation(wire::Value& pod, std::string_view key, std::string_view value);
void set_label(wire::Value& pod, std::string_view key, std::string_view value);

// Sets these entries of `env` in every container and init container. One of the same name is
// replaced where it stands; new ones come first, so that the container's own variables can refer to
// them as $(NAME).
void set_variables(wire::Value& pod, const wire::Array& variables);
// {"name": ..., "value": ...}
wire::Object plain_variable(std::string_view name, std::string_view value);
// {"name": ..., "valueFrom": {"fieldRef": ...}}
wire::Object field_variable(std::string_view name, std::string_view field_path);

// Calls `visit(container)` for each container, then for each init container, sidecars included.
// `Pod` is a wire::Value, const or not.
template <class Pod, class Visit>
void for_each_container(Pod& pod, Visit&& visit) {
  for (const std::string_view list : {"/spec/containers", "/spec/initContainers"}) {
    auto* containers = wire::find(pod, list);
    if (!containers || !containers->is_array()) continue;
    for (auto& container : containers->get_array()) visit(container);
  }
}

// The JSON Patch that turns one into the other; empty when they are equal.
wire::Array patch_between(const wire::Value& before, const wire::Value& after);

}  // namespace berth::admission
