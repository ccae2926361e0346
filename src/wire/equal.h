// Whether two documents are the same. Pure.
#pragma once

#include "wire/value.h"

namespace berth::wire {

// As `==`, which copies every field of an object before it looks at it (Boost 1.81).
bool equal(const Value& a, const Value& b);

}  // namespace berth::wire
