// {"document": ..., "patch": ...} as a Pod: a patch without lists and directives merges as a merge
// patch does, and every other one gives an object or a refusal.
#include <boost/json.hpp>

#include "check.h"
#include "sim/kube/strategic_merge.h"
#include "wire/patch.h"

namespace {

using namespace berth;

bool is_plain(const wire::Value& patch) {
  if (patch.is_array()) return false;
  if (!patch.is_object()) return true;
  for (const auto& field : patch.get_object()) {
    if (std::string_view(field.key()).starts_with('$') || !is_plain(field.value())) return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const sim::kube::KindPtr pod = sim::kube::Kinds().find({"", "pods"});
  const auto input = wire::parse_json(fuzz::as_text(data, size));
  if (!input) return 0;
  const wire::Value* document = wire::find(*input, "/document");
  const wire::Value* patch = wire::find(*input, "/patch");
  if (document == nullptr || patch == nullptr) return 0;
  if (!document->is_object() || !patch->is_object()) return 0;
  const auto merged = sim::kube::strategic_merge(*document, *patch, {pod, &pod->versions.front()});
  if (!merged) {
    fuzz::check(!merged.error().message.empty(), "a refusal says why");
    return 0;
  }
  fuzz::check(merged->is_object(), "an object stays one");
  if (is_plain(*patch)) {
    fuzz::check(*merged == wire::apply_merge_patch(*document, *patch), "plain patches merge alike");
  }
  return 0;
}
