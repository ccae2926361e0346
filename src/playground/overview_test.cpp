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

}  // namespace
}  // namespace berth::playground
