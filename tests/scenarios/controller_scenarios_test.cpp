// The controller machinery on a simulated cluster: a toy controller counts every ConfigMap up to
// the number that it asks for, one write at a time.
//
// No key is worked on twice at once, no reconcile plans on less than what it wrote itself, a stop
// is drained, and a crash at any write leaves nothing that the next process does not finish.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>

#include "kube/cache/core_types.h"
#include "kube/cache/informer.h"
#include "kube/runtime/manager.h"
#include "scenario.h"
#include "sim/world/cluster.h"
#include "sim/world/gremlin.h"

namespace berth::scenario {
namespace {

using kube::ConfigMap;
using kube::ObjectKey;
using wire::Object;
using wire::Value;
using world::Cluster;

const std::string kMaps = "/api/v1/namespaces/default/configmaps";
constexpr Duration kQuiet = std::chrono::seconds{75};

int number(const ConfigMap& map, std::string_view key) {
  const std::string_view text = map.get(key);
  return text.empty() ? 0 : std::atoi(std::string(text).c_str());
}

// What one process does. Tells the kernel when the machinery breaks a promise.
class Counter {
 public:
  Counter(Cluster& cluster, const std::string& name)
      : process_(cluster.kernel().start_process(name, sim::Crashable::yes)),
        network_(cluster.connect(process_)),
        client_(*network_, kube::fixed_config(Cluster::kServerUrl, {})),
        maps_(process_, client_, kube::config_map_projection(), cluster.kernel().fork_random()),
        elector_(client_, {.identity = name}, cluster.kernel().fork_random()),
        controller_(process_, {.name = "counter", .workers = 3},
                    [this](const Context& context, const ObjectKey& key) {
                      return reconcile(context, key);
                    }) {
    controller_.watch(maps_.store(), [this](const auto& change, const auto& emit) {
      if (ended_) process_.kernel().fail("a handler runs after the manager has ended");
      emit(change.object().meta.key());
    });
    manager_.add(maps_.core());
    manager_.add(controller_);
    manager_.lead_with(elector_);
    main_ = process_.spawn("main", [this](std::stop_token stop) { run(std::move(stop)); });
  }

  sim::Process& process() { return process_; }
  bool leading() const { return process_.alive() && manager_.leading(); }
  bool busy() const { return !running_.empty(); }
  // As after SIGTERM. False: something was broken off.
  bool stop() {
    stopping_ = true;
    main_->request_stop();
    main_->join();
    return broken_off_ == 0;
  }

 private:
  void run(std::stop_token stop) {
    (void)manager_.run({.tasks = process_, .stop = std::move(stop)});
    ended_ = true;
    if (busy() && process_.alive()) process_.kernel().fail("a reconcile outlives the manager");
    if (!stopping_) process_.kernel().crash(process_);
  }

  Result<kube::Requeue> reconcile(const Context& context, const ObjectKey& key) {
    if (!running_.insert(key).second) process_.kernel().fail(key.name + " runs twice at once");
    Result<kube::Requeue> done = count_up(context, key);
    running_.erase(key);
    if (!done && done.error().code == Code::stopped && process_.alive()) ++broken_off_;
    return done;
  }

  Result<kube::Requeue> count_up(const Context& context, const ObjectKey& key) {
    const auto map = maps_.store().get(key);
    if (!map) return kube::Requeue{};
    check_own_write(*map);
    if (number(*map, "done") >= number(*map, "wanted")) return kube::Requeue{};
    const Value next = Object{
        {"metadata", Object{{"resourceVersion", std::to_string(map->meta.resource_version)}}},
        {"data", Object{{"done", std::to_string(number(*map, "done") + 1)}}}};
    const Result<Value> written =
        client_.patch(context, kube::types::kConfigMap, key, kube::PatchType::merge, next);
    if (!written && written.error().code == Code::not_found) return kube::Requeue{};
    if (!written) return fail(written.error());
    const auto version =
        kube::parse_resource_version(wire::string_at(*written, "/metadata/resourceVersion"));
    written_[std::string(wire::string_at(*written, "/metadata/uid"))] = {version.value(),
                                                                         process_.now()};
    controller_.queue().park(key, maps_.store(), version.value());
    return kube::Requeue{.after = std::chrono::milliseconds{1}};
  }

  // A parked key is let go after a while: from then on only the version in the write protects it.
  void check_own_write(const ConfigMap& map) {
    const auto mine = written_.find(map.meta.uid);
    if (mine == written_.end() || map.meta.resource_version >= mine->second.version) return;
    if (process_.now() - mine->second.at < kube::WorkQueueOptions{}.park_limit) {
      process_.kernel().fail(map.meta.name + " is planned on less than what was written");
    }
  }

  struct OwnWrite {
    kube::ResourceVersion version = 0;
    Instant at{};
  };

  sim::Process& process_;
  std::unique_ptr<net::Transport> network_;
  kube::Client client_;
  kube::Informer<ConfigMap> maps_;
  kube::LeaderElector elector_;
  kube::Controller controller_;
  kube::Manager manager_;
  std::set<ObjectKey> running_;
  std::map<std::string, OwnWrite> written_;  // by uid
  bool stopping_ = false;
  bool ended_ = false;
  int broken_off_ = 0;
  std::unique_ptr<Task> main_;
};

// Keeps processes going, and looks at every answer of the server.
class Crew {
 public:
  Crew(Cluster& cluster, std::size_t size) : cluster_(cluster), counters_(size) {
    cluster.kernel().on_crash([this](sim::Process& dead) { replace(dead); });
    for (auto& counter : counters_) counter = next();
  }
  ~Crew() {
    cluster_.kernel().on_crash({});
    for (auto& counter : counters_) {
      if (counter) cluster_.kernel().crash(counter->process());
    }
    counters_.clear();
  }

  bool led() const {
    return std::ranges::any_of(counters_, [](const auto& c) { return c && c->leading(); });
  }
  bool busy() const {
    return std::ranges::any_of(counters_, [](const auto& c) { return c && c->busy(); });
  }
  // How many processes there were, those that ended included.
  int started() const { return generation_; }
  // The leader ends in order, and another process comes in its place.
  void restart_leader() {
    for (auto& counter : counters_) {
      if (!counter || !counter->leading()) continue;
      const std::unique_ptr<Counter> leaving = std::move(counter);
      if (!leaving->stop()) cluster_.kernel().fail("the stop broke off a reconcile");
      counter = next();
      return;
    }
  }

 private:
  std::unique_ptr<Counter> next() {
    return std::make_unique<Counter>(cluster_, fmt::format("counter-{}", generation_++));
  }
  void replace(sim::Process& dead) {
    for (auto& counter : counters_) {
      if (!counter || &counter->process() != &dead) continue;
      const std::unique_ptr<Counter> ended = std::move(counter);
      (void)cluster_.pause(std::chrono::seconds{1}, {});
      counter = next();
      return;
    }
  }

  Cluster& cluster_;
  std::vector<std::unique_ptr<Counter>> counters_;
  int generation_ = 0;
};

Result<> create_maps(Cluster& cluster, int maps, int wanted) {
  for (int i = 0; i < maps; ++i) {
    const Value map = Object{{"metadata", Object{{"name", fmt::format("map-{}", i)}}},
                             {"data", Object{{"wanted", std::to_string(wanted)}}}};
    while (true) {
      const Result<Value> created = cluster.ask("POST", kMaps, map);
      if (created || created.error().code == Code::already_exists) break;
      if (cluster.kernel().failure()) return fail(created.error());
    }
  }
  return {};
}

Result<> check_all_done(Cluster& cluster, int maps, int wanted) {
  Result<std::vector<Value>> items = cluster.list(kMaps);
  if (!items) return pass(items);
  if (items->size() != static_cast<std::size_t>(maps)) {
    return fail(Code::internal, "{} ConfigMaps of {} are there", items->size(), maps);
  }
  for (const Value& item : *items) {
    if (wire::string_at(item, "/data/done") == std::to_string(wanted)) continue;
    return fail(Code::internal, "not done: {}", wire::to_json(item));
  }
  return {};
}

Result<sim::RunReport> finish(Cluster& cluster, int maps, int wanted) {
  if (Result<> settled = cluster.settle(kQuiet); !settled) return pass(settled);
  if (Result<> done = check_all_done(cluster, maps, wanted); !done) return pass(done);
  if (cluster.kernel().failure()) return fail(*cluster.kernel().failure());
  return cluster.kernel().report();
}

world::ClusterOptions some_network(Random& random) {
  world::ClusterOptions options;
  options.kernel.min_latency = std::chrono::milliseconds{1};
  options.kernel.max_latency = up_to(random, std::chrono::milliseconds{200});
  options.link.max_watch_delay = up_to(random, std::chrono::seconds{2});
  return options;
}

// Processes crash and the server has bad days.
Result<sim::RunReport> run_troubled(std::uint64_t seed) {
  constexpr int kMapCount = 5;
  constexpr int kWanted = 4;
  Random random(seed);
  world::ClusterOptions options = some_network(random);
  options.kernel.crash = sim::CrashRandomly{.probability = 0.03, .max_crashes = 4};
  options.kernel.late_write_chance = 0.3;
  options.link.lost_answer_chance = random.chance(0.5) ? 0.05 : 0;
  Cluster cluster(seed, options);
  world::Gremlin gremlin(cluster, {.pause = std::chrono::seconds{1}});
  Crew crew(cluster, 2);
  if (Result<> created = create_maps(cluster, kMapCount, kWanted); !created) return pass(created);
  if (Result<> ran = cluster.run_for(std::chrono::seconds{30}); !ran) return pass(ran);
  gremlin.stop();
  cluster.link().lost_answer_chance = 0;
  return finish(cluster, kMapCount, kWanted);
}

// The leader is replaced in the middle of its work, in order.
Result<sim::RunReport> run_restarts(std::uint64_t seed) {
  constexpr int kMapCount = 6;
  constexpr int kWanted = 8;
  Random random(seed);
  Cluster cluster(seed, some_network(random));
  Crew crew(cluster, 2);
  if (Result<> created = create_maps(cluster, kMapCount, kWanted); !created) return pass(created);
  for (int round = 0; round < 3; ++round) {
    if (Result<> ran = cluster.run_until([&] { return crew.led(); }); !ran) return pass(ran);
    if (Result<> ran = cluster.run_for(up_to(random, std::chrono::seconds{2})); !ran)
      return pass(ran);
    crew.restart_leader();
  }
  return finish(cluster, kMapCount, kWanted);
}

// Nobody reaches the API server for longer than a lease lasts. A leader that is alone is the leader
// again afterwards, and its process, with all that it carries, has lived on.
Result<sim::RunReport> run_outage(std::uint64_t seed) {
  constexpr int kMapCount = 4;
  constexpr int kWanted = 6;
  Random random(seed);
  Cluster cluster(seed, some_network(random));
  Crew crew(cluster, 1);
  if (Result<> ran = cluster.run_until([&] { return crew.led(); }); !ran) return pass(ran);
  if (Result<> created = create_maps(cluster, kMapCount, kWanted); !created) return pass(created);
  if (Result<> ran = cluster.run_for(up_to(random, std::chrono::seconds{2})); !ran)
    return pass(ran);
  constexpr int kEverything = 1'000'000;
  cluster.server().faults().refuse_next(
      {}, {.code = 503, .reason = "ServiceUnavailable", .message = "out"}, kEverything);
  if (Result<> ran =
          cluster.run_for(std::chrono::seconds{20} + up_to(random, std::chrono::seconds{60}));
      !ran)
    return pass(ran);
  if (crew.led()) return fail(Code::internal, "it leads without an API server");
  cluster.server().faults().clear();
  Result<sim::RunReport> done = finish(cluster, kMapCount, kWanted);
  if (done && crew.started() != 1) return fail(Code::internal, "the process ended in the outage");
  if (done && !crew.led()) return fail(Code::internal, "nobody leads after the outage");
  return done;
}

Result<sim::RunReport> run_crashed(const sim::CrashPlan& plan) {
  constexpr int kMapCount = 3;
  constexpr int kWanted = 3;
  world::ClusterOptions options;
  options.kernel.crash = plan;
  options.kernel.max_latency = std::chrono::milliseconds{20};
  options.link.max_watch_delay = std::chrono::milliseconds{100};
  Cluster cluster(1, options);
  Crew crew(cluster, 1);
  if (Result<> created = create_maps(cluster, kMapCount, kWanted); !created) return pass(created);
  return finish(cluster, kMapCount, kWanted);
}

TEST(ControllerScenarios, EveryMapIsCountedUpWhateverGoesWrong) {
  const auto swept =
      sim::sweep(sweep_for("controllers in trouble", std::chrono::seconds{6}), run_troubled);
  ASSERT_TRUE(swept) << swept.error().message;
}

TEST(ControllerScenarios, AStopLetsRunningWorkFinish) {
  const auto swept = sim::sweep(sweep_for("restarts", std::chrono::seconds{4}), run_restarts);
  ASSERT_TRUE(swept) << swept.error().message;
}

TEST(ControllerScenarios, ALoneLeaderOutlivesAnOutageOfTheApiServer) {
  const auto swept = sim::sweep(sweep_for("outages", std::chrono::seconds{4}), run_outage);
  ASSERT_TRUE(swept) << swept.error().message;
}

TEST(ControllerScenarios, ACrashAtAnyWriteIsMadeGood) {
  const auto swept = sim::crash_everywhere("controller", run_crashed);
  ASSERT_TRUE(swept) << swept.error().message;
  EXPECT_GE(swept->writes, 9u);
}

}  // namespace
}  // namespace berth::scenario
