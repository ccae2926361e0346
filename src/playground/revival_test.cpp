#include "playground/revival.h"

#include <gtest/gtest.h>

#include "base/threads.h"

namespace berth::playground {
namespace {

using namespace std::chrono_literals;

constexpr Revival kSettlesAtOnce{.pause = 1ms, .settled = 0ms, .max_failed_starts = 3};
constexpr Revival kNeverSettles{.pause = 1ms, .settled = 1h, .max_failed_starts = 3};

class RevivalTest : public ::testing::Test {
 protected:
  Result<> keep(const Revival& revival, const std::function<Result<>(const Context&)>& run) {
    return keep_running({.tasks = tasks_, .stop = stop_.get_token()}, revival, run,
                        [this](const Error& error) { ends_.push_back(error.message); });
  }

  ThreadTasks tasks_;
  std::stop_source stop_;
  std::vector<std::string> ends_;
};

TEST_F(RevivalTest, APartThatLostItsLeaseRunsAgain) {
  int starts = 0;
  const Result<> kept = keep(kSettlesAtOnce, [&](const Context&) -> Result<> {
    if (++starts == 5) stop_.request_stop();
    return fail(Code::conflict, "the lease is lost");
  });
  EXPECT_TRUE(kept);
  EXPECT_EQ(starts, 5);
  EXPECT_EQ(ends_, std::vector<std::string>(4, "the lease is lost"));
}

TEST_F(RevivalTest, APartThatCannotStartIsGivenUpWithItsError) {
  int starts = 0;
  const Result<> kept = keep(kNeverSettles, [&](const Context&) -> Result<> {
    return fail(Code::invalid, "no {}", ++starts);
  });
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().message, "no 3");
  EXPECT_EQ(ends_, (std::vector<std::string>{"no 1", "no 2"}));
}

TEST_F(RevivalTest, AnEndWithoutAnErrorIsOneToo) {
  const Result<> kept = keep(kNeverSettles, [](const Context&) { return Result<>{}; });
  EXPECT_FALSE(kept);
  EXPECT_EQ(ends_.size(), 2u);
}

}  // namespace
}  // namespace berth::playground
