// What clients ask to learn what is served: versions, groups, resources, schemas and health. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "net/server.h"
#include "sim/kube/kinds.h"

namespace berth::sim::kube {

// The answer to GET of a path that is about no resource. `accept` decides between the lists of old
// and the aggregated one that has everything in a single answer.
Outcome<net::Reply> discover(std::string_view path, std::string_view accept,
                             const std::vector<KindPtr>& kinds);

}  // namespace berth::sim::kube
