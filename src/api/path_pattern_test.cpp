#include "api/path_pattern.h"

#include <gtest/gtest.h>

#include <random>

namespace berth::api {
namespace {

std::string fault(std::string_view pattern) { return find_fault(pattern).value_or("fine"); }

TEST(PathPattern, WhatCanBeReadIsTaken) {
  for (const char* good : {"~ ^/rooms/[0-9]+$", "~* \\.(png|jpg)$", "~ /a{2}b{2,}c{2,5}",
                           "~ ^/(?:a|b)*?/[^/]+", "~ /[]a]", "~ /[\\]]", "~ \\(", "~ ^$", "~ (|a)"})
    EXPECT_EQ(fault(good), "fine") << good;
}

TEST(PathPattern, WhatCannotIsToldWithItsPlace) {
  EXPECT_EQ(fault("~"), "no expression follows the '~'");
  EXPECT_EQ(fault("~*  "), "no expression follows the '~'");
  EXPECT_EQ(fault("~^/a"), "there is no blank between '~' or '~*' and the expression");
  EXPECT_EQ(fault("~ /a b"), "the expression has a blank in it: write \\s");
  EXPECT_EQ(fault("~ /a\"b"), "the expression has '\"' in it");
  EXPECT_EQ(fault("~ /(a"), "its '(' at place 2 is not closed");
  EXPECT_EQ(fault("~ /a)"), "its ')' at place 3 closes nothing");
  EXPECT_EQ(fault("~ /[a"), "its '[' at place 2 is not closed");
  EXPECT_EQ(fault("~ *a"), "its '*' at place 1 repeats nothing");
  EXPECT_EQ(fault("~ a|+"), "its '+' at place 3 repeats nothing");
  EXPECT_EQ(fault("~ a***"), "its '*' at place 3 repeats nothing");
  EXPECT_EQ(fault("~ a{x}"), "its '{' at place 2 is not {2}, {2,} or {2,5}");
  EXPECT_EQ(fault("~ a{2"), "its '{' at place 2 is not {2}, {2,} or {2,5}");
  EXPECT_EQ(fault("~ a\\"), "it ends with '\\', which says nothing of what follows");
}

// Users' text: whatever it is, it is read to its end and no further.
TEST(PathPattern, AnyTextIsAnswered) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  constexpr std::string_view kSigns = "~ *+?(){}[]\\^$|a1,-:=!";
  for (int i = 0; i < 20'000; ++i) {
    std::string text = "~ ";
    for (std::size_t n = random() % 12; n > 0; --n) text += kSigns[random() % kSigns.size()];
    const std::string answer = fault(text);
    ASSERT_FALSE(answer.empty()) << text;
  }
}

}  // namespace
}  // namespace berth::api
