// Random host ports in a simulated world: replicas that restart and crash, Pods that are refused
// after our answer, end and go. When all is quiet, every replica knows how often each port is used,
// and no refusal has left anything behind.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <map>

#include "api/host_ports.h"
#include "scenario.h"
#include "sim/world/world.h"

namespace berth::scenario {
namespace {

using model::Port;
using wire::Object;
using wire::Value;
using world::World;
using world::WorldOptions;

const std::string kPods = "/api/v1/namespaces/default/pods";
const std::string kWebhooks = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
constexpr model::PortRange kRange{20000, 20006};
// Longer than a reservation lives, and than any pause of a reflector.
constexpr Duration kQuiet = std::chrono::seconds{100};
// Longer than a watch event takes in a world without trouble.
constexpr Duration kNewsTravel = std::chrono::seconds{5};
constexpr Duration kUserRetry = std::chrono::seconds{1};
constexpr int kUserPatience = 1000;

Value room(const std::string& name, int ports) {
  std::string wanted;
  wire::Array declared;
  for (int i = 0; i < ports; ++i) {
    wanted += fmt::format("{}{}", i > 0 ? "," : "", 8000 + i);
    declared.push_back(Object{{"containerPort", 8000 + i}});
  }
  return Object{
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata", Object{{"namespace", "default"},
                          {"name", name},
                          {"annotations", Object{{api::kHostPortAnnotation, "true"},
                                                 {api::kHostPortPortsAnnotation, wanted}}}}},
      {"spec",
       Object{{"containers",
               wire::Array{Object{{"name", "room"}, {"image", "room:1"}, {"ports", declared}}}}}}};
}

// The host ports of a Pod's only container.
std::vector<Port> ports_of(const Value& pod) {
  std::vector<Port> out;
  const wire::Array* declared = wire::array_at(pod, "/spec/containers/0/ports");
  for (std::size_t i = 0; declared && i < declared->size(); ++i) {
    out.push_back(static_cast<Port>(wire::int_at((*declared)[i], "/hostPort").value_or(0)));
  }
  return out;
}

// By how many Pods that have not ended each port of the range is held.
Result<std::map<Port, int>> true_use(World& world) {
  Result<std::vector<Value>> pods = world.cluster().list(kPods);
  if (!pods) return pass(pods);
  std::map<Port, int> use;
  for (std::uint32_t port = kRange.first; port <= kRange.last; ++port)
    use[static_cast<Port>(port)] = 0;
  for (const Value& pod : *pods) {
    const std::string_view phase = wire::string_at(pod, "/status/phase");
    if (phase == "Succeeded" || phase == "Failed") continue;
    for (const Port port : ports_of(pod)) {
      if (!kRange.contains(port))
        return fail(Code::internal, "{} has host port {}", wire::string_at(pod, "/metadata/name"),
                    port);
      ++use[port];
    }
  }
  return use;
}

// Creates it, trying again as people do. The answer to the last attempt.
Result<Value> create(World& world, const std::string& name, int ports,
                     Duration retry = kUserRetry) {
  for (int i = 0;; ++i) {
    Result<Value> made = world.cluster().ask("POST", kPods, room(name, ports));
    if (made || made.error().code == Code::already_exists || i == kUserPatience) return made;
    if (world.kernel().failure()) return made;
    (void)world.cluster().pause(retry, {});
  }
}

Result<> open_house(World& world) {
  return world.cluster().run_until([&world] {
    const auto hooks = world.cluster().list(kWebhooks);
    return hooks && !hooks->empty();
  });
}

Result<> settle(World& world) {
  world.cluster().gateway().note_activity();
  return world.cluster().run_until(
      [&] { return world.kernel().now() - world.cluster().gateway().last_activity() >= kQuiet; });
}

// Whichever replica is asked, a new Pod gets ports that no other port is used less than.
Result<> check_choices(World& world, int pods) {
  for (int i = 0; i < pods; ++i) {
    if (Result<> waited = world.cluster().run_for(kNewsTravel); !waited) return waited;
    Result<std::map<Port, int>> before = true_use(world);
    if (!before) return pass(before);
    const std::string name = fmt::format("check-{}", i);
    Result<Value> made = world.cluster().ask("POST", kPods, room(name, 1 + i % 2));
    if (!made) return pass(made);
    const std::vector<Port> given = ports_of(*made);
    for (const Port port : given) {
      for (const auto& [other, use] : *before) {
        const bool given_too = std::ranges::find(given, other) != given.end();
        if (!given_too && use < before->at(port))
          return fail(Code::internal, "{} got port {}, used by {}, while {} is used by {}", name,
                      port, before->at(port), other, use);
      }
    }
  }
  return {};
}

WorldOptions small_range() {
  WorldOptions options;
  options.config.host_ports = kRange;
  return options;
}

TEST(HostPortScenarios, PodsThatAreRefusedAfterUsLeaveNoCount) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    World world(seed, small_range());
    ASSERT_TRUE(open_house(world));
    ASSERT_TRUE(create(world, "room-0", 1));
    // Its name is taken: the server says so after our webhook has answered.
    for (int i = 0; i < 9; ++i) {
      const auto refused = world.cluster().ask("POST", kPods, room("room-0", 2));
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, Code::already_exists);
    }
    ASSERT_TRUE(settle(world));
    const Result<> checked = check_choices(world, 8);
    EXPECT_TRUE(checked) << "seed " << seed << ": " << checked.error().message;
  }
}

TEST(HostPortScenarios, ARestartKnowsWhatIsInUse) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    WorldOptions options = small_range();
    options.cluster.kernel.max_latency = std::chrono::milliseconds{500};
    World world(seed, options);
    ASSERT_TRUE(open_house(world));
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(create(world, fmt::format("room-{}", i), 1));
    const auto done = world.cluster().play("restart", [&world](std::stop_token) {
      world.restart(0);
      // At once, while its caches are being filled.
      for (int i = 4; i < 7; ++i) {
        (void)create(world, fmt::format("room-{}", i), 1, std::chrono::milliseconds{10});
      }
    });
    ASSERT_TRUE(world.cluster().run_until([&] { return *done; }));
    const auto use = true_use(world);
    ASSERT_TRUE(use) << use.error().message;
    for (const auto& [port, pods] : *use) EXPECT_EQ(pods, 1) << "seed " << seed << ", " << port;
  }
}

// Rooms come, are refused, go, end and come again.
void live(World& world, Random random, const std::string& prefix, const std::stop_token& stop) {
  const std::uint64_t deeds = 5 + random.below(10);
  for (std::uint64_t i = 0; i < deeds; ++i) {
    if (!world.cluster().pause(up_to(random, std::chrono::seconds{3}), stop)) return;
    const std::string name = fmt::format("{}-{}", prefix, random.below(4));
    const std::string path = kPods + "/" + name;
    switch (random.below(4)) {
      case 0: (void)world.cluster().ask("DELETE", path); break;
      case 1:
        (void)world.cluster().ask("PATCH", path + "/status",
                                  Object{{"status", Object{{"phase", "Succeeded"}}}});
        break;
      default: (void)create(world, name, 1 + static_cast<int>(random.below(3))); break;
    }
  }
}

Result<sim::RunReport> run_troubled(std::uint64_t seed) {
  Random random(seed);
  WorldOptions options = small_range();
  options.replicas = 2;
  options.cluster.kernel.max_latency = up_to(random, std::chrono::milliseconds{200});
  options.cluster.kernel.crash =
      sim::CrashRandomly{.probability = random.chance(0.5) ? 0.02 : 0.0, .max_crashes = 3};
  options.cluster.link.max_watch_delay = up_to(random, std::chrono::seconds{3});
  options.cluster.link.cut_stream_chance = random.chance(0.5) ? 0.05 : 0;
  World world(seed, options);
  if (Result<> open = open_house(world); !open) return pass(open);
  std::vector<std::shared_ptr<const bool>> lives;
  for (const char* prefix : {"room", "hall"}) {
    lives.push_back(world.cluster().play(
        prefix, [&world, prefix, mine = random.fork()](const std::stop_token& stop) {
          live(world, mine, prefix, stop);
        }));
  }
  if (random.chance(0.3)) {
    lives.push_back(world.cluster().play("roll-out", [&world](const std::stop_token& stop) {
      if (world.cluster().pause(std::chrono::seconds{5}, stop)) world.restart(0);
    }));
  }
  if (Result<> ran = world.cluster().run_until([&] { return all_through(lives); }); !ran)
    return pass(ran);
  world.cluster().link().cut_stream_chance = 0;
  world.kernel().set_crash_plan(sim::NoCrash{});
  if (Result<> settled = settle(world); !settled) return pass(settled);
  if (Result<> checked = check_choices(world, 8); !checked) return pass(checked);
  if (world.kernel().failure()) return fail(*world.kernel().failure());
  return world.kernel().report();
}

TEST(HostPortScenarios, AfterAnyTroubleTheLeastUsedPortsAreGiven) {
  const auto swept =
      sim::sweep(sweep_for("host ports in trouble", std::chrono::seconds{5}), run_troubled);
  ASSERT_TRUE(swept) << swept.error().message << ": "
                     << (swept.error().cause ? swept.error().cause->message : "");
}

}  // namespace
}  // namespace berth::scenario
