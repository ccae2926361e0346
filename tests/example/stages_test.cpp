// A new kind is a folder and a line: the Stage in a simulated world, beside pools.
#include "stages_told.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "modules/core/module.h"
#include "modules/port_pools/module.h"
#include "report/status.h"
#include "sim/world/world.h"

namespace berth::example {
namespace {

using ::testing::HasSubstr;
using wire::Value;
using world::World;

// The line is the last.
constexpr module::Module kModules[] = {
    {modules::core::declare, modules::core::build},
    {modules::port_pools::declare, modules::port_pools::build},
    {stages::declare, stages::build, &stages::kReport},
};

const std::string kStages = "/apis/example.dev/v1/stages";
const std::string kPools = "/apis/networkextension.bkbcs.tencent.com/v1/namespaces/games/portpools";
const model::LoadBalancerRef kDemo{model::Provider::edge, "", "demo"};

std::string stage(const std::string& name, const std::string& address) {
  return fmt::format(R"(
apiVersion: example.dev/v1
kind: Stage
metadata: {{name: {}}}
spec: {{loadBalancerID: "edge:demo", address: {}, port: 8000}}
)",
                     name, address);
}

class StagesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(run_until(
        [this] { return world_.leaders() == 1 && world_.cluster().list(kStages).has_value(); }));
    ASSERT_TRUE(
        world_.cluster().create_all("apiVersion: v1\nkind: Namespace\nmetadata: {name: games}"));
  }
  bool run_until(const std::function<bool()>& done) {
    const Result<> run = world_.cluster().run_until(done);
    return run.has_value();
  }
  void make(const std::string& name, const std::string& address) {
    ASSERT_TRUE(world_.cluster().create_all(stage(name, address)));
  }
  std::string text(const std::string& name, std::string_view pointer) {
    const Result<Value> found = world_.cluster().ask("GET", kStages + "/" + name);
    return found ? std::string(wire::string_at(*found, pointer)) : "gone";
  }
  std::int64_t port(const std::string& name) {
    const Result<Value> found = world_.cluster().ask("GET", kStages + "/" + name);
    return found ? wire::int_at(*found, "/status/publicPort").value_or(0) : -1;
  }
  // Where the load balancer leads: "10.0.0.1"; empty: nowhere.
  std::string led_to(model::Port port) {
    for (const lb::ObservedListener& one : world_.provider().listeners(kDemo))
      if (one.spec.ports.first == port && !one.spec.rules.empty())
        for (const model::WeightedTarget& to : one.spec.rules.front().targets) return to.target.ip;
    return "";
  }

  World world_{7, {.modules = kModules}};
};

TEST_F(StagesTest, AnAddressHasAPortAndKeepsItWhoeverLeads) {
  make("main", "10.0.0.1");
  ASSERT_TRUE(run_until([&] { return port("main") == 45000; }));
  EXPECT_EQ(led_to(45000), "10.0.0.1");
  make("side", "10.0.0.2");
  ASSERT_TRUE(run_until([&] { return port("side") == 45001; }));
  world_.crash_all();
  ASSERT_TRUE(world_.cluster().ask("DELETE", kStages + "/main"));
  ASSERT_TRUE(run_until([&] { return port("main") == -1; }));
  EXPECT_EQ(led_to(45000), "");
  EXPECT_EQ(port("side"), 45001) << "the same part has the same again, though a lower one is free";
}

TEST_F(StagesTest, WhoFindsNoneIsToldAndGetsTheFirstThatIsFree) {
  make("one", "10.0.0.1");
  make("two", "10.0.0.2");
  ASSERT_TRUE(run_until([&] { return port("one") > 0 && port("two") > 0; }));
  make("three", "10.0.0.3");
  ASSERT_TRUE(run_until([&] { return !text("three", "/status/message").empty(); }));
  EXPECT_THAT(text("three", "/status/message"),
              HasSubstr("no port of 45000-45001 is free on edge:demo"));
  const std::int64_t freed = port("one");
  ASSERT_TRUE(world_.cluster().ask("DELETE", kStages + "/one"));
  ASSERT_TRUE(run_until([&] { return port("three") == freed; }));
  EXPECT_EQ(led_to(static_cast<model::Port>(freed)), "10.0.0.3");
}

TEST_F(StagesTest, StatusSaysWhoHasWhichPort) {
  make("one", "10.0.0.1");
  make("two", "10.0.0.2");
  ASSERT_TRUE(run_until([&] { return port("one") > 0 && port("two") > 0; }));
  make("three", "10.0.0.3");
  ASSERT_TRUE(run_until([&] { return !text("three", "/status/message").empty(); }));
  report::ClusterView view{.parts = {&stages::kReport}};
  view.objects["stages"] = world_.cluster().list(kStages).value();
  report::Status status = report::make_status(view);
  EXPECT_THAT(status.text[report::Place::first], HasSubstr(fmt::format("one     {}", port("one"))));
  EXPECT_THAT(status.problems,
              ::testing::Contains(HasSubstr("Stage three has no port: exhausted")));
}

// As a text that says no provider means what it meant before the process had another default.
TEST_F(StagesTest, AnotherDefaultProviderMovesNothing) {
  ASSERT_TRUE(world_.cluster().create_all(
      "{apiVersion: example.dev/v1, kind: Stage, metadata: {name: main}, spec: {loadBalancerID: "
      "demo, address: 10.0.0.1, port: 8000}}"));
  ASSERT_TRUE(run_until([&] { return port("main") == 45000; }));
  app::Config config = world::without_ingresses();
  config.load_balancers = {model::Provider::tencent, "ap-x"};
  world_.configure(config);
  world_.crash_all();
  const auto moved = world_.cluster().ask(
      "PATCH", kStages + "/main", wire::Object{{"spec", wire::Object{{"address", "10.0.0.7"}}}});
  ASSERT_TRUE(moved) << moved.error().to_string();
  ASSERT_TRUE(run_until([&] { return led_to(45000) == "10.0.0.7"; }));
  ASSERT_TRUE(run_until([&] { return port("main") == 45000; })) << text("main", "/status/message");
}

// An owner of the whole cluster gives back what it had, also when somebody takes its finalizer off.
TEST_F(StagesTest, WhatOneHadIsFreeAlsoWhenItGoesByForce) {
  make("one", "10.0.0.1");
  make("two", "10.0.0.2");
  ASSERT_TRUE(run_until([&] { return port("one") > 0 && port("two") > 0; }));
  const std::int64_t freed = port("one");
  ASSERT_TRUE(world_.cluster().ask("DELETE", kStages + "/one"));
  (void)world_.cluster().ask("PATCH", kStages + "/one",
                             wire::Object{{"metadata", wire::Object{{"finalizers", nullptr}}}});
  const std::string ours = "/apis/networkextension.bkbcs.tencent.com/v1/namespaces/default/";
  const auto listeners = world_.cluster().list(ours + "listeners");
  for (const Value& listener : listeners.value())
    if (wire::int_at(listener, "/spec/port") == freed)
      (void)world_.cluster().ask(
          "DELETE", ours + "listeners/" + std::string(wire::string_at(listener, "/metadata/name")));
  make("three", "10.0.0.3");
  ASSERT_TRUE(run_until([&] { return port("three") == freed; }));
}

// Kinds share load balancers: what one has, the other does not get, and it is told who has it.
TEST_F(StagesTest, APoolAndAStageNeverHaveOnePort) {
  make("main", "10.0.0.1");
  ASSERT_TRUE(run_until([&] { return port("main") == 45000; }));
  ASSERT_TRUE(world_.cluster().create_all(R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {name: rooms, namespace: games}
spec:
  poolItems:
    - {itemName: all, loadBalancerIDs: ["edge:demo"], protocol: TCP, startPort: 45000, endPort: 45010}
)"));
  const auto problem = [&] {
    const Result<Value> pool = world_.cluster().ask("GET", kPools + "/rooms");
    return pool ? std::string(wire::string_at(*pool, "/status/poolItems/0/message")) : "";
  };
  ASSERT_TRUE(run_until([&] { return !problem().empty(); }));
  EXPECT_THAT(problem(), HasSubstr("Stage default/main"));
  ASSERT_TRUE(world_.cluster().ask("DELETE", kStages + "/main"));
  ASSERT_TRUE(run_until([&] { return problem() == "Ready"; }));
}

}  // namespace
}  // namespace berth::example
