#include "api/host_ports.h"

#include <gtest/gtest.h>

namespace berth::api {
namespace {

TEST(HostPortRange, BothEndsAreIncluded) {
  EXPECT_EQ(parse_host_port_range("20000-29999").value(), kDefaultHostPorts);
  EXPECT_EQ(parse_host_port_range("7 - 7").value().size(), 1u);
  const auto why = [](std::string_view text) {
    return parse_host_port_range(text).error().message;
  };
  EXPECT_EQ(why("20000"), "'20000' is no range of ports: it has no '-'");
  EXPECT_EQ(why("0-5"), "'0-5' is no range of ports: port '0' is not 1-65535");
  EXPECT_EQ(why("1-70000"), "'1-70000' is no range of ports: port '70000' is not 1-65535");
  EXPECT_EQ(why("9-8"), "'9-8' is no range of ports: it ends before it begins");
}

TEST(HostPortEntries, NamesAndNumbersWithBlanksAround) {
  using Entries = std::vector<std::string>;
  EXPECT_EQ(parse_host_port_entries("8080,metric").value(), (Entries{"8080", "metric"}));
  EXPECT_EQ(parse_host_port_entries(" 8080 ,\nmetric,8080,").value(), (Entries{"8080", "metric"}));
  const auto refused = parse_host_port_entries(" , ");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field,
            "metadata.annotations[ports.randhostport.webhook.bkbcs.tencent.com]");
}

TEST(HostPortKeys, AreThoseThatUsersKnow) {
  EXPECT_EQ(host_port_label(29001), "29001.randhostport.webhook.bkbcs.tencent.com");
  EXPECT_EQ(port_of_label("29001.randhostport.webhook.bkbcs.tencent.com"), 29001);
  EXPECT_FALSE(port_of_label("ports.randhostport.webhook.bkbcs.tencent.com"));
  EXPECT_FALSE(port_of_label("randhostport.webhook.bkbcs.tencent.com"));
  EXPECT_EQ(host_port_result_annotation(8080), "randhostport.webhook.bkbcs.tencent.com.8080");
  EXPECT_TRUE(is_host_port_result("randhostport.webhook.bkbcs.tencent.com.8080"));
  EXPECT_FALSE(is_host_port_result("randhostport.webhook.bkbcs.tencent.com"));
  EXPECT_FALSE(is_host_port_result("randhostport.webhook.bkbcs.tencent.com.note"));
  EXPECT_EQ(host_port_variable(8080), "BCS_RANDHOSTPORT_FOR_CONTAINER_PORT_8080");
  EXPECT_EQ(port_of_variable("BCS_RANDHOSTPORT_FOR_CONTAINER_PORT_8080"), 8080);
  EXPECT_FALSE(port_of_variable("BCS_RANDHOSTPORT_HOSTIP"));
}

}  // namespace
}  // namespace berth::api
