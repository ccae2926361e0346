#include "base/text_memo.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(TextMemo, KnowsWhatWasMadeOfThisTextAlone) {
  TextMemo<int, 4> memo;
  EXPECT_EQ(memo.find(""), nullptr);
  for (int i = 0; i < 100; ++i) {
    const std::string text = "text " + std::to_string(i);
    EXPECT_EQ(memo.find(text), nullptr);
    memo.put(text, i);
    ASSERT_NE(memo.find(text), nullptr);
    EXPECT_EQ(*memo.find(text), i);
  }
  int kept = 0;
  for (int i = 0; i < 100; ++i) {
    const int* const found = memo.find("text " + std::to_string(i));
    if (!found) continue;
    EXPECT_EQ(*found, i);
    ++kept;
  }
  EXPECT_LE(kept, 4);
}

TEST(TextMemo, KeepsTheNewestAndNothingLarge) {
  TextMemo<int, 1> memo;
  memo.put("a", 1);
  memo.put("a", 2);
  EXPECT_EQ(*memo.find("a"), 2);
  memo.put("b", 3);
  EXPECT_EQ(memo.find("a"), nullptr);
  const std::string large(TextMemo<int, 1>::kMaxText + 1, 'x');
  memo.put(large, 4);
  EXPECT_EQ(memo.find(large), nullptr);
  EXPECT_EQ(*memo.find("b"), 3);
}

}  // namespace
}  // namespace berth
