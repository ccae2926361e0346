#include "clb_trouble.h"

#include <array>
#include <boost/json.hpp>

#include "sim/world/gremlin.h"

namespace berth::scenario {
namespace {

using sim::tencent::FaultKind;
using wire::Object;
using wire::Value;
using world::World;
using world::WorldOptions;

using namespace std::chrono_literals;

// What hands did is found by then.
constexpr Duration kLongerThanAnAudit = 12min;
constexpr std::size_t kMostWaiting = 8;
constexpr std::array kLoadBalancers{"lb-demo", "lb-east", "lb-west"};

constexpr std::int64_t kSession = 60;

// What `story` wrote last is what the listeners of `rooms` have.
Result<> check_session(const ClbCloud& cloud) {
  const auto there = cloud.cloud().load_balancer("lb-demo");
  for (const auto& [id, listener] : there->listeners) {
    if (listener.name == "somebody-else" || listener.rules[0].session_seconds == kSession) continue;
    return fail(Code::internal, "port {} has sessions of {} s", listener.port,
                listener.rules[0].session_seconds);
  }
  return {};
}

void use(WorldOptions& options, ClbCloud& cloud, const Plant& plant) {
  options.config.load_balancers = clb_defaults();
  options.cloud = &cloud;
  if (plant) plant(options);
}

void story(World& world) {
  User user(world);
  (void)user.create("room-0", kind_of(0));
  (void)user.create("room-2", kind_of(2));
  (void)user.create("room-3", kind_of(3));
  (void)world.cluster().pause(5s, {});
  (void)user.change_pool("rooms", [](Value& pool) {
    pool.as_object()["spec"].as_object()["listenerAttribute"] = Object{{"sessionTime", kSession}};
    return true;
  });
  user.remove("room-0");
  user.remove("room-2");
  (void)user.create("room-0", kind_of(0));
}

// Somebody at the cloud's console. Strangers are left alone: they are not ours to watch.
void edit_listener(ClbCloud& cloud, Random& random) {
  const char* const lb = kLoadBalancers[random.below(kLoadBalancers.size())];
  cloud.edit(lb, [&](sim::tencent::LoadBalancer& there) {
    const std::string ours = cloud.any_of_ours(there, random);
    if (ours.empty()) return;
    sim::tencent::Rule& rule = there.listeners.at(ours).rules.at(0);
    switch (random.below(3)) {
      case 0: there.listeners.erase(ours); break;
      case 1: rule.targets.clear(); break;
      default: rule.session_seconds = 300; break;
    }
  });
}

struct Stumbling {
  ClbCloud& cloud;
  Random random;
  bool has_hands = false;
  ClbTroubleCount count{};
  bool over = false;

  void run(World& world, const std::stop_token& stop) {
    while (!over && world.cluster().pause(up_to(random, 4s), stop)) {
      if (over) break;
      stumble(cloud, random, kPlainCalls);
      if (!has_hands || !random.chance(0.2)) continue;
      edit_listener(cloud, random);
      ++count.edits;
    }
  }
};

Result<> live_through(PoolHouse& house, Random& random, Stumbling& stumbling) {
  world::Gremlin gremlin(house.cluster(), {.pause = 2s + up_to(random, 4s), .max_repeats = 2});
  house.book().bear_unreached(stumbling.has_hands);
  const auto stumbled = house.cluster().play(
      "cloud", [&](const std::stop_token& stop) { stumbling.run(house.world(), stop); });
  Result<> ran = house.open();
  if (ran) {
    const auto lives = start_lives(house, random);
    ran = house.run_until([&] { return all_through(lives); });
  }
  gremlin.stop();
  stumbling.over = true;
  if (!ran) return ran;
  mend(house);
  stumbling.cloud.cloud().clear_faults();
  if (Result<> done = house.run_until([&] { return *stumbled; }); !done) return done;
  if (stumbling.has_hands) {
    if (Result<> audited = house.cluster().run_for(kLongerThanAnAudit); !audited) return audited;
  }
  house.book().bear_unreached(false);
  return house.settle();
}

}  // namespace

Result<> check_emptied(const ClbCloud& cloud) {
  for (const model::LoadBalancerRef& lb : cloud.load_balancers())
    for (const lb::ObservedListener& listener : cloud.listeners(lb))
      return fail(Code::internal, "left in the cloud: {} on {}", listener.spec.name, lb.id);
  return {};
}

Result<> check_strangers(const ClbCloud& cloud) {
  const std::string touched = cloud.touched_stranger();
  if (touched.empty()) return {};
  return fail(Code::internal, "a stranger's listener was touched: {}", touched);
}

std::vector<FaultKind> faults_of(std::string_view action) {
  std::vector<FaultKind> out{FaultKind::refuse, FaultKind::gateway, FaultKind::gateway_after,
                             FaultKind::lose_reply};
  const bool is_read = action.starts_with("Describe");
  if (!is_read) out.insert(out.end(), {FaultKind::fail_task, FaultKind::slow_task});
  if (action == "BatchRegisterTargets" || action == "BatchDeregisterTargets")
    out.push_back(FaultKind::fail_listeners);
  const bool has_list = is_read ? action != "DescribeTaskStatus" : action.starts_with("Create");
  if (has_list) out.insert(out.end(), {FaultKind::short_answer, FaultKind::long_answer});
  return out;
}

std::uint64_t count_of(const sim::tencent::FaultsTaken& taken) {
  std::uint64_t out = 0;
  for (const auto& [what, times] : taken) out += times;
  return out;
}

void stumble(ClbCloud& cloud, Random& random, std::span<const std::string_view> actions) {
  // Faults that wait for a call that is seldom made would refuse it for ever.
  if (cloud.cloud().faults_waiting() >= kMostWaiting) cloud.cloud().clear_faults();
  const std::string_view action = actions[random.below(actions.size())];
  const std::vector<FaultKind> kinds = faults_of(action);
  sim::tencent::Fault fault{.kind = kinds[random.below(kinds.size())],
                            .action = std::string(action),
                            .duration = 20s + up_to(random, 60s)};
  if (random.chance(0.4)) fault.error = {"RequestLimitExceeded", "slow down"};
  fault.count = 1 + static_cast<int>(random.below(2));
  cloud.cloud().inject(std::move(fault));
}

void furnish(ClbCloud& cloud) {
  std::int64_t port = 20000;
  for (const char* lb : kLoadBalancers) {
    cloud.add_load_balancer(lb);
    cloud.add_stranger(lb, {.name = "somebody-else", .port = port++});
  }
}

Result<sim::RunReport> clb_story(const sim::CrashPlan& plan, const Plant& plant,
                                 std::vector<std::string>* missed) {
  ClbCloud cloud;
  furnish(cloud);
  if (const auto* at = std::get_if<sim::CrashAt>(&plan))
    cloud.count_calls(ClbCrash{at->write_index, at->side});
  WorldOptions options;
  options.cluster.kernel.max_latency = 10ms;
  options.cluster.link.max_watch_delay = 50ms;
  use(options, cloud, plant);
  PoolHouse house(7, options);
  if (Result<> open = house.open(); !open) return pass(open);
  const auto done = house.cluster().play("user", [&](std::stop_token) { story(house.world()); });
  if (Result<> ran = house.run_until([&] { return *done; }); !ran) return pass(ran);
  if (Result<> settled = house.settle(); !settled) return pass(settled);
  if (Result<> same = check_session(cloud); !same) return pass(same);
  if (Result<> closed = house.close(); !closed) return pass(closed);
  if (Result<> empty = check_emptied(cloud); !empty) return pass(empty);
  if (Result<> fine = check_strangers(cloud); !fine) return pass(fine);
  Result<sim::RunReport> report = house.report();
  if (report && std::holds_alternative<sim::CrashAt>(plan) && report->crashes == 0)
    return fail(Code::internal, "nobody died");
  if (report) report->writes = cloud.calls_counted();
  if (missed && std::holds_alternative<sim::NoCrash>(plan))
    *missed = cloud.never_called(kPlainCalls);
  return report;
}

Result<sim::RunReport> live_in_clb_trouble(std::uint64_t seed, const Plant& plant,
                                           ClbTroubleCount* count) {
  Random random(seed);
  ClbOptions settings;
  settings.settings.seed = random.next();
  settings.settings.unsure.busy_names_the_task = random.chance(0.5);
  settings.settings.unsure.batch_targets_are_tasks = random.chance(0.7);
  settings.settings.unsure.untargeted_are_left_out = random.chance(0.3);
  ClbCloud cloud(settings);
  furnish(cloud);
  WorldOptions options = troubled_world(random);
  use(options, cloud, plant);
  Stumbling stumbling{.cloud = cloud, .random = random.fork(), .has_hands = random.chance(0.4)};
  const bool closes = random.chance(0.4);
  PoolHouse house(seed, std::move(options));
  if (Result<> lived = live_through(house, random, stumbling); !lived) return pass(lived);
  if (closes) {
    if (Result<> closed = house.close(); !closed) return pass(closed);
    if (Result<> empty = check_emptied(cloud); !empty) return pass(empty);
  }
  if (Result<> fine = check_strangers(cloud); !fine) return pass(fine);
  if (count) {
    count->faults += count_of(cloud.cloud().faults_taken());
    count->edits += stumbling.count.edits;
    count->ready += house.book().ever_ready();
  }
  return house.report();
}

}  // namespace berth::scenario
