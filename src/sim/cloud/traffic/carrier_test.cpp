#include "sim/cloud/traffic/carrier.h"

#include <gmock/gmock.h>

#include "base/threads.h"
#include "edge/test_sites.h"
#include "edge/test_support.h"
#include "sim/cloud/traffic/carried.h"

namespace berth::sim::traffic {
namespace {

using edge::testing::greeting_at;
using edge::testing::kTimeoutMs;
using ::testing::HasSubstr;

constexpr const char* kLb = "lb-traffic1";

// A cloud with one load balancer on an address of this process alone, and rooms behind it.
class CarrierTest : public ::testing::Test {
 protected:
  void SetUp() override {
    cloud_.add_load_balancer(
        {.id = kLb, .account = "100000000001", .region = "ap-guangzhou", .vips = {vip()}},
        tasks_.wall_time());
    start({});
  }
  void start(CarrierOptions options) {
    carrier_.reset();
    carrier_ = Carrier::start(tasks_, cloud_, options).value();
  }

  static std::string vip() { return edge::loopback_address(fmt::format("vip/{}", ::getpid())); }

  std::string add(const std::string& protocol, model::Port first, model::Port last,
                  std::vector<std::pair<model::Target, int>> targets) {
    tencent::Listener listener{.protocol = protocol, .port = first};
    if (last != first) listener.end_port = last;
    listener.rules.emplace_back();
    const std::string id = cloud_.add_listener(kLb, std::move(listener));
    lead(id, std::move(targets));
    return id;
  }
  void lead(const std::string& listener, std::vector<std::pair<model::Target, int>> targets) {
    cloud_.edit(kLb, [&](tencent::LoadBalancer& lb) {
      std::vector<tencent::Target>& list = lb.listeners.at(listener).rules.front().targets;
      list.clear();
      for (const auto& [at, weight] : targets)
        list.push_back({.ip = at.ip, .port = at.port, .weight = weight});
    });
    carrier_->follow({});
  }
  std::string told(const std::string& listener) const {
    const wire::Value dump = cloud_.dump();
    for (const wire::Value& one : *wire::array_at(dump, "/loadBalancers/0/listeners")) {
      if (wire::string_at(one, "/id") == listener)
        return std::string(wire::string_at(one, "/traffic"));
    }
    return "no such listener";
  }

  ThreadTasks tasks_;
  tencent::Cloud cloud_{tencent::Settings{}};
  edge::testing::Edge rooms_;
  std::unique_ptr<Carrier> carrier_;
};

TEST(Carried, VipsOfLoopbackStayAndOthersAreAlwaysAtTheSamePlace) {
  EXPECT_EQ(loopback_of("127.1.2.3"), "127.1.2.3");
  EXPECT_EQ(loopback_of("203.0.113.10"), loopback_of("203.0.113.10"));
  EXPECT_TRUE(loopback_of("203.0.113.10").starts_with("127."));
  EXPECT_NE(loopback_of("203.0.113.10"), loopback_of("203.0.113.11"));
}

TEST_F(CarrierTest, AnEchoComesBackOverTcpAndUdp) {
  const model::Port port = edge::testing::Edge::fresh_port();
  const model::Target room = rooms_.open_room("room\n");
  const std::string tcp = add("TCP", port, port, {{room, 10}});
  add("UDP", port, port, {{room, 10}});
  EXPECT_EQ(edge::ask_over_tcp({vip(), port}, "ahoy", kTimeoutMs).value(), "room\nahoy");
  EXPECT_EQ(edge::ask_over_udp({vip(), port}, "ahoy", kTimeoutMs).value(), "ahoy");
  EXPECT_EQ(told(tcp), fmt::format("open at {}:{}", vip(), port));
}

TEST_F(CarrierTest, EachPortOfARangeLeadsToItsOwn) {
  const model::Port first = edge::testing::Edge::fresh_port(3);
  const auto last = static_cast<model::Port>(first + 2);
  add("TCP", first, last, {{rooms_.open_rooms(3), 10}});
  for (int n = 0; n < 3; ++n)
    EXPECT_EQ(greeting_at({vip(), static_cast<model::Port>(first + n)}), fmt::format("{}", n));
}

TEST_F(CarrierTest, TrafficFollowsTargetsAndWeights) {
  const model::Port port = edge::testing::Edge::fresh_port();
  const model::Target old_room = rooms_.open_room("old");
  const model::Target new_room = rooms_.open_room("new");
  const std::string id = add("TCP", port, port, {{old_room, 10}});
  EXPECT_EQ(greeting_at({vip(), port}), "old");
  lead(id, {{old_room, 0}, {new_room, 10}});
  EXPECT_EQ(edge::testing::spread({vip(), port}, 8), (std::map<std::string, int>{{"new", 8}}));
  lead(id, {{old_room, 10}, {new_room, 30}});
  EXPECT_EQ(edge::testing::spread({vip(), port}, 8),
            (std::map<std::string, int>{{"new", 6}, {"old", 2}}));
  lead(id, {});
  EXPECT_EQ(greeting_at({vip(), port}), "") << "nobody is there any more";
  EXPECT_EQ(told(id), "waits for a target");
}

TEST_F(CarrierTest, WhatIsDeletedIsClosedAndItsPortIsGoodForAnother) {
  const model::Port port = edge::testing::Edge::fresh_port();
  const model::Target first = rooms_.open_room("first");
  const model::Target second = rooms_.open_room("second");
  const std::string id = add("TCP", port, port, {{first, 10}});
  EXPECT_EQ(greeting_at({vip(), port}), "first");
  cloud_.edit(kLb, [&](tencent::LoadBalancer& lb) { lb.listeners.erase(id); });
  add("TCP", port, port, {{second, 10}});
  EXPECT_EQ(greeting_at({vip(), port}), "second");
  cloud_.remove_load_balancer(kLb);
  carrier_->follow({});
  EXPECT_EQ(greeting_at({vip(), port}), "");
}

TEST_F(CarrierTest, APortThatSomebodyElseHasIsTakenWhenItIsFree) {
  const model::Port port = edge::testing::Edge::fresh_port();
  auto holder = edge::EchoServer::start({vip(), port}, "somebody").value();
  const std::string id = add("TCP", port, port, {{rooms_.open_room("room"), 10}});
  EXPECT_THAT(told(id), Not(HasSubstr("open at")));
  holder.reset();
  EXPECT_TRUE(edge::testing::eventually([&] { return greeting_at({vip(), port}) == "room"; }));
}

TEST_F(CarrierTest, WhatIsNotCarriedYetSaysSo) {
  const model::Port port = edge::testing::Edge::fresh_port();
  const std::string id = add("QUIC", port, port, {{rooms_.open_room("room"), 10}});
  EXPECT_EQ(told(id), "QUIC carries no traffic yet");
}

class CarrierSiteTest : public CarrierTest {
 protected:
  void SetUp() override {
    BERTH_NEEDS_HAPROXY();
    CarrierTest::SetUp();
  }
  model::Target site(const std::string& name) {
    sites_.push_back(
        std::make_unique<edge::testing::HttpRoom>(edge::testing::Edge().room_at(), name));
    return sites_.back()->at();
  }
  std::string add_site(const std::string& protocol, model::Port port) {
    tencent::Listener listener{.protocol = protocol, .port = port};
    if (protocol == "HTTPS") listener.certificate = {{"CertId", "cert-1"}};
    return cloud_.add_listener(kLb, std::move(listener));
  }
  void rule(const std::string& listener, const std::string& domain, const std::string& url,
            const model::Target& at) {
    cloud_.edit(kLb, [&](tencent::LoadBalancer& lb) {
      tencent::Rule rule{.id = "loc-" + domain + url, .domains = {domain}, .url = url};
      rule.targets.push_back({.ip = at.ip, .port = at.port, .weight = 10});
      lb.listeners.at(listener).rules.push_back(std::move(rule));
    });
    carrier_->follow({});
  }
  std::vector<std::unique_ptr<edge::testing::HttpRoom>> sites_;
};

TEST_F(CarrierSiteTest, DomainsAndPathsLeadWhereTheirRulesSay) {
  const model::Port port = edge::testing::Edge::fresh_port();
  const std::string id = add_site("HTTP", port);
  rule(id, "a.example.com", "/", site("home"));
  rule(id, "a.example.com", "/lobby", site("lobby"));
  const auto said = [&](const std::string& path) {
    return edge::testing::get({vip(), port}, "a.example.com", path).first_line();
  };
  EXPECT_EQ(said("/lobby/1"), "lobby");
  EXPECT_EQ(said("/x"), "home");
  EXPECT_EQ(told(id), fmt::format("open at {}:{}", vip(), port));
  cloud_.edit(kLb, [&](tencent::LoadBalancer& lb) { lb.listeners.at(id).rules.pop_back(); });
  carrier_->follow({});
  EXPECT_EQ(said("/lobby/1"), "home") << "its rule is gone";
}

TEST_F(CarrierSiteTest, TlsEndsAtTheCloudWithACertificateThatIsMadeUp) {
  const model::Port port = edge::testing::Edge::fresh_port();
  const std::string id = add_site("HTTPS", port);
  rule(id, "a.example.com", "/", site("home"));
  const Command curl{.program = "curl",
                     .args = {"-sSk", "--max-time", "20", "--resolve",
                              fmt::format("a.example.com:{}:{}", port, vip()),
                              fmt::format("https://a.example.com:{}/", port)}};
  const CommandResult result = run_command({.tasks = tasks_}, curl).value();
  EXPECT_TRUE(result.out.starts_with("home\n")) << result.out << result.err;
}

TEST_F(CarrierTest, LowPortsAreOpenAtAnOffsetWhichIsTold) {
  const model::Port offset = edge::testing::Edge::fresh_port(100);
  start({.low_ports = edge::LowPorts{.limit = 100, .offset = offset}});
  const std::string id = add("TCP", 80, 80, {{rooms_.open_room("room"), 10}});
  const auto at = static_cast<model::Port>(offset + 80);
  EXPECT_EQ(greeting_at({vip(), at}), "room");
  EXPECT_EQ(told(id), fmt::format("open at {}:{}", vip(), at));
}

}  // namespace
}  // namespace berth::sim::traffic
