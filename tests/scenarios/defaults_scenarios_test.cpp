// The controller is started with another default provider or region. What users wrote before keeps
// the meaning that it had: nothing moves.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <map>
#include <set>

#include "claims/seal.h"
#include "ingress_house.h"
#include "pool_house.h"

namespace berth::scenario {
namespace {

using wire::Value;

using std::chrono::milliseconds;

constexpr std::string_view kClouds = R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata:
  name: clouds
  namespace: games
spec:
  poolItems:
    - itemName: item1
      loadBalancerIDs: ["lb-1", "ap-y:lb-2"]
      protocol: TCP
      startPort: 31000
      endPort: 31003
)";
constexpr RoomKind kCloudRoom{.request = "clouds TCP 8000"};

world::WorldOptions with_defaults(model::LoadBalancerDefaults defaults) {
  world::WorldOptions options;
  options.config.load_balancers = std::move(defaults);
  return options;
}

class DefaultsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(house_.open());
    house_.book().close();  // it reads texts without defaults
    ASSERT_TRUE(user_.create_pool(kClouds)) << user_.last_refusal();
    ASSERT_TRUE(user_.create("cloud-0", kCloudRoom)) << user_.last_refusal();
    rest();
    standing_ = standing();
    balancers_ = balancers();
    ASSERT_EQ(standing_.at("lb-1-tcp-31000"), "tencent//ap-x/lb-1");
    ASSERT_EQ(standing_.at("lb-2-tcp-31000"), "tencent//ap-y/lb-2");
  }

  void rest() {
    const Result<> quiet = house_.rest();
    ASSERT_TRUE(quiet) << quiet.error().to_string();
  }
  std::vector<Value> all(const std::string& path) {
    return house_.cluster().list(path).value_or(std::vector<Value>{});
  }
  static std::string annotation(const Value& object, std::string_view key) {
    return std::string(
        wire::string_at(object, "/metadata/annotations/" + wire::escape_pointer_step(key)));
  }
  // Where each Listener stands.
  std::map<std::string, std::string> standing() {
    std::map<std::string, std::string> out;
    for (const Value& one : all(kListeners))
      out[std::string(wire::string_at(one, "/metadata/name"))] =
          annotation(one, claims::kBalancerAnnotation);
    return out;
  }
  std::set<std::string> balancers() {
    std::set<std::string> out;
    for (const Value& one : all(kBalancers)) out.emplace(wire::string_at(one, "/metadata/name"));
    return out;
  }
  void start_again_with(model::LoadBalancerDefaults defaults) {
    app::Config config;
    config.load_balancers = std::move(defaults);
    house_.world().configure(config);
    house_.world().crash_all();
  }
  void expect_nobody_moves() {
    for (int i = 0; i < 600; ++i) {
      ASSERT_TRUE(house_.cluster().run_for(milliseconds{50}));
      for (const Value& pod : all(kPods))
        ASSERT_EQ(annotation(pod, api::kBindStatusAnnotation), "Ready");
    }
    rest();
    EXPECT_EQ(standing(), standing_);
    EXPECT_EQ(balancers(), balancers_);
    EXPECT_EQ(
        house_.world().provider().listeners({model::Provider::tencent, "ap-x", "lb-1"}).size(), 3u);
  }

  PoolHouse house_{1, with_defaults({model::Provider::tencent, "ap-x"})};
  User user_{house_.world()};
  std::map<std::string, std::string> standing_;
  std::set<std::string> balancers_;
};

TEST_F(DefaultsTest, AnotherDefaultRegionMovesNothing) {
  start_again_with({model::Provider::tencent, "ap-z"});
  expect_nobody_moves();
  // The pool goes on as it was: a room more is on the load balancer that the first is on.
  ASSERT_TRUE(user_.create("cloud-1", kCloudRoom)) << user_.last_refusal();
  rest();
  EXPECT_EQ(standing(), standing_);
}

TEST_F(DefaultsTest, AnotherDefaultProviderMovesNothing) {
  start_again_with({model::Provider::edge, ""});
  expect_nobody_moves();
}

TEST_F(DefaultsTest, NeitherWhenTheObjectsOfLoadBalancersAreLost) {
  start_again_with({model::Provider::tencent, "ap-z"});
  for (const Value& one : all(kBalancers))
    (void)house_.cluster().ask(
        "DELETE", kBalancers + "/" + std::string(wire::string_at(one, "/metadata/name")));
  expect_nobody_moves();
}

// What is no pool for AWS, where a port has one protocol, stays one where it is.
TEST_F(DefaultsTest, APoolIsChangedByTheRulesOfWhereItStands) {
  const std::string both = R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {name: both, namespace: games}
spec: {poolItems: [{itemName: item1, loadBalancerIDs: [lb-1], startPort: 32000, endPort: 32002}]}
)";
  ASSERT_TRUE(user_.create_pool(both)) << user_.last_refusal();
  rest();
  start_again_with({model::Provider::aws, "eu-west-1"});
  rest();
  const auto grow = [](Value& pool) {
    wire::find(pool, "/spec/poolItems/0")->as_object()["endPort"] = 32003;
    return true;
  };
  ASSERT_TRUE(user_.change_pool("both", grow)) << user_.last_refusal();
  rest();
  EXPECT_EQ(standing().at("lb-1-udp-32002"), "tencent//ap-x/lb-1");
}

world::WorldOptions ingresses_with(model::LoadBalancerDefaults defaults) {
  world::WorldOptions options = with_ingresses();
  options.config.load_balancers = std::move(defaults);
  return options;
}

// An Ingress whose text says neither provider nor region, with the Pod "a" behind it.
class IngressDefaults : public ::testing::Test {
 protected:
  void begin(model::LoadBalancerDefaults defaults, const std::string& text,
             const std::string& spec) {
    house_ = std::make_unique<IngressHouse>(7, ingresses_with(std::move(defaults)));
    const Result<> open = house_->open();
    ASSERT_TRUE(open) << open.error().to_string();
    add_pod("a");
    make(IngressHouse::ingress("front", spec, text));
    ASSERT_TRUE(until([&] { return house_->is_ready("front"); })) << message();
  }
  void start_again_with(model::LoadBalancerDefaults defaults) {
    house_->world().configure(ingresses_with(std::move(defaults)).config);
    house_->world().crash_all();
  }
  void make(const std::string& yaml) {
    const Result<> made = house_->cluster().create_all(yaml);
    ASSERT_TRUE(made) << made.error().to_string();
  }
  void add_pod(const std::string& name) {
    make(IngressHouse::pod(name));
    ASSERT_TRUE(until([&] { return !house_->ip_of(name).empty(); }));
    house_->say_ready(name, true);
  }
  bool until(const std::function<bool()>& done) {
    return house_->cluster().run_until(done).has_value();
  }
  std::string message() { return house_->text("front", "/status/message"); }
  // Whom its port 80 there leads to.
  std::set<std::string> led_to(const model::LoadBalancerRef& lb) {
    const auto there = house_->world().view().find(lb, model::Transport::tcp, 80);
    std::set<std::string> out;
    for (const model::WeightedTarget& one :
         there ? model::targets_of(there->spec) : std::vector<model::WeightedTarget>{})
      out.insert(one.target.ip);
    return out;
  }
  // It follows its Pods, and may be changed.
  void expect_it_goes_on(const model::LoadBalancerRef& lb, const std::string& grown) {
    add_pod("b");
    const std::set<std::string> both{house_->ip_of("a"), house_->ip_of("b")};
    EXPECT_TRUE(until([&] { return led_to(lb) == both; })) << message();
    EXPECT_TRUE(until([&] { return house_->is_ready("front"); })) << message();
    const auto spec = wire::parse_yaml(grown);
    ASSERT_TRUE(spec);
    const auto changed =
        house_->cluster().ask("PATCH", kIngresses + "/front", wire::Object{{"spec", *spec}});
    ASSERT_TRUE(changed) << changed.error().to_string();
    EXPECT_TRUE(until([&] { return house_->listeners().size() == 2; })) << message();
  }

  std::unique_ptr<IngressHouse> house_;
};

TEST_F(IngressDefaults, ABareNameOnTheEdgeStaysThereUnderAnotherProvider) {
  const std::string rule =
      "{port: 80, protocol: TCP, services: [{serviceName: web, servicePort: 8080, "
      "isDirectConnect: true}]}";
  begin({}, "demo", "{rules: [" + rule + "]}");
  start_again_with({model::Provider::tencent, "ap-x"});
  std::string more = rule;
  more.replace(more.find("80"), 2, "81");
  expect_it_goes_on(kDemo, "{rules: [" + rule + ", " + more + "]}");
}

// The edge has no regular expressions in paths.
TEST_F(IngressDefaults, ARuleOfTencentStaysValidUnderTheEdge) {
  const auto rule = [](int port) {
    return fmt::format(
        "{{port: {}, protocol: HTTP, layer7Routes: [{{domain: a.example.com, path: '~ /r/.*', "
        "services: [{{serviceName: web, servicePort: 8080, isDirectConnect: true}}]}}]}}",
        port);
  };
  begin({model::Provider::tencent, "ap-x"}, "lb-1", "{rules: [" + rule(80) + "]}");
  start_again_with({});
  expect_it_goes_on({model::Provider::tencent, "ap-x", "lb-1"},
                    "{rules: [" + rule(80) + ", " + rule(81) + "]}");
}

}  // namespace
}  // namespace berth::scenario
