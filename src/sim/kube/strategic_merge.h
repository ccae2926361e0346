// Strategic merge patches, which kubectl sends for built-in kinds: a merge patch that merges lists
// by key and knows directives ($patch, $retainKeys, $deleteFromPrimitiveList, $setElementOrder).
// Pure.
#pragma once

#include "sim/kube/kinds.h"
#include "wire/value.h"

namespace berth::sim::kube {

Outcome<wire::Value> strategic_merge(wire::Value object, const wire::Value& patch,
                                     const ServedKind& served);

}  // namespace berth::sim::kube
