#include "net/rate_limiter.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace berth::net {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart{1000s};

// Time passes only by waiting.
class ManualTasks final : public Tasks {
 public:
  Instant now() override { return now_; }
  WallTime wall_time() override { return {}; }
  std::unique_ptr<Signal> signal() override {
    struct Silent final : Signal {
      void notify() override {}
    };
    return std::make_unique<Silent>();
  }
  bool wait(Signal&, Instant until, std::stop_token stop) override {
    if (!stop.stop_requested()) now_ = until;
    return false;
  }
  std::unique_ptr<Task> spawn(std::string, std::function<void(std::stop_token)>) override {
    return nullptr;
  }

 private:
  Instant now_ = kStart;
};

TEST(RateLimiter, GivesTheBurstAndThenTheRate) {
  RateLimiter limiter({.per_second = 10, .burst = 2});
  EXPECT_TRUE(limiter.try_take(kStart));
  EXPECT_TRUE(limiter.try_take(kStart));
  EXPECT_FALSE(limiter.try_take(kStart));
  EXPECT_FALSE(limiter.try_take(kStart + 99ms));
  EXPECT_TRUE(limiter.try_take(kStart + 100ms));
  EXPECT_FALSE(limiter.try_take(kStart + 100ms));
}

TEST(RateLimiter, SavesUpNoMoreThanTheBurst) {
  RateLimiter limiter({.per_second = 10, .burst = 2});
  const Instant later = kStart + 1h;
  EXPECT_TRUE(limiter.try_take(kStart));
  EXPECT_TRUE(limiter.try_take(later));
  EXPECT_TRUE(limiter.try_take(later));
  EXPECT_FALSE(limiter.try_take(later));
}

TEST(RateLimiter, ReservationsQueueUp) {
  RateLimiter limiter({.per_second = 10, .burst = 1});
  EXPECT_EQ(limiter.reserve(kStart), kStart);
  EXPECT_EQ(limiter.reserve(kStart), kStart + 100ms);
  EXPECT_EQ(limiter.reserve(kStart), kStart + 200ms);
  limiter.give_back();
  EXPECT_EQ(limiter.reserve(kStart), kStart + 200ms);
}

TEST(RateLimiter, TimeThatStepsBackAddsNothing) {
  RateLimiter limiter({.per_second = 10, .burst = 1});
  EXPECT_TRUE(limiter.try_take(kStart));
  EXPECT_FALSE(limiter.try_take(kStart - 1s));
  EXPECT_FALSE(limiter.try_take(kStart));
}

TEST(RateLimiter, NoRateIsNoLimit) {
  RateLimiter limiter({.per_second = 0});
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(limiter.try_take(kStart));
  EXPECT_EQ(limiter.reserve(kStart), kStart);
}

TEST(RateLimiter, RateNearZeroDoesNotOverflow) {
  RateLimiter limiter({.per_second = 1e-300, .burst = 1});
  EXPECT_TRUE(limiter.try_take(kStart));
  EXPECT_GT(limiter.reserve(kStart), kStart + 24h);
}

TEST(RateLimiter, LearnsANewRate) {
  RateLimiter limiter({.per_second = 10, .burst = 10});
  limiter.set_rate({.per_second = 1, .burst = 1}, kStart);
  EXPECT_TRUE(limiter.try_take(kStart));
  EXPECT_FALSE(limiter.try_take(kStart + 999ms));
  EXPECT_TRUE(limiter.try_take(kStart + 1s));
}

TEST(RateLimiter, TakeWaitsForItsTurn) {
  ManualTasks tasks;
  const Context context{.tasks = tasks};
  RateLimiter limiter({.per_second = 10, .burst = 1});
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(take(context, limiter));
  EXPECT_EQ(tasks.now(), kStart + 400ms);
}

TEST(RateLimiter, TakeDoesNotWaitPastTheDeadline) {
  ManualTasks tasks;
  const auto context = Context{.tasks = tasks}.within(1s);
  RateLimiter limiter({.per_second = 0.5, .burst = 1});
  EXPECT_TRUE(take(context, limiter));
  const auto refused = take(context, limiter);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::throttled);
  EXPECT_EQ(refused.error().retry_after, 2s);
  EXPECT_EQ(tasks.now(), kStart) << "it waited";
  EXPECT_EQ(limiter.reserve(kStart), kStart + 2s) << "the refused one kept its token";
}

TEST(RateLimiter, TakeObeysTheStop) {
  ManualTasks tasks;
  std::stop_source source;
  const Context context{.tasks = tasks, .stop = source.get_token()};
  RateLimiter limiter({.per_second = 1, .burst = 1});
  EXPECT_TRUE(take(context, limiter));
  source.request_stop();
  const auto refused = take(context, limiter);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::stopped);
}

TEST(RateLimiter, ThreadsShareOneBudget) {
  RateLimiter limiter({.per_second = 1, .burst = 100});
  std::atomic<int> taken = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 100; ++i) taken += limiter.try_take(kStart) ? 1 : 0;
      });
    }
  }
  EXPECT_EQ(taken, 100);
}

}  // namespace
}  // namespace berth::net
