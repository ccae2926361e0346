#include "ledger/grants.h"

#include <gtest/gtest.h>

namespace berth::ledger {
namespace {

using model::Transport;

Grant grant(std::string owner, model::Port first, model::Port last,
            Transport transport = Transport::tcp, std::string item = "item1") {
  return {.transport = transport,
          .ports = {first, last},
          .owner = {"PortPool", "games", owner, "uid-" + owner},
          .item = std::move(item)};
}

TEST(Grants, PortsHaveOneOwner) {
  const auto grants = with_grant({}, grant("a", 30000, 30099), {}).value();
  const auto refused = with_grant(grants, grant("b", 30099, 30200), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::conflict);
  EXPECT_EQ(refused.error().message,
            "TCP ports 30000-30099 are granted to PortPool games/a, item item1");
  EXPECT_TRUE(with_grant(grants, grant("b", 30100, 30200), {}));
  EXPECT_TRUE(with_grant(grants, grant("b", 30099, 30200, Transport::udp), {}))
      << "the same port of the other transport is another port";
}

TEST(Grants, AnItemMayGrowUntilItMeetsSomebody) {
  auto grants = with_grant({}, grant("a", 30000, 30009), {}).value();
  grants = with_grant(grants, grant("b", 30020, 30029), {}).value();
  grants = with_grant(grants, grant("a", 30000, 30019), {}).value();
  EXPECT_EQ(grants.size(), 2u);
  EXPECT_TRUE(is_granted(grants, {"uid-a", "games", "item1", Transport::tcp, {30015, 30015}}));
  EXPECT_FALSE(with_grant(grants, grant("a", 30000, 30020), {}));
}

TEST(Grants, ItemsOfOneOwnerAreToldApart) {
  auto grants = with_grant({}, grant("a", 30000, 30009), {}).value();
  EXPECT_FALSE(with_grant(grants, grant("a", 30005, 30015, Transport::tcp, "item2"), {}));
  grants = with_grant(grants, grant("a", 30010, 30015, Transport::tcp, "item2"), {}).value();
  EXPECT_FALSE(is_granted(grants, {"uid-a", "games", "item1", Transport::tcp, {30009, 30010}}));
  EXPECT_EQ(without_unused(grants, std::span(grants).first(1), {}).size(), 1u);
  EXPECT_TRUE(without_unused(grants, grants, {}).empty());
  EXPECT_EQ(without_unused(grants, {}, {}).size(), 2u);
}

// The name of an item was changed: what the old item has is not the new one's.
TEST(Grants, ARenamedItemWaitsForTheOldOne) {
  const auto grants = with_grant({}, grant("a", 30000, 30009), {}).value();
  const Grant renamed = grant("a", 30000, 30009, Transport::tcp, "renamed");
  EXPECT_TRUE(has_grant(grants, grant("a", 30000, 30009)));
  EXPECT_TRUE(has_grant(grants, grant("a", 30001, 30008)));
  EXPECT_FALSE(has_grant(grants, renamed));
  EXPECT_FALSE(has_grant(grants, grant("a", 30000, 30010)));
  const auto refused = with_grant(grants, renamed, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::conflict);
  EXPECT_EQ(refused.error().message,
            "TCP ports 30000-30009 are granted to PortPool games/a, item item1");
  EXPECT_EQ(refused.error().hint,
            "they are free when that item is no longer in the pool and its listeners are gone");
  EXPECT_TRUE(with_grant(without_unused(grants, grants, {}), renamed, {}));
}

TEST(Grants, WhatWasGivenCanBeTakenBack) {
  const auto before = with_grant({}, grant("b", 30000, 30009), {}).value();
  const Grant first = grant("a", 30010, 30019);
  const auto with_first = with_grant(before, first, {}).value();
  EXPECT_EQ(without_given(with_first, first, {}, {}), before);
  const Grant grown = grant("a", 30010, 30029);
  EXPECT_EQ(own_grants(with_first, grown), std::vector{first});
  EXPECT_EQ(without_given(with_grant(with_first, grown, {}).value(), grown, {first}, {}),
            with_first);
  EXPECT_EQ(without_given(before, first, {first}, {}), before) << "somebody took it back already";
}

Holding holding(std::string owner, model::Port first, model::Port last,
                std::string item = "item1") {
  const Grant of = grant(owner, first, last);
  return {of.transport, of.ports, of.owner, std::move(item),
          fmt::format("Listener games/lb-1-tcp-{}", first)};
}

// An item that was taken out of its pool and came back with other ports, while rooms live on the
// old ones.
TEST(Grants, AGrantDoesNotLeaveALivingListener) {
  const auto grants = with_grant({}, grant("a", 30000, 30009), {}).value();
  const Holding living[] = {holding("a", 30003, 30003)};
  const auto moved = with_grant(grants, grant("a", 30100, 30109), living);
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().code, Code::conflict);
  EXPECT_EQ(moved.error().message,
            "TCP ports 30003-30003 of the item's former range 30000-30009 are in use by Listener "
            "games/lb-1-tcp-30003");
  EXPECT_EQ(with_grant(grants, grant("a", 30100, 30109), {}).value().size(), 1u);
  EXPECT_TRUE(with_grant(grants, grant("a", 30000, 30019), living)) << "it may grow";
  EXPECT_FALSE(with_grant(grants, grant("a", 30004, 30009), living)) << "nor shrink past it";
  EXPECT_EQ(without_unused(grants, grants, living), grants);
  EXPECT_EQ(without_given(grants, grants.front(), {}, living), grants);
}

// Whatever the object of the load balancer says: somebody may have edited or lost it.
TEST(Grants, NobodyIsGrantedWhatAnotherOwnersListenerHolds) {
  const Holding living[] = {holding("b", 30003, 30003)};
  const auto refused = with_grant({}, grant("a", 30000, 30009), living);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "TCP ports 30003-30003 are held by Listener games/lb-1-tcp-30003 of PortPool games/b");
  EXPECT_TRUE(with_grant({}, grant("b", 30000, 30009), living));
  EXPECT_TRUE(with_grant({}, grant("a", 30000, 30009, Transport::udp), living));
}

TEST(Grants, LostGrantsAreRebuiltFromWhatIsHeld) {
  const Holding living[] = {holding("b", 30004, 30004), holding("a", 30001, 30001),
                            holding("a", 30000, 30000), holding("a", 30003, 30003),
                            // Came later: a listener that somebody put back.
                            holding("c", 30004, 30005)};
  const auto grants = rebuilt(living, {});
  ASSERT_EQ(grants.size(), 3u);
  EXPECT_EQ(grants[0].ports, (model::PortRange{30000, 30001}));
  EXPECT_EQ(grants[0].owner.name, "a");
  EXPECT_EQ(grants[1].ports, (model::PortRange{30003, 30003}));
  EXPECT_EQ(grants[2].owner.name, "b");
  // Its owner has what it had before with one more write.
  const Holding own[] = {living[1], living[2], living[3]};
  const auto whole = with_grant({grants[0], grants[1]}, grant("a", 30000, 30009), own).value();
  EXPECT_EQ(whole.size(), 1u);
}

// Somebody edited the grants: who still stands on his ports gets them back, and nothing of others.
TEST(Grants, WhatIsStoodOnComesBack) {
  const WallTime now{std::chrono::seconds{7}};
  const auto holding = [](const Grant& of, model::Port first, model::Port last) {
    return Holding{of.transport, {first, last}, of.owner, of.item, "Listener games/x"};
  };
  const Grant a = grant("a", 30000, 30009);
  const Grant left = grant("a", 30020, 30029, Transport::tcp, "left");
  const Grant b = grant("b", 30030, 30039);
  const std::vector<Holding> own{holding(a, 30001, 30001), holding(left, 30021, 30021),
                                 holding(left, 30022, 30022), holding(left, 30030, 30030),
                                 holding(left, 30050, 30050)};
  const std::vector<Holding> all{holding(b, 30050, 30050)};
  const auto grants = with_holdings({a, b}, own, all, now);
  ASSERT_EQ(grants.size(), 3u) << "what another has, or holds, stays his";
  EXPECT_EQ(grants[0], a);
  EXPECT_EQ(grants[1].ports, (model::PortRange{30021, 30022}));
  EXPECT_EQ(grants[1].item, "left");
  EXPECT_EQ(grants[1].since, now);
  EXPECT_EQ(grants[2], b);
  EXPECT_EQ(with_holdings(grants, own, all, now), grants);
}

}  // namespace
}  // namespace berth::ledger
