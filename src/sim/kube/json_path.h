// The part of JSONPath that printer columns use: ".spec.ports[0].name", ".spec.tags[*]",
// ".metadata.labels['a.b/c']", `.status.conditions[?(@.type=="Ready")].status`. Plain values, pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/value.h"

namespace berth::sim::kube {

class JsonPath {
 public:
  // Nothing when the text is not of that part.
  static std::optional<JsonPath> parse(std::string_view text);

  // The first value found; null when there is none.
  const wire::Value* first(const wire::Value& root) const;

 private:
  struct Step {
    enum class Kind : std::uint8_t { field, index, any, where } kind = Kind::field;
    std::string name{};  // of a field; of `where`, the pointer below the item
    std::string value{};
    std::int64_t index = 0;  // counts from the end when negative
  };
  static std::optional<Step> bracket(std::string_view inside);
  const wire::Value* first(const wire::Value& value, std::size_t step) const;

  std::vector<Step> steps_;
};

}  // namespace berth::sim::kube
