#include "providers/tencent.h"

#include <gmock/gmock.h>
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

// As dashboards ask for them: by the names that the cloud's API has, retries and questions for
// tasks included.
TEST(TencentPart, RequestsAreCountedByTheirActionsWhileSomebodyMeasures) {
  sim::Kernel kernel(1);
  sim::Process& process = kernel.start_process("test");
  sim::tencent::Cloud cloud({});
  cloud.add_account({.uin = "100000000001"});
  cloud.add_key(
      {.secret_id = "AKIDEXAMPLE", .secret_key = Secret("key"), .account = "100000000001"});
  cloud.add_load_balancer({.id = "lb-1", .account = "100000000001", .region = "ap-nanjing"},
                          process.wall_time());
  cloud.inject({.kind = sim::tencent::FaultKind::refuse,
                .action = "CreateListener",
                .error = {"RequestLimitExceeded", "too many"}});
  sim::tencent::CloudTransport transport(cloud, {.round_trip = std::chrono::milliseconds{50}});
  const app::DriverPart part =
      start_tencent(process, transport,
                    {.options = {}, .credentials = {.id = "AKIDEXAMPLE", .key = Secret("key")}});
  EXPECT_TRUE(part.seams.listeners->counts_requests()) << "the engine counts them no second time";
  metrics::Registry registry;
  std::shared_ptr<void> measured = part.measure(registry);
  const lb::Place place{{model::Provider::tencent, "ap-nanjing", "lb-1"}};
  const auto make = [&](model::Port port) {
    const auto made = part.seams.listeners->create(
        {.tasks = process}, place,
        std::vector{
            model::plain_listener(model::Protocol::tcp, {port, port}, fmt::format("b-{}", port))});
    ASSERT_TRUE(made.at(0)) << made.at(0).error().to_string();
  };
  make(30000);
  const std::string text = registry.text();
  const std::string total = "bcs_network_ingress_controller_cloud_request_total";
  EXPECT_THAT(text, ::testing::HasSubstr(total + R"({errcode="failed",rpc="CreateListener"} 1)"));
  EXPECT_THAT(text, ::testing::HasSubstr(total + R"({errcode="success",rpc="CreateListener"} 1)"));
  EXPECT_THAT(text,
              ::testing::HasSubstr(total + R"({errcode="success",rpc="DescribeTaskStatus"})"));
  EXPECT_THAT(text, ::testing::HasSubstr(R"(method="CreateListener",status="exceed_limit")"));
  // On the way there and back, and not what a call waited for its turn.
  EXPECT_THAT(text, ::testing::HasSubstr("bcs_network_ingress_controller_cloud_response_time_sum{"
                                         "rpc=\"CreateListener\"} 100\n"));
  measured.reset();
  make(30001);
  EXPECT_EQ(registry.text(), text) << "that registry may be gone";
}

}  // namespace
}  // namespace berth::providers
