// The controller is started with another default provider or region. What users wrote before keeps
// the meaning that it had: nothing moves.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <map>
#include <set>

#include "claims/seal.h"
#include "pool_house.h"

namespace berth::scenario {
namespace {

using wire::Value;

using std::chrono::milliseconds;

const std::string kListeners =
    "/apis/networkextension.bkbcs.tencent.com/v1/namespaces/games/listeners";
const std::string kBalancers = "/apis/berth.dev/v1/loadbalancers";

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

}  // namespace
}  // namespace berth::scenario
