// Counts reconciles that failed, under the name that users of bcs-ingress-controller know.
#pragma once

#include <string>

#include "kube/runtime/controller.h"
#include "metrics/registry.h"

namespace berth::frontend {

// Options of the controller of this kind of objects. The registry may be null, and outlives it.
kube::ControllerOptions counting_failures(const std::string& object, int workers,
                                          metrics::Registry* registry);

}  // namespace berth::frontend
