// What is said to the creator of a Pod for which no slot is left: which pool, how many are in use,
// by whom, and what to do. Pure.
#pragma once

#include <optional>
#include <set>

#include "claims/slot_index.h"

namespace berth::claims {

Error exhausted(const SlotRequest& request, const ListenerStore& store);

// What such an error says without what differs from one Pod to the next: how many are in use and by
// whom. The message of any other error as it is.
std::string without_counts(const Error& error);

// Why the pool, as it is written, can never give this: there is none (null), it has no such item,
// or no item with these protocols. Nothing when it can.
std::optional<Error> misfit(const api::PortPool* pool, const SlotRequest& request);

// Who has slots, by what becomes of them.
struct Takers {
  std::size_t of_pods = 0;       // Pods that are there, or are being created
  std::set<std::string> pods{};  // "games/room-0"
  std::size_t kept = 0;          // for Pods that are gone, until one of the same name comes
  std::set<std::string> names{};
  kube::ObjectKey first_name{};  // whose slot is given up first
  WallTime first_until{};
  std::size_t resting = 0;  // after their Pods; they become free by themselves

  // " by games/room-0", or ": 1 by games/room-0; 2 kept for ...; 1 resting ...". Empty for nobody.
  std::string to_string() const;
  // What would set slots free; empty when only Pods have any.
  std::string advice() const;
};
Takers takers_of(const std::vector<ListenerPtr>& listeners);

// "games/room-0, games/room-1 and 98 more": the Pods that have slots among these Listeners.
std::string name_holders(const std::vector<ListenerPtr>& listeners);

}  // namespace berth::claims
