// Every write of a story, to the API server and to the load balancers, is crashed before and after
// its effect. Minutes of work: not for a build with sanitizers.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "pool_house.h"

namespace berth::scenario {
namespace {

using wire::Value;
using world::World;
using world::WorldOptions;

using std::chrono::milliseconds;
using std::chrono::seconds;

using Story = std::function<void(World& world)>;

// Pods of all shapes come, one ends, one goes and comes back to its ports.
void rooms_come_and_go(World& world) {
  User user(world);
  (void)user.create("room-1", kind_of(1));
  (void)user.create("room-2", kind_of(2));
  (void)user.create("room-3", kind_of(3));
  (void)user.create("room-5", kind_of(5));
  (void)world.cluster().pause(seconds{8}, {});
  user.finish("room-1");
  user.remove("room-2");
  user.remove("room-5");
  (void)user.create("room-5", kind_of(5));
}

// A pool grows, gets an item, loses it again; another one comes and goes.
void pools_change(World& world) {
  User user(world);
  (void)user.create("room-0", kind_of(0));
  (void)user.change_pool("rooms", [](Value& pool) {
    auto& items = pool.as_object()["spec"].as_object()["poolItems"].as_array();
    items[0].as_object()["endPort"] = 30007;
    items[0].as_object()["external"] = "outside";
    items.push_back(wire::Object{{"itemName", "item2"},
                                 {"loadBalancerIDs", wire::Array{"edge:west"}},
                                 {"protocol", "TCP"},
                                 {"startPort", 30100},
                                 {"endPort", 30101}});
    return true;
  });
  (void)world.cluster().pause(seconds{5}, {});
  (void)user.change_pool("rooms", [](Value& pool) {
    pool.as_object()["spec"].as_object()["poolItems"].as_array().pop_back();
    return true;
  });
  user.remove("room-0");
  (void)world.cluster().pause(seconds{12}, {});
  user.remove_pool("halls");
}

// Nobody does anything: what is crashed is the installation, and the making of the pools.
void nobody_comes(World&) {}

enum class From : std::uint8_t { nothing, house_that_stands };

struct Crashed {
  Story story;
  int replicas = 1;
  From from = From::house_that_stands;
  bool closes = false;
  std::uint64_t before = 0;  // writes until then, in the run without crash
};

Result<sim::RunReport> run_crashed(Crashed& crashed, const sim::CrashPlan& plan) {
  WorldOptions options;
  options.replicas = crashed.replicas;
  sim::CrashPlan shifted = plan;
  if (auto* at = std::get_if<sim::CrashAt>(&shifted)) at->write_index += crashed.before;
  options.cluster.kernel.crash = shifted;
  options.cluster.kernel.max_latency = milliseconds{10};
  options.cluster.link.max_watch_delay = milliseconds{50};
  PoolHouse house(7, options);
  if (Result<> open = house.open(); !open) return pass(open);
  // The pools are filled.
  if (Result<> filled = house.cluster().run_for(seconds{5}); !filled) return pass(filled);
  if (std::holds_alternative<sim::NoCrash>(plan) && crashed.from == From::house_that_stands)
    crashed.before = house.world().kernel().writes_seen();
  const auto done =
      house.cluster().play("user", [&](std::stop_token) { crashed.story(house.world()); });
  if (Result<> ran = house.run_until([&] { return *done; }); !ran) return pass(ran);
  if (Result<> settled = crashed.closes ? house.close() : house.settle(); !settled)
    return pass(settled);
  Result<sim::RunReport> report = house.report();
  if (report) report->writes -= crashed.before;
  return report;
}

void crash_all(const std::string& name, Crashed crashed) {
  const auto swept = crash_everywhere(
      name, [&](const sim::CrashPlan& plan) { return run_crashed(crashed, plan); });
  ASSERT_TRUE(swept) << swept.error().message;
  EXPECT_GE(swept->writes, 50u);
}

TEST(PortPoolCrash, WhileItIsInstalledAndPoolsAreMade) {
  crash_all("installation", {.story = nobody_comes, .from = From::nothing});
}

TEST(PortPoolCrash, WhileRoomsComeAndGo) {
  crash_all("rooms come and go", {.story = rooms_come_and_go});
}

TEST(PortPoolCrash, WhilePoolsChange) {
  crash_all("pools change", {.story = pools_change, .closes = true});
}

TEST(PortPoolCrash, WithAnotherReplicaToTakeOver) {
  crash_all("failover", {.story = rooms_come_and_go, .replicas = 2});
}

}  // namespace
}  // namespace berth::scenario
