// {"document": ..., "patch": [...]}: where we and another library both apply the patch, the results
// are the same.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <optional>
#include <stdexcept>

// The other library asserts where a patch adds to a scalar; that is no finding.
inline void oracle_assert(bool condition) {
  if (!condition) throw std::logic_error("assertion of the oracle");
}
#define JSON_ASSERT(condition) oracle_assert(condition)
#include <nlohmann/json.hpp>

#include "check.h"
#include "wire/patch.h"

namespace {

using namespace berth;
using Oracle = nlohmann::json;

std::optional<Oracle> oracle_result(const wire::Value& document, const wire::Value& patch) {
  try {
    return Oracle::parse(wire::to_json(document)).patch(Oracle::parse(wire::to_json(patch)));
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = wire::parse_json(fuzz::as_text(data, size));
  if (!input) return 0;
  const wire::Value* document = wire::find(*input, "/document");
  const wire::Value* patch = wire::find(*input, "/patch");
  if (document == nullptr || patch == nullptr) return 0;
  const auto ours = wire::apply_json_patch(*document, *patch);
  if (!ours) return 0;
  fuzz::check(wire::parse_json(wire::to_json(*ours)).has_value(), "the result can be read again");
  if (const auto theirs = oracle_result(*document, *patch)) {
    fuzz::check(Oracle::parse(wire::to_json(*ours)) == *theirs, "both patch the same");
  }
  const auto there = wire::apply_json_patch(*document, wire::diff_json_patch(*document, *ours));
  fuzz::check(there.has_value() && *there == *ours, "the difference leads there");
  return 0;
}
