#include "pool_trouble.h"

#include <boost/json.hpp>

#include "installed_cluster.h"
#include "lb_texts.h"
#include "sim/world/gremlin.h"

namespace berth::scenario {
namespace {

using wire::Object;
using wire::Value;
using world::World;
using world::WorldOptions;

using std::chrono::milliseconds;
using std::chrono::seconds;

// Lives that begin with an empty cluster, so that installing it is troubled as well, and whose
// server notes who owns which field. The others have more time for what happens later.
constexpr double kFromNothing = 0.125;
constexpr Duration kMaxSkew = std::chrono::minutes{10};

// Names of a StatefulSet: they come, go, end, and come again at once.
void live(World& world, Random random, const std::string& prefix, const std::stop_token& stop) {
  User user(world);
  const std::uint64_t deeds = 4 + random.below(6);
  for (std::uint64_t i = 0; i < deeds; ++i) {
    if (!world.cluster().pause(up_to(random, seconds{6}), stop)) return;
    const std::size_t kind = random.below(kRoomKinds);
    const std::string name = fmt::format("{}-{}", prefix, kind);
    switch (random.below(5)) {
      case 0: user.remove(name); break;
      case 1:
        user.remove(name);
        (void)user.create(name, kind_of(kind), 20);
        break;
      case 2: user.finish(name); break;
      default: (void)user.create(name, kind_of(kind), 20); break;
    }
  }
}

// Pods of a Deployment: each has a new name.
void crowd(World& world, Random random, const std::stop_token& stop) {
  User user(world);
  std::vector<std::string> names;
  const std::uint64_t deeds = 3 + random.below(6);
  for (std::uint64_t i = 0; i < deeds; ++i) {
    if (!world.cluster().pause(up_to(random, seconds{5}), stop)) return;
    if (!names.empty() && random.chance(0.4)) {
      user.remove(names.back());
      names.pop_back();
      continue;
    }
    const std::string name = user.spawn("crowd", kind_of(random.below(kRoomKinds)), 10);
    if (!name.empty()) names.push_back(name);
  }
}

constexpr std::string_view kSpare = R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata:
  name: spare
  namespace: games
spec:
  poolItems:
    - itemName: only
      loadBalancerIDs: ["edge:west"]
      protocol: TCP
      startPort: 40010
      endPort: 40012
)";

constexpr RoomKind kSpareRoom{.request = "spare TCP 8000"};

wire::Array& items_of(Value& pool) {
  return pool.as_object()["spec"].as_object()["poolItems"].as_array();
}

bool grow(Value& pool) {
  Value& end = items_of(pool)[0].as_object()["endPort"];
  if (end.to_number<int>() >= 30008) return false;
  end = end.to_number<int>() + 1;
  return true;
}

bool rename_outside(Value& pool, std::uint64_t number) {
  items_of(pool)[0].as_object()["external"] = fmt::format("outside-{}", number);
  return true;
}

// Adds an item, or takes it away again.
bool toggle_item(const World& world, Value& pool) {
  wire::Array& items = items_of(pool);
  if (items.size() > 1) {
    items.pop_back();
    return true;
  }
  items.push_back(Object{{"itemName", "item2"},
                         {"loadBalancerIDs", wire::Array{lb_texts(world, "edge:west")}},
                         {"protocol", "TCP"},
                         {"startPort", 30100},
                         {"endPort", 30102}});
  return true;
}

// Pools change while they are used.
void administer(World& world, Random random, const std::stop_token& stop) {
  User user(world);
  for (std::uint64_t i = 0; i < 4; ++i) {
    if (!world.cluster().pause(up_to(random, seconds{10}), stop)) return;
    switch (random.below(5)) {
      case 0: (void)user.change_pool("rooms", grow, 10); break;
      case 1:
        (void)user.change_pool("halls", [&](Value& pool) { return rename_outside(pool, i); }, 10);
        break;
      case 2:
        (void)user.change_pool("rooms", [&](Value& pool) { return toggle_item(world, pool); }, 10);
        break;
      case 3:
        (void)user.create_pool(lb_texts(world, std::string(kSpare)), 10);
        (void)user.create("spare-room", kSpareRoom, 10);
        break;
      default:
        user.remove("spare-room");
        user.remove_pool("spare");
        break;
    }
  }
}

void roll_out(World& world, Random random, const std::stop_token& stop) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (world.cluster().pause(up_to(random, seconds{15}), stop)) world.restart(i);
  }
}

using Player = void (*)(World&, Random, const std::stop_token&);

std::shared_ptr<const bool> play(PoolHouse& house, const char* name, Random random, Player player) {
  return house.cluster().play(
      name, [&world = house.world(), random, player](const std::stop_token& stop) {
        player(world, random, stop);
      });
}

}  // namespace

WorldOptions troubled_world(Random& random) {
  WorldOptions options;
  options.replicas = 2;
  if (!random.chance(kFromNothing)) {
    options.cluster.begins_with = installed_cluster();
    options.cluster.tracks_fields = false;
  }
  sim::KernelOptions& kernel = options.cluster.kernel;
  kernel.min_latency = milliseconds{1};
  kernel.max_latency = up_to(random, milliseconds{500});
  kernel.crash =
      sim::CrashRandomly{.probability = random.chance(0.5) ? 0.02 : 0.0, .max_crashes = 4};
  kernel.late_write_chance = 0.3;
  // A quarter of all requests are about the lease where it is renewed as often as by default.
  if (random.chance(0.75)) options.config.lease_retry_period = seconds{4};
  world::LinkOptions& link = options.cluster.link;
  link.max_watch_delay = up_to(random, seconds{4});
  link.lost_answer_chance = random.chance(0.5) ? 0.03 : 0;
  link.cut_stream_chance = random.chance(0.5) ? 0.05 : 0;
  // Some Pods wait for their address longer than an unbound claim lives.
  options.kubelet.max_start = up_to(random, random.chance(0.3) ? seconds{200} : seconds{10});
  options.kubelet.max_end = up_to(random, seconds{10});
  options.config.quarantine = random.chance(0.5) ? seconds{10} : up_to(random, seconds{20});
  if (random.chance(0.3)) {
    // Nobody sets their clocks.
    for (int i = 0; i < options.replicas; ++i)
      options.clocks_ahead.push_back(up_to(random, 2 * kMaxSkew) - kMaxSkew);
  }
  options.provider.seed = random.next();
  options.provider.max_latency = up_to(random, milliseconds{300});
  options.provider.limits.serial_writes = random.chance(0.7);
  options.provider.limits.target_batch = 1 + random.below(8);
  return options;
}

sim::lb::Faults provider_faults(Random& random) {
  const auto often = [&](double most) { return random.chance(0.5) ? most : 0.0; };
  return {.throttled = often(0.1),
          .unavailable = often(0.05),
          .partial = often(0.1),
          .lost_reply = often(0.05),
          .slow = often(0.05)};
}

std::vector<std::shared_ptr<const bool>> start_lives(PoolHouse& house, Random& random) {
  std::vector<std::shared_ptr<const bool>> lives;
  lives.push_back(play(house, "room", random.fork(),
                       [](World& world, Random mine, const std::stop_token& stop) {
                         live(world, mine, "room", stop);
                       }));
  lives.push_back(play(house, "hall", random.fork(),
                       [](World& world, Random mine, const std::stop_token& stop) {
                         live(world, mine, "hall", stop);
                       }));
  lives.push_back(play(house, "crowd", random.fork(), crowd));
  if (random.chance(0.5)) lives.push_back(play(house, "pools", random.fork(), administer));
  if (random.chance(0.3)) lives.push_back(play(house, "roll-out", random.fork(), roll_out));
  return lives;
}

void mend(PoolHouse& house) {
  World& world = house.world();
  house.quota().refuses = 0;
  world.provider().set_faults({});
  world.cluster().link().cut_stream_chance = 0;
  world.cluster().link().lost_answer_chance = 0;
  world.kernel().set_crash_plan(sim::NoCrash{});
}

namespace {

Result<> live_through(PoolHouse& house, Random& random) {
  World& world = house.world();
  world::Gremlin gremlin(world.cluster(),
                         {.pause = seconds{1} + up_to(random, seconds{4}), .max_repeats = 2});
  world.provider().set_faults(provider_faults(random));
  house.quota().refuses = random.chance(0.5) ? 0.2 : 0;
  Result<> ran = house.open();
  if (ran) {
    const auto lives = start_lives(house, random);
    ran = house.run_until([&] { return all_through(lives); });
  }
  gremlin.stop();
  if (!ran) return ran;
  mend(house);
  return house.settle();
}

}  // namespace

Result<sim::RunReport> live_in_trouble(std::uint64_t seed, const Plant& plant,
                                       TroubleCount* count) {
  Random random(seed);
  WorldOptions options = troubled_world(random);
  if (plant) plant(options);
  PoolHouse house(seed, std::move(options));
  if (Result<> lived = live_through(house, random); !lived) return pass(lived);
  const bool closes = random.chance(0.3);
  if (closes) {
    if (Result<> closed = house.close(); !closed) return pass(closed);
  }
  if (count) {
    count->ready += house.book().ever_ready();
    count->came_back += house.book().came_back();
    count->closed += closes ? 1 : 0;
  }
  return house.report();
}

}  // namespace berth::scenario
