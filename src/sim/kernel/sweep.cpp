#include "sim/kernel/sweep.h"

#include <cstdio>
#include <ctime>

namespace berth::sim {
namespace {

// Bounds the sweep itself; the simulated world never sees it.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

Result<RunReport> run_twice(const std::function<Result<RunReport>(std::uint64_t)>& run,
                            std::uint64_t seed) {
  const auto first = run(seed);
  if (!first) return first;
  const auto second = run(seed);
  if (!second) return second;
  if (*first == *second) return first;
  return fail(Code::internal,
              "seed {} is not deterministic: hash {:016x} after {} steps, then {:016x} after {}",
              seed, first->trace_hash, first->steps, second->trace_hash, second->steps);
}

void print(const SweepOptions& options, const SweepReport& report) {
  fmt::print("{}: {} seeds from {}, {} of them twice, {} steps, {} crashes, {:.3f} CPU s",
             options.name, report.seeds, options.first_seed, report.repeated, report.steps,
             report.crashes, report.cpu_seconds);
  if (report.cpu_seconds > 0) {
    const auto runs = static_cast<double>(report.seeds + report.repeated);
    fmt::print(", {:.2f} schedules/s", runs / report.cpu_seconds);
  }
  fmt::print("\n");
}

}  // namespace

Result<SweepReport> sweep(const SweepOptions& options,
                          const std::function<Result<RunReport>(std::uint64_t seed)>& run) {
  const double started = cpu_seconds();
  SweepReport report;
  for (std::uint64_t i = 0; i < options.count; ++i) {
    const std::uint64_t seed = options.first_seed + i;
    const bool twice = options.repeat_every > 0 && i % options.repeat_every == 0;
    auto outcome = twice ? run_twice(run, seed) : run(seed);
    report.cpu_seconds = cpu_seconds() - started;
    if (!outcome) {
      print(options, report);
      fmt::print("{}: seed {} fails: {}\n", options.name, seed, outcome.error().to_string());
      return fail(error_of(Code::internal, "{}: seed {} fails", options.name, seed)
                      .because(std::move(outcome.error())));
    }
    ++report.seeds;
    report.repeated += twice ? 1 : 0;
    report.steps += outcome->steps;
    report.crashes += outcome->crashes;
    if (options.cpu_time && report.cpu_seconds >= to_seconds(*options.cpu_time)) break;
  }
  print(options, report);
  return report;
}

Result<CrashSweepReport> crash_everywhere(
    std::string name, const std::function<Result<RunReport>(const CrashPlan&)>& run,
    CrashSides sides) {
  const auto failed = [&](const CrashPlan& plan, Error error) {
    fmt::print("{}: {} fails: {}\n", name, to_string(plan), error.to_string());
    return fail(
        error_of(Code::internal, "{}: {} fails", name, to_string(plan)).because(std::move(error)));
  };
  auto calm = run(NoCrash{});
  if (!calm) return failed(NoCrash{}, std::move(calm.error()));
  CrashSweepReport report{.writes = calm->writes};
  for (std::uint64_t write = 0; write < report.writes; ++write) {
    for (const CrashSide side : {CrashSide::before, CrashSide::after}) {
      // Before the first write nothing has happened.
      if (side == CrashSide::before && sides == CrashSides::after_alone && write > 0) continue;
      const CrashAt plan{.write_index = write, .side = side};
      auto outcome = run(plan);
      if (!outcome) return failed(plan, std::move(outcome.error()));
      if (outcome->crashes == 0) {
        return failed(
            plan, error_of(Code::internal, "no crash in {} writes: the run is not deterministic",
                           outcome->writes));
      }
      ++report.runs;
    }
  }
  fmt::print("{}: {} writes crashed {}, {} runs\n", name, report.writes,
             sides == CrashSides::both ? "before and after" : "after their effect", report.runs);
  return report;
}

}  // namespace berth::sim
