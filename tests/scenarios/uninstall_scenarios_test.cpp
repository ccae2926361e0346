// `berth uninstall` on a simulated cluster: it may end at any point and is run again, and nothing
// of ours is left in the end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "app/modules.h"
#include "ledger/claim.h"
#include "uninstall_house.h"

namespace berth::scenario {
namespace {

using controllers::install::Survey;
using ::testing::HasSubstr;
using wire::Object;
using wire::Value;
using world::Cluster;
using namespace std::chrono_literals;

constexpr std::string_view kObjects = R"(
apiVersion: v1
kind: Namespace
metadata: {name: games}
---
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {name: rooms, namespace: games, finalizers: [ingresscontroller.bkbcs.tencent.com]}
spec:
  poolItems: [{itemName: a, loadBalancerIDs: ["edge:demo"], startPort: 100, endPort: 102}]
---
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: Listener
metadata:
  name: demo-tcp-100
  namespace: games
  finalizers: [uptimecheck.bkbcs.tencent.com, ingresscontroller.bkbcs.tencent.com]
spec: {loadbalancerID: "edge:demo", port: 100, protocol: TCP}
---
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: Listener
metadata: {name: demo-tcp-101, namespace: games}
spec: {loadbalancerID: "edge:demo", port: 101, protocol: TCP}
---
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortBinding
metadata: {name: room-0, namespace: games, finalizers: [ingresscontroller.bkbcs.tencent.com]}
spec: {}
---
apiVersion: berth.dev/v1
kind: LoadBalancer
metadata: {name: edge.demo, finalizers: [berth.dev/grants]}
spec: {provider: edge, loadBalancerID: demo}
---
apiVersion: v1
kind: Secret
metadata: {name: berth-webhook-certificate, namespace: berth-system}
---
apiVersion: v1
kind: Secret
metadata: {name: berth-keys, namespace: berth-system}
)";

// Its label was taken off.
constexpr std::string_view kRoom = R"(
apiVersion: v1
kind: Pod
metadata: {name: room-0, namespace: games}
spec: {containers: [{name: room, image: "room:1"}]}
)";

// The Pod has the first port.
Result<> move_in(Cluster& cluster) {
  if (Result<> made = cluster.create_all(kRoom); !made) return made;
  const Result<Value> pod = cluster.ask("GET", "/api/v1/namespaces/games/pods/room-0");
  if (!pod) return fail(pod.error());
  const ledger::Claim claim{.state = ledger::SlotState::bound,
                            .token = "1",
                            .ns = "games",
                            .pod_name = "room-0",
                            .pod_uid = std::string(wire::string_at(*pod, "/metadata/uid"))};
  const Object annotations{{ledger::kClaimAnnotation, ledger::encode(claim)}};
  const Result<Value> bound =
      cluster.ask("PATCH", kHouseListeners + "/demo-tcp-100",
                  Object{{"metadata", Object{{"annotations", annotations}}}});
  return bound ? Result<>{} : fail(bound.error());
}

TEST(Uninstall, NothingIsLeftAndItCanBeRunAgain) {
  UninstallHouse house;
  const Result<> furnished = house.furnish(kObjects);
  ASSERT_TRUE(furnished) << furnished.error().to_string();
  const Survey before = house.look();
  EXPECT_EQ(before.of_kind.at("Listener"), 2u);
  EXPECT_THAT(before.objects, ::testing::Contains("Secret berth-system/berth-webhook-certificate"));
  EXPECT_THAT(before.objects, ::testing::Contains("Secret berth-system/berth-keys"));
  EXPECT_THAT(before.objects, ::testing::Contains("Namespace berth-system"));

  const Result<> done = house.uninstall();
  ASSERT_TRUE(done) << done.error().to_string();
  EXPECT_THAT(house.told().front(), HasSubstr("WebhookConfiguration"))
      << "first of all, nobody is refused any more";
  EXPECT_THAT(house.left(), ::testing::IsEmpty());
  EXPECT_TRUE(house.cluster().ask("GET", "/api/v1/namespaces/games"));
  const Result<> again = house.uninstall();
  EXPECT_TRUE(again) << again.error().to_string();
}

TEST(Uninstall, RefusesWhilePodsHoldPorts) {
  UninstallHouse house;
  ASSERT_TRUE(house.furnish(kObjects));
  ASSERT_TRUE(move_in(house.cluster()));
  const std::vector<std::string> before = house.left();
  const Result<> refused = house.uninstall();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "1 Pod still holds ports: games/room-0");
  EXPECT_EQ(house.left(), before);
  ASSERT_TRUE(house.uninstall({.force = true}));
  EXPECT_THAT(house.left(), ::testing::IsEmpty());
  EXPECT_TRUE(house.cluster().ask("GET", "/api/v1/namespaces/games/pods/room-0"));
  EXPECT_TRUE(house.uninstall()) << "without Listeners, the Pod holds nothing";
}

TEST(Uninstall, LeavesWhatIsNotOurs) {
  UninstallHouse house;
  ASSERT_TRUE(house.furnish(kObjects));
  ASSERT_TRUE(house.cluster().create_all(R"(
apiVersion: v1
kind: ConfigMap
metadata: {name: notes, namespace: berth-system}
)"));
  // Somebody else's role of the same name.
  const std::string role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/berth";
  ASSERT_TRUE(
      house.cluster().ask("PATCH", role, Object{{"metadata", Object{{"labels", nullptr}}}}));
  ASSERT_TRUE(house.uninstall({.keep_crds = true}));
  const auto home = house.cluster().ask("GET", "/api/v1/namespaces/berth-system");
  ASSERT_TRUE(home);
  EXPECT_FALSE(wire::find(*home, "/metadata/deletionTimestamp"));
  EXPECT_THAT(house.told(),
              ::testing::Contains("kept Namespace berth-system: ConfigMap notes lives there"));
  std::vector<std::string> left = house.left();
  EXPECT_EQ(std::erase(left, role), 1u);
  EXPECT_EQ(left.size(), module::kinds_of(app::all_declarations()).size()) << "the CRDs";
  EXPECT_THAT(left, ::testing::Each(HasSubstr("customresourcedefinitions")));
}

TEST(Uninstall, NamesAFinalizerThatIsNotOurs) {
  UninstallHouse house;
  ASSERT_TRUE(house.furnish(kObjects));
  ASSERT_TRUE(house.cluster().ask(
      "PATCH", kHousePools + "/rooms",
      Object{{"metadata", Object{{"finalizers", wire::Array{"example.com/audit"}}}}}));
  const Result<> stuck = house.uninstall();
  ASSERT_FALSE(stuck);
  EXPECT_EQ(stuck.error().message,
            "PortPool games/rooms waits for [\"example.com/audit\"], which is not ours");
  ASSERT_TRUE(house.cluster().ask("PATCH", kHousePools + "/rooms",
                                  Object{{"metadata", Object{{"finalizers", nullptr}}}}));
  EXPECT_TRUE(house.uninstall());
  EXPECT_THAT(house.left(), ::testing::IsEmpty());
}

Value lease(Cluster& cluster) {
  return Object{
      {"apiVersion", "coordination.k8s.io/v1"},
      {"kind", "Lease"},
      {"metadata", Object{{"name", "berth"}, {"namespace", "berth-system"}}},
      {"spec", Object{{"holderIdentity", "somebody"},
                      {"leaseDurationSeconds", 15},
                      {"renewTime", format_rfc3339_micro(cluster.kernel().wall_time())}}}};
}
const std::string kLeases = "/apis/coordination.k8s.io/v1/namespaces/berth-system/leases";

TEST(Uninstall, LetsTheControllerCleanUpTheLoadBalancers) {
  UninstallHouse house;
  ASSERT_TRUE(house.furnish(kObjects));
  Cluster& cluster = house.cluster();
  ASSERT_TRUE(cluster.ask("POST", kLeases, lease(cluster)));
  // A controller that does its work slowly, and is gone before its lease has run out.
  const auto done = cluster.play("controller", [&cluster](const std::stop_token& stop) {
    const auto pool_is_going = [&] {
      const auto pool = cluster.ask("GET", kHousePools + "/rooms");
      return pool && wire::find(*pool, "/metadata/deletionTimestamp");
    };
    while (!pool_is_going() && cluster.pause(100ms, stop)) {
    }
    (void)cluster.pause(5s, stop);
    for (const char* name : {"/demo-tcp-100", "/demo-tcp-101"}) {
      (void)cluster.ask("PATCH", kHouseListeners + name,
                        Object{{"metadata", Object{{"finalizers", nullptr}}}});
      (void)cluster.ask("DELETE", kHouseListeners + name);
    }
  });
  const Result<> uninstalled = house.uninstall();
  ASSERT_TRUE(uninstalled) << uninstalled.error().to_string();
  EXPECT_TRUE(*done);
  EXPECT_THAT(house.told(),
              ::testing::Contains(
                  "deleted 1 of kind PortPool; the controller takes 2 listeners off the load "
                  "balancers"));
  EXPECT_THAT(house.told(), ::testing::Not(::testing::Contains(HasSubstr("may stay"))));
  EXPECT_THAT(house.left(), ::testing::IsEmpty());
}

TEST(Uninstall, DoesNotFightWithAControllerThatRunsElsewhere) {
  UninstallHouse house;
  ASSERT_TRUE(house.furnish(kObjects));
  Cluster& cluster = house.cluster();
  ASSERT_TRUE(cluster.ask("POST", kLeases, lease(cluster)));
  const auto renewing = cluster.play("controller", [&cluster](const std::stop_token& stop) {
    while (cluster.pause(2s, stop)) {
      (void)cluster.ask("PATCH", kLeases + "/berth",
                        Object{{"spec", *wire::object_at(lease(cluster), "/spec")}});
    }
  });
  const Result<> refused = house.uninstall({.grace = 1s});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "a controller still runs: somebody");
  EXPECT_THAT(house.told(), ::testing::Contains("2 listeners may stay at the load balancers"));
  EXPECT_THAT(house.left(), ::testing::Contains(HasSubstr("customresourcedefinitions")));
}

TEST(Uninstall, ACrashAtAnyWriteIsMadeGood) {
  const auto swept =
      sim::crash_everywhere("uninstall", [](const sim::CrashPlan& plan) -> Result<sim::RunReport> {
        world::ClusterOptions options;
        options.kernel.max_latency = 10ms;
        UninstallHouse house(options);
        if (Result<> furnished = house.furnish(kObjects); !furnished) return pass(furnished);
        house.cluster().kernel().set_crash_plan(plan);
        if (Result<> done = house.uninstall(); !done) return pass(done);
        for (const std::string& path : house.left()) return fail(Code::internal, "left: {}", path);
        return house.cluster().kernel().report();
      });
  ASSERT_TRUE(swept) << swept.error().message;
  EXPECT_GE(swept->writes, 20u);
}

}  // namespace
}  // namespace berth::scenario
