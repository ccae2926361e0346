// Lives of port pools on Tencent's load balancers: one story that is crashed at every call of the
// cloud, and random ones in which the cloud stumbles, hands change its listeners, and processes
// die. Shared by the sweeps and by the planted defects that they must find.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "clb_cloud.h"
#include "pool_trouble.h"

namespace berth::scenario {

// The load balancers of a house, each with a listener of somebody else.
void furnish(ClbCloud& cloud);

// Nothing of ours is left.
Result<> check_emptied(const ClbCloud& cloud);
// What others made is as it was.
Result<> check_strangers(const ClbCloud& cloud);
// Those that can befall an action: reads have no tasks, and few answers have lists.
std::vector<sim::tencent::FaultKind> faults_of(std::string_view action);
// One more fault, of one of these actions, once or twice.
void stumble(ClbCloud& cloud, Random& random, std::span<const std::string_view> actions);
std::uint64_t count_of(const sim::tencent::FaultsTaken& taken);

// Berth is installed, pools are made and change, rooms come and go, all is deleted. `writes` of the
// report are the calls of the cloud, those for health apart. `missed`, if it is there, gets the
// calls that a story without a crash did not make.
Result<sim::RunReport> clb_story(const sim::CrashPlan& plan, const Plant& plant = {},
                                 std::vector<std::string>* missed = nullptr);

struct ClbTroubleCount {
  std::uint64_t faults = 0;  // that befell a call
  std::uint64_t edits = 0;   // of listeners, by hand
  std::uint64_t ready = 0;   // Pods that were told so
};
Result<sim::RunReport> live_in_clb_trouble(std::uint64_t seed, const Plant& plant = {},
                                           ClbTroubleCount* count = nullptr);

}  // namespace berth::scenario
