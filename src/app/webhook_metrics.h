// Times and counts of our webhooks, under the names that users of bcs-ingress-controller know.
#pragma once

#include <string>

#include "kube/admission/router.h"
#include "metrics/registry.h"

namespace berth::app {

// The handler, with each of its answers counted and timed. The registry outlives it.
kube::AdmissionHandler timed(metrics::Registry& registry, const std::string& path,
                             kube::AdmissionHandler handler);

}  // namespace berth::app
