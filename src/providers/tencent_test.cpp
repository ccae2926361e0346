#include "providers/tencent.h"

#include <gtest/gtest.h>

#include "sim/cloud/tencent/transport.h"
#include "sim/kernel/kernel.h"

namespace berth::providers {
namespace {

TEST(TencentPart, ServesItsLoadBalancersWithTheKeysOfTheProcess) {
  sim::Kernel kernel(1);
  sim::Process& process = kernel.start_process("test");
  sim::tencent::Cloud cloud({});
  cloud.add_account({.uin = "100000000001"});
  cloud.add_key(
      {.secret_id = "AKIDEXAMPLE", .secret_key = Secret("key"), .account = "100000000001"});
  cloud.add_load_balancer(
      {.id = "lb-1", .account = "100000000001", .region = "ap-nanjing", .vips = {"1.1.1.1"}},
      process.wall_time());
  sim::tencent::CloudTransport transport(cloud);
  const app::DriverSet drivers(
      {start_tencent(process, transport,
                     {.options = {}, .credentials = {.id = "AKIDEXAMPLE", .key = Secret("key")}})});
  const model::LoadBalancerRef lb{model::Provider::tencent, "ap-nanjing", "lb-1"};
  const lb::Drivers seams = drivers.seams();
  const lb::Driver* const driver = seams.of(lb);
  ASSERT_NE(driver, nullptr);
  EXPECT_EQ(seams.of({.provider = model::Provider::aws}), nullptr);
  const auto info = lb::describe_one({.tasks = process}, *driver->directory, lb);
  ASSERT_TRUE(info) << info.error().to_string();
  EXPECT_EQ(info->vips, std::vector<std::string>{"1.1.1.1"});
}

}  // namespace
}  // namespace berth::providers
