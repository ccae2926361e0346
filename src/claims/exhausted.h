// What is said to the creator of a Pod for which no slot is left: which pool, how many are in use,
// by whom, and what to do. Pure.
//
// Who creates a Pod may read those of its own namespace: those are named, the others counted.
#pragma once

#include <optional>
#include <set>

#include "claims/slot_index.h"

namespace berth::claims {

// The Pod that gets none.
struct Asker {
  std::string_view ns{};
  std::string_view token{};  // of what was taken for it already
};
Error exhausted(const SlotRequest& request, const ListenerStore& store, const Asker& asker);

// "item1: 2 of 10 listeners are ready": why items that fit the request are not Ready. Empty when
// all are.
std::string unready_items(const api::PortPool& pool, const SlotRequest& request);

// What such an error says without what differs from one Pod to the next: how many are in use and by
// whom. The message of any other error as it is.
std::string without_counts(const Error& error);

// Why the pool, as it is written, can never give this: there is none (null), it has no items, no
// such one, or none with these protocols. Nothing when it can.
std::optional<Error> misfit(const api::PortPool* pool, const SlotRequest& request);

// Pods, as far as the reader may know of them.
struct PodNames {
  std::set<std::string> named{};  // "games/room-0"
  std::set<std::string> hidden{};

  bool empty() const { return named.empty() && hidden.empty(); }
  std::size_t size() const { return named.size() + hidden.size(); }
  // "games/room-0, games/room-1, 98 more and 3 Pods in other namespaces"
  std::string to_string() const;
};

// Who has slots, by what becomes of them.
struct Takers {
  std::size_t of_pods = 0;  // Pods that are there, or are being created
  PodNames pods{};
  std::size_t kept = 0;  // for Pods that are gone, until one of the same name comes
  PodNames names{};
  kube::ObjectKey first_name{};  // of those that are named, whose slot is given up first
  WallTime first_until{};
  std::size_t resting = 0;  // after their Pods; they become free by themselves

  // " by games/room-0", or ": 1 by games/room-0; 2 kept for ...; 1 resting ...". Empty for nobody.
  std::string to_string() const;
  // What would set slots free; empty when only Pods have any.
  std::string advice() const;
};
// Only Pods of the reader's namespace are named; without one, all.
Takers takers_of(const std::vector<ListenerPtr>& listeners,
                 std::optional<std::string_view> reader = {});

// The Pods that have slots among these Listeners.
std::string name_holders(const std::vector<ListenerPtr>& listeners, std::string_view reader);

}  // namespace berth::claims
