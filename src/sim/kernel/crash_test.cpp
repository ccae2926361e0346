#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sim/kernel/kernel.h"

namespace berth::sim {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// One process that writes 1, 2, 3 to a value outside of it.
struct Writer {
  explicit Writer(KernelOptions options) : kernel(1, options) {}

  void run(Crashable crashable = Crashable::yes) {
    process = &kernel.start_process("writer", crashable);
    task = process->spawn("counts", [this](std::stop_token) {
      for (int i = 1; i <= 3; ++i) {
        const auto reply = seam(*process, "put", Effect::write, [&] { stored = i; });
        codes.push_back(reply ? "ok" : std::string(traits_of(reply.error().code).name));
      }
    });
    const auto result = kernel.run_until_quiescent(1h);
    EXPECT_TRUE(result) << result.error().to_string();
  }

  Kernel kernel;
  int stored = 0;
  Process* process = nullptr;
  std::vector<std::string> codes;
  std::unique_ptr<Task> task;
};

using Codes = std::vector<std::string>;

TEST(Crash, BeforeAWriteLeavesNoEffect) {
  Writer writer({.crash = CrashAt{.write_index = 1, .side = CrashSide::before}});
  writer.run();
  EXPECT_EQ(writer.stored, 1);
  EXPECT_EQ(writer.codes, (Codes{"ok", "stopped", "stopped"}));
  EXPECT_FALSE(writer.process->alive());
  EXPECT_EQ(writer.kernel.crashes(), 1u);
}

TEST(Crash, AfterAWriteLosesTheReply) {
  Writer writer({.crash = CrashAt{.write_index = 1, .side = CrashSide::after}});
  writer.run();
  EXPECT_EQ(writer.stored, 2);
  EXPECT_EQ(writer.codes, (Codes{"ok", "stopped", "stopped"}));
}

TEST(Crash, OnlyCrashableProcessesDie) {
  Writer writer({.crash = CrashRandomly{.probability = 1}});
  writer.run(Crashable::no);
  EXPECT_EQ(writer.codes, (Codes{"ok", "ok", "ok"}));
  EXPECT_EQ(writer.kernel.writes_seen(), 0u);
}

TEST(Crash, WithoutOneTheWritesAreCounted) {
  Writer writer({});
  writer.run();
  EXPECT_EQ(writer.kernel.writes_seen(), 3u);
  EXPECT_EQ(writer.stored, 3);
}

TEST(Crash, AtRandomStopsAtItsBound) {
  Kernel kernel(5, {.crash = CrashRandomly{.probability = 0.5, .max_crashes = 4}});
  int written = 0;
  std::vector<std::unique_ptr<Task>> tasks;
  const auto start = [&] {
    Process& process = kernel.start_process("writer", Crashable::yes);
    tasks.push_back(process.spawn("writes", [&](std::stop_token) {
      while (written < 100 && seam(process, "put", Effect::write, [&] { ++written; })) {
      }
    }));
  };
  kernel.on_crash([&](Process&) { start(); });
  start();
  EXPECT_TRUE(kernel.run_until([&] { return written == 100; }));
  EXPECT_EQ(kernel.crashes(), 4u);
}

TEST(Crash, EndsWaitsAndStopsTasks) {
  Kernel kernel(1);
  Process& process = kernel.start_process("a");
  const auto signal = process.signal();
  Codes ended;
  const auto waiter = process.spawn("waiter", [&](std::stop_token stop) {
    EXPECT_FALSE(process.wait(*signal, kNever, {}));
    EXPECT_TRUE(stop.stop_requested());
    signal->notify();
    EXPECT_FALSE(process.wait(*signal, kNever, {})) << "a dead process is not woken";
    ended.push_back("waiter");
  });
  const auto sleeper = process.spawn("sleeper", [&](std::stop_token stop) {
    EXPECT_FALSE(sleep_for(process, 1h, stop));
    ended.push_back("sleeper");
  });
  ASSERT_TRUE(kernel.run_until_quiescent(1s));
  const Instant crashed = kernel.now();
  kernel.crash(process);
  ASSERT_TRUE(kernel.run_until_quiescent(2h));
  EXPECT_THAT(ended, testing::UnorderedElementsAre("waiter", "sleeper"));
  EXPECT_EQ(kernel.now(), crashed);
}

TEST(Crash, DeadSeamsHaveNoEffect) {
  Kernel kernel(1, {.max_latency = 1s});
  Process& process = kernel.start_process("a");
  kernel.crash(process);
  bool applied = false;
  for (const Effect effect : {Effect::read, Effect::write}) {
    const auto reply = seam(process, "call", effect, [&] { applied = true; });
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().code, Code::stopped);
    EXPECT_EQ(reply.error().message, "call: process a has ended");
  }
  EXPECT_FALSE(applied);
}

TEST(Crash, ATaskStartedByADeadProcessFindsItsStopRequested) {
  Kernel kernel(1);
  Process& process = kernel.start_process("a");
  kernel.crash(process);
  bool ran = false;
  const auto task = process.spawn("late", [&](std::stop_token stop) {
    ran = true;
    EXPECT_TRUE(stop.stop_requested());
    EXPECT_FALSE(sleep_for(process, 1s, stop));
  });
  EXPECT_TRUE(kernel.run_until_quiescent(10s));
  EXPECT_TRUE(ran);
}

TEST(Crash, TheCallbackDestroysTheOldAndBuildsTheNew) {
  struct App {
    App(Process& process, int& running)
        : task(process.spawn("loop", [&process, &running](std::stop_token stop) {
            ++running;
            while (sleep_for(process, 1s, stop)) {
            }
            --running;
          })) {}
    std::unique_ptr<Task> task;
  };
  Kernel kernel(1);
  int running = 0;
  Process& first = kernel.start_process("app");
  auto app = std::make_unique<App>(first, running);
  ASSERT_TRUE(kernel.run_until([&] { return running == 1; }));
  Process* born = nullptr;
  kernel.on_crash([&](Process& dead) {
    EXPECT_EQ(dead.name(), "app");
    app.reset();
    EXPECT_EQ(running, 0);
    born = &kernel.start_process("app again");
    app = std::make_unique<App>(*born, running);
  });
  kernel.crash(first);
  EXPECT_TRUE(kernel.run_until([&] { return born && running == 1; }));
  EXPECT_FALSE(first.alive());
  EXPECT_TRUE(born->alive());
}

TEST(Crash, ATaskThatDoesNotEndIsReportedByName) {
  Kernel kernel(1, {.max_steps_after_death = 100});
  Process& process = kernel.start_process("a");
  {
    const auto endless = process.spawn("endless", [&](std::stop_token) {
      for (;;) sleep_for(process, 1s, {});
    });
    ASSERT_FALSE(kernel.run_until([] { return false; }, {.max_steps = 10}));
    kernel.crash(process);
    const auto result = kernel.run_until_quiescent(1h);
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().message, HasSubstr("task a/endless does not end: 101 steps after "
                                                  "the death of process a"));
  }  // and the handle can be destroyed
}

TEST(Crash, AWriteUnderWayMayStillLand) {
  int landed = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Kernel kernel(seed, {.min_latency = 10ms, .max_latency = 10ms, .late_write_chance = 0.5});
    Process& process = kernel.start_process("a");
    const Instant start = kernel.now();
    bool written = false;
    const auto task = process.spawn("writer", [&](std::stop_token) {
      const auto reply = seam(process, "put", Effect::write, [&] {
        written = true;
        EXPECT_EQ(kernel.now() - start, 5ms);
      });
      EXPECT_FALSE(reply);
    });
    const auto killer = kernel.world().spawn("killer", [&](std::stop_token stop) {
      sleep_for(kernel.world(), 2ms, stop);
      kernel.crash(process);
    });
    ASSERT_TRUE(kernel.run_until_quiescent(1s));
    landed += written ? 1 : 0;
  }
  EXPECT_GT(landed, 10);
  EXPECT_LT(landed, 40);
}

TEST(Seam, PassesValuesAndErrors) {
  Kernel kernel(1);
  Process& process = kernel.start_process("a");
  const Result<std::string> value =
      seam(process, "get", Effect::read, [] { return std::string("x"); });
  EXPECT_EQ(value.value_or(""), "x");
  const Result<int> error = seam(process, "get", Effect::read, []() -> Result<int> {
    return fail(Code::not_found, "no such thing");
  });
  ASSERT_FALSE(error);
  EXPECT_EQ(error.error().code, Code::not_found);
}

TEST(Seam, OthersRunBetweenRequestAndReply) {
  std::set<std::string> orders;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Kernel kernel(seed);
    Process& process = kernel.start_process("a");
    std::string order;
    const auto caller = [&](char applies, char returns) {
      return process.spawn("caller", [&, applies, returns](std::stop_token) {
        EXPECT_TRUE(seam(process, "call", Effect::write, [&] { order += applies; }));
        order += returns;
      });
    };
    const auto first = caller('a', 'A');
    const auto second = caller('b', 'B');
    ASSERT_TRUE(kernel.run_until_quiescent(1s));
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 6u) << "every interleaving of two calls";
}

TEST(Seam, AnEffectThatWaitsIsReported) {
  Kernel kernel(1);
  Process& process = kernel.start_process("a");
  const auto task = process.spawn("caller", [&](std::stop_token stop) {
    (void)seam(process, "put", Effect::write, [&] { sleep_for(process, 1s, stop); });
  });
  const auto result = kernel.run_until_quiescent(10s);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message,
              HasSubstr("a wait through 'a' inside the effect of a seam call"));
}

}  // namespace
}  // namespace berth::sim
