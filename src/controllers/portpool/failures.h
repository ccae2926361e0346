// Counts reconciles that failed, under the name that users of bcs-ingress-controller know.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "kube/client/resource.h"
#include "metrics/registry.h"

namespace berth::controllers::portpool {

// For ControllerOptions::on_error. The registry may be null, and outlives the function.
std::function<void(const kube::ObjectKey& key, const Error& error)> count_failures(
    metrics::Registry* registry, std::string object);

}  // namespace berth::controllers::portpool
