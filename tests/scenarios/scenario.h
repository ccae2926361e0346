// What all scenarios share: how long they look for trouble, and how a seed is run again.
//
// BERTH_SCENARIO_SECONDS is the processor time that each random sweep may use; without it each has
// a default of its own. BERTH_SCENARIO_FROM is its first seed. BERTH_SCENARIO_SEED runs one seed
// alone and shows the log of the code under test; BERTH_SCENARIO_CRASH does so with one crash of a
// sweep over all of them, as it was printed: "crash after write 7".
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/random.h"
#include "sim/kernel/sweep.h"

namespace berth::scenario {

sim::SweepOptions sweep_for(std::string name, Duration default_cpu_time);

// sim::crash_everywhere, or the one crash that was asked for.
Result<sim::CrashSweepReport> crash_everywhere(
    std::string name, const std::function<Result<sim::RunReport>(const sim::CrashPlan&)>& run);

// Evenly in [0, most].
Duration up_to(Random& random, Duration most);

// Whether every task that was started with Cluster::play has come to its end.
bool all_through(std::span<const std::shared_ptr<const bool>> tasks);

}  // namespace berth::scenario
