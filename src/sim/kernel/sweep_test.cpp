// A small claim protocol under many schedules with crashes, and planted bugs that must be caught.

#include "sim/kernel/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>

namespace berth::sim {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

enum class Bug { none, claim_without_test, forgets_after_crash };

constexpr int kReplicas = 2;
constexpr int kPodsPerReplica = 2;
constexpr int kPods = kReplicas * kPodsPerReplica;
constexpr int kFree = -1;

// Two replicas claim one slot for each of their Pods. A slot is taken by one compare-and-swap; a
// replica that starts again looks for its Pods' claims first.
class ClaimWorld {
 public:
  ClaimWorld(std::uint64_t seed, CrashPlan plan, Bug bug)
      : kernel_(seed, {.crash = plan, .max_latency = 2ms}), bug_(bug) {
    slots_.fill(kFree);
    kernel_.on_crash([this](Process& dead) { rebuild(dead); });
    for (int r = 0; r < kReplicas; ++r) start_replica(r);
  }
  ~ClaimWorld() { kernel_.on_crash({}); }

  Result<RunReport> run() {
    auto result = kernel_.run_until([this] { return served_ == kPods; });
    if (result) result = kernel_.run_until_quiescent(1s);
    if (!result) return pass(result);
    for (int pod = 0; pod < kPods; ++pod) {
      const auto claims = std::ranges::count(slots_, pod);
      if (claims != 1) kernel_.fail(fmt::format("pod {} holds {} slots", pod, claims));
    }
    if (kernel_.failure()) return fail(*kernel_.failure());
    return kernel_.report();
  }

 private:
  struct Replica {
    Process* process = nullptr;
    std::vector<std::unique_ptr<Task>> tasks;
  };

  void start_replica(int r) {
    Replica& replica = replicas_[static_cast<std::size_t>(r)];
    replica.process = &kernel_.start_process("replica", Crashable::yes);
    for (int pod = r * kPodsPerReplica; pod < (r + 1) * kPodsPerReplica; ++pod) {
      replica.tasks.push_back(replica.process->spawn(
          "claim", [this, pod, &process = *replica.process](std::stop_token) {
            if (!answered_[static_cast<std::size_t>(pod)]) serve(process, pod);
          }));
    }
  }

  void rebuild(const Process& dead) {
    for (int r = 0; r < kReplicas; ++r) {
      Replica& replica = replicas_[static_cast<std::size_t>(r)];
      if (replica.process != &dead) continue;
      replica.tasks.clear();
      start_replica(r);
    }
  }

  void serve(Process& process, int pod) {
    for (;;) {
      const auto slot = seam(process, "find", Effect::read, [&] { return find(pod); });
      if (!slot) return;
      const auto claimed = seam(process, "claim", Effect::write, [&] { return claim(*slot, pod); });
      if (claimed) return answer(*slot, pod);
      if (claimed.error().code == Code::stopped) return;
    }
  }

  std::size_t find(int pod) const {
    const auto own = std::ranges::find(slots_, pod);
    if (own != slots_.end() && bug_ != Bug::forgets_after_crash) {
      return static_cast<std::size_t>(own - slots_.begin());
    }
    return static_cast<std::size_t>(std::ranges::find(slots_, kFree) - slots_.begin());
  }

  Result<> claim(std::size_t slot, int pod) {
    if (bug_ != Bug::claim_without_test && slots_[slot] != kFree && slots_[slot] != pod) {
      return fail(Code::precondition, "slot {} is taken", slot);
    }
    slots_[slot] = pod;
    return {};
  }

  void answer(std::size_t slot, int pod) {
    const auto [other, fresh] = given_.try_emplace(slot, pod);
    if (!fresh && other->second != pod) {
      kernel_.fail(fmt::format("slot {} was given to pod {} and pod {}", slot, other->second, pod));
    }
    answered_[static_cast<std::size_t>(pod)] = true;
    ++served_;
  }

  Kernel kernel_;
  Bug bug_;
  std::array<int, 2 * kPods> slots_{};
  std::array<bool, kPods> answered_{};
  std::map<std::size_t, int> given_;
  int served_ = 0;
  std::array<Replica, kReplicas> replicas_;
};

auto claim_run(Bug bug) {
  return [bug](std::uint64_t seed) {
    return ClaimWorld(seed, CrashRandomly{.probability = 0.1, .max_crashes = 5}, bug).run();
  };
}

TEST(Sweep, TenThousandSchedulesOfTheClaimProtocolHold) {
  const auto report = sweep({.name = "claims", .count = 10'000}, claim_run(Bug::none));
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(report->seeds, 10'000u);
  EXPECT_EQ(report->repeated, 200u);
  EXPECT_GT(report->crashes, 1'000u);
}

TEST(Sweep, CatchesAClaimWithoutItsTest) {
  const auto report = sweep({.name = "planted: no test"}, claim_run(Bug::claim_without_test));
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().to_string(), HasSubstr("was given to pod"));
}

TEST(Sweep, CatchesAClaimForgottenAfterACrash) {
  const auto report = sweep({.name = "planted: forgets"}, claim_run(Bug::forgets_after_crash));
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().to_string(), HasSubstr("holds 2 slots"));
}

TEST(Sweep, TheFailingSeedReplays) {
  std::uint64_t failing = 0;
  const auto run = claim_run(Bug::claim_without_test);
  const auto report = sweep({.name = "planted: no test"}, [&](std::uint64_t seed) {
    auto outcome = run(seed);
    if (!outcome) failing = seed;
    return outcome;
  });
  ASSERT_FALSE(report);
  const auto again = run(failing);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().to_string(), report.error().cause->to_string());
}

TEST(Sweep, ReportsARunThatIsNotDeterministic) {
  std::uint64_t calls = 0;
  const auto report = sweep({.name = "unsteady"}, [&](std::uint64_t) -> Result<RunReport> {
    return RunReport{.trace_hash = ++calls};
  });
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().to_string(), HasSubstr("seed 1 is not deterministic"));
}

TEST(Sweep, EndsWhenItsTimeIsUsed) {
  const auto report =
      sweep({.name = "box", .count = 1'000'000'000, .cpu_time = 20ms}, claim_run(Bug::none));
  ASSERT_TRUE(report);
  EXPECT_GT(report->seeds, 0u);
  EXPECT_LT(report->seeds, 1'000'000u);
}

auto crash_run(Bug bug) {
  return [bug](const CrashPlan& plan) { return ClaimWorld(1, plan, bug).run(); };
}

TEST(CrashEverywhere, EveryWriteOfTheClaimProtocol) {
  const auto report = crash_everywhere("claims", crash_run(Bug::none));
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_GE(report->writes, static_cast<std::uint64_t>(kPods));
  EXPECT_EQ(report->runs, 2 * report->writes);
}

TEST(CrashEverywhere, AfterAloneIsEveryStateOnce) {
  const auto report = crash_everywhere("claims", crash_run(Bug::none), CrashSides::after_alone);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(report->runs, report->writes + 1) << "and before the first";
  EXPECT_FALSE(crash_everywhere("planted: forgets", crash_run(Bug::forgets_after_crash),
                                CrashSides::after_alone));
}

TEST(CrashEverywhere, CatchesAClaimForgottenAfterACrash) {
  const auto report = crash_everywhere("planted: forgets", crash_run(Bug::forgets_after_crash));
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().to_string(), HasSubstr("crash after write"));
  EXPECT_THAT(report.error().to_string(), HasSubstr("holds 2 slots"));
}

TEST(CrashEverywhere, ReportsACrashThatDidNotHappen) {
  const auto report = crash_everywhere(
      "steady", [](const CrashPlan&) -> Result<RunReport> { return RunReport{.writes = 3}; });
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().to_string(), HasSubstr("no crash in 3 writes"));
}

}  // namespace
}  // namespace berth::sim
