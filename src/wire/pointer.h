// JSON Pointer (RFC 6901) by steps, for code that changes documents. Internal to `wire`: others use
// `find` and `set_at` of value.h. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/value.h"

namespace berth::wire {

// "/a/b~1c" as {"a", "b/c"}; "" as no steps.
Result<std::vector<std::string>> pointer_steps(std::string_view pointer);
// Digits without a leading zero.
std::optional<std::size_t> array_index(std::string_view step);
// The field or element of that name; nullptr when there is none.
const Value* child_of(const Value& parent, std::string_view step);
Value* child_of(Value& parent, std::string_view step);
// Takes that field or element out; false when there is none. Fields keep their order.
bool remove_child(Value& parent, std::string_view step);

}  // namespace berth::wire
