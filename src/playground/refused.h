// Rooms that are wanted and were refused: they are no Pods, and are seen in their workload and its
// events alone. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "playground/overview.h"

namespace berth::playground {

// By uid of the workload that controls them: how many Pods there are.
using PodCounts = std::map<std::string, std::int64_t>;
PodCounts count_pods(const std::vector<wire::Value>& pods);

// True: it has fewer Pods than it wants.
bool is_short_of_pods(const wire::Value& workload, const PodCounts& counts);

// Those that are short of Pods and have the event that says why.
std::vector<RefusedRow> refused_rows(const std::vector<wire::Value>& workloads,
                                     const PodCounts& counts,
                                     const std::vector<wire::Value>& events);

}  // namespace berth::playground
