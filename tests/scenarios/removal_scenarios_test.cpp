// `berth uninstall` while a controller runs outside of the cluster, where nothing but the API
// server tells it anything: it stands down, and nothing of ours is left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "uninstall_house.h"

namespace berth::scenario {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using wire::Object;
using namespace std::chrono_literals;

constexpr std::string_view kPool = R"(
apiVersion: v1
kind: Namespace
metadata: {name: games}
---
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {name: rooms, namespace: games}
spec:
  poolItems: [{itemName: a, loadBalancerIDs: ["edge:demo"], startPort: 100, endPort: 102}]
)";

constexpr std::string_view kIngress = R"(
apiVersion: v1
kind: Namespace
metadata: {name: games}
---
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: Ingress
metadata:
  name: front
  namespace: games
  annotations: {networkextension.bkbcs.tencent.com/lbids: "edge:demo"}
spec: {rules: [{port: 443, protocol: TCP, services: [{serviceName: web, servicePort: 80}]}]}
)";

const std::string kHook =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/berth";

world::ClusterOptions quick() {
  world::ClusterOptions options;
  options.kernel.max_latency = 10ms;
  return options;
}

TEST(Removal, EndsWhileAControllerRunsThatPutsEverythingBack) {
  UninstallHouse house(quick());
  ASSERT_TRUE(house.furnish(kPool));
  ASSERT_TRUE(house.start_controller());
  ASSERT_TRUE(house.cluster().ask("DELETE", kHook));
  ASSERT_TRUE(house.cluster().run_until([&] {
    return house.cluster().ask("GET", kHook).has_value();
  })) << "it puts back what somebody deletes";

  const Result<> done = house.uninstall();
  ASSERT_TRUE(done) << done.error().to_string();
  EXPECT_THAT(house.left(), IsEmpty());
  EXPECT_THAT(house.told(), Not(Contains(HasSubstr("may stay")))) << "it took its listeners along";
  ASSERT_TRUE(house.cluster().run_until([&] { return house.controller()->ended().has_value(); }));
  const Result<>& ended = *house.controller()->ended();
  EXPECT_TRUE(ended) << "no failure: whoever runs it must not start it again. "
                     << ended.error().to_string();
  EXPECT_THAT(house.left(), IsEmpty());
}

TEST(Removal, TheListenersOfIngressesGoToo) {
  UninstallHouse house(quick());
  ASSERT_TRUE(house.furnish(kIngress));
  ASSERT_TRUE(house.start_controller());
  ASSERT_TRUE(
      house.cluster().run_until([&] { return house.controller()->listeners_at("demo") == 1U; }));
  const Result<> done = house.uninstall();
  ASSERT_TRUE(done) << done.error().to_string();
  EXPECT_EQ(house.controller()->listeners_at("demo"), 0U) << "the cloud has it for ever";
  EXPECT_THAT(house.told(), Not(Contains(HasSubstr("may stay"))));
  EXPECT_THAT(house.left(), IsEmpty());
}

TEST(Removal, ACrashOfEitherAtAnyWriteIsMadeGood) {
  const auto swept =
      crash_everywhere("removal", [](const sim::CrashPlan& plan) -> Result<sim::RunReport> {
        UninstallHouse house(quick());
        if (Result<> furnished = house.furnish(kPool); !furnished) return pass(furnished);
        house.cluster().kernel().set_crash_plan(plan);
        if (Result<> started = house.start_controller(); !started) return pass(started);
        if (Result<> done = house.uninstall(); !done) return pass(done);
        for (const std::string& path : house.left()) return fail(Code::internal, "left: {}", path);
        return house.cluster().kernel().report();
      });
  ASSERT_TRUE(swept) << swept.error().message;
  EXPECT_GE(swept->writes, 20u);
}

}  // namespace
}  // namespace berth::scenario
