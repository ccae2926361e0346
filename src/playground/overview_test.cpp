#include "playground/overview.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace berth::playground {
namespace {

TEST(PodRow, ShowsWhereAPodWithHostPortsIsReached) {
  const auto pod = wire::parse_json(R"({
    "metadata":{"namespace":"default","name":"relay-1",
                "labels":{"app":"relay","randhostport.webhook.bkbcs.tencent.com":"true",
                          "20001.randhostport.webhook.bkbcs.tencent.com":"20001",
                          "20345.randhostport.webhook.bkbcs.tencent.com":"20345"}},
    "spec":{"containers":[{"name":"a"}]},
    "status":{"phase":"Running","hostIP":"127.0.0.1","podIP":"127.16.0.9"}})");
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod_row(*pod).room, "127.0.0.1:20001,20345");
  EXPECT_EQ(pod_row(*pod).ready, "0/1");
}

TEST(PodRow, APodWithoutAnyHasNone) {
  const auto pod = wire::parse_json(R"({"metadata":{"name":"a"},"status":{"hostIP":"127.0.0.1"}})");
  EXPECT_EQ(pod_row(pod.value()).room, "");
}

wire::Value low_room() {
  return wire::parse_json(R"({
    "metadata":{"namespace":"play","name":"room-0","uid":"u1","annotations":{
      "portpools.networkextension.bkbcs.tencent.com":"true",
      "status.portpools.networkextension.bkbcs.tencent.com":"Ready",
      "poolbindings.portpool.networkextension.bkbcs.tencent.com":
        "[{\"poolName\":\"p\",\"poolNamespace\":\"play\",\"loadBalancerIDs\":[\"lb\"],\"poolItemLoadBalancers\":[{\"ips\":[\"127.64.0.1\"]}],\"poolItemName\":\"a\",\"protocol\":\"TCP\",\"startPort\":80,\"endPort\":0,\"rsStartPort\":8000},{\"poolName\":\"p\",\"poolNamespace\":\"play\",\"loadBalancerIDs\":[\"lb\"],\"poolItemLoadBalancers\":[{\"ips\":[\"127.64.0.1\"]}],\"poolItemName\":\"a\",\"protocol\":\"UDP\",\"startPort\":80,\"endPort\":0,\"rsStartPort\":8000}]"}},
    "spec":{"containers":[{"name":"a"}]}})")
      .value();
}

TEST(PodRow, ShowsOneAddressForBothProtocolsAndHowLongItTook) {
  const PodRow row = pod_row(low_room(), std::chrono::milliseconds{142});
  EXPECT_EQ(row.room, "127.64.0.1:80 TCP,UDP");
  EXPECT_EQ(row.took, "0.142 s");
}

TEST(PodRow, SaysWhereALowPortIsOpenInstead) {
  const auto balancer = wire::parse_json(
      R"({"status":{"vips":["127.64.0.1"],"lowPortLimit":1024,"lowPortOffset":61000}})");
  LowPortsByVip low;
  add_low_ports(balancer.value(), low);
  EXPECT_EQ(pod_row(low_room(), {}, low).room, "127.64.0.1:80 (open at 61080) TCP,UDP");
  const Room room = room_of(low_room(), low);
  EXPECT_EQ(room.address, "127.64.0.1:80");
  ASSERT_EQ(room.ports.size(), 2u);
  EXPECT_EQ(model::to_string(room.ports[0].open_at), "127.64.0.1:61080");
  EXPECT_EQ(room.ports[1].protocol, "UDP");
}

}  // namespace
}  // namespace berth::playground
