// What the real server does to objects of built-in kinds on the way in: defaults, the first status,
// and the checks that our users and controllers meet. Pure.
#pragma once

#include "sim/kube/kinds.h"
#include "wire/value.h"

namespace berth::sim::kube {

// Decoding into Go's structs drops nulls; defaults follow.
void set_builtin_defaults(const Kind& kind, wire::Value& object);
// What the admission of every cluster adds. It comes after the defaults: nobody owns it.
void set_admission_defaults(const Kind& kind, wire::Value& object);
// Status and the like that clients cannot choose at creation.
void prepare_builtin_create(const Kind& kind, wire::Value& object);
// `old` is null at creation.
Causes validate_builtin(const Kind& kind, const wire::Value& object, const wire::Value* old);

}  // namespace berth::sim::kube
