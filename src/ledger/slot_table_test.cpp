#include "ledger/slot_table.h"

#include <gtest/gtest.h>

#include <set>

#include "base/random.h"

namespace berth::ledger {
namespace {

using model::Protocol;
constexpr Protocol kTcp[] = {Protocol::tcp};
constexpr Protocol kUdp[] = {Protocol::udp};
constexpr Protocol kBoth[] = {Protocol::tcp, Protocol::udp};

ItemShape item(std::string name, std::uint32_t slots, std::uint32_t load_balancers = 1) {
  return {.name = std::move(name),
          .first_port = 30000,
          .slots = slots,
          .load_balancers = load_balancers,
          .protocols = {Protocol::tcp, Protocol::udp}};
}

void open_all(SlotTable& table) {
  for (std::uint32_t i = 0; i < table.items().size(); ++i) {
    const ItemShape& shape = table.items()[i];
    for (const Protocol protocol : shape.protocols)
      for (std::uint32_t slot = 0; slot < shape.slots; ++slot)
        for (std::uint32_t lb = 0; lb < shape.load_balancers; ++lb)
          table.set_listener({i, protocol, slot}, lb, {.made = true, .empty = true});
  }
}

TEST(SlotTable, ASlotNeedsItsListenerOnEveryLoadBalancer) {
  SlotTable table({item("a", 2, 2)}, Policy::in_order);
  EXPECT_FALSE(table.choose("", kTcp, 0));
  table.set_listener({0, Protocol::tcp, 1}, 0, {.made = true, .empty = true});
  EXPECT_FALSE(table.choose("", kTcp, 0));
  table.set_listener({0, Protocol::tcp, 1}, 1, {.made = true, .empty = true});
  EXPECT_EQ(table.choose("", kTcp, 0)->slot, 1u);
  table.set_listener({0, Protocol::tcp, 1}, 1, {.made = true, .empty = false});
  EXPECT_FALSE(table.choose("", kTcp, 0)) << "one of them still leads to somebody";
  EXPECT_EQ(table.usage(0, Protocol::tcp).ready, 1u);
}

TEST(SlotTable, BothProtocolsShareThePort) {
  SlotTable table({item("a", 3)}, Policy::in_order);
  open_all(table);
  table.set_taken({0, Protocol::tcp, 0}, true);
  table.set_taken({0, Protocol::udp, 1}, true);
  EXPECT_EQ(table.choose("", kTcp, 0)->slot, 1u);
  EXPECT_EQ(table.choose("", kUdp, 0)->slot, 0u);
  EXPECT_EQ(table.choose("", kBoth, 0)->slot, 2u);
  table.set_taken({0, Protocol::udp, 2}, true);
  EXPECT_FALSE(table.choose("", kBoth, 0));
}

TEST(SlotTable, ThePolicyPicksTheItem) {
  for (const Policy policy : {Policy::in_order, Policy::average}) {
    SlotTable table({item("small", 2), item("large", 100)}, policy);
    open_all(table);
    EXPECT_EQ(table.items()[table.choose("", kTcp, 0)->item].name,
              policy == Policy::in_order ? "small" : "large");
    EXPECT_EQ(table.items()[table.choose("small", kTcp, 0)->item].name, "small");
    EXPECT_FALSE(table.choose("none", kTcp, 0));
  }
}

TEST(SlotTable, SegmentsAreFoundByTheirFirstPort) {
  ItemShape shape = item("a", 20);
  shape.segment = 5;
  const SlotTable table({shape}, Policy::in_order);
  EXPECT_EQ(table.find("a", Protocol::tcp, 30010)->slot, 2u);
  EXPECT_EQ(shape.ports_of(2), (model::PortRange{30010, 30014}));
  EXPECT_FALSE(table.find("a", Protocol::tcp, 30011));
  EXPECT_FALSE(table.find("a", Protocol::tcp, 30100));
  EXPECT_FALSE(table.find("a", Protocol::tcp, 29999));
  EXPECT_FALSE(table.find("b", Protocol::tcp, 30010));
}

// Against the plainest description of the same: a set of what is free.
TEST(SlotTable, EveryFreeSlotIsFoundFromEveryStartAndNoOther) {
  Random random(7);
  for (const std::uint32_t slots : {1u, 63u, 64u, 65u, 200u}) {
    SlotTable table({item("a", slots)}, Policy::in_order);
    open_all(table);
    std::set<std::uint32_t> free;
    for (std::uint32_t i = 0; i < slots; ++i) free.insert(i);
    for (int round = 0; round < 400; ++round) {
      const auto slot = static_cast<std::uint32_t>(random.below(slots));
      const bool taken = random.below(3) > 0;
      table.set_taken({0, Protocol::tcp, slot}, taken);
      taken ? (void)free.erase(slot) : (void)free.insert(slot);
      const auto start = static_cast<std::uint32_t>(random.below(slots));
      const auto it = free.lower_bound(start);
      const auto found = table.choose("", kTcp, start);
      ASSERT_EQ(found.has_value(), !free.empty());
      if (found) {
        ASSERT_EQ(found->slot, it != free.end() ? *it : *free.begin());
      }
      ASSERT_EQ(table.usage(0, Protocol::tcp).free, free.size());
      ASSERT_EQ(table.usage(0, Protocol::tcp).taken, slots - free.size());
    }
  }
}

// An item of TLS has nothing for whoever asks for TCP, and the other way round.
TEST(SlotTable, WhatIsSpokenMustBeWhatIsAskedFor) {
  ItemShape tls = item("tls", 2);
  tls.protocols = {Protocol::tls, Protocol::udp};
  SlotTable table({tls}, Policy::in_order);
  for (const Protocol protocol : tls.protocols)
    table.set_listener({0, protocol, 0}, 0, {.made = true, .empty = true});
  table.set_listener({0, Protocol::tcp, 1}, 0, {.made = true, .empty = true});
  constexpr Protocol kTls[] = {Protocol::tls};
  EXPECT_EQ(table.choose("", kTls, 0), (SlotPlace{0, Protocol::tls, 0}));
  EXPECT_FALSE(table.choose("", kTcp, 0));
  EXPECT_FALSE(table.choose("", kBoth, 0));
  EXPECT_FALSE(table.find("tls", Protocol::tcp, 30000));
  EXPECT_EQ(table.usage(0, Protocol::tls).free, 1u) << "a stranger's note changed nothing";
}

}  // namespace
}  // namespace berth::ledger
