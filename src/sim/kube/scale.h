// The `scale` subresource: the replicas of an object as an autoscaling/v1 Scale, whatever its kind.
// Pure.
#pragma once

#include "sim/kube/kinds.h"
#include "wire/value.h"

namespace berth::sim::kube {

// What answers of the subresource are written as.
const ServedKind& scale_kind();

// The Scale of an object. `lenient` takes a custom object without replicas for one with none; the
// real server refuses to show it, but lets it be scaled.
Outcome<wire::Value> scale_of_object(const ServedKind& served, const wire::Value& object,
                                     bool lenient = false);
// The object with the replicas of the Scale that a client wrote.
Outcome<wire::Value> apply_scale(const ServedKind& served, const wire::Value& object,
                                 const wire::Value& scale);

}  // namespace berth::sim::kube
