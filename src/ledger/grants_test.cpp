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

}  // namespace
}  // namespace berth::ledger
