// A body in protobuf, from a step that says it by field number.
#pragma once

#include <string>

#include "wire/value.h"

namespace berth::parity {

// `of` is [apiVersion, kind]; `fields` maps a field's number to text, an integer, a map of the same
// form (a message), or a list of these (a field that is repeated).
std::string protobuf_message(const wire::Value& of, const wire::Value& fields);

}  // namespace berth::parity
