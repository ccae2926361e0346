// The definition of GameStatefulSet (tkex.tencent.com/v1alpha1) for a cluster that has none: users
// bring the kind with them, and the playground lets its objects in as they are.
#pragma once

#include <string_view>

namespace berth::playground {

extern const std::string_view kGameStatefulSetDefinition;  // YAML

}  // namespace berth::playground
