// {"document": ..., "patch": ...}: we and another library merge the same, and a difference leads
// from one document to the other.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <nlohmann/json.hpp>

#include "check.h"
#include "wire/patch.h"

namespace {

using namespace berth;
using Oracle = nlohmann::json;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = wire::parse_json(fuzz::as_text(data, size));
  if (!input) return 0;
  const wire::Value* document = wire::find(*input, "/document");
  const wire::Value* patch = wire::find(*input, "/patch");
  if (document == nullptr || patch == nullptr) return 0;
  const wire::Value ours = wire::apply_merge_patch(*document, *patch);
  Oracle theirs = Oracle::parse(wire::to_json(*document));
  theirs.merge_patch(Oracle::parse(wire::to_json(*patch)));
  fuzz::check(Oracle::parse(wire::to_json(ours)) == theirs, "both merge the same");

  // A merge patch applied to nothing is a document without nulls: a difference can express it.
  const wire::Value target = wire::apply_merge_patch(nullptr, *patch);
  const wire::Value change = wire::diff_merge_patch(*document, target);
  fuzz::check(wire::apply_merge_patch(*document, change) == target, "the difference leads there");
  return 0;
}
