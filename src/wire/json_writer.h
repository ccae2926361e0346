// Writing a document into a text that is being put together, as `to_json` writes it. Pure.
#pragma once

#include <string>

#include "wire/value.h"

namespace berth::wire {

void append_json(std::string& out, const Value& value);

}  // namespace berth::wire
