#include "admission/pod_patch.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "wire/patch.h"

namespace berth::admission {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

Value json(std::string_view text) { return wire::parse_json(text).value(); }

TEST(PodPatch, MapsThatAreMissingOrNullAreMade) {
  for (const char* text : {R"({"metadata":{"name":"a"}})", R"({"metadata":{"labels":null}})",
                           R"({"metadata":{"labels":{"app":"a"}}})"}) {
    const Value before = json(text);
    Value after = before;
    set_label(after, "a.example/b", "1");
    set_annotation(after, "c", "2");
    EXPECT_EQ(label_of(after, "a.example/b"), "1");
    EXPECT_TRUE(has_annotation(after, "c"));
    EXPECT_FALSE(has_annotation(before, "c"));
    EXPECT_EQ(wire::apply_json_patch(before, patch_between(before, after)).value(), after);
  }
}

TEST(PodPatch, VariablesComeFirstAndReplaceThoseOfTheirName) {
  Value pod = json(R"json({"spec":{
      "initContainers":[{"name":"i"}],
      "containers":[{"name":"a","env":[{"name":"MINE","value":"$(ONE)"},
                                       {"name":"TWO","value":"old"},
                                       {"name":"TWO","value":"older"}]}]}})json");
  const Array variables{plain_variable("ONE", "1"), plain_variable("TWO", "2"),
                        field_variable("IP", "status.hostIP")};
  set_variables(pod, variables);
  EXPECT_EQ(*wire::find(pod, "/spec/initContainers/0/env"), Value(variables));
  const auto name = [&](int i) {
    return wire::string_at(pod, fmt::format("/spec/containers/0/env/{}/name", i));
  };
  EXPECT_EQ(name(0), "ONE");
  EXPECT_EQ(name(1), "IP");
  EXPECT_EQ(name(2), "MINE");
  EXPECT_EQ(name(3), "TWO");
  EXPECT_EQ(name(4), "");
  EXPECT_EQ(wire::string_at(pod, "/spec/containers/0/env/3/value"), "2");
  EXPECT_EQ(wire::string_at(pod, "/spec/containers/0/env/1/valueFrom/fieldRef/fieldPath"),
            "status.hostIP");
  const Value before = pod;
  set_variables(pod, variables);
  EXPECT_TRUE(patch_between(before, pod).empty());
}

}  // namespace
}  // namespace berth::admission
