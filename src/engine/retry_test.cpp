#include "engine/retry.h"

#include <gtest/gtest.h>

namespace berth::engine {
namespace {

using namespace std::chrono_literals;

TEST(Retry, AnErrorSaysWhatIsDoneAboutIt) {
  EXPECT_EQ(treatment_of(Code::throttled), Treatment::again);
  EXPECT_EQ(treatment_of(Code::unavailable), Treatment::again);
  EXPECT_EQ(treatment_of(Code::timeout), Treatment::look);
  EXPECT_EQ(treatment_of(Code::already_exists), Treatment::look);
  EXPECT_EQ(treatment_of(Code::not_found), Treatment::look);
  EXPECT_EQ(treatment_of(Code::exhausted), Treatment::slowly);
  EXPECT_EQ(treatment_of(Code::forbidden), Treatment::slowly);
  EXPECT_EQ(treatment_of(Code::invalid), Treatment::give_up);
  EXPECT_EQ(treatment_of(Code::unsupported), Treatment::give_up);
  EXPECT_EQ(treatment_of(Code::stopped), Treatment::stop);
}

TEST(Retry, DelaysGrowUpToABound) {
  Random random(1);
  Duration before{};
  for (int attempts = 1; attempts <= 100; ++attempts) {
    const Duration delay = delay_of(Treatment::again, attempts, {}, random);
    if (attempts <= 5) {
      EXPECT_GT(delay, before);
    }
    EXPECT_LE(delay, 40s);
    before = delay;
  }
  EXPECT_GE(delay_of(Treatment::slowly, 100, {}, random), 5min);
  EXPECT_LE(delay_of(Treatment::slowly, 100, {}, random), 7min);
}

TEST(Retry, TheProviderMayAskForMore) {
  Random random(1);
  EXPECT_GE(delay_of(Treatment::again, 1, std::chrono::nanoseconds(1min), random), 1min);
}

TEST(Retry, TheFirstLookIsAtOnce) {
  Random random(1);
  EXPECT_EQ(delay_of(Treatment::look, 1, {}, random), Duration::zero());
  EXPECT_GT(delay_of(Treatment::look, 2, {}, random), Duration::zero());
}

}  // namespace
}  // namespace berth::engine
