#include "model/port.h"

#include <gtest/gtest.h>

namespace berth::model {
namespace {

TEST(Port, ParsesTheWholeRangeAndNothingElse) {
  EXPECT_EQ(parse_port("1").value(), 1);
  EXPECT_EQ(parse_port("65535").value(), 65535);
  for (const char* bad : {"", "0", "65536", "-1", "80x", " 80", "8 0"}) {
    const auto port = parse_port(bad);
    ASSERT_FALSE(port) << bad;
    EXPECT_EQ(port.error().message, fmt::format("port '{}' is not 1-65535", bad));
  }
}

TEST(Port, RangesOverlapWhenTheyShareAPort) {
  constexpr PortRange rooms{100, 109};
  EXPECT_TRUE(rooms.overlaps({109, 120}));
  EXPECT_TRUE(rooms.overlaps({100, 100}));
  EXPECT_FALSE(rooms.overlaps({110, 120}));
  EXPECT_EQ(rooms.size(), 10u);
  EXPECT_EQ((PortRange{0, 65535}.size()), 65536u);
}

TEST(Port, ProtocolErrorSaysWhatIsAllowed) {
  EXPECT_EQ(parse_transport("UDP").value(), Transport::udp);
  EXPECT_EQ(parse_transport("SCTP").error().message, "protocol 'SCTP' is not one of TCP, UDP");
}

TEST(Port, IPv6TargetsAreBracketed) {
  EXPECT_EQ(to_string(Target{"10.0.0.1", 80}), "10.0.0.1:80");
  EXPECT_EQ(to_string(Target{"fd00::1", 80}), "[fd00::1]:80");
}

}  // namespace
}  // namespace berth::model
