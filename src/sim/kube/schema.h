// A structural schema of a custom kind, and what the server does with it: prune, default, validate.
//
// Parsed once when the CustomResourceDefinition is written; immutable afterwards. Of the validation
// rules in CEL, `self == oldSelf` is known; a definition with another rule is refused.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/kube/api_error.h"
#include "sim/kube/pattern.h"
#include "wire/value.h"

namespace berth::sim::kube {

class Schema {
 public:
  // Adds what is wrong with the schema to `causes`; the result is usable only if there was nothing.
  static std::shared_ptr<const Schema> parse(const wire::Value& openapi, const std::string& path,
                                             Causes& causes);

  // The schema of a field, declared or through additionalProperties; null when there is none.
  const Schema* child(std::string_view field) const;
  // A rule lies here or below.
  bool has_rules() const;

  std::string type{};
  bool nullable = false;
  bool preserve_unknown = false;
  bool int_or_string = false;
  bool embedded = false;
  bool atomic_map = false;
  std::optional<wire::Value> default_value{};
  std::map<std::string, std::shared_ptr<const Schema>, std::less<>> properties{};
  std::shared_ptr<const Schema> additional{};
  bool additional_any = false;  // additionalProperties: true
  std::shared_ptr<const Schema> items{};
  std::vector<std::string> required{};
  wire::Array enumeration{};
  std::optional<double> minimum{}, maximum{}, multiple_of{};
  bool exclusive_minimum = false, exclusive_maximum = false;
  std::optional<std::int64_t> min_length{}, max_length{}, min_items{}, max_items{},
      min_properties{}, max_properties{};
  std::optional<Pattern> pattern{};
  std::string list_type{};
  std::vector<std::string> list_map_keys{};
  // `self == oldSelf`, and what to say when it does not hold.
  bool immutable = false;
  std::string immutable_message{};
};

// Removes unknown fields, metadata aside, and reports their paths in order.
void prune(wire::Value& object, const Schema& schema, std::vector<std::string>& unknown);
void apply_defaults(wire::Value& object, const Schema& schema);

}  // namespace berth::sim::kube
