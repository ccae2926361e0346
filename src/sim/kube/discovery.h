// What clients ask to learn what is served: versions, groups, resources and health. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/kube/kinds.h"

namespace berth::sim::kube {

// The answer to GET of a path that is about no resource: JSON, or "ok" for health.
Outcome<std::string> discover(std::string_view path, const std::vector<KindPtr>& kinds);

}  // namespace berth::sim::kube
