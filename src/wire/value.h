// Value: a JSON document in memory, for building, patching and small bodies. Hot paths use
// `wire/json_reader.h`.
//
// It is Boost.JSON's value under our name; the helpers below are the ways we reach into one without
// exceptions.
#pragma once

#include <boost/json/fwd.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::wire {

using Value = boost::json::value;
using Object = boost::json::object;
using Array = boost::json::array;

// Nesting deeper than this is refused: recursion over a document stays bounded.
inline constexpr std::size_t kMaxDepth = 128;

// The whole text must be one document, in UTF-8. Of fields with the same name the last one counts.
// Numbers beyond 64 bits or the range of a double are refused.
Result<Value> parse_json(std::string_view text);
// Numbers are written as Go writes them: a double without a fraction reads back as an integer.
std::string to_json(const Value& value);
std::string to_pretty_json(const Value& value);  // two spaces, as the API server's ?pretty=true

// By JSON Pointer ("/metadata/labels/app.kubernetes.io~1name"); nullptr when any step is missing.
const Value* find(const Value& root, std::string_view pointer);
Value* find(Value& root, std::string_view pointer);
// Empty when missing or of another type.
std::string_view string_at(const Value& root, std::string_view pointer);
std::optional<std::int64_t> int_at(const Value& root, std::string_view pointer);
std::optional<bool> bool_at(const Value& root, std::string_view pointer);
const Object* object_at(const Value& root, std::string_view pointer);
const Array* array_at(const Value& root, std::string_view pointer);
// An Object would become a Value of its own, to which the answer would point after its end.
const Value* find(const Object& root, std::string_view pointer) = delete;
std::string_view string_at(const Object& root, std::string_view pointer) = delete;
const Object* object_at(const Object& root, std::string_view pointer) = delete;
const Array* array_at(const Object& root, std::string_view pointer) = delete;
// Sets the value and makes the missing (or null) objects on the way. Existing elements of arrays
// can be stepped through and set; anything else fails and leaves the document as it was.
Result<> set_at(Value& root, std::string_view pointer, Value value);
// Removes a field or an element; false when there is none. Fields keep their order.
bool remove_at(Value& root, std::string_view pointer);

// "a/b~c" as one step of a pointer.
std::string escape_pointer_step(std::string_view key);

}  // namespace berth::wire
