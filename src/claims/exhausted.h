// What is said to the creator of a Pod for which no slot is left: which pool, how many are in use,
// by whom, and what to do. Pure.
#pragma once

#include <optional>

#include "claims/slot_index.h"

namespace berth::claims {

Error exhausted(const SlotRequest& request, const ListenerStore& store);

// What such an error says without what differs from one Pod to the next: how many are in use and by
// whom. The message of any other error as it is.
std::string without_counts(const Error& error);

// Why the pool, as it is written, can never give this: there is none (null), it has no such item,
// or no item with these protocols. Nothing when it can.
std::optional<Error> misfit(const api::PortPool* pool, const SlotRequest& request);

// "games/room-0, games/room-1 and 98 more": the Pods that have slots among these Listeners.
std::string name_holders(const std::vector<ListenerPtr>& listeners);

}  // namespace berth::claims
