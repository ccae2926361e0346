#include "ledger/grants.h"

#include <gtest/gtest.h>

namespace berth::ledger {
namespace {

using model::Protocol;

Grant grant(std::string owner, model::Port first, model::Port last,
            Protocol protocol = Protocol::tcp, std::string item = "item1") {
  return {.protocol = protocol,
          .ports = {first, last},
          .owner = {"PortPool", "games", owner, "uid-" + owner},
          .item = std::move(item)};
}

TEST(Grants, PortsHaveOneOwner) {
  const auto grants = with_grant({}, grant("a", 30000, 30099)).value();
  const auto refused = with_grant(grants, grant("b", 30099, 30200));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::conflict);
  EXPECT_EQ(refused.error().message,
            "TCP ports 30000-30099 are granted to PortPool games/a, item item1");
  EXPECT_TRUE(with_grant(grants, grant("b", 30100, 30200)));
  EXPECT_TRUE(with_grant(grants, grant("b", 30099, 30200, Protocol::udp)))
      << "the same port of the other protocol is another port";
}

TEST(Grants, AnItemMayGrowUntilItMeetsSomebody) {
  auto grants = with_grant({}, grant("a", 30000, 30009)).value();
  grants = with_grant(grants, grant("b", 30020, 30029)).value();
  grants = with_grant(grants, grant("a", 30000, 30019)).value();
  EXPECT_EQ(grants.size(), 2u);
  EXPECT_TRUE(is_granted(grants, "uid-a", Protocol::tcp, {30015, 30015}));
  EXPECT_FALSE(with_grant(grants, grant("a", 30000, 30020)));
}

TEST(Grants, ItemsOfOneOwnerAreToldApart) {
  auto grants = with_grant({}, grant("a", 30000, 30009)).value();
  EXPECT_FALSE(with_grant(grants, grant("a", 30005, 30015, Protocol::tcp, "item2")));
  grants = with_grant(grants, grant("a", 30010, 30015, Protocol::tcp, "item2")).value();
  EXPECT_FALSE(is_granted(grants, "uid-a", Protocol::tcp, {30009, 30010}));
  EXPECT_EQ(without_owner(grants, "uid-a", "item1").size(), 1u);
  EXPECT_TRUE(without_owner(grants, "uid-a", "").empty());
  EXPECT_EQ(without_owner(grants, "uid-b", "").size(), 2u);
}

// The name of an item was changed: what the old item has is not the new one's.
TEST(Grants, ARenamedItemWaitsForTheOldOne) {
  const auto grants = with_grant({}, grant("a", 30000, 30009)).value();
  const Grant renamed = grant("a", 30000, 30009, Protocol::tcp, "renamed");
  EXPECT_TRUE(has_grant(grants, grant("a", 30000, 30009)));
  EXPECT_TRUE(has_grant(grants, grant("a", 30001, 30008)));
  EXPECT_FALSE(has_grant(grants, renamed));
  EXPECT_FALSE(has_grant(grants, grant("a", 30000, 30010)));
  const auto refused = with_grant(grants, renamed);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::conflict);
  EXPECT_EQ(refused.error().message,
            "TCP ports 30000-30009 are granted to PortPool games/a, item item1");
  EXPECT_EQ(refused.error().hint,
            "they are free when that item is no longer in the pool and its listeners are gone");
  EXPECT_TRUE(with_grant(without_owner(grants, "uid-a", "item1"), renamed));
}

TEST(Grants, WhatWasGivenCanBeTakenBack) {
  const auto before = with_grant({}, grant("b", 30000, 30009)).value();
  const Grant first = grant("a", 30010, 30019);
  const auto with_first = with_grant(before, first).value();
  EXPECT_EQ(without_given(with_first, first, std::nullopt), before);
  const Grant grown = grant("a", 30010, 30029);
  EXPECT_EQ(own_grant(with_first, grown), first);
  EXPECT_EQ(without_given(with_grant(with_first, grown).value(), grown, first), with_first);
  EXPECT_EQ(without_given(before, first, first), before) << "somebody took it back already";
}

}  // namespace
}  // namespace berth::ledger
