// What people are told whose Pods get no port: what is true, and of others' Pods no more than they
// may know.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/pod_ports.h"
#include "scenario.h"
#include "sim/world/world.h"

namespace berth::scenario {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using wire::Array;
using wire::Object;
using wire::Value;

constexpr std::string_view kNamespaces = R"(
apiVersion: v1
kind: Namespace
metadata: {name: games, labels: {bcs-ingress-controller-inject: "true"}}
---
apiVersion: v1
kind: Namespace
metadata: {name: secret-project, labels: {bcs-ingress-controller-inject: "true"}}
)";

const std::string kPools = "/apis/networkextension.bkbcs.tencent.com/v1/namespaces/games/portpools";
const std::string kHook =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/berth";

Object pool(const std::string& name, Array items) {
  return {{"apiVersion", "networkextension.bkbcs.tencent.com/v1"},
          {"kind", "PortPool"},
          {"metadata", Object{{"name", name}, {"namespace", "games"}}},
          {"spec", Object{{"poolItems", std::move(items)}}}};
}

Object item(int start, int end) {
  return {{"itemName", "item1"},
          {"loadBalancerIDs", Array{"edge:demo"}},
          {"protocol", "TCP"},
          {"startPort", start},
          {"endPort", end}};
}

class Refusals : public ::testing::Test {
 protected:
  Refusals() : world_(7, {}) {}

  void SetUp() override {
    ASSERT_TRUE(cluster().create_all(kNamespaces));
    ASSERT_TRUE(
        cluster().run_until([&] { return cluster().ask("GET", kHook) && world_.leaders() == 1; }));
  }

  world::Cluster& cluster() { return world_.cluster(); }
  std::string status_of(const std::string& name) {
    const auto found = cluster().ask("GET", kPools + "/" + name);
    return found ? std::string(wire::string_at(*found, "/status/status")) : "";
  }
  void make_pool(const std::string& name, Array items, const std::string& status = "Ready") {
    const auto made = cluster().ask("POST", kPools, pool(name, std::move(items)));
    ASSERT_TRUE(made) << made.error().to_string();
    ASSERT_TRUE(cluster().run_until([&] { return status_of(name) == status; }));
  }

  // What its creator is told; empty when it is let in.
  std::string create(const std::string& ns, const std::string& name, const std::string& ports) {
    const Object annotations{{api::kPortPoolsAnnotation, "true"}, {api::kPortsAnnotation, ports}};
    Array container_ports;
    for (int port = 8000; port < 8004; ++port)
      container_ports.push_back(Object{{"containerPort", port}});
    const Object pod{{"apiVersion", "v1"},
                     {"kind", "Pod"},
                     {"metadata", Object{{"name", name}, {"annotations", annotations}}},
                     {"spec", Object{{"containers", Array{Object{{"name", "room"},
                                                                 {"image", "room:1"},
                                                                 {"ports", container_ports}}}}}}};
    const auto made = cluster().ask("POST", fmt::format("/api/v1/namespaces/{}/pods", ns), pod);
    return made ? "" : made.error().to_string();
  }

  world::World world_;
};

TEST_F(Refusals, NamePodsOfTheOwnNamespaceAndCountTheOthers) {
  make_pool("rooms", {item(30000, 30003)});
  ASSERT_EQ(create("games", "room-0", "rooms TCP 8000"), "");
  ASSERT_EQ(create("secret-project", "boss", "rooms.games TCP 8000"), "");
  ASSERT_EQ(create("secret-project", "minion", "rooms.games TCP 8000"), "");
  EXPECT_THAT(create("games", "late", "rooms TCP 8000"),
              AllOf(HasSubstr("3 of 3 in use by games/room-0 and 2 Pods in other namespaces"),
                    Not(HasSubstr("boss")), Not(HasSubstr("secret-project"))));
  EXPECT_THAT(create("secret-project", "late", "rooms.games TCP 8000"),
              AllOf(HasSubstr("secret-project/boss"), Not(HasSubstr("room-0"))));
}

TEST_F(Refusals, DoNotNameTheRefusedPodAsAHolder) {
  make_pool("rooms", {item(30000, 30002)});
  const std::string told =
      create("games", "greedy", "rooms TCP 8000;rooms TCP 8001;rooms TCP 8002");
  EXPECT_THAT(told, AllOf(Not(HasSubstr("by games/greedy")), HasSubstr("0 of 2 in use")));
  EXPECT_THAT(told, HasSubstr("2 would be this Pod's"));
}

TEST_F(Refusals, DoNotSayOfAPoolThatItDoesNotExist) {
  make_pool("rooms", {item(30000, 30003)});
  make_pool("rival", {item(30000, 30003)}, "NotReady");
  EXPECT_THAT(create("games", "room-0", "rival TCP 8000"),
              AllOf(Not(HasSubstr("does not exist")), Not(HasSubstr("0 of 0")),
                    HasSubstr("the pool has none yet"), HasSubstr("item1"), HasSubstr("30000")))
      << "and why it has none is known";
  EXPECT_THAT(create("games", "room-0", "nowhere TCP 8000"),
              HasSubstr("there is no PortPool games/nowhere"));
}

TEST_F(Refusals, SayThatAPoolHasNoItems) {
  make_pool("rooms", {});
  EXPECT_THAT(create("games", "room-0", "rooms TCP 8000"),
              HasSubstr("PortPool games/rooms has no items"));
  const auto grown =
      cluster().ask("PATCH", kPools + "/rooms",
                    Object{{"spec", Object{{"poolItems", Array{item(30000, 30003)}}}}});
  ASSERT_TRUE(grown) << grown.error().to_string();
  ASSERT_TRUE(cluster().run_until([&] {
    const auto found = cluster().ask("GET", kPools + "/rooms");
    return found && wire::string_at(*found, "/status/poolItems/0/status") == "Ready";
  }));
  EXPECT_EQ(create("games", "room-0", "rooms TCP 8000"), "");
}

// A Pod that is refused for the sake of a controller that goes would wait for nobody.
TEST_F(Refusals, EndWhenBerthIsBeingRemoved) {
  const std::string crd =
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/loadbalancers.berth.dev";
  const auto mark = [&](const Value& text) {
    const Object annotations{{"berth.dev/removal", text}};
    return cluster()
        .ask("PATCH", crd, Object{{"metadata", Object{{"annotations", annotations}}}})
        .has_value();
  };
  make_pool("rooms", {item(30000, 30001)});
  ASSERT_EQ(create("games", "room-0", "rooms TCP 8000"), "");
  ASSERT_NE(create("games", "room-1", "rooms TCP 8000"), "");
  ASSERT_TRUE(mark("draining"));
  ASSERT_TRUE(cluster().run_until([&] {
    return create("games", "room-1", "rooms TCP 8000").empty();
  })) << "it passes, without a port";
  ASSERT_TRUE(cluster().ask("DELETE", kHook));
  ASSERT_TRUE(cluster().run_for(std::chrono::minutes{1}));
  EXPECT_FALSE(cluster().ask("GET", kHook)) << "nothing is put back";
  ASSERT_TRUE(mark(nullptr));
  ASSERT_TRUE(cluster().run_until([&] { return cluster().ask("GET", kHook).has_value(); }))
      << "the removal was taken back";
  EXPECT_NE(create("games", "room-2", "rooms TCP 8000"), "");
}

}  // namespace
}  // namespace berth::scenario
