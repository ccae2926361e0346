#include "edge/target_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::edge {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using enum AddressClass;

IpBytes ip_of(const std::string& text) { return SocketAddress::of({text, 1}).value().ip(); }

TEST(TargetRules, EveryAddressHasItsClass) {
  const std::vector<std::pair<const char*, AddressClass>> table{
      // The ends of each range, and their neighbours.
      {"0.0.0.0", unspecified},
      {"0.0.0.1", unspecified},
      {"0.255.255.255", unspecified},
      {"1.0.0.0", ordinary},
      {"126.255.255.255", ordinary},
      {"127.0.0.0", loopback},
      {"127.0.0.1", loopback},
      {"127.64.3.4", loopback},
      {"127.255.255.255", loopback},
      {"128.0.0.0", ordinary},
      {"169.253.255.255", ordinary},
      {"169.254.0.0", link_local},
      {"169.254.169.254", link_local},
      {"169.254.255.255", link_local},
      {"169.255.0.0", ordinary},
      {"223.255.255.255", ordinary},
      {"224.0.0.0", multicast},
      {"239.255.255.255", multicast},
      {"240.0.0.0", ordinary},  // some clusters have their Pods there
      {"255.255.255.254", ordinary},
      {"255.255.255.255", broadcast},
      {"168.63.129.15", ordinary},
      {"168.63.129.16", metadata},
      {"168.63.129.17", ordinary},
      {"192.0.0.192", metadata},
      // Networks of Pods and nodes.
      {"10.0.0.1", ordinary},
      {"100.64.0.1", ordinary},
      {"100.100.100.200", ordinary},
      {"172.16.0.1", ordinary},
      {"192.168.1.1", ordinary},
      {"203.0.113.9", ordinary},
      {"2001:db8::1", ordinary},
      {"fd00::1", ordinary},
      {"fc00::1", ordinary},
      // IPv6.
      {"::", unspecified},
      {"::1", loopback},
      {"::2", unspecified},  // 0.0.0.2 in the oldest way to write it
      {"fe7f:ffff::1", ordinary},
      {"fe80::", link_local},
      {"fe80::1", link_local},
      {"febf:ffff::1", link_local},
      {"fec0::1", ordinary},
      {"feff:ffff::1", ordinary},
      {"ff00::", multicast},
      {"ff02::1", multicast},
      {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", multicast},
      {"fd00:ec2::254", metadata},
      {"fd00:ec2::23", metadata},
      {"fd00:ec2::1:254", ordinary},
      {"fd00:ec3::254", ordinary},
      {"fd20:ce::254", metadata},
      {"fd20:ce::255", ordinary},
      {"fd00:c1::a9fe:a9fe", metadata},
      // IPv4 inside of IPv6.
      {"::ffff:0.0.0.0", unspecified},
      {"::ffff:127.0.0.1", loopback},
      {"::ffff:127.255.255.255", loopback},
      {"::ffff:169.254.169.254", link_local},
      {"::ffff:224.0.0.1", multicast},
      {"::ffff:255.255.255.255", broadcast},
      {"::ffff:168.63.129.16", metadata},
      {"::ffff:10.0.0.1", ordinary},
      {"::127.0.0.1", loopback},
      {"::169.254.169.254", link_local},
      {"::10.0.0.1", ordinary},
      {"64:ff9b::127.0.0.1", loopback},
      {"64:ff9b::169.254.169.254", link_local},
      {"64:ff9b::10.0.0.1", ordinary},
      {"64:ff9b:1::127.0.0.1", ordinary},
      {"2002:7f00:1::1", loopback},
      {"2002:a9fe:a9fe::1", link_local},
      {"2002:a00:1::1", ordinary},
      {"2003:7f00:1::1", ordinary},
  };
  for (const auto& [text, expected] : table)
    EXPECT_EQ(to_string(class_of(ip_of(text))), to_string(expected)) << text;
}

// Every first pair of bytes of IPv4, plain and mapped, against the ranges as RFCs write them.
TEST(TargetRules, NoRangeOfIPv4HasAHole) {
  for (unsigned first = 0; first < 256; ++first) {
    for (unsigned second = 0; second < 256; ++second) {
      const AddressClass expected = first == 0                      ? unspecified
                                    : first == 127                  ? loopback
                                    : first == 169 && second == 254 ? link_local
                                    : first >= 224 && first <= 239  ? multicast
                                                                    : ordinary;
      const std::string text = fmt::format("{}.{}.7.7", first, second);
      ASSERT_EQ(class_of(ip_of(text)), expected) << text;
      ASSERT_EQ(class_of(ip_of("::ffff:" + text)), expected) << text;
    }
  }
}

TEST(TargetRules, EveryFirstPairOfIPv6IsJudged) {
  for (unsigned first = 0x100; first <= 0xffff; ++first) {
    if (first == 0x2002) continue;  // 6to4: above
    const AddressClass expected = first >= 0xff00                      ? multicast
                                  : first >= 0xfe80 && first <= 0xfebf ? link_local
                                                                       : ordinary;
    const std::string text = fmt::format("{:x}::7", first);
    ASSERT_EQ(class_of(ip_of(text)), expected) << text;
  }
}

bool nobody(const IpBytes&) { return false; }

TEST(TargetRules, AnEndpointIsMetAtItsAddressAndPort) {
  const auto endpoints = endpoints_at("the webhook server", "https://10.0.0.5:9443");
  ASSERT_THAT(endpoints, SizeIs(1));
  const auto met = [&](const char* ip, model::PortRange ports) {
    return meets(endpoints.front(), ip_of(ip), ports, nobody);
  };
  EXPECT_TRUE(met("10.0.0.5", {9443, 9443}));
  EXPECT_TRUE(met("10.0.0.5", {9000, 9443})) << "one of its ports";
  EXPECT_TRUE(met("::ffff:10.0.0.5", {9443, 9443}));
  EXPECT_FALSE(met("10.0.0.5", {9444, 9500}));
  EXPECT_FALSE(met("10.0.0.6", {9443, 9443}));
}

TEST(TargetRules, AnEndpointOnAllAddressesIsMetOnEachOfTheMachine) {
  for (const char* url : {"http://0.0.0.0:8080", "http://[::]:8080"}) {
    const auto endpoints = endpoints_at("the metrics server", url);
    ASSERT_THAT(endpoints, SizeIs(1)) << url;
    const auto met = [&](const char* ip, model::Port port) {
      return meets(endpoints.front(), ip_of(ip), {port, port},
                   [](const IpBytes& own) { return own == ip_of("10.0.0.5"); });
    };
    EXPECT_TRUE(met("10.0.0.5", 8080));
    EXPECT_TRUE(met("127.3.4.5", 8080));
    EXPECT_TRUE(met("::1", 8080));
    EXPECT_FALSE(met("10.0.0.6", 8080)) << "another node";
    EXPECT_FALSE(met("10.0.0.5", 8081)) << "a Pod on the node's network";
  }
}

TEST(TargetRules, UrlsAreReadAsTheyAreWritten) {
  const auto at = [](const char* url) {
    std::vector<std::string> out;
    for (const Endpoint& endpoint : endpoints_at("it", url))
      out.push_back(model::to_string(endpoint.at.to_target()));
    return out;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(at("https://10.96.0.1"), ElementsAre("10.96.0.1:443"));
  EXPECT_THAT(at("http://10.96.0.1/base"), ElementsAre("10.96.0.1:80"));
  EXPECT_THAT(at("https://[2001:db8::1]:6443/base"), ElementsAre("[2001:db8::1]:6443"));
  EXPECT_THAT(at("https://[2001:db8::1]"), ElementsAre("[2001:db8::1]:443"));
  EXPECT_THAT(at("https://localhost:6443"), ElementsAre("127.0.0.1:6443", "[::1]:6443"));
  for (const char* url : {"https://api.example:6443", "10.0.0.1:80", "", "https://", "https://[::1",
                          "https://10.0.0.1:70000", "https://:80"})
    EXPECT_THAT(at(url), IsEmpty()) << url;
}

}  // namespace
}  // namespace berth::edge
