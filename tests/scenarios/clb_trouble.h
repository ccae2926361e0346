// Lives of port pools on Tencent's load balancers: one story that is crashed at every call of the
// cloud, and random ones in which the cloud stumbles, hands change its listeners, and processes
// die. Shared by the sweeps and by the planted defects that they must find.
#pragma once

#include <span>

#include "clb_cloud.h"
#include "pool_trouble.h"

namespace berth::scenario {

// The load balancers of a house, each with a listener of somebody else.
void furnish(ClbCloud& cloud);

// Nothing of ours is left.
Result<> check_emptied(const ClbCloud& cloud);
// What others made is as it was.
Result<> check_strangers(const ClbCloud& cloud);
// Of one of these actions, once or twice.
sim::tencent::Fault any_fault(Random& random, std::span<const char* const> actions);

// Berth is installed, pools are made, rooms come and go, all is deleted. `writes` of the report are
// the calls of the cloud, those for health apart.
Result<sim::RunReport> clb_story(const sim::CrashPlan& plan, const Plant& plant = {});

struct ClbTroubleCount {
  std::uint64_t faults = 0;  // that the cloud was told to make
  std::uint64_t edits = 0;   // of listeners, by hand
  std::uint64_t ready = 0;   // Pods that were told so
};
Result<sim::RunReport> live_in_clb_trouble(std::uint64_t seed, const Plant& plant = {},
                                           ClbTroubleCount* count = nullptr);

}  // namespace berth::scenario
