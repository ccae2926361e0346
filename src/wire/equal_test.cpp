#include "wire/equal.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace berth::wire {
namespace {

Value parsed(std::string_view text) { return parse_json(text).value(); }

TEST(Equal, AgreesWithTheOperator) {
  const std::string_view texts[] = {
      "null",        "true",          "1",          "-1",          "18446744073709551615",
      "1.5",         R"("1")",        "[]",         "{}",          "[1]",
      "[1,2]",       "[2,1]",         R"({"a":1})", R"({"a":2})",  R"({"b":1})",
      R"({"a":{}})", R"({"a":null})", R"([{}])",    R"({"a":[]})", R"({"a":[{"b":"c"}]})"};
  for (const std::string_view a : texts) {
    for (const std::string_view b : texts) {
      EXPECT_EQ(equal(parsed(a), parsed(b)), parsed(a) == parsed(b)) << a << " and " << b;
    }
  }
}

TEST(Equal, FieldsHaveNoOrder) {
  EXPECT_TRUE(
      equal(parsed(R"({"a":1,"b":{"c":2,"d":3}})"), parsed(R"({"b":{"d":3,"c":2},"a":1})")));
  EXPECT_FALSE(equal(parsed(R"({"a":1,"b":2})"), parsed(R"({"a":1,"c":2})")));
}

TEST(Equal, ANumberIsTheSameInBothOfItsTypes) {
  EXPECT_TRUE(equal(Value(std::int64_t{7}), Value(std::uint64_t{7})));
  EXPECT_FALSE(equal(Value(std::int64_t{-1}), Value(~std::uint64_t{0})));
}

}  // namespace
}  // namespace berth::wire
