// The whole controller in a simulated world: pools of several shapes, and rooms that come and go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "admission/pod_ports.h"
#include "pool_house.h"

namespace berth::scenario {
namespace {

using testing::HasSubstr;
using wire::Object;
using wire::Value;
using world::World;
using world::WorldOptions;

using std::chrono::seconds;

const std::string kEvents = "/api/v1/namespaces/games/events";

// What `kubectl describe` shows of the Pod; null when nothing was said.
Value event_on_pod(World& world, std::string_view name) {
  const auto events = world.cluster().list(kEvents);
  if (!events) return nullptr;
  const auto found = std::ranges::find_if(*events, [&](const Value& event) {
    return wire::string_at(event, "/involvedObject/kind") == "Pod" &&
           wire::string_at(event, "/involvedObject/name") == name;
  });
  return found == events->end() ? Value() : *found;
}

std::string annotation(const Value& pod, std::string_view key) {
  return std::string(
      wire::string_at(pod, "/metadata/annotations/" + wire::escape_pointer_step(key)));
}

TEST(PortPool, APodIsToldItsPortAndThePortLeadsToIt) {
  PoolHouse house(1, {});
  ASSERT_TRUE(house.open());
  User user(house.world());
  ASSERT_TRUE(user.create("room-0", kind_of(0))) << user.last_refusal();
  const Result<> settled = house.settle();
  ASSERT_TRUE(settled) << settled.error().to_string();

  const auto pod = house.cluster().ask("GET", kPods + "/room-0");
  ASSERT_TRUE(pod);
  EXPECT_EQ(annotation(*pod, api::kBindStatusAnnotation), "Ready");
  const auto bindings = api::decode_pool_bindings(annotation(*pod, api::kPoolBindingsAnnotation));
  ASSERT_TRUE(bindings);
  ASSERT_EQ(bindings->size(), 1u);
  const auto listener =
      house.world().provider().find({model::Provider::edge, "", "demo"}, model::Transport::tcp,
                                    static_cast<model::Port>(bindings->front().start_port));
  ASSERT_TRUE(listener);
  ASSERT_EQ(model::targets_of(listener->spec).size(), 1u);
  const model::Target target = model::targets_of(listener->spec).front().target;
  EXPECT_EQ(target.ip, wire::string_at(*pod, "/status/podIP"));
  EXPECT_EQ(target.port, 8000);

  const Value told = event_on_pod(house.world(), "room-0");
  EXPECT_EQ(wire::string_at(told, "/reason"), "Ready");
  EXPECT_THAT(std::string(wire::string_at(told, "/message")),
              HasSubstr(fmt::format(":{}", bindings->front().start_port)));
}

TEST(PortPool, EveryPortCanBeHadAndNotOneMore) {
  PoolHouse house(2, {});
  ASSERT_TRUE(house.open());
  User user(house.world());
  for (std::size_t i = 0; i < kRoomPorts; ++i) {
    ASSERT_TRUE(user.create(fmt::format("room-{}", i), kind_of(0), i == 0 ? 10 : 1))
        << user.last_refusal();
  }
  EXPECT_FALSE(user.create("one-too-many", kind_of(0), 1));
  EXPECT_THAT(user.last_refusal(), HasSubstr("6 of 6 in use"));
  const Result<> settled = house.settle();
  ASSERT_TRUE(settled) << settled.error().to_string();
  const Result<> closed = house.close();
  ASSERT_TRUE(closed) << closed.error().to_string();
}

// A Pod that needs two ports where one is left must not keep that one.
TEST(PortPool, APodThatGetsNotAllGivesBackWhatItGot) {
  PoolHouse house(3, {});
  ASSERT_TRUE(house.open());
  User user(house.world());
  for (std::size_t i = 0; i + 1 < kRoomPorts; ++i)
    ASSERT_TRUE(user.create(fmt::format("room-{}", i), kind_of(0), 10)) << user.last_refusal();
  EXPECT_FALSE(user.create("needs-two", kind_of(1), 1));
  EXPECT_TRUE(user.create("needs-one", kind_of(0), 1)) << user.last_refusal();
}

// Pods that a quota refuses after our answer cost nothing for long.
TEST(PortPool, WhatAQuotaRefusedIsFreeAgain) {
  PoolHouse house(4, {});
  ASSERT_TRUE(house.open());
  User user(house.world());
  house.quota().refuses = 1;
  for (std::size_t kind = kRoomKinds; kind-- > 0;) {
    EXPECT_FALSE(user.create(fmt::format("room-{}", kind), kind_of(kind), 1));
    EXPECT_EQ(user.spawn("crowd", kind_of(kind), 1), "");
  }
  house.quota().refuses = 0;
  const Result<> settled = house.settle();
  ASSERT_TRUE(settled) << settled.error().to_string();
}

// A name is created again while its Pod waits for an address: the server refuses it after us, and
// the Pod keeps its port however long it waits.
TEST(PortPool, ASecondCreationOfANameTakesNothingFromItsPod) {
  WorldOptions options;
  options.kubelet.max_start = seconds{600};
  PoolHouse house(5, options);
  ASSERT_TRUE(house.open());
  User user(house.world());
  ASSERT_TRUE(user.create("room-0", kind_of(0))) << user.last_refusal();
  ASSERT_TRUE(user.create("room-0", kind_of(0)));
  ASSERT_TRUE(house.run_until([start = house.world().kernel().now(), &house] {
    return house.world().kernel().now() - start > seconds{90};
  }));
  for (std::size_t i = 1; i < kRoomPorts; ++i)
    ASSERT_TRUE(user.create(fmt::format("room-{}", i), kind_of(0), 1)) << user.last_refusal();
  EXPECT_FALSE(user.create("one-too-many", kind_of(0), 1));
  const Result<> settled = house.settle();
  ASSERT_TRUE(settled) << settled.error().to_string();
}

// Its label was taken off while it waits for its address, and its owner's other Pods are refused so
// often that the oldest claim is used again: not that of a Pod that lives.
TEST(PortPool, AClaimOfAPodThatLostItsLabelIsNotUsedAgain) {
  WorldOptions options;
  options.kubelet.max_start = std::chrono::hours{10};
  PoolHouse house(7, options);
  ASSERT_TRUE(house.open());
  const Result<> settled = house.settle();
  ASSERT_TRUE(settled) << settled.error().to_string();
  User user(house.world());
  const std::string first = user.spawn("crowd", kind_of(0), 10);
  ASSERT_NE(first, "") << user.last_refusal();
  const Object labels{{std::string(ledger::kTokenLabel), nullptr}};
  ASSERT_TRUE(house.cluster().ask("PATCH", kPods + "/" + first,
                                  Object{{"metadata", Object{{"labels", labels}}}}));
  house.quota().refuses = 1;
  // Of `rooms`, of `halls/pair` and of `halls/wide`: eight claims of the owner with the first.
  for (const std::size_t kind : {0u, 0u, 0u, 2u, 2u, 3u, 3u})
    EXPECT_EQ(user.spawn("crowd", kind_of(kind), 1), "");
  EXPECT_THAT(user.last_refusal(), HasSubstr("exceeded quota"));
  house.quota().refuses = 0;
  ASSERT_TRUE(house.cluster().run_for(seconds{45}));
  const std::string second = user.spawn("crowd", kind_of(0), 1);
  ASSERT_NE(second, "") << user.last_refusal();

  const auto port_of = [&](const std::string& name) {
    const auto pod = house.cluster().ask("GET", kPods + "/" + name).value();
    return api::decode_pool_bindings(annotation(pod, api::kPoolBindingsAnnotation))
        .value()
        .front()
        .start_port;
  };
  EXPECT_NE(port_of(first), port_of(second));
}

// Handlers of the webhook are few: what waits for a pool that does not come must leave some.
TEST(PortPool, OnlySomePodsWaitForAPoolThatIsBeingFilled) {
  constexpr int kMore = 4;
  PoolHouse house(9, {});
  ASSERT_TRUE(house.open());
  house.world().provider().set_faults({.unavailable = 1});
  ASSERT_TRUE(house.cluster().create_all(R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {name: late, namespace: games}
spec:
  poolItems:
    - {itemName: item1, loadBalancerIDs: ["edge:late"], protocol: TCP, startPort: 30000, endPort: 30100}
)"));
  ASSERT_TRUE(house.cluster().run_for(seconds{1}));
  struct Count {
    int at_once = 0;
    int late = 0;
  };
  const auto count = std::make_shared<Count>();
  world::World* const world = &house.world();
  for (int i = 0; i < admission::kMaxWaitingPods + kMore; ++i) {
    house.cluster().play(fmt::format("person-{}", i), [world, count, i](std::stop_token) {
      const Instant begin = world->kernel().now();
      (void)User(*world).create(fmt::format("late-{}", i), {.request = "late TCP 8000"}, 1);
      ++(world->kernel().now() - begin < seconds{4} ? count->at_once : count->late);
    });
  }
  ASSERT_TRUE(house.run_until(
      [count] { return count->at_once + count->late == admission::kMaxWaitingPods + kMore; }));
  EXPECT_EQ(count->at_once, kMore);
}

// As people do when something hangs: the finalizer is taken off by hand.
void force_off(world::Cluster& cluster, const std::string& path) {
  (void)cluster.ask("DELETE", path);
  (void)cluster.ask("PATCH", path,
                    wire::Object{{"metadata", wire::Object{{"finalizers", nullptr}}}});
}

TEST(PortPool, WhatAForcedRemovalLeavesBehindIsRemovedAndNothingElse) {
  PoolHouse house(6, {});
  ASSERT_TRUE(house.open());
  const Result<> settled = house.settle();
  ASSERT_TRUE(settled) << settled.error().to_string();
  sim::lb::ModelProvider& provider = house.world().provider();
  const model::LoadBalancerRef demo{model::Provider::edge, "", "demo"};
  const model::LoadBalancerRef east{model::Provider::edge, "", "east"};
  const model::LoadBalancerRef west{model::Provider::edge, "", "west"};
  // Of a cluster whose id begins with ours, and of people.
  provider.add_listener(west, {.ports = {50000, 50000}, .name = "berth-2_room"});
  provider.add_listener(west, {.ports = {50001, 50001}, .name = "theirs"});
  ASSERT_EQ(provider.listeners(west).size(), 8u);

  const std::string all = kPools.substr(0, kPools.rfind('/')) + "/listeners";
  const auto listeners = house.cluster().list(all);
  ASSERT_TRUE(listeners);
  provider.set_faults({.unavailable = 1});
  force_off(house.cluster(), kPools + "/halls");
  for (const Value& listener : *listeners) {
    if (wire::string_at(listener, "/spec/loadbalancerID") != "edge:demo")
      force_off(house.cluster(),
                all + "/" + std::string(wire::string_at(listener, "/metadata/name")));
  }
  ASSERT_EQ(house.cluster().list(all)->size(), kRoomPorts);
  ASSERT_EQ(provider.listeners(west).size(), 8u) << "the provider could not be reached";
  provider.set_faults({});
  ASSERT_TRUE(house.cluster().run_for(std::chrono::minutes{20}));

  std::vector<std::string> left;
  for (const lb::ObservedListener& listener : provider.listeners(west))
    left.push_back(listener.spec.name);
  EXPECT_THAT(left, testing::UnorderedElementsAre("berth-2_room", "theirs"));
  EXPECT_TRUE(provider.listeners(east).empty());
  EXPECT_EQ(provider.listeners(demo).size(), kRoomPorts) << "those of the other pool are in use";
  const auto balancers = house.cluster().list("/apis/berth.dev/v1/loadbalancers");
  ASSERT_TRUE(balancers);
  EXPECT_EQ(balancers->size(), 1u) << "ports that were granted to the pool are free for others";
}

// The same ports under a new name: the old item's Listeners go, then its grant, and only then the
// new one has them. The book fails a Listener that is made outside of its item's grant.
TEST(PortPool, ARenamedItemKeepsItsPortsFromOthers) {
  PoolHouse house(7, {});
  ASSERT_TRUE(house.open());
  ASSERT_TRUE(house.settle());
  User user(house.world());
  ASSERT_TRUE(user.change_pool("rooms", [](Value& pool) {
    return wire::set_at(pool, "/spec/poolItems/0/itemName", Value("renamed")).has_value();
  })) << user.last_refusal();
  const std::string path = "/apis/berth.dev/v1/loadbalancers/edge.demo";
  const auto is_renamed = [&] {
    const auto object = house.cluster().ask("GET", path);
    const auto pool = house.cluster().ask("GET", kPools + "/rooms");
    return object && wire::string_at(*object, "/spec/grants/0/item") == "renamed" && pool &&
           wire::string_at(*pool, "/status/status") == "Ready";
  };
  ASSERT_TRUE(house.run_until(is_renamed)) << wire::to_json(*house.cluster().ask("GET", path));
  const Result<> settled = house.settle();
  ASSERT_TRUE(settled) << settled.error().to_string();
  const auto object = house.cluster().ask("GET", path);
  ASSERT_TRUE(object);
  EXPECT_EQ(wire::array_at(*object, "/spec/grants")->size(), 1u);
  ASSERT_TRUE(user.create("room-0", kind_of(0))) << user.last_refusal();
}

// Somebody writes a Listener by hand, with the name of a pool's, in a namespace of their own.
TEST(PortPool, AListenerOfAnotherNamespaceLeadsNobodyAway) {
  PoolHouse house(8, {});
  ASSERT_TRUE(house.open());
  ASSERT_TRUE(house.settle());
  world::Cluster& cluster = house.cluster();
  ASSERT_TRUE(cluster.ask("POST", "/api/v1/namespaces",
                          wire::Object{{"apiVersion", "v1"},
                                       {"kind", "Namespace"},
                                       {"metadata", wire::Object{{"name", "evil"}}}}));
  const std::string all = "/apis/networkextension.bkbcs.tencent.com/v1/namespaces/evil/listeners";
  const std::string own = all + "/demo-tcp-30000";
  const auto made = cluster.ask("POST", all,
                                wire::parse_json(R"({
    "apiVersion": "networkextension.bkbcs.tencent.com/v1",
    "kind": "Listener",
    "metadata": {"name": "demo-tcp-30000", "finalizers": ["ingresscontroller.bkbcs.tencent.com"]},
    "spec": {"loadbalancerID": "edge:demo", "port": 30000, "protocol": "TCP",
             "targetGroup": {"targetGroupProtocol": "TCP",
                             "backends": [{"IP": "10.6.6.6", "port": 666, "weight": 10}]}}})")
                                    .value());
  ASSERT_TRUE(made) << made.error().to_string();
  const auto is_told = [&] {
    const auto listener = cluster.ask("GET", own);
    return listener && !wire::string_at(*listener, "/status/msg").empty();
  };
  ASSERT_TRUE(house.run_until(is_told));
  EXPECT_THAT(std::string(wire::string_at(*cluster.ask("GET", own), "/status/msg")),
              HasSubstr("granted to PortPool games/rooms"));
  // Longer than an audit takes to come.
  ASSERT_TRUE(cluster.run_for(std::chrono::minutes{20}));
  const auto targets = [&] {
    const auto listener = house.world().provider().find({model::Provider::edge, "", "demo"},
                                                        model::Transport::tcp, 30000);
    return listener ? static_cast<int>(model::targets_of(listener->spec).size()) : -1;
  };
  EXPECT_EQ(targets(), 0) << "nobody has the port";
  ASSERT_TRUE(cluster.ask("DELETE", own));
  ASSERT_TRUE(house.run_until([&] { return !cluster.ask("GET", own); }));
  ASSERT_TRUE(cluster.run_for(std::chrono::minutes{20}));
  EXPECT_EQ(targets(), 0) << "it is the pool's";
}

}  // namespace
}  // namespace berth::scenario
