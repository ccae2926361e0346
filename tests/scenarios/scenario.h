// What all scenarios share: how long they look for trouble, and how a seed is run again.
//
// BERTH_SCENARIO_SECONDS is the processor time that each random sweep may use; without it each has
// a default of its own. BERTH_SCENARIO_FROM is its first seed. BERTH_SCENARIO_SEED runs one seed
// alone and shows the log of the code under test; BERTH_SCENARIO_CRASH does so with one crash of a
// sweep over all of them, as it was printed: "crash after write 7". BERTH_SCENARIO_SIDES=both
// crashes every write before its effect too.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>

#include "base/random.h"
#include "sim/kernel/sweep.h"

namespace berth::scenario {

// So much processor time, and at most so many seeds: a faster machine finds what a longer run would
// find, and `make test` is not the place for that. The environment asks for other times, without
// that bound.
inline constexpr std::uint64_t kAnySeeds = std::numeric_limits<std::uint64_t>::max();
sim::SweepOptions sweep_for(std::string name, Duration default_cpu_time,
                            std::uint64_t default_seeds = kAnySeeds);

// sim::crash_everywhere, or the one crash that was asked for.
Result<sim::CrashSweepReport> crash_everywhere(
    std::string name, const std::function<Result<sim::RunReport>(const sim::CrashPlan&)>& run);

// Evenly in [0, most].
Duration up_to(Random& random, Duration most);

// Whether every task that was started with Cluster::play has come to its end.
bool all_through(std::span<const std::shared_ptr<const bool>> tasks);

}  // namespace berth::scenario
