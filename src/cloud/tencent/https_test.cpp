// The driver over curl and TLS, on threads: what is signed is what arrives.
#include <gtest/gtest.h>

#include "base/threads.h"
#include "cloud/tencent/driver.h"
#include "net/curl_transport.h"
#include "sim/cloud/tencent/https_frontend.h"

namespace berth::cloud::tencent {
namespace {

using namespace std::chrono_literals;

TEST(TencentOverHttps, ListenersAndTargetsAreMade) {
  ThreadTasks tasks;
  sim::tencent::Settings settings;
  settings.tasks.usual = 20ms;
  sim::tencent::Cloud cloud(settings);
  cloud.add_account({.uin = "100000000001"});
  cloud.add_key(
      {.secret_id = "AKIDEXAMPLE", .secret_key = Secret("example-key"), .account = "100000000001"});
  cloud.add_load_balancer({.id = "lb-1", .account = "100000000001", .region = "ap-nanjing"},
                          tasks.wall_time());
  const auto frontend = sim::tencent::HttpsFrontend::start(tasks, cloud, {});
  ASSERT_TRUE(frontend) << frontend.error().to_string();
  net::CurlTransport transport;
  GivenCredentials credentials({.id = "AKIDEXAMPLE", .key = Secret("example-key")});
  Options options{.endpoint = (*frontend)->host()};
  trust(options, (*frontend)->ca_pem());
  ClbDriver driver(tasks, transport, credentials, options);
  const Context context = Context{.tasks = tasks}.within(60s);
  const lb::Place place{model::LoadBalancerRef{model::Provider::tencent, "ap-nanjing", "lb-1"}};
  lb::Listeners& listeners = *driver.seams().listeners;
  const auto spec = model::plain_listener(model::Protocol::tcp, {30000, 30000}, "b-30000");
  const auto made = listeners.create(context, place, {&spec, 1});
  ASSERT_TRUE(made[0]) << made[0].error().to_string();
  const lb::TargetChange change{{*made[0], {}}, {{{"10.0.0.1", 80}}}, {}};
  const auto changed = listeners.change_targets(context, place, {&change, 1});
  ASSERT_TRUE(changed[0]) << changed[0].error().to_string();
  const auto listed = listeners.list(context, place);
  ASSERT_TRUE(listed) << listed.error().to_string();
  ASSERT_EQ(listed->size(), 1u);
  EXPECT_EQ(model::targets_of(listed->front().spec), change.add);
}

}  // namespace
}  // namespace berth::cloud::tencent
