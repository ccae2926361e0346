// What must be true of the whole when all is quiet: one replica leads, every Pod is Ready and
// reached, every claim belongs to such a Pod, and pools, Listeners, grants, PortBindings and the
// load balancers say the same.
#pragma once

#include "room_book.h"

namespace berth::scenario {

Result<> check_settled(world::World& world, const RoomBook& book);

}  // namespace berth::scenario
