// Which slots of a pool can be had, and which one to try next.
//
// A slot is one port, or one segment of ports, of an item; it has a listener for each protocol on
// each of the item's load balancers. It can be had when all of these are there and lead nowhere,
// and nobody has claimed it. A choice reads one bit per slot, so it takes the same time in a pool
// of any size. Not thread-safe; no I/O.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/port.h"
#include "model/protocol.h"

namespace berth::ledger {

// Load balancers of one item: a slot keeps one bit for each.
inline constexpr std::size_t kMaxItemLoadBalancers = 16;

struct ItemShape {
  std::string name{};
  model::Port first_port = 0;
  std::uint32_t segment = 1;  // ports of a slot
  std::uint32_t slots = 0;
  std::uint32_t load_balancers = 1;
  std::vector<model::Protocol> protocols{};  // of different transports

  model::PortRange ports_of(std::uint32_t slot) const {
    const auto first = static_cast<model::Port>(first_port + slot * segment);
    return {first, static_cast<model::Port>(first + segment - 1)};
  }
  bool has(model::Protocol protocol) const;
};

enum class Policy : std::uint8_t {
  in_order,  // the first item that has a slot
  average    // the item that has most slots left
};

struct SlotPlace {
  std::uint32_t item = 0;  // position in the pool
  model::Protocol protocol = model::Protocol::tcp;
  std::uint32_t slot = 0;

  friend auto operator<=>(const SlotPlace&, const SlotPlace&) = default;
};

struct SlotUsage {
  std::uint32_t slots = 0;
  std::uint32_t ready = 0;  // exist on every load balancer, used or not
  std::uint32_t taken = 0;
  std::uint32_t free = 0;
};

// What a listener of a slot is like.
struct ListenerFacts {
  bool made = false;   // its load balancer has it
  bool empty = false;  // made, leads nowhere, and is not being removed
};

class SlotTable {
 public:
  SlotTable(std::vector<ItemShape> items, Policy policy);

  const std::vector<ItemShape>& items() const { return items_; }
  // Nothing when the pool has no such slot.
  std::optional<SlotPlace> find(std::string_view item, model::Protocol protocol,
                                model::Port port) const;

  void set_listener(const SlotPlace& place, std::uint32_t load_balancer, ListenerFacts facts);
  void set_taken(const SlotPlace& place, bool taken);

  // A slot that can be had for all of these protocols; its number holds for each of them. `item`
  // empty: any. The search in each item begins at `start`, so that replicas do not meet. Cost: the
  // items (sorted, for `average`), and one word for 64 slots of those that have a free one.
  std::optional<SlotPlace> choose(std::string_view item, std::span<const model::Protocol> protocols,
                                  std::uint32_t start) const;

  SlotUsage usage(std::uint32_t item, model::Protocol protocol) const;

 private:
  using Words = std::vector<std::uint64_t>;
  struct Lane {                          // the slots of one item for one protocol
    std::vector<std::uint16_t> empty{};  // bit n: the listener on load balancer n is
    std::vector<std::uint16_t> made{};
    Words taken{};
    Words free{};
    SlotUsage usage{};
  };

  Lane* lane_of(const SlotPlace& place);
  const Lane& lane(std::uint32_t item, model::Protocol protocol) const;
  void refresh_free(Lane& lane, const SlotPlace& place);
  std::optional<std::uint32_t> choose_in(std::uint32_t item,
                                         std::span<const model::Protocol> protocols,
                                         std::uint32_t start) const;
  std::vector<std::uint32_t> order_for(std::span<const model::Protocol> protocols) const;

  const std::vector<ItemShape> items_;
  const Policy policy_;
  std::vector<std::array<Lane, 2>> lanes_;  // by item, by transport
};

}  // namespace berth::ledger
