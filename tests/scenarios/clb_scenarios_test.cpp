// The whole controller with port pools on Tencent's load balancers: the real driver, a simulated
// cloud with its documented limits, and what users find in Pods, Listeners and the cloud.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

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

}  // namespace
}  // namespace berth::scenario
