// Whether a workload waits for ports, by what it says of itself, and how it is touched. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/client/resource.h"
#include "wire/value.h"

namespace berth::admission {

// The pools that its template names, if it has fewer Pods than it wants. A Pod may be missing for
// any reason; that it was refused a port is one of them.
std::vector<kube::ObjectKey> pools_awaited(const wire::Value& workload);

// On a workload that was touched: a ReplicaSet or StatefulSet has it as an annotation, a custom
// resource as the type of a condition.
inline constexpr std::string_view kRetryAnnotation = "berth.dev/retry";

// Merge patches of the status subresource, which change nothing but make the controller look. Both
// servers that matter take annotations of built-in kinds there too, and of custom resources the
// status alone.
wire::Value annotation_touch(const std::string& now);
// The other conditions stay; only onto the version that was read.
wire::Value condition_touch(const wire::Value& workload, const std::string& now);

}  // namespace berth::admission
