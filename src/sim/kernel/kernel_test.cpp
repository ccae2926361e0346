#include "sim/kernel/kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "base/mutex.h"

namespace berth::sim {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

TEST(Time, JumpsToTheNextTimer) {
  Kernel kernel(1);
  Process& process = kernel.start_process("a");
  const Instant start = process.now();
  const WallTime wall_start = process.wall_time();
  std::vector<std::string> order;
  const auto sleeper = [&](std::string name, Duration span) {
    return process.spawn(name, [&, name, span](std::stop_token stop) {
      EXPECT_TRUE(sleep_for(process, span, stop));
      EXPECT_EQ(process.now() - start, span);
      order.push_back(name);
    });
  };
  const auto late = sleeper("late", 2h);
  const auto early = sleeper("early", 3ms);
  EXPECT_TRUE(kernel.run_until([&] { return order.size() == 2; }));
  EXPECT_EQ(order, (std::vector<std::string>{"early", "late"}));
  EXPECT_EQ(process.wall_time() - wall_start, 2h);
  EXPECT_EQ(format_rfc3339(process.wall_time()), "2026-01-01T02:00:00Z");
}

TEST(Time, OfAWallThatIsWrongPassesAsFast) {
  Kernel kernel(1);
  Process& right = kernel.start_process("a");
  Process& wrong = kernel.start_process("b");
  wrong.skew_clock(-5min);
  EXPECT_EQ(wrong.wall_time(), right.wall_time() - 5min);
  EXPECT_EQ(wrong.now(), right.now());
  EXPECT_TRUE(sleep_for(wrong, 1h, {}));
  EXPECT_EQ(format_rfc3339(wrong.wall_time()), "2026-01-01T00:55:00Z");
}

TEST(Time, TheSeedBreaksTies) {
  std::set<std::string> orders;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Kernel kernel(seed);
    Process& process = kernel.start_process("a");
    std::string order;
    std::vector<std::unique_ptr<Task>> tasks;
    for (const char name : {'x', 'y', 'z'}) {
      tasks.push_back(process.spawn(std::string(1, name), [&, name](std::stop_token stop) {
        sleep_for(process, 5ms, stop);
        order += name;
      }));
    }
    ASSERT_TRUE(kernel.run_until_quiescent(1s));
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 6u);  // every permutation
}

TEST(Signals, AreStickyAndSeveralAreOne) {
  Kernel kernel(1);
  Process& process = kernel.start_process("a");
  const auto signal = process.signal();
  signal->notify();
  signal->notify();
  std::vector<bool> waits;
  const auto task = process.spawn("waiter", [&](std::stop_token stop) {
    for (int i = 0; i < 2; ++i) {
      waits.push_back(process.wait(*signal, process.now() + 1s, stop));
    }
  });
  EXPECT_TRUE(kernel.run_until_quiescent(10s));
  EXPECT_EQ(waits, (std::vector<bool>{true, false}));
}

TEST(Signals, WakeTheWaiterWithoutTimePassing) {
  Kernel kernel(1);
  Process& process = kernel.start_process("a");
  const auto signal = process.signal();
  bool notified = false;
  Instant woken{};
  const auto waiter = process.spawn("waiter", [&](std::stop_token stop) {
    notified = process.wait(*signal, kNever, stop);
    woken = process.now();
  });
  const Instant start = process.now();
  const auto notifier = process.spawn("notifier", [&](std::stop_token stop) {
    sleep_for(process, 7ms, stop);
    signal->notify();
  });
  EXPECT_TRUE(kernel.run_until_quiescent(1s));
  EXPECT_TRUE(notified);
  EXPECT_EQ(woken - start, 7ms);
}

TEST(Signals, TwoWaitersAreReported) {
  Kernel kernel(1);
  Process& process = kernel.start_process("a");
  const auto signal = process.signal();
  const auto wait = [&](std::stop_token stop) { process.wait(*signal, kNever, stop); };
  const auto first = process.spawn("first", wait);
  const auto second = process.spawn("second", wait);
  const auto result = kernel.run_until_quiescent(1s);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("two tasks wait for signal 1 of process a"));
}

TEST(Signals, OneDestroyedUnderItsWaiterIsReported) {
  Kernel kernel(1);
  Process& process = kernel.start_process("a");
  auto signal = process.signal();
  const auto task =
      process.spawn("waiter", [&](std::stop_token stop) { process.wait(*signal, kNever, stop); });
  ASSERT_TRUE(kernel.run_until_quiescent(1s));
  signal.reset();
  const auto result = kernel.run_until_quiescent(1s);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("destroyed while a/waiter waits"));
}

TEST(Stop, EndsAWait) {
  Kernel kernel(1);
  Process& process = kernel.start_process("a");
  const auto signal = process.signal();
  bool notified = true;
  bool stopped = false;
  const auto task = process.spawn("waiter", [&](std::stop_token stop) {
    notified = process.wait(*signal, kNever, stop);
    stopped = stop.stop_requested();
  });
  ASSERT_TRUE(kernel.run_until_quiescent(1s));
  task->request_stop();
  task->join();
  EXPECT_FALSE(notified);
  EXPECT_TRUE(stopped);
}

TEST(Stop, AnyTokenEndsAWait) {
  Kernel kernel(1);
  Process& process = kernel.start_process("a");
  const auto signal = process.signal();
  std::stop_source source;
  bool returned = false;
  const auto task = process.spawn("waiter", [&](std::stop_token) {
    EXPECT_FALSE(process.wait(*signal, kNever, source.get_token()));
    returned = true;
  });
  ASSERT_TRUE(kernel.run_until_quiescent(1s));
  EXPECT_FALSE(returned);
  source.request_stop();
  EXPECT_TRUE(kernel.run_until([&] { return returned; }));
}

TEST(Join, FromOutsideRunsTheWorldMeanwhile) {
  Kernel kernel(1);
  Process& process = kernel.start_process("a");
  int rounds = 0;
  const auto other = process.spawn("other", [&](std::stop_token stop) {
    while (sleep_for(process, 1s, stop)) ++rounds;
  });
  const auto task =
      process.spawn("task", [&](std::stop_token stop) { sleep_for(process, 10500ms, stop); });
  task->join();
  EXPECT_EQ(rounds, 10);
}

TEST(Join, FromATaskBlocksThatTaskAlone) {
  Kernel kernel(1);
  Process& process = kernel.start_process("a");
  std::string order;
  const auto parent = process.spawn("parent", [&](std::stop_token) {
    {
      const auto child = process.spawn("child", [&](std::stop_token stop) {
        EXPECT_FALSE(sleep_for(process, 1h, stop));  // the handle's destructor stops it
        order += "c";
      });
      sleep_for(process, 1s, {});
      order += "p";
    }
    order += "e";
  });
  EXPECT_TRUE(kernel.run_until_quiescent(10s));
  EXPECT_EQ(order, "pce");
}

TEST(Outside, AWaitAndASeamRunTheWorld) {
  Kernel kernel(1, {.min_latency = 1ms, .max_latency = 1ms});
  Process& process = kernel.start_process("a");
  const auto signal = process.signal();
  const auto notifier = process.spawn("notifier", [&](std::stop_token stop) {
    sleep_for(process, 1s, stop);
    signal->notify();
  });
  const Instant start = process.now();
  EXPECT_TRUE(process.wait(*signal, kNever, {}));
  EXPECT_EQ(process.now() - start, 1s);
  const auto reply = seam(process, "read it", Effect::read, [] { return 42; });
  ASSERT_TRUE(reply);
  EXPECT_EQ(*reply, 42);
  EXPECT_EQ(process.now() - start, 1001ms);
}

TEST(Exceptions, EndTheirTaskAndFailTheRun) {
  Kernel kernel(7);
  Process& process = kernel.start_process("a");
  const auto task =
      process.spawn("thrower", [](std::stop_token) { throw std::runtime_error("out of range"); });
  const auto result = kernel.run_until_quiescent(1s);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("seed 7, step 1, task a/thrower: task a/thrower "
                                                "ended by an exception: out of range"));
}

TEST(Locks, OverASeamAreReportedWithItsLabel) {
  Kernel kernel(1);
  Process& process = kernel.start_process("a");
  Mutex mu;
  const auto task = process.spawn("locker", [&](std::stop_token) {
    const MutexLock lock(mu);
    const auto reply = seam(process, "patch Pod games/room-0", Effect::write, [] {});
    EXPECT_FALSE(reply);
  });
  const auto result = kernel.run_until_quiescent(1s);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message,
              HasSubstr("task a/locker: seam call 'patch Pod games/room-0' with 1 lock(s) held"));
  EXPECT_EQ(locks_held(), 0);
}

TEST(Locks, OverAWaitOrAJoinAreReported) {
  for (const bool joins : {false, true}) {
    Kernel kernel(1);
    Process& process = kernel.start_process("a");
    Mutex mu;
    const auto task = process.spawn("locker", [&](std::stop_token stop) {
      auto child = process.spawn("child", [](std::stop_token) {});
      const MutexLock lock(mu);
      if (joins)
        child.reset();
      else
        sleep_for(process, 1s, stop);
    });
    const auto result = kernel.run_until_quiescent(10s);
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().message,
                HasSubstr(joins ? "the join of task 'a/child' with 1 lock(s) held"
                                : "a wait through 'a' with 1 lock(s) held"));
  }
}

TEST(Run, ADeadlockNamesTheTasksAndWhatTheyWaitFor) {
  Kernel kernel(3);
  Process& process = kernel.start_process("a");
  const auto signal = process.signal();
  const auto waiter =
      process.spawn("waiter", [&](std::stop_token stop) { process.wait(*signal, kNever, stop); });
  const auto joiner = process.spawn("joiner", [&](std::stop_token) { waiter->join(); });
  const auto result = kernel.run_until([] { return false; });
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("seed 3, step 2: deadlock"));
  EXPECT_THAT(result.error().message,
              HasSubstr("a/waiter waits for signal 1 of process a without a deadline"));
  EXPECT_THAT(result.error().message, HasSubstr("a/joiner waits for the end of task a/waiter"));
}

TEST(Run, BoundsStepsAndVirtualTime) {
  Kernel kernel(1);
  Process& process = kernel.start_process("a");
  const auto sleeper = process.spawn("sleeper", [&](std::stop_token stop) {
    while (sleep_for(process, 1s, stop)) {
    }
  });
  auto late = kernel.run_until([] { return false; }, {.max_virtual_time = 1min});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::timeout);
  EXPECT_THAT(late.error().message, HasSubstr("60 s of virtual time were not enough: a/sleeper"));
  EXPECT_EQ(kernel.steps(), 61u);

  auto busy = kernel.run_until([] { return false; }, {.max_steps = 100});
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().code, Code::exhausted);
  EXPECT_THAT(busy.error().message, HasSubstr("100 steps were not enough"));
}

TEST(Run, QuiescentMeansNoTimerWithinTheSpan) {
  Kernel kernel(1);
  Process& process = kernel.start_process("a");
  const Instant start = process.now();
  const auto backing_off = process.spawn("backing off", [&](std::stop_token stop) {
    for (Duration pause = 1s; sleep_for(process, pause, stop); pause *= 2) {
    }
  });
  EXPECT_TRUE(kernel.run_until_quiescent(10s));
  EXPECT_EQ(kernel.now() - start, 15s);  // 1 + 2 + 4 + 8; the next would be 16
  const auto result = kernel.run_until_quiescent(100s, {.max_virtual_time = 10s});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::timeout);
}

TEST(Run, IsRefusedInsideATask) {
  Kernel kernel(1);
  const auto task = kernel.world().spawn("nests", [&](std::stop_token) {
    const auto nested = kernel.run_until_quiescent(1s);
    ASSERT_FALSE(nested);
    EXPECT_EQ(nested.error().code, Code::invalid);
  });
  EXPECT_TRUE(kernel.run_until_quiescent(1s));
}

TEST(Run, ReturnsTheFirstViolationWithSeedAndEvents) {
  Kernel kernel(99);
  Process& process = kernel.start_process("a");
  const auto task = process.spawn("checker", [&](std::stop_token) {
    ASSERT_TRUE(seam(process, "list ports", Effect::read, [] {}));
    kernel.fail("port 31000 has two owners");
    kernel.fail("and another");
  });
  const auto result = kernel.run_until([] { return false; });
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message,
              HasSubstr("seed 99, step 3, task a/checker: port 31000 has two owners"));
  EXPECT_THAT(result.error().hint, HasSubstr("a/checker: reads list ports"));
  EXPECT_THAT(result.error().to_string(), Not(HasSubstr("another")));
}

// Two tasks that pass values through seams: something for the seed to order.
RunReport busy_run(std::uint64_t seed) {
  Kernel kernel(seed, {.max_latency = 10ms});
  Process& process = kernel.start_process("a");
  std::vector<std::unique_ptr<Task>> tasks;
  int value = 0;
  for (const auto* name : {"x", "y", "z"}) {
    tasks.push_back(process.spawn(name, [&](std::stop_token) {
      for (int i = 0; i < 10; ++i) {
        const auto seen = seam(process, "read", Effect::read, [&] { return value; });
        ASSERT_TRUE(seen);
        ASSERT_TRUE(seam(process, "write", Effect::write, [&] { value = *seen + 1; }));
      }
    }));
  }
  EXPECT_TRUE(kernel.run_until_quiescent(1s));
  kernel.note("value", std::to_string(value));
  return kernel.report();
}

TEST(Determinism, TheSameSeedGivesTheSameTrace) {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const RunReport report = busy_run(seed);
    EXPECT_EQ(report, busy_run(seed)) << "seed " << seed;
    hashes.insert(report.trace_hash);
  }
  EXPECT_EQ(hashes.size(), 100u);
}

TEST(Determinism, TheTraceIsTheSameInEveryProcess) {
  // What every build, compiler and machine gives: a pointer, a real time or a hash-table order in
  // a decision would change it. A change of what is drawn or traced does too; then renew it.
  EXPECT_EQ(busy_run(1).trace_hash, 7642532565174139539u);
}

}  // namespace
}  // namespace berth::sim
