// Random lives in a PoolHouse where everything goes wrong: stale caches, dropped watches, refused
// and lost requests, crashes, roll-outs, clocks that differ, load balancers that fail, answer late
// or do half. Shared by the scenarios and by the planted defects that they must find.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "pool_house.h"

namespace berth::scenario {

// Changes the world before it is built, to plant a defect.
using Plant = std::function<void(world::WorldOptions&)>;

struct TroubleCount {
  std::uint64_t ready = 0;      // Pods that were told so
  std::uint64_t came_back = 0;  // kept names that got their ports back
  std::uint64_t closed = 0;     // houses that were emptied at the end
};

// Parts of such a life. How the world is made:
world::WorldOptions troubled_world(Random& random);
sim::lb::Faults provider_faults(Random& random);
// Those who live in the house; each flag is set when one of them is through.
std::vector<std::shared_ptr<const bool>> start_lives(PoolHouse& house, Random& random);
// Nothing goes wrong from now on.
void mend(PoolHouse& house);

Result<sim::RunReport> live_in_trouble(std::uint64_t seed, const Plant& plant,
                                       TroubleCount* count = nullptr);

}  // namespace berth::scenario
