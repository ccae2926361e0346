#include "api/pod_ports.h"

#include <gtest/gtest.h>

namespace berth::api {
namespace {

TEST(PortRequests, LinesAndSemicolons) {
  const auto lines = parse_port_requests("rooms TCP 8000\npool2.shared UDP 9000\n", "games");
  ASSERT_TRUE(lines) << lines.error().to_string();
  ASSERT_EQ(lines->size(), 2u);
  EXPECT_EQ((*lines)[0].pool, (kube::ObjectKey{"games", "rooms"}));
  EXPECT_EQ((*lines)[1].pool, (kube::ObjectKey{"shared", "pool2"}));
  EXPECT_EQ((*lines)[1].protocol, model::Protocol::udp);
  EXPECT_EQ((*lines)[1].container_port, 9000);
  EXPECT_EQ(parse_port_requests("rooms TCP 1;rooms TCP 2", "games").value().size(), 2u);
}

TEST(PortRequests, RefusalsQuoteTheLine) {
  const auto message = [](std::string_view text) {
    const auto result = parse_port_requests(text, "games");
    return result ? "" : result.error().message;
  };
  EXPECT_EQ(message("rooms TCP"), "'rooms TCP': has 2 words, not 3");
  EXPECT_EQ(message("rooms SCTP 1"), "'rooms SCTP 1': protocol 'SCTP' is not one of TCP, UDP");
  EXPECT_EQ(message("rooms TCP 0"), "'rooms TCP 0': port '0' is not 1-65535");
  EXPECT_EQ(message(""), "'': asks for no port");
  EXPECT_EQ(parse_port_requests("x", "games").error().field,
            "metadata.annotations[ports.portpools.networkextension.bkbcs.tencent.com]");
}

TEST(PoolBindings, RoundTripInTheOrderUsersKnow) {
  const std::vector<PoolBinding> bindings{{.pool = {"test", "test-pool1"},
                                           .item = "item1",
                                           .load_balancer_id = "lb-00001",
                                           .address = "1.1.1.1",
                                           .port = 31000,
                                           .container_port = 80}};
  const std::string text = encode_pool_bindings(bindings);
  EXPECT_EQ(
      text,
      R"([{"poolName":"test-pool1","poolNamespace":"test","loadBalancerIDs":["lb-00001"],)"
      R"("poolItemLoadBalancers":[{"loadbalancerID":"lb-00001","ips":["1.1.1.1"]}],"poolItemName":"item1",)"
      R"("protocol":"TCP","startPort":31000,"endPort":0,"rsStartPort":80}])");
  const auto back = decode_pool_bindings(text);
  ASSERT_TRUE(back) << back.error().to_string();
  EXPECT_EQ((*back)[0].address, "1.1.1.1");
  EXPECT_EQ((*back)[0].container_port, 80);
}

TEST(PoolBindings, GarbageIsAnErrorThatNamesTheAnnotation) {
  for (const char* bad : {"", "{}", "[{}]", "[{\"protocol\":\"X\"}]", "nonsense"}) {
    const auto result = decode_pool_bindings(bad);
    ASSERT_FALSE(result) << bad;
    EXPECT_NE(result.error().field.find("poolbindings.portpool"), std::string::npos);
  }
}

}  // namespace
}  // namespace berth::api
