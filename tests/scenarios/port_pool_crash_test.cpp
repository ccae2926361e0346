// Every write of a story, to the API server and to the load balancers, is crashed before and after
// its effect. Minutes of work: not for a build with sanitizers.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cstdlib>

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

// A pool whose items have one port each, the first of them this one.
std::string pool_of_ones(const std::string& name, int first, int count) {
  std::string out = fmt::format(R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {{name: {}, namespace: games}}
spec:
  poolItems:
)",
                                name);
  for (int port = first; port < first + count; ++port)
    out += fmt::format(
        "    - {{itemName: p{}, loadBalancerIDs: [\"edge:demo\"], protocol: TCP, startPort: {}, "
        "endPort: {}}}\n",
        port, port, port + 1);
  return out;
}

// So many on one load balancer that its ports are granted in blocks. One pool goes; of the other an
// item grows over the edge of its block.
void owners_of_one_port_come_and_go(World& world) {
  User user(world);
  (void)user.create_pool(pool_of_ones("ones", 31000, 3));
  (void)user.create_pool(pool_of_ones("twos", 31003, 2));
  (void)user.create("room-one", {.request = "ones TCP 8000"});
  (void)world.cluster().pause(seconds{5}, {});
  (void)user.change_pool("twos", [](Value& pool) {
    auto& items = pool.as_object()["spec"].as_object()["poolItems"].as_array();
    items[1].as_object()["endPort"] = 31010;
    return true;
  });
  (void)world.cluster().pause(seconds{5}, {});
  user.remove("room-one");
  (void)world.cluster().pause(seconds{12}, {});
  user.remove_pool("ones");
}

// Nobody does anything: what is crashed is the installation, and the making of the pools.
void nobody_comes(World&) {}

enum class From : std::uint8_t { nothing, house_that_stands };

struct Crashed {
  Story story;
  int replicas = 1;
  From from = From::house_that_stands;
  bool closes = false;
  ledger::Layout grants{};
  std::uint64_t before = 0;  // writes until then, in the run without crash
  int blocks = 0;            // PortBlocks that were made in that run
};

Result<sim::RunReport> run_crashed(Crashed& crashed, const sim::CrashPlan& plan) {
  WorldOptions options;
  options.replicas = crashed.replicas;
  options.config.grants = crashed.grants;
  sim::CrashPlan shifted = plan;
  if (auto* at = std::get_if<sim::CrashAt>(&shifted)) at->write_index += crashed.before;
  options.cluster.kernel.crash = shifted;
  options.cluster.kernel.max_latency = milliseconds{10};
  options.cluster.link.max_watch_delay = milliseconds{50};
  PoolHouse house(7, options);
  const auto observing = house.cluster().gateway().observe(
      [&](const net::Request& request, const world::SeenReply& reply) {
        if (!std::holds_alternative<sim::NoCrash>(plan) || reply.status() >= 300) return;
        if (request.method == "POST" && request.url.contains("/portblocks")) ++crashed.blocks;
      });
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
  const bool one_crash_alone = std::getenv("BERTH_SCENARIO_CRASH") != nullptr;
  const bool is_in_blocks = crashed.grants.long_list < ledger::Layout{}.long_list;
  EXPECT_TRUE(crashed.blocks > 0 || !is_in_blocks || one_crash_alone) << "nothing is handed on";
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

TEST(PortPoolCrash, WhileOwnersOfOnePortComeAndGo) {
  crash_all("owners of one port", {.story = owners_of_one_port_come_and_go,
                                   .closes = true,
                                   .grants = {.long_list = 1, .block_ports = 4}});
}

TEST(PortPoolCrash, WhilePoolsChangeWhoseGrantsLieInBlocks) {
  crash_all("pools change in blocks",
            {.story = pools_change, .closes = true, .grants = {.long_list = 0, .block_ports = 8}});
}

}  // namespace
}  // namespace berth::scenario
