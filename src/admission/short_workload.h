// Whether a workload waits for ports, by what it says of itself. Pure.
#pragma once

#include <vector>

#include "kube/client/resource.h"
#include "wire/value.h"

namespace berth::admission {

// The pools that its template names, if it has fewer Pods than it wants. A Pod may be missing for
// any reason; that it was refused a port is one of them.
std::vector<kube::ObjectKey> pools_awaited(const wire::Value& workload);

}  // namespace berth::admission
