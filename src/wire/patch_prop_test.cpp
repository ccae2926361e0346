#include "wire/patch.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <stdexcept>

// The oracle asserts where a patch adds to a scalar; here that must not end the test.
inline void oracle_assert(bool condition) {
  if (!condition) throw std::logic_error("assertion of the oracle");
}
#define JSON_ASSERT(condition) oracle_assert(condition)
#include <nlohmann/json.hpp>

#include "wire/test_values.h"

namespace berth::wire {
namespace {

using Oracle = nlohmann::json;

Oracle to_oracle(const Value& value) { return Oracle::parse(to_json(value)); }

// Paths that often exist in the documents that generated_value makes.
std::string generated_path() {
  std::string path;
  const int steps = pick(4);
  for (int i = 0; i < steps; ++i) {
    const std::string step = pick(3) == 0 ? *rc::gen::element<std::string>("0", "1", "2", "-")
                                          : escape_pointer_step(generated_key());
    path += '/' + step;
  }
  return path;
}

Value generated_patch() {
  Array patch;
  const int size = pick(5);
  for (int i = 0; i < size; ++i) {
    Object operation;
    operation["op"] =
        *rc::gen::element<std::string>("add", "add", "remove", "replace", "move", "copy", "test");
    operation["path"] = generated_path();
    operation["from"] = generated_path();
    operation["value"] = generated_value({.depth = 1});
    patch.push_back(std::move(operation));
  }
  return patch;
}

RC_GTEST_PROP(JsonPatchProperties, DiffLeadsFromOneToTheOther, ()) {
  const Value from = generated_value();
  const Value to = generated_value();
  const auto patched = apply_json_patch(from, diff_json_patch(from, to));
  RC_ASSERT(patched.has_value());
  RC_ASSERT(to_json(*patched).size() == to_json(to).size());
  RC_ASSERT(*patched == to);
}

RC_GTEST_PROP(JsonPatchProperties, DiffOfEqualsIsEmpty, ()) {
  const Value value = generated_value();
  RC_ASSERT(diff_json_patch(value, value).empty());
}

RC_GTEST_PROP(JsonPatchProperties, OracleFollowsOurDiff, ()) {
  const Value from = generated_value();
  const Value to = generated_value();
  RC_ASSERT(to_oracle(from).patch(to_oracle(diff_json_patch(from, to))) == to_oracle(to));
}

RC_GTEST_PROP(JsonPatchProperties, AgreesWithTheOracle, ()) {
  const Value document = generated_value();
  const Value patch = generated_patch();
  const auto ours = apply_json_patch(document, patch);
  std::optional<Oracle> theirs;
  try {
    theirs = to_oracle(document).patch(to_oracle(patch));
  } catch (const std::exception&) {
    return;
  }
  // Where only we refuse, the oracle removed something from a scalar.
  if (ours) RC_ASSERT(to_oracle(*ours) == *theirs);
}

RC_GTEST_PROP(MergePatchProperties, AgreesWithTheOracle, ()) {
  const Value document = generated_value();
  const Value patch = generated_value();
  Oracle theirs = to_oracle(document);
  theirs.merge_patch(to_oracle(patch));
  RC_ASSERT(to_oracle(apply_merge_patch(document, patch)) == theirs);
}

RC_GTEST_PROP(MergePatchProperties, DiffLeadsFromOneToTheOther, ()) {
  const Value from = generated_value();
  const Value to = generated_value({.nulls = false});
  RC_ASSERT(apply_merge_patch(from, diff_merge_patch(from, to)) == to);
}

RC_GTEST_PROP(MergePatchProperties, ApplyingTwiceChangesNothing, ()) {
  const Value patch = generated_value();
  const Value once = apply_merge_patch(generated_value(), patch);
  RC_ASSERT(apply_merge_patch(once, patch) == once);
}

}  // namespace
}  // namespace berth::wire
