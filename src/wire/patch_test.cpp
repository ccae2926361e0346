#include "wire/patch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace berth::wire {
namespace {

using testing::HasSubstr;

Value json(std::string_view text) {
  auto value = parse_json(text);
  EXPECT_TRUE(value) << text;
  return value ? *value : Value();
}

struct Case {
  std::string_view name, document, patch, expected;
};

constexpr auto name_of = [](const auto& test) { return std::string(test.param.name); };

class JsonPatchCases : public testing::TestWithParam<Case> {};

TEST_P(JsonPatchCases, GivesTheDocumentOfTheStandard) {
  const auto patched = apply_json_patch(json(GetParam().document), json(GetParam().patch));
  ASSERT_TRUE(patched) << patched.error().to_string();
  EXPECT_EQ(to_json(*patched), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Rfc6902, JsonPatchCases,
    testing::Values(
        Case{"add_field", R"({"a":1})", R"([{"op":"add","path":"/b","value":2}])",
             R"({"a":1,"b":2})"},
        Case{"add_replaces", R"({"a":1})", R"([{"op":"add","path":"/a","value":2}])", R"({"a":2})"},
        Case{"add_into_array", R"([1,3])", R"([{"op":"add","path":"/1","value":2}])", "[1,2,3]"},
        Case{"append", R"({"l":[1]})", R"([{"op":"add","path":"/l/-","value":[2]}])",
             R"({"l":[1,[2]]})"},
        Case{"add_at_size", R"([1])", R"([{"op":"add","path":"/1","value":2}])", "[1,2]"},
        Case{"add_root", R"({"a":1})", R"([{"op":"add","path":"","value":[]}])", "[]"},
        Case{"remove_field", R"({"a":1,"b":2,"c":3})", R"([{"op":"remove","path":"/a"}])",
             R"({"b":2,"c":3})"},
        Case{"remove_item", R"([1,2,3])", R"([{"op":"remove","path":"/1"}])", "[1,3]"},
        Case{"replace", R"({"a":{"b":1}})", R"([{"op":"replace","path":"/a/b","value":null}])",
             R"({"a":{"b":null}})"},
        Case{"replace_root", "1", R"([{"op":"replace","path":"","value":2}])", "2"},
        Case{"move", R"({"a":{"x":1},"b":{}})", R"([{"op":"move","from":"/a/x","path":"/b/y"}])",
             R"({"a":{},"b":{"y":1}})"},
        Case{"move_in_array", R"([1,2,3])", R"([{"op":"move","from":"/0","path":"/2"}])",
             "[2,3,1]"},
        Case{"move_to_itself", R"({"a":1})", R"([{"op":"move","from":"/a","path":"/a"}])",
             R"({"a":1})"},
        Case{"move_up", R"({"a":{"b":{"c":1}}})", R"([{"op":"move","from":"/a/b","path":"/a"}])",
             R"({"a":{"c":1}})"},
        Case{"copy", R"({"a":[1]})", R"([{"op":"copy","from":"/a","path":"/b"}])",
             R"({"a":[1],"b":[1]})"},
        Case{"test_number_by_value", R"({"a":1})", R"([{"op":"test","path":"/a","value":1.0}])",
             R"({"a":1})"},
        Case{"test_object_in_any_order", R"({"o":{"a":1,"b":[2]}})",
             R"([{"op":"test","path":"/o","value":{"b":[2],"a":1}}])", R"({"o":{"a":1,"b":[2]}})"},
        Case{"test_null_of_missing", R"({"m":{}})",
             R"([{"op":"test","path":"/m/deletionTimestamp","value":null}])", R"({"m":{}})"},
        Case{"escapes", R"({"a/b":1,"m~n":2})",
             R"([{"op":"remove","path":"/a~1b"},{"op":"replace","path":"/m~0n","value":3}])",
             R"({"m~n":3})"},
        Case{"unknown_members", R"({})", R"([{"op":"add","path":"/a","value":1,"note":"x"}])",
             R"({"a":1})"}),
    name_of);

struct Refusal {
  std::string_view name, document, patch, message;
};

class JsonPatchRefusals : public testing::TestWithParam<Refusal> {};

TEST_P(JsonPatchRefusals, NamesTheOperation) {
  const auto patched = apply_json_patch(json(GetParam().document), json(GetParam().patch));
  ASSERT_FALSE(patched) << to_json(*patched);
  EXPECT_EQ(patched.error().code, Code::invalid);
  EXPECT_THAT(patched.error().message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Rfc6902, JsonPatchRefusals,
    testing::Values(
        Refusal{"no_array", "{}", "{}", "must be an array"},
        Refusal{"no_object", "{}", R"([1])", "op 0 ( ): path is missing"},
        Refusal{"unknown_op", "{}", R"([{"op":"merge","path":""}])", "op 0 (merge ): op must be"},
        Refusal{"no_value", "{}", R"([{"op":"add","path":"/a"}])", "value is missing"},
        Refusal{"no_from", "{}", R"([{"op":"move","path":"/a"}])", "from is missing"},
        Refusal{"bad_pointer", "{}", R"([{"op":"add","path":"a","value":1}])",
                "does not begin with '/'"},
        Refusal{"bad_escape", "{}", R"([{"op":"add","path":"/~2","value":1}])",
                "neither ~0 nor ~1"},
        Refusal{"missing_parent", "{}",
                R"([{"op":"test","path":"","value":{}},{"op":"add","path":"/a/b","value":1}])",
                "op 1 (add /a/b): there is nothing at '/a'"},
        Refusal{"missing_target", "{}", R"([{"op":"replace","path":"/spec/x","value":1}])",
                "op 0 (replace /spec/x): there is nothing"},
        Refusal{"remove_missing", "{}", R"([{"op":"remove","path":"/a"}])", "there is nothing"},
        Refusal{"remove_root", "{}", R"([{"op":"remove","path":""}])", "cannot be removed"},
        Refusal{"index_past_end", "[1]", R"([{"op":"add","path":"/2","value":1}])",
                "'2' is no index of an array of 1"},
        Refusal{"leading_zero", "[1]", R"([{"op":"replace","path":"/00","value":1}])",
                "there is nothing"},
        Refusal{"dash_is_no_element", "[1]", R"([{"op":"remove","path":"/-"}])",
                "there is nothing"},
        Refusal{"into_scalar", R"({"a":1})", R"([{"op":"add","path":"/a/b","value":1}])",
                "neither object nor array"},
        Refusal{"into_itself", R"({"a":{}})", R"([{"op":"move","from":"/a","path":"/a/b"}])",
                "into itself"}),
    name_of);

TEST(JsonPatch, FailedTestIsAPrecondition) {
  for (const std::string_view patch :
       {R"([{"op":"test","path":"/a","value":2}])", R"([{"op":"test","path":"/b","value":2}])",
        R"([{"op":"test","path":"/b/c","value":null}])",
        R"([{"op":"test","path":"/a","value":"1"}])"}) {
    const auto patched = apply_json_patch(json(R"({"a":1})"), json(patch));
    ASSERT_FALSE(patched) << patch;
    EXPECT_EQ(patched.error().code, Code::precondition) << patch;
  }
}

TEST(JsonPatch, BoundsTheNumberOfOperations) {
  Array patch(kMaxPatchOperations, json(R"({"op":"add","path":"/a","value":1})"));
  EXPECT_TRUE(apply_json_patch(Object(), patch));
  patch.push_back(patch.front());
  EXPECT_FALSE(apply_json_patch(Object(), patch));
}

TEST(JsonPatch, BoundsWhatCopiesAddUpTo) {
  // Each copies the document into itself: 40 of them would make 10^12 values.
  Array patch;
  for (int i = 0; i < 40; ++i) patch.push_back(json(R"({"op":"copy","from":"","path":"/-"})"));
  const auto patched = apply_json_patch(Array(), patch);
  ASSERT_FALSE(patched);
  EXPECT_THAT(patched.error().message, HasSubstr("copies more than"));
}

TEST(JsonPatch, BoundsNesting) {
  const Value nest = json(R"([{"op":"copy","from":"","path":"/a"}])");
  Value document = Object();
  for (std::size_t i = 1; i < kMaxDepth; ++i) document = *apply_json_patch(document, nest);
  EXPECT_TRUE(parse_json(to_json(document)));
  EXPECT_FALSE(apply_json_patch(document, nest));
}

TEST(DiffJsonPatch, IsSmallWhereLittleChanged) {
  EXPECT_EQ(diff_json_patch(json(R"({"a":1,"b":{"c":[1,2]}})"), json(R"({"b":{"c":[1,3]},"d":4})")),
            json(R"([{"op":"remove","path":"/a"},{"op":"replace","path":"/b/c/1","value":3},
                     {"op":"add","path":"/d","value":4}])"));
  EXPECT_TRUE(diff_json_patch(json(R"({"a":[1]})"), json(R"({"a":[1]})")).empty());
}

TEST(DiffJsonPatch, ReplacesArraysOfAnotherLength) {
  EXPECT_EQ(diff_json_patch(json(R"({"a":[1]})"), json(R"({"a":[1,2]})")),
            json(R"([{"op":"replace","path":"/a","value":[1,2]}])"));
}

TEST(DiffJsonPatch, StaysWithinTheOperationsThatApplyTakes) {
  const Array before(kMaxPatchOperations + 1, 1);
  const Array after(kMaxPatchOperations + 1, 2);
  EXPECT_EQ(apply_json_patch(before, diff_json_patch(before, after)).value(), after);
}

class MergePatchCases : public testing::TestWithParam<Case> {};

TEST_P(MergePatchCases, GivesTheDocumentOfTheStandard) {
  EXPECT_EQ(apply_merge_patch(json(GetParam().document), json(GetParam().patch)),
            json(GetParam().expected));
}

INSTANTIATE_TEST_SUITE_P(
    Rfc7386, MergePatchCases,
    testing::Values(
        Case{"replace", R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
        Case{"add", R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
        Case{"remove", R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
        Case{"remove_missing", R"({})", R"({"a":null})", R"({})"},
        Case{"array_whole", R"({"a":["b"]})", R"({"a":["c",null]})", R"({"a":["c",null]})"},
        Case{"deep", R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
        Case{"to_array", R"({"a":"b"})", R"(["c"])", R"(["c"])"},
        Case{"to_null", R"({"a":"foo"})", "null", "null"},
        Case{"null_stays", R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
        Case{"from_array", R"([1,2])", R"({"a":"b","c":null})", R"({"a":"b"})"},
        Case{"new_object_without_nulls", "{}", R"({"a":{"bb":{"ccc":null}}})",
             R"({"a":{"bb":{}}})"}),
    name_of);

TEST(DiffMergePatch, NamesOnlyWhatChanged) {
  EXPECT_EQ(diff_merge_patch(json(R"({"a":1,"b":{"c":1,"d":2},"e":[1]})"),
                             json(R"({"b":{"c":1,"d":3},"e":[1,2],"f":{}})")),
            json(R"({"a":null,"b":{"d":3},"e":[1,2],"f":{}})"));
  EXPECT_EQ(diff_merge_patch(json(R"({"a":{"b":1}})"), json(R"({"a":{"b":1}})")), json("{}"));
}

TEST(DiffMergePatch, DropsNullsThatItCannotExpress) {
  EXPECT_EQ(
      diff_merge_patch(json(R"({"a":{"x":1}})"), json(R"({"a":{"x":1,"b":null},"n":{"c":null}})")),
      json(R"({"n":{}})"));
}

}  // namespace
}  // namespace berth::wire
