// The whole controller with port pools on Tencent's load balancers: the real driver, a simulated
// cloud with its documented limits, and what users find in Pods, Listeners and the cloud.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>

#include "clb_cloud.h"
#include "pool_house.h"

namespace berth::scenario {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using wire::Value;
using world::WorldOptions;
using namespace std::chrono_literals;

const std::string kHouse = R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {name: rooms, namespace: games}
spec:
  poolItems:
  - {itemName: item1, loadBalancerIDs: ["lb-demo"], protocol: TCP, startPort: 30000, endPort: 30006}
---
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {name: halls, namespace: games}
spec:
  poolItems:
  - {itemName: pair, loadBalancerIDs: ["lb-east", "ap-nanjing:lb-west"], startPort: 40000, endPort: 40003}
  - {itemName: wide, loadBalancerIDs: ["lb-east"], protocol: UDP, startPort: 41000, endPort: 41009, segmentLength: 4}
)";

const std::string kListeners =
    "/apis/networkextension.bkbcs.tencent.com/v1/namespaces/games/listeners";
constexpr Duration kAuditInterval = 10min;

// Where a listener is, in the cloud's words.
const sim::tencent::Listener* on_port(const std::map<std::string, sim::tencent::Listener>& there,
                                      std::int64_t port, std::string_view protocol = "TCP") {
  for (const auto& [id, listener] : there)
    if (listener.port == port && listener.protocol == protocol) return &listener;
  return nullptr;
}

// "UDP 41000-41003" for each listener that leads to this address.
std::vector<std::string> ports_to(const std::map<std::string, sim::tencent::Listener>& there,
                                  const std::string& ip) {
  std::vector<std::string> out;
  for (const auto& [id, one] : there)
    for (const sim::tencent::Target& target : one.rules.at(0).targets)
      if (target.ip == ip)
        out.push_back(fmt::format("{} {}-{}", one.protocol, one.port, one.last_port()));
  std::ranges::sort(out);
  return out;
}

class ClbPools : public testing::Test {
 protected:
  ~ClbPools() override { house_.reset(); }

  // Before the house is built.
  ClbCloud& cloud(ClbOptions options = {}) {
    if (!cloud_) cloud_ = std::make_unique<ClbCloud>(std::move(options));
    return *cloud_;
  }
  PoolHouse& house() {
    if (house_) return *house_;
    for (const char* lb : {"lb-demo", "lb-east", "lb-west"})
      if (!cloud().cloud().load_balancer(lb)) cloud().add_load_balancer(lb);
    WorldOptions world;
    world.config.load_balancers = clb_defaults();
    world.config.refuse_taken_ports = true;
    if (with_ingresses_) world.config.without.clear();
    world.cloud = cloud_.get();
    house_ = std::make_unique<PoolHouse>(1, world);
    return *house_;
  }
  void open(const std::string& pools) {
    const Result<> opened = house().open_with(pools);
    ASSERT_TRUE(opened) << opened.error().to_string();
  }
  void create(const std::string& name, const RoomKind& kind) {
    User user(house().world());
    ASSERT_TRUE(user.create(name, kind)) << user.last_refusal();
  }
  void settle() {
    const Result<> settled = house().settle();
    ASSERT_TRUE(settled) << settled.error().to_string();
  }
  void close() {
    const Result<> closed = house().close();
    ASSERT_TRUE(closed) << closed.error().to_string();
  }
  void run_for(Duration span) { ASSERT_TRUE(house().cluster().run_for(span)); }
  std::map<std::string, sim::tencent::Listener> listeners(const std::string& lb) {
    return cloud().cloud().load_balancer(lb)->listeners;
  }
  Value get(const std::string& path) {
    return house().cluster().ask("GET", path).value_or(Value());
  }
  std::string pod_ip(const std::string& name) {
    return std::string(wire::string_at(get(kPods + "/" + name), "/status/podIP"));
  }
  void run_until_ready(const std::string& pod) {
    const Instant patience = house().world().kernel().now() + 2 * kAuditInterval;
    ASSERT_TRUE(house().run_until(
        [&] { return is_ready(pod) || house().world().kernel().now() > patience; }));
    ASSERT_TRUE(is_ready(pod));
  }
  void run_until(const std::function<bool()>& done) {
    const Instant patience = house().world().kernel().now() + 2 * kAuditInterval;
    ASSERT_TRUE(
        house().run_until([&] { return done() || house().world().kernel().now() > patience; }));
    ASSERT_TRUE(done());
  }
  int claimed_ports(const std::string& base, int first, int end) {
    return ports_that_say("/metadata/annotations/berth.dev~1claim", base, first, end);
  }
  // Listeners of these ports that have one at the load balancer, as far as we know.
  int made_ports(const std::string& base, int first, int end) {
    return ports_that_say("/status/listenerID", base, first, end);
  }
  int ports_that_say(const std::string& what, const std::string& base, int first, int end) {
    int out = 0;
    for (int port = first; port < end; ++port) {
      const Value listener = get(fmt::format("{}/{}{}", kListeners, base, port));
      if (!wire::string_at(listener, what).empty()) ++out;
    }
    return out;
  }
  // What Listeners of these ports say of themselves.
  std::string message_of(const std::string& base, int first, int end) {
    std::string out;
    for (int port = first; port < end; ++port)
      out += wire::string_at(get(fmt::format("{}/{}{}", kListeners, base, port)), "/status/msg");
    return out;
  }
  bool is_ready(const std::string& pod) {
    return wire::string_at(get(kPods + "/" + pod),
                           "/metadata/annotations/" +
                               wire::escape_pointer_step(api::kBindStatusAnnotation)) == "Ready";
  }

  bool with_ingresses_ = false;  // before the house is built
  std::unique_ptr<ClbCloud> cloud_;
  std::unique_ptr<PoolHouse> house_;
};

TEST_F(ClbPools, RoomsOfAllShapesAreReachedAndNothingStaysBehind) {
  ASSERT_NO_FATAL_FAILURE(open(kHouse));
  for (std::size_t kind = 0; kind < kRoomKinds; ++kind)
    ASSERT_NO_FATAL_FAILURE(create(fmt::format("room-{}", kind), kind_of(kind)));
  ASSERT_NO_FATAL_FAILURE(settle());

  const auto east = listeners("lb-east");
  ASSERT_NE(on_port(east, 41000, "UDP"), nullptr);
  EXPECT_EQ(on_port(east, 41000, "UDP")->end_port, 41003) << "a segment is one listener";
  EXPECT_THAT(ports_to(east, pod_ip("room-3")),
              AnyOf(ElementsAre("UDP 41000-41003"), ElementsAre("UDP 41004-41007")));
  const std::vector<std::string> halls = ports_to(east, pod_ip("room-2"));
  ASSERT_EQ(halls.size(), 2u);
  EXPECT_THAT(halls[0], StartsWith("TCP 4000"));
  EXPECT_EQ(halls[1], "UDP" + halls[0].substr(3)) << "both on one port";
  EXPECT_EQ(ports_to(listeners("lb-west"), pod_ip("room-2")), halls);
  ASSERT_NO_FATAL_FAILURE(close());
  for (const char* lb : {"lb-demo", "lb-east", "lb-west"}) EXPECT_TRUE(listeners(lb).empty()) << lb;
}

// The load balancer of another region reaches Pods by its SNAT addresses, or says that it cannot.
// Each call is half a second, and they follow each other.
TEST_F(ClbPools, TwoPortsOfAPodAreOneCall) {
  ASSERT_NO_FATAL_FAILURE(open(kHouse));
  for (const char* name : {"one", "two", "three"}) {
    const std::uint64_t before = cloud().calls("BatchRegisterTargets");
    ASSERT_NO_FATAL_FAILURE(create(name, {.request = "rooms TCP 8000;rooms TCP 8001"}));
    ASSERT_NO_FATAL_FAILURE(run_until_ready(name));
    EXPECT_EQ(ports_to(listeners("lb-demo"), pod_ip(name)).size(), 2u);
    EXPECT_EQ(cloud().calls("BatchRegisterTargets") - before, 1u) << name;
  }
  ASSERT_NO_FATAL_FAILURE(close());
}

TEST_F(ClbPools, APoolMayLieInSeveralRegions) {
  (void)cloud({.account = {.uin = "100000000001",
                           .networks = {{std::string(kClbRegion), "vpc-1", "10.0.0.0/8"}}}});
  for (const char* lb : {"lb-demo", "lb-east", "lb-west"})
    cloud().add_load_balancer(lb, {.vpc_id = "vpc-1"});
  cloud().add_load_balancer("ap-shanghai:lb-far",
                            {.vpc_id = "vpc-9", .snat_pro = true, .snat_ips = {"10.9.0.1"}});
  cloud().add_load_balancer("ap-shanghai:lb-deaf", {.vpc_id = "vpc-9"});
  ASSERT_NO_FATAL_FAILURE(open(R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {name: rooms, namespace: games}
spec:
  poolItems:
  - {itemName: both, loadBalancerIDs: ["lb-demo", "ap-shanghai:lb-far"], protocol: TCP, startPort: 30000, endPort: 30003}
  - {itemName: deaf, loadBalancerIDs: ["ap-shanghai:lb-deaf"], protocol: TCP, startPort: 30010, endPort: 30013}
)"));
  ASSERT_NO_FATAL_FAILURE(create("room-0", {.request = "rooms/both TCP 8000"}));
  ASSERT_NO_FATAL_FAILURE(settle());
  EXPECT_TRUE(is_ready("room-0"));
  const auto far = listeners("lb-far");
  ASSERT_NE(on_port(far, 30000), nullptr);
  ASSERT_EQ(on_port(far, 30000)->rules.at(0).targets.size(), 1u);
  EXPECT_EQ(on_port(far, 30000)->rules.at(0).targets[0].ip, pod_ip("room-0"));

  ASSERT_NO_FATAL_FAILURE(create("room-1", {.request = "rooms/deaf TCP 8000"}));
  ASSERT_NO_FATAL_FAILURE(run_for(2min));
  EXPECT_FALSE(is_ready("room-1"));
  EXPECT_THAT(message_of("lb-deaf-tcp-", 30010, 30013), HasSubstr("switch on SnatPro"));
  cloud().edit("lb-deaf", [](sim::tencent::LoadBalancer& lb) {
    lb.snat_pro = true;
    lb.snat_ips = {"10.9.0.2"};
  });
  ASSERT_NO_FATAL_FAILURE(run_until_ready("room-1"));
  ASSERT_NO_FATAL_FAILURE(settle());
}

TEST_F(ClbPools, AStrangersListenerIsNeverTouchedAndThePoolSaysSo) {
  cloud().add_load_balancer("lb-demo");
  cloud().add_stranger("lb-demo", {.name = "somebody-else", .protocol = "TCP", .port = 30002});
  ASSERT_NO_FATAL_FAILURE(open(kHouse));
  ASSERT_NO_FATAL_FAILURE(run_for(3 * kAuditInterval));
  EXPECT_EQ(cloud().touched_stranger(), "");
  EXPECT_EQ(listeners("lb-demo").size(), 6u);
  EXPECT_THAT(std::string(wire::string_at(get(kPools + "/rooms"), "/status/poolItems/0/message")),
              HasSubstr("5 of 6 listeners are ready"));
  EXPECT_THAT(message_of("lb-demo-tcp-", 30002, 30003), HasSubstr("somebody-else"));
  cloud().edit("lb-demo", [](sim::tencent::LoadBalancer& lb) {
    std::erase_if(lb.listeners, [](const auto& one) { return one.second.port == 30002; });
  });
  ASSERT_NO_FATAL_FAILURE(run_for(2 * kAuditInterval));
  ASSERT_NO_FATAL_FAILURE(settle());
}

TEST_F(ClbPools, WhatHandsChangedIsRepairedWithinTheAudit) {
  ASSERT_NO_FATAL_FAILURE(open(kHouse));
  for (std::size_t kind = 0; kind < kRoomKinds; ++kind)
    ASSERT_NO_FATAL_FAILURE(create(fmt::format("room-{}", kind), kind_of(kind)));
  ASSERT_NO_FATAL_FAILURE(settle());
  house().book().bear_unreached(true);
  cloud().edit("lb-demo", [](sim::tencent::LoadBalancer& lb) {
    auto one = lb.listeners.begin();
    lb.listeners.erase(one);
    for (auto& [id, listener] : lb.listeners) {
      listener.rules.at(0).targets.clear();
      listener.rules.at(0).session_seconds = 300;
    }
  });
  cloud().edit("lb-east", [](sim::tencent::LoadBalancer& lb) { lb.listeners.clear(); });
  ASSERT_NO_FATAL_FAILURE(run_for(kAuditInterval + 1min));
  house().book().bear_unreached(false);
  ASSERT_NO_FATAL_FAILURE(settle());
  for (const auto& [id, listener] : listeners("lb-demo"))
    EXPECT_EQ(listener.rules.at(0).session_seconds, 0) << listener.port;
  ASSERT_NO_FATAL_FAILURE(close());
}

TEST_F(ClbPools, ALoadBalancerThatIsGoneReleasesItsObjects) {
  ASSERT_NO_FATAL_FAILURE(open(kHouse));
  ASSERT_NO_FATAL_FAILURE(settle());
  cloud().remove_load_balancer("lb-demo");
  ASSERT_NO_FATAL_FAILURE(close());
}

TEST_F(ClbPools, RoomsOfALoadBalancerThatIsGoneAreNotReadyUntilItIsBack) {
  ASSERT_NO_FATAL_FAILURE(open(kHouse));
  ASSERT_NO_FATAL_FAILURE(create("room-0", kind_of(0)));
  ASSERT_NO_FATAL_FAILURE(settle());
  house().book().bear_unreached(true);
  cloud().remove_load_balancer("lb-demo");
  ASSERT_NO_FATAL_FAILURE(run_for(kAuditInterval + 2min));
  EXPECT_FALSE(is_ready("room-0")) << "nobody is told Ready who cannot be reached";
  EXPECT_THAT(message_of("lb-demo-tcp-", 30000, 30006), HasSubstr("no such load balancer"));
  cloud().add_load_balancer("lb-demo");
  ASSERT_NO_FATAL_FAILURE(run_until_ready("room-0"));
  ASSERT_NO_FATAL_FAILURE(run_for(kAuditInterval + 2min));
  house().book().bear_unreached(false);
  ASSERT_NO_FATAL_FAILURE(settle());
  ASSERT_NO_FATAL_FAILURE(close());
}

// What a load balancer is, is known when it was described: whoever came before that is told by the
// status, and whoever comes after it by the refusal.
TEST_F(ClbPools, SegmentsOnAnInternalLoadBalancerAreToldAtTheLatestByTheStatus) {
  with_ingresses_ = true;
  cloud().add_load_balancer("lb-inner", {.type = "INTERNAL"});
  cloud().add_load_balancer("lb-deep", {.type = "INTERNAL"});
  const std::string pool = R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {name: inner, namespace: games}
spec:
  poolItems:
  - {itemName: wide, loadBalancerIDs: ["lb-inner"], protocol: UDP, startPort: 30000, endPort: 30010, segmentLength: 5}
  - {itemName: single, loadBalancerIDs: ["lb-inner"], protocol: UDP, startPort: 31000, endPort: 31002}
)";
  const auto ingress = [](const std::string& name) {
    return fmt::format(R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: Ingress
metadata: {{name: {}, namespace: games, annotations: {{networkextension.bkbcs.tencent.com/lbids: lb-deep}}}}
spec:
  portMappings:
  - {{workloadKind: StatefulSet, workloadName: room, workloadNamespace: games, protocol: TCP, startPort: 32000, endIndex: 2, segmentLength: 5}}
)",
                       name);
  };
  ASSERT_NO_FATAL_FAILURE(open(pool));
  ASSERT_TRUE(house().cluster().create_all(ingress("first")));
  const std::string told = "which is an internal load balancer: only public ones have them";
  const std::string front =
      "/apis/networkextension.bkbcs.tencent.com/v1/namespaces/games/ingresses/first";
  const auto message = [&](const std::string& path, const char* field) {
    return std::string(wire::string_at(get(path), field));
  };
  const Instant patience = house().world().kernel().now() + kAuditInterval;
  ASSERT_TRUE(house().run_until([&] {
    return (message(kPools + "/inner", "/status/poolItems/0/message").find(told) !=
                std::string::npos &&
            message(front, "/status/message").find(told) != std::string::npos) ||
           house().world().kernel().now() > patience;
  }));
  EXPECT_THAT(message(kPools + "/inner", "/status/poolItems/0/message"), HasSubstr(told));
  EXPECT_THAT(message(front, "/status/message"), HasSubstr(told));
  ASSERT_NO_FATAL_FAILURE(run_for(1min));
  EXPECT_EQ(message(kPools + "/inner", "/status/poolItems/1/status"), "Ready")
      << "single ports are not held up";

  const Result<> again = house().cluster().create_all(ingress("second"));
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().to_string(), HasSubstr(told));
}

// A pool of TLS that ends at the load balancer, with a certificate of the account.
std::string tls_pool(const std::string& certificate) {
  return fmt::format(R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {{name: rooms, namespace: games}}
spec:
  poolItems:
  - itemName: tls
    loadBalancerIDs: ["lb-demo", "ap-nanjing:lb-west"]
    protocol: TCP_SSL
    startPort: 30000
    endPort: 30003
    certificate: {{mode: UNIDIRECTIONAL, certID: {}}}
)",
                     certificate);
}

class ClbTlsPools : public ClbPools {
 protected:
  ClbTlsPools() {
    (void)cloud({.account = {.uin = "100000000001",
                             .certificates = std::vector<std::string>{"front", "front-2027"}}});
  }
  void use(const std::string& certificate) {
    Value pool = get(kPools + "/rooms");
    ASSERT_TRUE(wire::set_at(pool, "/spec/poolItems/0/certificate/certID", Value(certificate)));
    const auto done = house().cluster().ask("PUT", kPools + "/rooms", pool);
    ASSERT_TRUE(done) << done.error().to_string();
  }
  std::string item_message() {
    return std::string(wire::string_at(get(kPools + "/rooms"), "/status/poolItems/0/message"));
  }
  // The certificates that listeners of a load balancer show, by port.
  std::map<std::int64_t, std::string> shown(const std::string& lb) {
    std::map<std::int64_t, std::string> out;
    for (const auto& [id, one] : listeners(lb)) {
      EXPECT_EQ(one.protocol, "TCP_SSL");
      out[one.port] = std::string(wire::string_at(Value(one.certificate), "/CertId"));
    }
    return out;
  }
  std::set<std::string> ids(const std::string& lb) {
    std::set<std::string> out;
    for (const auto& [id, one] : listeners(lb)) out.insert(id);
    return out;
  }
  bool says(const std::string& text) {
    const Instant patience = house().world().kernel().now() + 2 * kAuditInterval;
    const Result<> ran = house().run_until([&] {
      return item_message().find(text) != std::string::npos ||
             house().world().kernel().now() > patience;
    });
    return ran && item_message().find(text) != std::string::npos;
  }
};

using Shown = std::map<std::int64_t, std::string>;

TEST_F(ClbTlsPools, AnotherCertificateIsAModificationAndNoRoomLosesItsPort) {
  ASSERT_NO_FATAL_FAILURE(open(tls_pool("front")));
  ASSERT_NO_FATAL_FAILURE(create("room-0", {.request = "rooms TCP_SSL 8000"}));
  ASSERT_NO_FATAL_FAILURE(settle());
  const Shown first{{30000, "front"}, {30001, "front"}, {30002, "front"}};
  EXPECT_EQ(shown("lb-demo"), first);
  EXPECT_EQ(shown("lb-west"), first);
  const std::vector<std::string> led = ports_to(listeners("lb-demo"), pod_ip("room-0"));
  ASSERT_EQ(led.size(), 1u);
  const std::set<std::string> before = ids("lb-demo");

  ASSERT_NO_FATAL_FAILURE(use("front-2027"));
  bool was_taken_away = false;
  const Shown second{{30000, "front-2027"}, {30001, "front-2027"}, {30002, "front-2027"}};
  ASSERT_TRUE(house().run_until([&] {
    was_taken_away = was_taken_away || !is_ready("room-0") ||
                     ports_to(listeners("lb-demo"), pod_ip("room-0")) != led;
    return shown("lb-demo") == second && shown("lb-west") == second;
  }));
  EXPECT_FALSE(was_taken_away);
  EXPECT_EQ(ids("lb-demo"), before) << "they are changed, not made anew";
  ASSERT_NO_FATAL_FAILURE(settle());
  ASSERT_NO_FATAL_FAILURE(close());
}

TEST_F(ClbTlsPools, ACertificateThatIsNotThereIsToldOnPoolAndListeners) {
  ASSERT_NO_FATAL_FAILURE(open(tls_pool("gone")));
  ASSERT_TRUE(says("Certificate gone not exist")) << item_message();
  EXPECT_THAT(item_message(), StartsWith("0 of 6 listeners are ready; Listener lb-"));
  EXPECT_THAT(item_message(), HasSubstr("check certID"));
  EXPECT_THAT(message_of("lb-demo-tcpssl-", 30000, 30003), HasSubstr("check certID"));
  ASSERT_NO_FATAL_FAILURE(use("front"));
  ASSERT_TRUE(says("Ready")) << item_message();
  ASSERT_NO_FATAL_FAILURE(create("room-0", {.request = "rooms TCP_SSL 8000"}));
  ASSERT_NO_FATAL_FAILURE(settle());

  // One that is wrong later: who is there stays reached, with the one from before.
  ASSERT_NO_FATAL_FAILURE(use("gone"));
  ASSERT_TRUE(says("Certificate gone not exist")) << item_message();
  EXPECT_EQ(wire::string_at(get(kPools + "/rooms"), "/status/status"), "NotReady");
  EXPECT_TRUE(is_ready("room-0"));
  EXPECT_EQ(shown("lb-demo"), (Shown{{30000, "front"}, {30001, "front"}, {30002, "front"}}));
  ASSERT_NO_FATAL_FAILURE(use("front"));
  ASSERT_TRUE(says("Ready")) << item_message();
  ASSERT_NO_FATAL_FAILURE(settle());
}

// Both are TCP at the load balancer.
TEST_F(ClbTlsPools, TcpAndTlsOfOnePortAreNeverBothGiven) {
  ASSERT_NO_FATAL_FAILURE(open(tls_pool("front")));
  ASSERT_TRUE(says("Ready")) << item_message();
  const Result<> plain = house().cluster().create_all(R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {name: plain, namespace: games}
spec:
  poolItems:
  - {itemName: tcp, loadBalancerIDs: ["lb-demo"], protocol: TCP, startPort: 30002, endPort: 30004}
)");
  ASSERT_FALSE(plain);
  EXPECT_THAT(plain.error().to_string(), HasSubstr("are granted to PortPool games/rooms"));
  User user(house().world());
  EXPECT_FALSE(user.create("room-2", {.request = "rooms TCP 8000"})) << "it has TLS alone";
  EXPECT_THAT(user.last_refusal(), HasSubstr("has no item for TCP; its items are: tls (TCP_SSL)"));
  EXPECT_EQ(on_port(listeners("lb-demo"), 30002), nullptr);
}

TEST_F(ClbPools, PortsOfALoadBalancerThatIsGoneAreFreedWithTheirPods) {
  ASSERT_NO_FATAL_FAILURE(open(kHouse));
  for (const char* name : {"room-0", "room-7"})
    ASSERT_NO_FATAL_FAILURE(create(name, {.request = "rooms TCP 8000"}));
  ASSERT_NO_FATAL_FAILURE(settle());
  EXPECT_EQ(claimed_ports("lb-demo-tcp-", 30000, 30006), 2);
  house().book().bear_unreached(true);
  cloud().remove_load_balancer("lb-demo");
  User user(house().world());
  user.remove("room-0");
  ASSERT_NO_FATAL_FAILURE(
      run_until([&] { return claimed_ports("lb-demo-tcp-", 30000, 30006) == 1; }));
  EXPECT_FALSE(is_ready("room-7")) << "which is there, and cannot be reached";
  // Nobody's port any more, and nobody gets it: it would lead nowhere.
  ASSERT_NO_FATAL_FAILURE(run_until([&] { return made_ports("lb-demo-tcp-", 30000, 30006) == 1; }));
  EXPECT_FALSE(user.create("room-8", {.request = "rooms TCP 8000"}));
  EXPECT_THAT(user.last_refusal(), HasSubstr("LoadBalancer not exist, lb-demo"));

  cloud().add_load_balancer("lb-demo");
  ASSERT_NO_FATAL_FAILURE(run_until_ready("room-7"));
  ASSERT_NO_FATAL_FAILURE(run_until([&] { return listeners("lb-demo").size() == 6; }));
  ASSERT_NO_FATAL_FAILURE(run_for(1min));
  ASSERT_NO_FATAL_FAILURE(create("room-8", {.request = "rooms TCP 8000"}));
  ASSERT_NO_FATAL_FAILURE(run_until_ready("room-8"));
  ASSERT_NO_FATAL_FAILURE(run_for(kAuditInterval + 2min));
  house().book().bear_unreached(false);
  ASSERT_NO_FATAL_FAILURE(settle());
  EXPECT_EQ(listeners("lb-demo").size(), 6u) << "also those that nobody has";
  ASSERT_NO_FATAL_FAILURE(close());
}

TEST_F(ClbPools, RoomsGetPortsOfAnotherItemWhenTheLoadBalancerOfTheFirstIsGone) {
  ASSERT_NO_FATAL_FAILURE(open(R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {name: rooms, namespace: games}
spec:
  poolItems:
  - {itemName: item1, loadBalancerIDs: ["lb-demo"], protocol: TCP, startPort: 30000, endPort: 30003}
  - {itemName: item2, loadBalancerIDs: ["lb-east"], protocol: TCP, startPort: 31000, endPort: 31003}
)"));
  cloud().remove_load_balancer("lb-demo");
  ASSERT_NO_FATAL_FAILURE(run_for(kAuditInterval + 2min));
  ASSERT_NO_FATAL_FAILURE(create("room-0", {.request = "rooms TCP 8000"}));
  ASSERT_NO_FATAL_FAILURE(run_until_ready("room-0"));
  EXPECT_EQ(ports_to(listeners("lb-east"), pod_ip("room-0")).size(), 1u);
  cloud().add_load_balancer("lb-demo");
  ASSERT_NO_FATAL_FAILURE(run_until([&] { return listeners("lb-demo").size() == 3; }));
  ASSERT_NO_FATAL_FAILURE(settle());
  ASSERT_NO_FATAL_FAILURE(close());
}

TEST_F(ClbPools, APoolOnALoadBalancerThatIsGoneGoesWithItsPods) {
  ASSERT_NO_FATAL_FAILURE(open(kHouse));
  ASSERT_NO_FATAL_FAILURE(create("room-0", {.request = "rooms TCP 8000"}));
  ASSERT_NO_FATAL_FAILURE(settle());
  house().book().bear_unreached(true);
  cloud().remove_load_balancer("lb-demo");
  ASSERT_NO_FATAL_FAILURE(run_for(kAuditInterval + 2min));
  ASSERT_NO_FATAL_FAILURE(close());
}

// What the cloud says then is no proof that the load balancer is gone.
TEST_F(ClbPools, NothingIsFreedWhileTheCloudRefusesCalls) {
  ASSERT_NO_FATAL_FAILURE(open(kHouse));
  ASSERT_NO_FATAL_FAILURE(create("room-0", {.request = "rooms TCP 8000"}));
  ASSERT_NO_FATAL_FAILURE(settle());
  cloud().cloud().inject(
      {.error = {"UnauthorizedOperation", "you have no permission"}, .count = 1'000'000});
  User user(house().world());
  user.remove("room-0");
  for (int i = 0; i < 20; ++i) {
    ASSERT_NO_FATAL_FAILURE(run_for(1min));
    ASSERT_EQ(claimed_ports("lb-demo-tcp-", 30000, 30006), 1) << "somebody may still be led there";
  }
  cloud().cloud().clear_faults();
  ASSERT_NO_FATAL_FAILURE(
      run_until([&] { return claimed_ports("lb-demo-tcp-", 30000, 30006) == 0; }));
  ASSERT_NO_FATAL_FAILURE(close());
}

}  // namespace
}  // namespace berth::scenario
