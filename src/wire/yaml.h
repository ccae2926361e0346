// YAML to and from Value, with the typing that Kubernetes uses (YAML 1.1 booleans, quoted text
// stays text).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wire/value.h"

namespace berth::wire {

// Exactly one document beside empty ones; empty text is null. Errors name line and column. Refused:
// keys that are there twice, keys that are no scalars, tags beyond YAML's own, nesting beyond
// kMaxDepth, and aliases that expand beyond all measure.
Result<Value> parse_yaml(std::string_view text);
// Documents separated by `---`; empty ones are left out. Accepts JSON too.
Result<std::vector<Value>> parse_yaml_documents(std::string_view text);
// Block style, keys in their order; text that would read as another type is quoted.
std::string to_yaml(const Value& value);

}  // namespace berth::wire
