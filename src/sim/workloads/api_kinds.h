// The kinds that a server has, as its discovery tells. For whoever works on all of them.
#pragma once

#include <vector>

#include "kube/client/client.h"

namespace berth::workloads {

// One version of each kind that can be listed, watched and deleted.
Result<std::vector<kube::ResourceType>> discover_kinds(const Context& context,
                                                       kube::Client& client);

}  // namespace berth::workloads
