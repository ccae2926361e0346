// Ingresses end to end in a simulated world: what they lead to comes and goes, people edit, two
// want one port, and the controller dies at every write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "ingress_house.h"
#include "scenario.h"

namespace berth::scenario {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using wire::Array;
using wire::Object;
using wire::Value;
using world::World;
using world::WorldOptions;

class IngressScenarios : public ::testing::Test {
 protected:
  void SetUp() override {
    const Result<> open = house_.open();
    ASSERT_TRUE(open) << open.error().to_string();
  }
  void make(const std::string& yaml) {
    const Result<> made = house_.cluster().create_all(yaml);
    ASSERT_TRUE(made) << made.error().to_string();
  }
  void ready_pod(const std::string& name, const std::string& owner = {}) {
    make(IngressHouse::pod(name, owner));
    ASSERT_TRUE(until([&] { return !house_.ip_of(name).empty(); }));
    house_.say_ready(name, true);
  }
  bool until(const std::function<bool()>& done) {
    return house_.cluster().run_until(done).has_value();
  }
  std::string direct(int port, const std::string& protocol = "TCP") {
    return fmt::format(
        "{{port: {}, protocol: {}, services: [{{serviceName: web, servicePort: 8080, "
        "isDirectConnect: true}}]}}",
        port, protocol);
  }
  std::string rules(const std::string& list) { return "{rules: [" + list + "]}"; }

  IngressHouse house_{7, with_ingresses()};
};

TEST_F(IngressScenarios, ItFollowsThePodsOfItsService) {
  ready_pod("a");
  make(IngressHouse::ingress("front", rules(direct(443))));
  const std::string a = house_.ip_of("a");
  ASSERT_TRUE(until([&] { return house_.leads(443) == std::vector{a + ":80 10"}; }));
  ASSERT_TRUE(until([&] { return house_.is_ready("front"); }));
  EXPECT_FALSE(house_.text("front", "/status/loadbalancers/0/ips/0").empty());
  ready_pod("b");
  const std::string b = house_.ip_of("b");
  ASSERT_TRUE(until([&] { return house_.leads(443) == std::vector{a + ":80 10", b + ":80 10"}; }));
  house_.say_ready("b", false);
  ASSERT_TRUE(until([&] { return house_.leads(443) == std::vector{a + ":80 10", b + ":80 0"}; }));
  house_.say_ready("b", true);
  ASSERT_TRUE(house_.cluster().ask("DELETE", kIngressPods + "/a"));
  bool drained = false;
  ASSERT_TRUE(until([&] {
    drained = drained || house_.leads(443) == std::vector{a + ":80 0", b + ":80 10"};
    return house_.leads(443) == std::vector{b + ":80 10"};
  }));
  EXPECT_TRUE(drained) << "a Pod that ends gets no new connections, and keeps those that it has";
}

TEST_F(IngressScenarios, AServiceThatComesLateIsFoundAndTheStatusSaysSoUntilThen) {
  make(IngressHouse::ingress(
      "front",
      "{rules: [{port: 443, protocol: TCP, services: [{serviceName: late, servicePort: "
      "8080, isDirectConnect: true}]}]}"));
  ASSERT_TRUE(until([&] {
    return house_.text("front", "/status/message") ==
           "spec.rules[0].services[0]: Service games/late is not there";
  }));
  ready_pod("a");
  make(R"(
apiVersion: v1
kind: Service
metadata: {name: late, namespace: games}
spec: {selector: {app: web}, ports: [{port: 8080, targetPort: 90}]}
)");
  ASSERT_TRUE(until([&] { return house_.is_ready("front"); }));
  EXPECT_THAT(house_.leads(443), ElementsAre(house_.ip_of("a") + ":90 10"));
}

TEST_F(IngressScenarios, TcpAndUdpShareAPort) {
  ready_pod("a");
  make(IngressHouse::ingress("front", rules(direct(53, "UDP"))));
  ASSERT_TRUE(until([&] { return house_.is_ready("front"); }));
  EXPECT_THAT(house_.listeners(), ElementsAre("demo-53"));
  house_.change("front", rules(direct(53, "TCP") + ", " + direct(53, "UDP")));
  const std::vector<std::string> to_a{house_.ip_of("a") + ":80 10"};
  ASSERT_TRUE(until([&] { return house_.leads(53) == to_a && house_.is_ready("front"); }));
  EXPECT_THAT(house_.listeners(), ElementsAre("demo-53", "demo-tcp-53"))
      << "who had the name keeps it";
  EXPECT_EQ(house_.leads(53, model::Transport::udp), to_a);
}

TEST_F(IngressScenarios, OneWhoWantsAPortOfAnotherIsRefusedAndTold) {
  make(IngressHouse::ingress("front", rules(direct(443))));
  ASSERT_TRUE(until([&] { return house_.leads(443) != std::vector<std::string>{"closed"}; }));
  const Result<> second =
      house_.cluster().create_all(IngressHouse::ingress("side", rules(direct(443))));
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().to_string(),
              HasSubstr("TCP ports 443-443 of edge:demo are granted to Ingress games/front"));
  ASSERT_TRUE(house_.cluster().ask("DELETE", kIngresses + "/front"));
  ASSERT_TRUE(until([&] { return house_.text("front", "/status/status") == "gone"; }));
  make(IngressHouse::ingress("side", rules(direct(443))));
  ASSERT_TRUE(until([&] { return house_.leads(443) != std::vector<std::string>{"closed"}; }));
}

TEST_F(IngressScenarios, WhatARuleSpeaksMayChange) {
  ready_pod("a");
  make(IngressHouse::ingress("front", rules(direct(443))));
  ASSERT_TRUE(until([&] { return house_.is_ready("front"); }));
  house_.change("front",
                "{rules: [{port: 443, protocol: HTTP, layer7Routes: [{domain: a.example, services: "
                "[{serviceName: web, servicePort: 8080, isDirectConnect: true}]}]}]}");
  ASSERT_TRUE(until([&] {
    const auto there = house_.world().view().find(kDemo, model::Transport::tcp, 443);
    return there && there->spec.protocol == model::Protocol::http && house_.is_ready("front");
  }));
  EXPECT_THAT(house_.listeners(), ElementsAre("demo-443"));
  EXPECT_THAT(house_.leads(443), ElementsAre(house_.ip_of("a") + ":80 10"));
}

TEST_F(IngressScenarios, AMappingGrowsAndShrinksAndGivesItsPortsBack) {
  const auto mapping = [](int end) {
    return fmt::format(
        "{{portMappings: [{{startPort: 30000, protocol: TCP, startIndex: 0, endIndex: {}, "
        "segmentLength: 2, workloadKind: StatefulSet, workloadNamespace: games, workloadName: "
        "room}}]}}",
        end);
  };
  ready_pod("room-0", "room");
  ready_pod("room-1", "room");
  make(IngressHouse::ingress("rooms", mapping(2)));
  ASSERT_TRUE(until([&] { return house_.is_ready("rooms"); }));
  EXPECT_THAT(house_.leads(30002), ElementsAre(house_.ip_of("room-1") + ":30002 10"));
  house_.change("rooms", mapping(4));
  ASSERT_TRUE(until([&] { return house_.listeners().size() == 4; }));
  house_.change("rooms", mapping(1));
  ASSERT_TRUE(until([&] { return house_.listeners().size() == 1; }));
  EXPECT_THAT(house_.leads(30000), ElementsAre(house_.ip_of("room-0") + ":30000 10"));
  // Another may have what is free.
  Result<> made = fail(Code::internal, "not tried");
  for (int i = 0; i < 30 && !made; ++i) {
    ASSERT_TRUE(house_.cluster().run_for(seconds{1}));
    made = house_.cluster().create_all(IngressHouse::ingress("next", rules(direct(30005))));
  }
  ASSERT_TRUE(made) << made.error().to_string();
  ASSERT_TRUE(until([&] { return house_.is_ready("next"); }));
}

// Tencent's kind of StatefulSet: its Pods are known by their owner alone.
TEST_F(IngressScenarios, AMappingLeadsToThePodsOfAGameStatefulSet) {
  const auto owned = [](const std::string& name, const std::string& kind) {
    return fmt::format(R"(
apiVersion: v1
kind: Pod
metadata:
  name: {}
  namespace: games
  ownerReferences: [{{apiVersion: tkex.tencent.com/v1alpha1, kind: {}, name: room, uid: uid-of-{}, controller: true}}]
spec: {{containers: [{{name: main, image: main}}]}}
)",
                       name, kind, kind);
  };
  for (const auto& [name, kind] :
       {std::pair{"room-0", "GameStatefulSet"}, std::pair{"room-1", "GameStatefulSet"},
        std::pair{"room-2", "GameDeployment"}}) {
    make(owned(name, kind));
    ASSERT_TRUE(until([&] { return !house_.ip_of(name).empty(); }));
    house_.say_ready(name, true);
  }
  make(IngressHouse::ingress(
      "rooms",
      "{portMappings: [{startPort: 30000, protocol: UDP, startIndex: 0, endIndex: 3, "
      "segmentLength: 2, workloadKind: GameStatefulSet, workloadNamespace: games, workloadName: "
      "room}]}"));
  ASSERT_TRUE(until([&] { return house_.is_ready("rooms"); }));
  const auto led = [&](model::Port port) { return house_.leads(port, model::Transport::udp); };
  EXPECT_THAT(led(30000), ElementsAre(house_.ip_of("room-0") + ":30000 10"));
  EXPECT_THAT(led(30002), ElementsAre(house_.ip_of("room-1") + ":30002 10"));
  EXPECT_THAT(led(30004), IsEmpty()) << "room-2 is of another kind";
  // One that comes again has another address.
  ASSERT_TRUE(house_.cluster().ask("DELETE", kIngressPods + "/room-1"));
  ASSERT_TRUE(until([&] { return led(30002).empty(); }));
  make(owned("room-1", "GameStatefulSet"));
  ASSERT_TRUE(until([&] { return !house_.ip_of("room-1").empty(); }));
  house_.say_ready("room-1", true);
  ASSERT_TRUE(
      until([&] { return led(30002) == std::vector{house_.ip_of("room-1") + ":30002 10"}; }));
}

TEST_F(IngressScenarios, WhatSomebodyWritesOnAListenerIsNeverLedToAndIsPutRight) {
  ready_pod("a");
  make(IngressHouse::ingress("front", rules(direct(443))));
  ASSERT_TRUE(until([&] { return house_.is_ready("front"); }));
  bool led_astray = false;
  house_.world().view().observe([&](const sim::lb::Change&) {
    for (const std::string& target : house_.leads(443))
      led_astray = led_astray || target.starts_with("10.9.9.9");
  });
  const Array backends{Object{{"IP", "10.9.9.9"}, {"port", 22}, {"weight", 10}}};
  ASSERT_TRUE(house_.cluster().ask(
      "PATCH", kListeners + "/demo-443",
      Object{
          {"spec", Object{{"targetGroup", Object{{"protocol", "TCP"}, {"backends", backends}}}}}}));
  ASSERT_TRUE(house_.cluster().settle(seconds{15}));
  EXPECT_FALSE(led_astray);
  EXPECT_THAT(house_.leads(443), ElementsAre(house_.ip_of("a") + ":80 10"));
  EXPECT_TRUE(house_.is_ready("front"));
}

TEST_F(IngressScenarios, OneThatGoesLeavesNothing) {
  ready_pod("a");
  make(IngressHouse::ingress("front", rules(direct(443) + ", " + direct(444))));
  ASSERT_TRUE(until([&] { return house_.is_ready("front"); }));
  house_.change("front", rules(direct(444)));
  ASSERT_TRUE(until([&] { return house_.leads(443) == std::vector<std::string>{"closed"}; }));
  ASSERT_TRUE(house_.cluster().ask("DELETE", kIngresses + "/front"));
  ASSERT_TRUE(until([&] { return house_.text("front", "/status/status") == "gone"; }));
  EXPECT_THAT(house_.listeners(), IsEmpty());
  EXPECT_THAT(house_.leads(444), ElementsAre("closed"));
  ASSERT_TRUE(until([&] { return house_.cluster().list(kBalancers).value().empty(); }));
}

// Pods come and go, rules too, and the controller dies at each of its writes once: in the end all
// is as written, and nothing is left over.
Result<sim::RunReport> run_crashed(std::uint64_t& before, const sim::CrashPlan& plan) {
  WorldOptions options = with_ingresses();
  sim::CrashPlan shifted = plan;
  if (auto* at = std::get_if<sim::CrashAt>(&shifted)) at->write_index += before;
  options.cluster.kernel.crash = shifted;
  options.cluster.kernel.max_latency = milliseconds{10};
  options.cluster.link.max_watch_delay = milliseconds{50};
  IngressHouse house(7, std::move(options));
  if (Result<> open = house.open(); !open) return pass(open);
  if (std::holds_alternative<sim::NoCrash>(plan)) before = house.world().kernel().writes_seen();
  const std::string services =
      "services: [{serviceName: web, servicePort: 8080, isDirectConnect: true}]";
  const auto done = house.cluster().play("user", [&](std::stop_token) {
    house.write(IngressHouse::pod("a"));
    house.write(IngressHouse::pod("room-0", "room"));
    house.say_ready("a", true);
    house.say_ready("room-0", true);
    house.write(IngressHouse::ingress(
        "front", fmt::format("{{rules: [{{port: 443, protocol: TCP, {0}}}, {{port: 444, protocol: "
                             "UDP, {0}}}], portMappings: [{{startPort: 30000, protocol: TCP, "
                             "startIndex: 0, endIndex: 2, workloadKind: StatefulSet, "
                             "workloadNamespace: games, workloadName: "
                             "room}}]}}",
                             services)));
    (void)house.cluster().pause(seconds{3}, {});
    house.write(IngressHouse::pod("b"));
    house.say_ready("b", true);
    house.change("front", fmt::format("{{rules: [{{port: 443, protocol: TCP, {}}}]}}", services));
    (void)house.cluster().ask("DELETE", kIngressPods + "/a");
  });
  if (Result<> ran = house.cluster().run_until([&] { return *done; }); !ran) return pass(ran);
  if (Result<> settled = house.cluster().settle(kQuiet); !settled) return pass(settled);
  if (house.leads(443) != std::vector{house.ip_of("b") + ":80 10"})
    return fail(Code::internal, "443 leads to {}", fmt::join(house.leads(443), ", "));
  if (house.listeners() != std::vector<std::string>{"demo-443"})
    return fail(Code::internal, "left: {}", house.listeners_text());
  if (!house.is_ready("front"))
    return fail(Code::internal, "not ready: {}", house.text("front", "/status/message"));
  if (house.world().view().listeners(kDemo).size() != 1)
    return fail(Code::internal, "listeners are left at the load balancer");
  if (house.world().kernel().failure()) return fail(*house.world().kernel().failure());
  sim::RunReport report = house.world().kernel().report();
  report.writes -= before;
  return report;
}

TEST(IngressCrash, AtEveryWrite) {
  std::uint64_t before = 0;
  const auto swept = crash_everywhere(
      "ingresses", [&](const sim::CrashPlan& plan) { return run_crashed(before, plan); });
  ASSERT_TRUE(swept) << swept.error().message;
  EXPECT_GE(swept->writes, 30u);
}

}  // namespace
}  // namespace berth::scenario
