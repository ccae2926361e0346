#include "wire/value.h"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <limits>

namespace berth::wire {
namespace {

Value json(std::string_view text) {
  auto value = parse_json(text);
  EXPECT_TRUE(value) << text << ": " << value.error().to_string();
  return value ? *value : Value();
}

std::string nested(std::size_t depth, std::string_view open, std::string_view close) {
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) text += open;
  text += '1';
  for (std::size_t i = 0; i < depth; ++i) text += close;
  return text;
}

TEST(ParseJson, TakesOneWholeDocument) {
  EXPECT_EQ(to_json(json(R"( {"a":[1,-2,true,null,"x\u00e9\n"]} )")),
            R"({"a":[1,-2,true,null,"xé\n"]})");
  EXPECT_EQ(json("18446744073709551615"), Value(std::numeric_limits<std::uint64_t>::max()));
}

TEST(ParseJson, RefusesWhatIsNoDocument) {
  for (const std::string_view text : {"", " ", "{", "{\"a\":1", "{} {}", "{}x", "[1,]", "{\"a\" 1}",
                                      "nul", "'a'", "\"\xff\"", "01", "1e400", "\"\t\""}) {
    const auto value = parse_json(text);
    ASSERT_FALSE(value) << text;
    EXPECT_EQ(value.error().code, Code::invalid) << text;
  }
}

TEST(ParseJson, BoundsNesting) {
  EXPECT_TRUE(parse_json(nested(kMaxDepth, "[", "]")));
  EXPECT_FALSE(parse_json(nested(kMaxDepth + 1, "[", "]")));
  EXPECT_TRUE(parse_json(nested(kMaxDepth, "{\"a\":", "}")));
  EXPECT_FALSE(parse_json(nested(kMaxDepth + 1, "{\"a\":", "}")));
  EXPECT_FALSE(parse_json(std::string(100'000, '[')));
}

TEST(ParseJson, TheLastOfTwoFieldsCounts) {
  EXPECT_EQ(to_json(json(R"({"a":1,"b":2,"a":3})")), R"({"a":3,"b":2})");
}

TEST(ParseJson, KeepsDoublesExact) {
  EXPECT_EQ(json("0.84442185152504812").get_double(), 0.84442185152504812);
}

TEST(ToJson, WritesNumbersThatGoReadsAsIntegers) {
  EXPECT_EQ(to_json(Value(3.0)), "3");
  EXPECT_EQ(to_json(Value(0.1)), "0.1");
  EXPECT_EQ(to_json(Value(-1.5e-9)), "-1.5e-09");
  EXPECT_EQ(to_json(Value(std::numeric_limits<double>::infinity())), "null");
}

TEST(ToJson, EscapesText) {
  EXPECT_EQ(to_json(Value("a\"b\\c\x01\n")), R"("a\"b\\c\u0001\n")");
  EXPECT_TRUE(parse_json(to_json(Value("broken \xc3 utf-8"))));
}

TEST(ToJson, PrettyIsIndentedByTwo) {
  EXPECT_EQ(to_pretty_json(json(R"({"a":{"b":[1,2]},"c":{},"d":[]})")), R"({
  "a": {
    "b": [
      1,
      2
    ]
  },
  "c": {},
  "d": []
})");
}

TEST(Pointer, FindsThroughObjectsAndArrays) {
  const Value root = json(R"({"a":{"b/c":[{"~":7}]},"":1})");
  EXPECT_EQ(find(root, ""), &root);
  EXPECT_EQ(int_at(root, "/a/b~1c/0/~0"), 7);
  EXPECT_EQ(int_at(root, "/"), 1);
  for (const std::string_view missing :
       {"a", "/x", "/a/b~1c/1", "/a/b~1c/-", "/a/b~1c/00", "/a/~2", "/a/b~1c/0/~0/deeper"}) {
    EXPECT_EQ(find(root, missing), nullptr) << missing;
  }
}

TEST(Pointer, TypedReadsAreEmptyForAnotherType) {
  const Value root = json(R"({"s":"x","i":5,"d":5.5,"b":true,"o":{},"a":[]})");
  EXPECT_EQ(string_at(root, "/s"), "x");
  EXPECT_EQ(string_at(root, "/i"), "");
  EXPECT_EQ(int_at(root, "/i"), 5);
  EXPECT_EQ(int_at(root, "/d"), std::nullopt);
  EXPECT_EQ(int_at(root, "/s"), std::nullopt);
  EXPECT_EQ(bool_at(root, "/b"), true);
  EXPECT_EQ(bool_at(root, "/i"), std::nullopt);
  EXPECT_NE(object_at(root, "/o"), nullptr);
  EXPECT_EQ(object_at(root, "/a"), nullptr);
  EXPECT_NE(array_at(root, "/a"), nullptr);
  EXPECT_EQ(array_at(root, "/none"), nullptr);
}

TEST(Pointer, SetMakesTheObjectsOnTheWay) {
  Value root;
  ASSERT_TRUE(set_at(root, "/metadata/labels/app.kubernetes.io~1name", "x"));
  EXPECT_EQ(to_json(root), R"({"metadata":{"labels":{"app.kubernetes.io/name":"x"}}})");
  Value list = json(R"({"c":[{"n":1}]})");
  ASSERT_TRUE(set_at(list, "/c/0/n", 2));
  ASSERT_TRUE(set_at(list, "/c/0/m", 3));
  EXPECT_EQ(to_json(list), R"({"c":[{"n":2,"m":3}]})");
}

TEST(Pointer, SetRefusesToStepIntoScalarsAndPastArrays) {
  Value root = json(R"({"a":1,"l":[]})");
  for (const std::string_view bad : {"/a/b", "/l/0", "/l/-/x", "no-slash", "/~x"}) {
    EXPECT_FALSE(set_at(root, bad, 1)) << bad;
  }
  EXPECT_FALSE(set_at(root, std::string(10'000, '/'), 1));
  EXPECT_EQ(to_json(root), R"({"a":1,"l":[]})");
}

TEST(Pointer, RemoveKeepsTheOrderOfTheRest) {
  Value root = json(R"({"a":1,"b":2,"c":3,"l":[1,2,3]})");
  EXPECT_TRUE(remove_at(root, "/a"));
  EXPECT_TRUE(remove_at(root, "/l/1"));
  EXPECT_FALSE(remove_at(root, "/a"));
  EXPECT_FALSE(remove_at(root, "/l/9"));
  EXPECT_FALSE(remove_at(root, ""));
  EXPECT_EQ(to_json(root), R"({"b":2,"c":3,"l":[1,3]})");
}

TEST(Pointer, EscapedStepFindsItsKey) {
  Value root;
  const std::string key = "~1/a~/";
  ASSERT_TRUE(set_at(root, "/" + escape_pointer_step(key), 1));
  EXPECT_TRUE(root.get_object().contains(key));
}

}  // namespace
}  // namespace berth::wire
