// The merge that server-side apply does: objects field by field, lists of objects by their keys,
// sets of scalars by value, everything else replaced. Which fields a manager owned before is not
// known here, so a field that is left out stays. Pure.
#pragma once

#include "sim/kube/kinds.h"
#include "wire/value.h"

namespace berth::sim::kube {

wire::Value merge_by_keys(const wire::Value& object, const wire::Value& applied,
                          const ServedKind& served);

}  // namespace berth::sim::kube
