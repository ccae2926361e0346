#include "sim/kube/field_set.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace berth::sim::kube {
namespace {

FieldSet set_of(std::string_view text) { return FieldSet::parse(text).value(); }

TEST(FieldSet, ReadsWhatItWrites) {
  for (const char* text : {
           R"({})",
           R"({"f:a":{}})",
           R"({"f:a":{".":{},"f:b":{}},"f:c":{}})",
           R"({"f:list":{"k:{\"name\":\"x\"}":{".":{},"f:name":{}},"v:\"y\"":{}}})",
       }) {
    const auto set = FieldSet::parse(text);
    ASSERT_TRUE(set) << text;
    EXPECT_EQ(set->text(), text);
  }
}

TEST(FieldSet, TakesNothingElseForItsOwnText) {
  for (const char* text : {
           "",
           "{",
           "[]",
           R"({"f:a":{}} )",
           R"({"f:a": {}})",
           R"({"a":{}})",
           R"({"f:a":1})",
           R"({"f:b":{},"f:a":{}})",
           R"({"f:a":{},"f:a":{}})",
           R"({"f:a":{".":{}}})",
           R"({".":{},"f:a":{}})",
           R"({"f:a":{},})",
           R"({"f:a)",
       }) {
    EXPECT_FALSE(FieldSet::parse(text)) << text;
  }
}

TEST(FieldSet, TakesFromClientsAnyOrderAndSpelling) {
  const auto json = wire::parse_json(
      R"({"f:z":{}, "k:{\"b\": 1, \"a\":\"x\"}":{".":{}, "f:q":{}}, "f:a":{"f:b":{},".":{}}})");
  EXPECT_EQ(FieldSet::from_json(*json)->text(),
            R"({"f:a":{".":{},"f:b":{}},"f:z":{},"k:{\"a\":\"x\",\"b\":1}":{".":{},"f:q":{}}})");
  for (const char* bad :
       {R"([])", R"({"x":{}})", R"({"k:[1]":{}})", R"({"i:x":{}})", R"({"f:a":true})"}) {
    EXPECT_FALSE(FieldSet::from_json(*wire::parse_json(bad))) << bad;
  }
}

TEST(FieldSet, NamesItsMembersAsRefusalsDo) {
  const FieldSet set = set_of(
      R"({"f:a":{"f:b":{}},"f:l":{"k:{\"name\":\"x\",\"port\":80}":{".":{},"f:p":{}},"v:\"y\"":{}},"f:z":{}})");
  EXPECT_EQ(set.paths(), (std::vector<std::string>{".z", ".a.b", R"(.l[name="x",port=80])",
                                                   R"(.l[="y"])", R"(.l[name="x",port=80].p)"}));
}

TEST(FieldSet, AFieldAndWhatLiesBelowItAreApart) {
  const FieldSet both = set_of(R"({"f:a":{".":{},"f:b":{}}})");
  const FieldSet field = set_of(R"({"f:a":{}})");
  const FieldSet below = set_of(R"({"f:a":{"f:b":{}}})");
  EXPECT_EQ(both.without(field), below);
  EXPECT_EQ(both.without(below), field);
  EXPECT_EQ(field.united(below), both);
  EXPECT_TRUE(field.intersected(below).empty());
  EXPECT_EQ(both.intersected(below), below);
  EXPECT_EQ(both.size(), 2u);
}

}  // namespace
}  // namespace berth::sim::kube
