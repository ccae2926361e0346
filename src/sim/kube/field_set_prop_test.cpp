// Sets of fields are sets, and their text says all of them.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/kube/field_set.h"
#include "wire/test_values.h"

namespace berth::sim::kube {
namespace {

void grow(FieldSet& set, const FieldPath* up, int depth) {
  for (int i = 1 + wire::pick(3); i > 0; --i) {
    const std::string name = wire::generated_key();
    const FieldPath path{up, name};
    if (wire::pick(3) > 0) set.insert(path);
    if (depth > 0) grow(set, &path, depth - 1);
  }
}

FieldSet generated_set() {
  FieldSet set;
  grow(set, nullptr, 3);
  return set;
}

RC_GTEST_PROP(FieldSetLaws, TheTextSaysAll, ()) {
  const FieldSet set = generated_set();
  const auto parsed = FieldSet::parse(set.text());
  RC_ASSERT(parsed.has_value());
  RC_ASSERT(*parsed == set);
  const auto json = wire::parse_json(set.text());
  RC_ASSERT(json.has_value());
  RC_ASSERT(FieldSet::from_json(*json) == set);
}

RC_GTEST_PROP(FieldSetLaws, TheAlgebraIsThatOfSets, ()) {
  const FieldSet a = generated_set();
  const FieldSet b = generated_set();
  const FieldSet both = a.intersected(b);
  RC_ASSERT(a.united(b) == b.united(a));
  RC_ASSERT(both == b.intersected(a));
  RC_ASSERT(a.without(b).united(both) == a);
  RC_ASSERT(a.without(b).intersected(b).empty());
  RC_ASSERT(a.united(b).intersected(a) == a);
  RC_ASSERT(a.united(b).size() + both.size() == a.size() + b.size());
  RC_ASSERT(a.united(a) == a);
}

RC_GTEST_PROP(FieldSetLaws, MembersAreCountedWithoutParsing, ()) {
  const FieldSet a = generated_set();
  const FieldSet b = generated_set();
  RC_ASSERT(FieldSet::shared_members(a.text(), b) == a.intersected(b).size());
}

}  // namespace
}  // namespace berth::sim::kube
