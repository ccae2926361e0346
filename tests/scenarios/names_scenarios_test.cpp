// Users write names of load balancers where ids are meant. What a name means is asked once, before
// anything is granted; a room stays where it is, whoever has the name later.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <map>

#include "claims/slot.h"
#include "pool_house.h"

namespace berth::scenario {
namespace {

using sim::lb::Call;
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
      loadBalancerIDs: ["my-clb", "ap-y:other"]
      protocol: TCP
      startPort: 31000
      endPort: 31003
)";
constexpr RoomKind kCloudRoom{.request = "clouds TCP 8000"};

const model::LoadBalancerRef kFirst{model::Provider::tencent, "ap-x", "lb-1"};
const model::LoadBalancerRef kOther{model::Provider::tencent, "ap-y", "lb-2"};
const model::LoadBalancerRef kLater{model::Provider::tencent, "ap-x", "lb-3"};

world::WorldOptions on_a_cloud() {
  world::WorldOptions options;
  options.config.load_balancers = {model::Provider::tencent, "ap-x"};
  return options;
}

std::string annotation(const Value& object, std::string_view key) {
  return std::string(
      wire::string_at(object, "/metadata/annotations/" + wire::escape_pointer_step(key)));
}

class NamesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(house_.open());
    house_.book().close();  // it reads texts without defaults
  }

  void call(const model::LoadBalancerRef& lb, const std::string& name) {
    house_.world().provider().add_load_balancer(lb, {.name = name});
  }
  // The directory does not answer any more.
  void lose_directory() {
    for (int i = 0; i < 1000; ++i)
      house_.world().provider().script(Call::search,
                                       {.error = error_of(Code::unavailable, "no route")});
  }
  void rest() {
    const Result<> quiet = house_.rest();
    ASSERT_TRUE(quiet) << quiet.error().to_string();
  }
  Value pool() { return house_.cluster().ask("GET", kPools + "/clouds").value_or(Value{}); }
  std::string message() {
    return std::string(wire::string_at(pool(), "/status/poolItems/0/message"));
  }
  bool says(std::string_view words) {
    return static_cast<bool>(
        house_.run_until([&] { return message().find(words) != std::string::npos; }));
  }
  // Where each Listener of the pool stands.
  std::map<std::string, std::string> standing() {
    std::map<std::string, std::string> out;
    for (const Value& one : house_.cluster().list(kListeners).value_or(std::vector<Value>{})) {
      const std::string name(wire::string_at(one, "/metadata/name"));
      if (name.starts_with("lb-1-") || name.starts_with("lb-2-"))
        out[name] = annotation(one, claims::kBalancerAnnotation);
    }
    return out;
  }
  bool exists(const model::LoadBalancerRef& lb) {
    return house_.cluster().ask("GET", kBalancers + "/" + model::object_name(lb)).has_value();
  }
  void open_pool() {
    call(kFirst, "my-clb");
    call(kOther, "other");
    ASSERT_TRUE(user_.create_pool(kClouds)) << user_.last_refusal();
    ASSERT_TRUE(user_.create("cloud-0", kCloudRoom)) << user_.last_refusal();
    rest();
    standing_ = standing();
    ASSERT_EQ(standing_.size(), 6u);
    ASSERT_EQ(standing_.at("lb-1-tcp-31000"), "tencent//ap-x/lb-1");
    ASSERT_EQ(standing_.at("lb-2-tcp-31000"), "tencent//ap-y/lb-2");
  }
  // For half a minute, and another room comes where the first is.
  void expect_nobody_moves() {
    for (int i = 0; i < 600; ++i) {
      ASSERT_TRUE(house_.cluster().run_for(milliseconds{50}));
      for (const Value& pod : house_.cluster().list(kPods).value_or(std::vector<Value>{}))
        ASSERT_EQ(annotation(pod, api::kBindStatusAnnotation), "Ready");
    }
    ASSERT_TRUE(user_.create("cloud-1", kCloudRoom)) << user_.last_refusal();
    rest();
    EXPECT_EQ(standing(), standing_);
    EXPECT_EQ(message(), "Ready");
    EXPECT_EQ(house_.world().provider().listeners(kFirst).size(), 3u);
  }

  PoolHouse house_{1, on_a_cloud()};
  User user_{house_.world()};
  std::map<std::string, std::string> standing_;
};

TEST_F(NamesTest, ANameLeadsToTheIdThatEverythingCarries) {
  open_pool();
  const Value found = pool();
  EXPECT_EQ(wire::string_at(found, "/status/poolItems/0/loadBalancerIDs/0"), "ap-x:lb-1");
  EXPECT_EQ(wire::string_at(found, "/spec/poolItems/0/loadBalancerIDs/0"), "my-clb");
  const auto pods = house_.cluster().list(kPods).value_or(std::vector<Value>{});
  ASSERT_EQ(pods.size(), 1u);
  const std::string told = annotation(pods.front(), api::kPoolBindingsAnnotation);
  EXPECT_NE(told.find(R"("loadBalancerIDs":["ap-x:lb-1","ap-y:lb-2"])"), std::string::npos) << told;
  EXPECT_TRUE(exists(kFirst));
  user_.remove("cloud-0");
  user_.remove_pool("clouds");
  rest();
  EXPECT_TRUE(standing().empty());
  EXPECT_FALSE(exists(kFirst));
}

TEST_F(NamesTest, ANameThatGoesToAnotherLoadBalancerMovesNobody) {
  open_pool();
  call(kFirst, "renamed");
  call(kLater, "my-clb");
  expect_nobody_moves();
  house_.world().crash_all();
  expect_nobody_moves();
  EXPECT_FALSE(exists(kLater));
}

TEST_F(NamesTest, ARestartWhileTheDirectoryIsAwayMovesNobody) {
  open_pool();
  lose_directory();
  house_.world().crash_all();
  expect_nobody_moves();
}

TEST_F(NamesTest, WhoEditsTheNameOnAListenerMovesNobody) {
  open_pool();
  call(kFirst, "renamed");
  call(kLater, "my-clb");
  const Value patch = wire::Object{
      {"metadata",
       wire::Object{{"annotations", wire::Object{{claims::kFoundByAnnotation, "nonsense"}}}}}};
  for (const auto& [name, where] : standing_) {
    if (name.ends_with("31002")) continue;  // one witness is enough
    ASSERT_TRUE(house_.cluster().ask("PATCH", kListeners + "/" + name, patch));
  }
  expect_nobody_moves();
  for (const Value& one : house_.cluster().list(kListeners).value_or(std::vector<Value>{}))
    EXPECT_NE(annotation(one, claims::kFoundByAnnotation), "nonsense");
}

TEST_F(NamesTest, OfTwoLoadBalancersWithOneNameNeitherIsTaken) {
  call(kFirst, "my-clb");
  call(kLater, "my-clb");
  call(kOther, "other");
  ASSERT_TRUE(user_.create_pool(kClouds)) << user_.last_refusal();
  ASSERT_TRUE(says("2 load balancers in ap-x have the name 'my-clb': ap-x:lb-1, ap-x:lb-3"))
      << message();
  EXPECT_NE(message().find("write the id"), std::string::npos);
  EXPECT_FALSE(exists(kFirst));
  EXPECT_FALSE(exists(kOther)) << "not even half of the item is granted";
  EXPECT_TRUE(standing().empty());
  call(kLater, "another");
  ASSERT_TRUE(says("Ready")) << message();
  EXPECT_TRUE(exists(kFirst));
}

TEST_F(NamesTest, ANameThatNobodyHasIsLookedForAgain) {
  call(kOther, "other");
  ASSERT_TRUE(user_.create_pool(kClouds)) << user_.last_refusal();
  ASSERT_TRUE(says("no Tencent load balancer in ap-x has the name 'my-clb'")) << message();
  call(kFirst, "my-clb");
  ASSERT_TRUE(says("Ready")) << message();
}

TEST_F(NamesTest, ADirectoryThatDoesNotAnswerIsAskedAgain) {
  call(kFirst, "my-clb");
  call(kOther, "other");
  for (int i = 0; i < 5; ++i)
    house_.world().provider().script(Call::search,
                                     {.error = error_of(Code::unavailable, "no route")});
  ASSERT_TRUE(user_.create_pool(kClouds)) << user_.last_refusal();
  ASSERT_TRUE(says("no route")) << message();
  EXPECT_FALSE(exists(kFirst));
  ASSERT_TRUE(says("Ready")) << message();
}

TEST_F(NamesTest, TwoTextsOfOneLoadBalancerAreRefused) {
  call(kFirst, "my-clb");
  call({model::Provider::tencent, "ap-y", "lb-2"}, "unused");
  std::string yaml(kClouds);
  yaml.replace(yaml.find("ap-y:other"), std::string_view("ap-y:other").size(), "lb-1");
  ASSERT_TRUE(user_.create_pool(yaml)) << user_.last_refusal();
  ASSERT_TRUE(says("'my-clb' and 'lb-1' are one load balancer, ap-x:lb-1")) << message();
  EXPECT_FALSE(exists(kFirst));
}

}  // namespace
}  // namespace berth::scenario
