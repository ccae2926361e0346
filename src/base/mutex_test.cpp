#include "base/mutex.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/threads.h"

namespace berth {
namespace {

TEST(Mutex, CountsWhatThisThreadHolds) {
  Mutex a, b;
  ASSERT_EQ(locks_held(), 0);
  {
    const MutexLock outer(a);
    EXPECT_EQ(locks_held(), 1);
    {
      const MutexLock inner(b);
      EXPECT_EQ(locks_held(), 2);
    }
    EXPECT_EQ(locks_held(), 1);
    ThreadTasks tasks;
    int seen = -1;
    tasks.spawn("other", [&](const std::stop_token&) { seen = locks_held(); })->join();
    EXPECT_EQ(seen, 0);
  }
  EXPECT_EQ(locks_held(), 0);
}

TEST(Mutex, ExcludesOtherThreads) {
  constexpr int kRounds = 5'000;
  Mutex mu;
  int total = 0;
  ThreadTasks tasks;
  std::vector<std::unique_ptr<Task>> running;
  running.reserve(4);
  for (int i = 0; i < 4; ++i) {
    running.push_back(tasks.spawn("adder", [&](const std::stop_token&) {
      for (int round = 0; round < kRounds; ++round) {
        const MutexLock lock(mu);
        ++total;
      }
    }));
  }
  for (const auto& task : running) task->join();
  EXPECT_EQ(total, 4 * kRounds);
}

}  // namespace
}  // namespace berth
