// How a YAML scalar becomes a JSON value. Internal to `wire`. Pure functions.
#pragma once

#include <string_view>

#include "wire/value.h"

namespace berth::wire {

// A plain (unquoted) scalar, typed as kubectl does it: YAML 1.1 words for booleans, numbers in Go's
// notations (0x1f, 0o17, 017, 0b1, 1_000), the rest text. Infinities and NaN have no JSON form and
// stay text, which the fields that expect numbers refuse.
Value resolve_plain_scalar(std::string_view text);

}  // namespace berth::wire
