// CustomResourceDefinitions: what makes one valid, and the kind that it adds. Pure.
#pragma once

#include "base/time.h"
#include "sim/kube/kinds.h"
#include "wire/value.h"

namespace berth::sim::kube {

extern const GroupResource kCustomResourceDefinitions;

// `old` is null at creation.
Causes validate_crd(const wire::Value& crd, const wire::Value* old);
// Accepts the names at once and marks the definition as established. `old` is null at creation.
void establish_crd(wire::Value& crd, const wire::Value* old, WallTime now);
// Of a valid definition.
Kind kind_of_crd(const wire::Value& crd);

}  // namespace berth::sim::kube
