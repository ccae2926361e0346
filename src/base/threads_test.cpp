#include "base/threads.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <optional>
#include <vector>

#include "base/log.h"

namespace berth {
namespace {

using namespace std::chrono_literals;

// Waits without an end are the assertion: a wake-up that is lost ends in ctest's time limit.

TEST(ThreadTasks, ANotifyBeforeTheWaitIsKept) {
  ThreadTasks tasks;
  const auto signal = tasks.signal();
  signal->notify();
  signal->notify();
  EXPECT_TRUE(tasks.wait(*signal, kNever, {}));
  // Several were one.
  EXPECT_FALSE(tasks.wait(*signal, tasks.now(), {}));
}

TEST(ThreadTasks, ANotifyWakesAWaitingTask) {
  ThreadTasks tasks;
  const auto ping = tasks.signal();
  const auto pong = tasks.signal();
  const auto answering = tasks.spawn("answering", [&](const std::stop_token& stop) {
    while (tasks.wait(*ping, kNever, stop)) pong->notify();
  });
  for (int i = 0; i < 1'000; ++i) {
    ping->notify();
    ASSERT_TRUE(tasks.wait(*pong, kNever, {})) << i;
  }
}

TEST(ThreadTasks, AWaitEndsAtItsDeadline) {
  ThreadTasks tasks;
  const auto signal = tasks.signal();
  const Instant until = tasks.now() + 20ms;
  EXPECT_FALSE(tasks.wait(*signal, until, {}));
  EXPECT_GE(tasks.now(), until);
  EXPECT_FALSE(tasks.wait(*signal, Instant::min(), {}));
}

TEST(ThreadTasks, AStopWakesAWaitAtOnce) {
  ThreadTasks tasks;
  const auto started = tasks.signal();
  const auto nobody_notifies = tasks.signal();
  std::optional<bool> notified;
  const auto task = tasks.spawn("waiting", [&](const std::stop_token& stop) {
    started->notify();
    notified = tasks.wait(*nobody_notifies, kNever, stop);
  });
  ASSERT_TRUE(tasks.wait(*started, kNever, {}));
  task->request_stop();
  task->join();
  EXPECT_EQ(notified, false);
}

TEST(ThreadTasks, AStopBeforeTheWaitCounts) {
  ThreadTasks tasks;
  const auto signal = tasks.signal();
  std::stop_source source;
  source.request_stop();
  EXPECT_FALSE(tasks.wait(*signal, kNever, source.get_token()));
  // A notify that is there already is not lost to the stop.
  signal->notify();
  EXPECT_TRUE(tasks.wait(*signal, kNever, source.get_token()));
}

TEST(ThreadTasks, TheOwnersDestructorStopsAndJoins) {
  ThreadTasks tasks;
  const auto signal = tasks.signal();
  bool ended = false;  // plain: the join is what makes reading it right
  {
    const auto task = tasks.spawn("looping", [&](const std::stop_token& stop) {
      while (!stop.stop_requested()) (void)tasks.wait(*signal, kNever, stop);
      ended = true;
    });
  }
  EXPECT_TRUE(ended);
}

TEST(ThreadTasks, JoinWaitsForTheEndAndMayBeRepeated) {
  ThreadTasks tasks;
  bool ended = false;
  const auto task = tasks.spawn("short", [&](const std::stop_token&) { ended = true; });
  task->join();
  EXPECT_TRUE(ended);
  task->join();
}

TEST(ThreadTasks, TheWokenTaskMayDestroyTheSignal) {
  ThreadTasks tasks;
  for (int i = 0; i < 500; ++i) {
    auto done = tasks.signal();
    const auto task =
        tasks.spawn("done", [&signal = *done](const std::stop_token&) { signal.notify(); });
    ASSERT_TRUE(tasks.wait(*done, kNever, {}));
    done.reset();
  }
}

TEST(ThreadTasks, ManyMayNotify) {
  ThreadTasks tasks;
  constexpr int kNotifiers = 4;
  constexpr int kEach = 500;
  const auto signal = tasks.signal();
  std::atomic<int> work = 0;
  std::vector<std::unique_ptr<Task>> notifiers;
  notifiers.reserve(kNotifiers);
  for (int i = 0; i < kNotifiers; ++i) {
    notifiers.push_back(tasks.spawn("notifier", [&](const std::stop_token&) {
      for (int n = 0; n < kEach; ++n) {
        ++work;
        signal->notify();
      }
    }));
  }
  for (int taken = 0; taken < kNotifiers * kEach;) {
    ASSERT_TRUE(tasks.wait(*signal, kNever, {}));
    taken += work.exchange(0);
  }
}

TEST(ThreadTasks, NamesAreCutToWhatTheKernelKeeps) {
  ThreadTasks tasks;
  std::array<char, 32> name{};
  tasks
      .spawn("a-name-of-more-than-15-characters",
             [&](const std::stop_token&) {
               pthread_getname_np(pthread_self(), name.data(), name.size());
             })
      ->join();
  EXPECT_STREQ(name.data(), "a-name-of-more-");
}

TEST(ThreadTasks, TimeGoesOn) {
  ThreadTasks tasks;
  const Instant before = tasks.now();
  EXPECT_TRUE(sleep_for(tasks, 5ms, {}));
  EXPECT_GE(tasks.now() - before, 5ms);
  EXPECT_GT(tasks.wall_time(), parse_rfc3339("2024-01-01T00:00:00Z").value());
}

TEST(ThreadTasks, SleepEndsEarlyOnlyByAStop) {
  ThreadTasks tasks;
  std::optional<bool> slept;
  const auto started = tasks.signal();
  {
    const auto task = tasks.spawn("sleeping", [&](const std::stop_token& stop) {
      started->notify();
      slept = sleep_for(tasks, Duration::max(), stop);
    });
    ASSERT_TRUE(tasks.wait(*started, kNever, {}));
  }
  EXPECT_EQ(slept, false);
}

TEST(ThreadTasksDeathTest, AnExceptionAtTheRootNamesItsTaskAndEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        ThreadTasks tasks;
        tasks.spawn("doomed", [](const std::stop_token&) { throw std::runtime_error("why"); })
            ->join();
      },
      "\"task\":\"doomed\",\"error\":\"why\"");
}

}  // namespace
}  // namespace berth
