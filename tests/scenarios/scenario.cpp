#include "scenario.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/log.h"

namespace berth::scenario {
namespace {

std::optional<std::uint64_t> number_from_environment(const char* name) {
  const char* const text = std::getenv(name);
  if (!text || !*text) return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

std::optional<std::uint64_t> only_seed() { return number_from_environment("BERTH_SCENARIO_SEED"); }

std::optional<sim::CrashAt> only_crash() {
  const char* const text = std::getenv("BERTH_SCENARIO_CRASH");
  if (!text) return std::nullopt;
  for (const auto side : {sim::CrashSide::before, sim::CrashSide::after}) {
    const std::string words = to_string(sim::CrashAt{.write_index = 0, .side = side});
    const std::string_view start = std::string_view(words).substr(0, words.size() - 1);
    if (!std::string_view(text).starts_with(start)) continue;
    return sim::CrashAt{.write_index = std::strtoull(text + start.size(), nullptr, 10),
                        .side = side};
  }
  return std::nullopt;
}

sim::CrashSides sides() {
  const char* const text = std::getenv("BERTH_SCENARIO_SIDES");
  return text && std::string_view(text) == "both" ? sim::CrashSides::both
                                                  : sim::CrashSides::after_alone;
}

// Thousands of worlds would log all that went wrong in them, as planned: from the start, in every
// program that has scenarios.
[[maybe_unused]] const bool kQuietLog = [] {
  set_log_level(only_seed() || only_crash() ? LogLevel::debug : LogLevel::error);
  return true;
}();

}  // namespace

sim::SweepOptions sweep_for(std::string name, Duration default_cpu_time,
                            std::uint64_t default_seeds) {
  if (const auto seed = only_seed()) {
    return {.name = std::move(name), .first_seed = *seed, .count = 1, .repeat_every = 0};
  }
  const auto seconds = number_from_environment("BERTH_SCENARIO_SECONDS");
  return {.name = std::move(name),
          .first_seed = number_from_environment("BERTH_SCENARIO_FROM").value_or(1),
          .count = seconds ? kAnySeeds : default_seeds,
          .cpu_time = seconds ? Duration{std::chrono::seconds{*seconds}} : default_cpu_time,
          .repeat_every = 20};
}

Result<sim::CrashSweepReport> crash_everywhere(
    std::string name, const std::function<Result<sim::RunReport>(const sim::CrashPlan&)>& run) {
  const auto crash = only_crash();
  if (!crash) return sim::crash_everywhere(std::move(name), run, sides());
  const auto calm = run(sim::NoCrash{});  // tells the run which of its writes is the first
  if (!calm) return fail(calm.error());
  const auto crashed = run(*crash);
  if (!crashed) return fail(crashed.error());
  return sim::CrashSweepReport{.writes = calm->writes, .runs = 1};
}

Duration up_to(Random& random, Duration most) {
  return Duration{
      static_cast<Duration::rep>(random.below(static_cast<std::uint64_t>(most.count()) + 1))};
}

bool all_through(std::span<const std::shared_ptr<const bool>> tasks) {
  return std::ranges::all_of(tasks, [](const auto& through) { return *through; });
}

}  // namespace berth::scenario
