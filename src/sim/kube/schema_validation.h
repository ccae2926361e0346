// Checks of an object against its schema, with the sentences of the real server. Pure.
#pragma once

#include "sim/kube/schema.h"

namespace berth::sim::kube {

// `old` is null at creation; with it, fields with the rule `self == oldSelf` must not change.
Causes validate_schema(const wire::Value& object, const wire::Value* old, const Schema& schema);

// A default must be valid itself.
Causes validate_default(const wire::Value& value, const Schema& schema);

}  // namespace berth::sim::kube
