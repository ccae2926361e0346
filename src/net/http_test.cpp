#include "net/http.h"

#include <gtest/gtest.h>

namespace berth::net {
namespace {

TEST(Headers, NamesCompareWithoutCase) {
  Headers headers{{"Content-Type", "text/plain"}, {"X-A", "1"}, {"x-a", "2"}};
  EXPECT_EQ(headers.get("content-type"), "text/plain");
  EXPECT_EQ(headers.all("X-a"), (std::vector<std::string_view>{"1", "2"}));
  EXPECT_EQ(headers.get("X-B"), "");
}

TEST(Headers, SetReplacesEveryOneOfThatName) {
  Headers headers{{"X-A", "1"}, {"x-a", "2"}};
  headers.set("X-A", "3");
  EXPECT_EQ(headers.all("x-a"), (std::vector<std::string_view>{"3"}));
}

TEST(Headers, ValueCannotStartAnotherHeader) {
  EXPECT_TRUE(is_valid_header({"X-A", "any text, \"quoted\"\t\xc3\xa4"}));
  EXPECT_TRUE(is_valid_header({"X-A", ""}));
  EXPECT_FALSE(is_valid_header({"X-A", "1\r\nX-B: 2"}));
  EXPECT_FALSE(is_valid_header({"X-A", std::string("a\0b", 3)}));
  EXPECT_FALSE(is_valid_header({"X A", "1"}));
  EXPECT_FALSE(is_valid_header({"X-A:", "1"}));
  EXPECT_FALSE(is_valid_header({"", "1"}));
}

}  // namespace
}  // namespace berth::net
