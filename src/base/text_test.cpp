#include "base/text.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(Text, IsTrimmedAtBothEnds) {
  EXPECT_EQ(trimmed(" \ta b\r\n"), "a b");
  EXPECT_EQ(trimmed("a"), "a");
  EXPECT_EQ(trimmed(" \t "), "");
  EXPECT_EQ(trimmed(""), "");
}

TEST(Text, IsClippedBetweenCharacters) {
  EXPECT_EQ(clipped("abc", 3), "abc");
  EXPECT_EQ(clipped("abcd", 3), "abc");
  EXPECT_EQ(clipped("a\xc3\xa4", 2), "a") << "not half of it";
  EXPECT_EQ(clipped("\xc3\xa4", 0), "");
}

TEST(Text, DigitsAreThoseOfAscii) {
  for (const char c : std::string_view("0123456789")) EXPECT_TRUE(is_digit(c)) << c;
  for (const char c : std::string_view("/:aA \xb2")) EXPECT_FALSE(is_digit(c)) << c;
}

}  // namespace
}  // namespace berth
