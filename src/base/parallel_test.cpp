#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "base/threads.h"

namespace berth {
namespace {

TEST(ForEachParallel, DoesEveryOneOnceUnderTheBound) {
  ThreadTasks tasks;
  std::vector<std::atomic<int>> done(100);
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  const Result<> all =
      for_each_parallel({.tasks = tasks}, done.size(), 4, [&](const Context&, std::size_t i) {
        const int now = ++running;
        int seen = most;
        while (seen < now && !most.compare_exchange_weak(seen, now)) {
        }
        ++done[i];
        --running;
        return Result<>{};
      });
  EXPECT_TRUE(all);
  for (const auto& one : done) EXPECT_EQ(one, 1);
  EXPECT_LE(most, 4);
}

TEST(ForEachParallel, StopsAtTheFirstFailure) {
  ThreadTasks tasks;
  std::atomic<int> begun = 0;
  const Result<> all =
      for_each_parallel({.tasks = tasks}, 1000, 2, [&](const Context&, std::size_t i) -> Result<> {
        ++begun;
        if (i == 3) return fail(Code::forbidden, "no");
        return {};
      });
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, Code::forbidden);
  EXPECT_LT(begun, 1000);
}

TEST(ForEachParallel, ObeysTheStop) {
  ThreadTasks tasks;
  std::stop_source stop;
  const Result<> all = for_each_parallel({.tasks = tasks, .stop = stop.get_token()}, 10, 1,
                                         [&](const Context&, std::size_t) {
                                           stop.request_stop();
                                           return Result<>{};
                                         });
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, Code::stopped);
}

}  // namespace
}  // namespace berth
