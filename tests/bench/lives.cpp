// How many simulated lives a second of processor time has room for: each is two replicas of the
// controller, an API server and a provider of load balancers, through everything that may go wrong.

#include "../scenarios/hands_house.h"
#include "../scenarios/pool_trouble.h"
#include "bench.h"
#include "sim/kernel/sweep.h"

namespace berth::bench {
namespace {

constexpr std::uint64_t kTroubledLives = 200;
constexpr std::uint64_t kLivesPerRole = 20;
// Ten times what they were when the first of them ran.
constexpr double kTroubledAim = 25;
constexpr double kHandsAim = 10;

struct Lives {
  double count = 0;
  double cpu_seconds = 0;
};

Result<> add(Lives& lives, const sim::SweepOptions& options,
             const std::function<Result<sim::RunReport>(std::uint64_t seed)>& live) {
  const auto swept = sim::sweep(options, live);
  if (!swept) return fail(swept.error());
  lives.count += static_cast<double>(swept->seeds);
  lives.cpu_seconds += swept->cpu_seconds;
  return {};
}

Result<std::vector<Line>> lives(Environment&) {
  Lives troubled;
  Result<> lived =
      add(troubled, {.name = "port pools in trouble", .count = kTroubledLives, .repeat_every = 0},
          [](std::uint64_t seed) { return scenario::live_in_trouble(seed, {}); });
  Lives with_hands;
  for (const auto role :
       {world::Role::tenant, world::Role::operator_of_ours, world::Role::administrator}) {
    if (!lived) return pass(lived);
    lived = add(with_hands,
                {.name = fmt::format("hands of {}s", world::to_string(role)),
                 .count = kLivesPerRole,
                 .repeat_every = 0},
                [role](std::uint64_t seed) { return scenario::live_with_hands(seed, role); });
  }
  if (!lived) return pass(lived);
  return std::vector<Line>{
      {"sim-lives", "simulated lives in trouble per second of processor time, beside the aim",
       troubled.count / troubled.cpu_seconds, kTroubledAim, "lives/s", "higher"},
      {"sim-lives-hands", "the same with people who write what they like, beside the aim",
       with_hands.count / with_hands.cpu_seconds, kHandsAim, "lives/s", "higher"}};
}

}  // namespace

Bench lives_bench() { return {{"sim-lives", "sim-lives-hands"}, lives}; }

}  // namespace berth::bench
