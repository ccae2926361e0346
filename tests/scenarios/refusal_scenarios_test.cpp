// What people are told whose Pods get no port: what is true, and of others' Pods no more than they
// may know.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/keys.h"
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
  Refusals() : Refusals(world::WorldOptions{}) {}
  explicit Refusals(world::WorldOptions options) : world_(7, std::move(options)) {}

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
  std::string message_of(const std::string& name) {
    const auto found = cluster().ask("GET", kPools + "/" + name);
    return found ? std::string(wire::string_at(*found, "/status/poolItems/0/message")) : "";
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

// Clouds know regions, and users write them or do not.
class RefusalsOnACloud : public Refusals {
 protected:
  RefusalsOnACloud() : Refusals(on_a_cloud()) {}
  static world::WorldOptions on_a_cloud() {
    world::WorldOptions out;
    out.config.load_balancers = {model::Provider::tencent, "ap-x"};
    return out;
  }
  void call(const std::string& region, const std::string& id, const std::string& vip) {
    world_.provider().add_load_balancer({model::Provider::tencent, region, id}, {.vips = {vip}});
  }
  static Array items_on(const std::string& load_balancer, int start, int end) {
    Object out = item(start, end);
    out["loadBalancerIDs"] = Array{Value(load_balancer)};
    return {out};
  }
  // As its Ingress controller writes it, with no mark of ours.
  void others_made(const std::string& ns, const std::string& name, const std::string& protocol,
                   int port) {
    const auto made = cluster().ask(
        "POST",
        fmt::format("/apis/networkextension.bkbcs.tencent.com/v1/namespaces/{}/listeners", ns),
        Object{
            {"apiVersion", "networkextension.bkbcs.tencent.com/v1"},
            {"kind", "Listener"},
            {"metadata", Object{{"name", name},
                                {"labels", Object{{api::kOwnerKindKey, "Ingress"},
                                                  {api::kOwnerNameKey, "web"}}}}},
            {"spec", Object{{"loadbalancerID", "lb-fo"}, {"protocol", protocol}, {"port", port}}}});
    ASSERT_TRUE(made) << made.error().to_string();
  }
};

TEST_F(RefusalsOnACloud, NameBothTextsOfOneLoadBalancer) {
  call("ap-x", "lb-zz", "192.0.2.7");
  call("ap-y", "lb-zz", "192.0.2.7");
  make_pool("first", items_on("lb-zz", 30000, 30003));
  ASSERT_EQ(create("games", "room-0", "first TCP 8000"), "");
  make_pool("second", items_on("ap-y:lb-zz", 30000, 30003), "NotReady");
  const auto names_both =
      AllOf(HasSubstr("ap-y:lb-zz and ap-x:lb-zz have one address"), HasSubstr("192.0.2.7"),
            HasSubstr("PortPool games/first"), HasSubstr("write the same text for both"));
  ASSERT_TRUE(cluster().run_until([&] {
    return message_of("second").find("one address") != std::string::npos;
  })) << message_of("second");
  EXPECT_THAT(message_of("second"), names_both);
  EXPECT_THAT(create("games", "late", "second TCP 8000"), names_both);
  EXPECT_EQ(status_of("first"), "Ready") << "who was there first is not disturbed";
  EXPECT_EQ(create("games", "room-1", "first TCP 8000"), "");
}

// Its name is not the one that a pool's Listener of the port would have, and it may lie anywhere.
TEST_F(RefusalsOnACloud, NameTheListenerOfAnotherControllerThatHasThePort) {
  call("ap-x", "lb-fo", "192.0.2.9");
  others_made("secret-project", "lb-fo-42001", "TCP", 42001);
  others_made("secret-project", "lb-fo-42002-udp", "UDP", 42002);
  ASSERT_TRUE(cluster().run_for(std::chrono::seconds{10}));
  make_pool("rooms", items_on("lb-fo", 42000, 42003), "NotReady");
  ASSERT_TRUE(cluster().run_until([&] {
    return message_of("rooms").find("lb-fo-42001") != std::string::npos;
  })) << message_of("rooms");
  EXPECT_THAT(message_of("rooms"), AllOf(HasSubstr("made by another controller, for Ingress web"),
                                         Not(HasSubstr("more like it"))));
  ASSERT_EQ(create("games", "room-0", "rooms TCP 8000"), "");
  ASSERT_EQ(create("games", "room-1", "rooms TCP 8000"), "");
  EXPECT_THAT(create("games", "room-2", "rooms TCP 8000"), HasSubstr("lb-fo-42001"));
  const auto theirs = world_.provider().find({model::Provider::tencent, "ap-x", "lb-fo"},
                                             model::Transport::tcp, 42001);
  EXPECT_FALSE(theirs) << "nothing is made where another one is";
  // That controller has been stopped, and its Listener is deleted.
  ASSERT_TRUE(cluster().ask("DELETE",
                            "/apis/networkextension.bkbcs.tencent.com/v1/namespaces/"
                            "secret-project/listeners/lb-fo-42001"));
  ASSERT_TRUE(cluster().run_until([&] { return status_of("rooms") == "Ready"; }));
  EXPECT_EQ(create("games", "room-2", "rooms TCP 8000"), "");
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
