#include "edge/address_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::edge {
namespace {

using testing::ElementsAre;

TEST(AddressPlan, AnIdHasTheSameAddressEverywhere) {
  const AddressPlan plan = loopback_plan();
  EXPECT_EQ(plan({.id = "lb-1"})->front(), "127.119.232.234");
  EXPECT_EQ(plan({.id = "lb-1"})->front(), loopback_address("lb-1"));
  EXPECT_NE(plan({.id = "lb-1"})->front(), plan({.id = "lb-2"})->front());
  EXPECT_NE(plan({.id = "lb-1"})->front(), plan({.region = "ap-nanjing", .id = "lb-1"})->front());
}

TEST(AddressPlan, ABareMetalPlanKnowsItsOwnIdsAlone) {
  const AddressPlan plan = fixed_plan({{"front", {"192.0.2.1", "2001:db8::1"}}});
  EXPECT_THAT(*plan({.id = "front"}), ElementsAre("192.0.2.1", "2001:db8::1"));
  const auto unknown = plan({.id = "back"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::not_found);
  EXPECT_THAT(unknown.error().to_string(), testing::HasSubstr("edge:back"));
}

TEST(LowPorts, PortsBelowTheLimitAreOpenedAtTheOffset) {
  const LowPorts low{.limit = 1024, .offset = 61'000};
  EXPECT_EQ(low.opened_at(80), 61'080);
  EXPECT_EQ(low.opened_at(1024), 1024);
  EXPECT_THAT(low.opened_at(model::PortRange{1000, 1100}),
              ElementsAre(model::PortRange{62'000, 62'023}, model::PortRange{1024, 1100}));
  EXPECT_THAT(low.opened_at(model::PortRange{80, 81}),
              ElementsAre(model::PortRange{61'080, 61'081}));
}

TEST(LowPorts, WithoutALimitPortsAreWhatTheyAre) {
  EXPECT_EQ(LowPorts{}.opened_at(80), 80);
  EXPECT_THAT(LowPorts{}.opened_at(model::PortRange{1, 65'535}),
              ElementsAre(model::PortRange{1, 65'535}));
}

}  // namespace
}  // namespace berth::edge
