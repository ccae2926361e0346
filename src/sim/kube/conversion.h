// Built-in kinds that are served in two versions: Ingress in v1 and v1beta1, Event in the core
// group and in events.k8s.io. Pure.
#pragma once

#include "sim/kube/kinds.h"
#include "wire/value.h"

namespace berth::sim::kube {

// The object, which is in its storage version, as `served` has it. Custom kinds look the same in
// all versions.
wire::Value in_served_version(const ServedKind& served, wire::Value object);
// The way back. Custom objects keep their version until they are stored.
void to_storage_version(const ServedKind& served, wire::Value& object);

}  // namespace berth::sim::kube
