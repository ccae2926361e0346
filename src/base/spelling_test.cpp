#include "base/spelling.h"

#include <gtest/gtest.h>

#include <array>

namespace berth {
namespace {

constexpr std::array<std::string_view, 3> kWords{"status", "explain", "playground"};

TEST(Spelling, SlipsAreSeenThrough) {
  EXPECT_EQ(nearest_word("statsu", kWords), "status");
  EXPECT_EQ(nearest_word("explan", kWords), "explain");
  EXPECT_EQ(nearest_word("playgroundd", kWords), "playground");
  EXPECT_EQ(nearest_word("status", kWords), "status");
}

TEST(Spelling, AWordThatIsFarFromAllIsNone) {
  EXPECT_EQ(nearest_word("uninstall", kWords), "");
  EXPECT_EQ(nearest_word("", kWords), "");
  EXPECT_EQ(nearest_word("status", {}), "");
}

}  // namespace
}  // namespace berth
