// What a cluster does by itself, for worlds without its own controllers: Listeners go with their
// owner, and whatever lies in a namespace goes with it.
#pragma once

#include <string>
#include <vector>

#include "sim/world/world.h"

namespace berth::scenario {

void collect_garbage(world::World& world);
// One step of it. Returns those that are ending.
std::vector<std::string> end_namespaces(world::World& world);

}  // namespace berth::scenario
