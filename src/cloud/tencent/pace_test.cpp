#include "cloud/tencent/pace.h"

#include <gtest/gtest.h>

namespace berth::cloud::tencent {
namespace {

using namespace std::chrono_literals;

// Asks about a task of this length; returns when it was seen to be over and how often it was asked.
std::pair<Duration, int> follow(Pace& pace, Duration length) {
  Duration under_way{};
  int asked = 1;
  Duration at = pace.first();
  for (; at < length; ++asked) {
    under_way = at;
    at = Pace::next(at);
  }
  pace.learn(under_way, at);
  return {at, asked};
}

TEST(TencentPace, TheFirstQuestionIsEarly) { EXPECT_LE(Pace{}.first(), 250ms); }

TEST(TencentPace, LearnsHowLongTasksTake) {
  Pace pace;
  for (int i = 0; i < 5; ++i) (void)follow(pace, 500ms);
  int questions = 0;
  Duration lost{};
  for (int i = 0; i < 40; ++i) {
    const auto [over, asked] = follow(pace, 500ms);
    questions += asked;
    lost += over - 500ms;
  }
  EXPECT_LE(questions, 60) << "most tasks cost one question";
  EXPECT_LE(lost / 40, 75ms);
}

TEST(TencentPace, FollowsTasksThatBecomeShorter) {
  Pace pace;
  for (int i = 0; i < 10; ++i) (void)follow(pace, 2s);
  for (int i = 0; i < 120; ++i) (void)follow(pace, 100ms);
  EXPECT_LE(follow(pace, 100ms).first, 150ms);
}

TEST(TencentPace, ALongTaskIsAskedAboutMoreAndMoreSeldom) {
  Pace pace;
  const auto [over, asked] = follow(pace, 60s);
  EXPECT_LE(over, 63s);
  EXPECT_LE(asked, 45);
  EXPECT_LE(pace.first(), 5s) << "the next one may be short";
}

}  // namespace
}  // namespace berth::cloud::tencent
