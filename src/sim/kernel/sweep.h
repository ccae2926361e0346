// Many runs of one world: over seeds, and over every point where a process can crash.
//
// A run builds its world from what it is given, checks its invariants and reports. Both print one
// line when they end, with the numbers, and what to run again when they fail.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "sim/kernel/crash_plan.h"
#include "sim/kernel/kernel.h"

namespace berth::sim {

struct SweepOptions {
  std::string name = "sweep";
  std::uint64_t first_seed = 1;
  std::uint64_t count = 1'000;
  // Ends the sweep earlier, when it has used this much processor time; at least one seed runs.
  std::optional<Duration> cpu_time{};
  // Every nth seed runs twice and must report the same. 0: none.
  std::uint64_t repeat_every = 50;
};

struct SweepReport {
  std::uint64_t seeds = 0;  // each one a schedule of its own
  std::uint64_t repeated = 0;
  std::uint64_t steps = 0;
  std::uint64_t crashes = 0;
  double cpu_seconds = 0;
};

// Stops at the first seed that fails and returns its error.
Result<SweepReport> sweep(const SweepOptions& options,
                          const std::function<Result<RunReport>(std::uint64_t seed)>& run);

struct CrashSweepReport {
  std::uint64_t writes = 0;
  std::uint64_t runs = 0;
};

enum class CrashSides : std::uint8_t {
  both,
  // A crash before the next write finds the same state: what a process had done since is lost with
  // it. Half of the runs, and only the order of what others do meanwhile is another.
  after_alone
};

// Counts the writes of a run without crash, then crashes each of them before and after.
Result<CrashSweepReport> crash_everywhere(
    std::string name, const std::function<Result<RunReport>(const CrashPlan&)>& run,
    CrashSides sides = CrashSides::both);

}  // namespace berth::sim
