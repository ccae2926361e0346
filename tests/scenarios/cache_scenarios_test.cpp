// Caches under random histories: writers, bad networks and an API server that has bad days. When
// all is quiet, every store equals the server; on the way, handlers saw time go forward only.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <map>
#include <set>

#include "kube/cache/core_types.h"
#include "kube/cache/informer.h"
#include "scenario.h"
#include "sim/world/cluster.h"
#include "sim/world/gremlin.h"

namespace berth::scenario {
namespace {

using kube::ConfigMap;
using wire::Object;
using wire::Value;
using world::Cluster;

const std::string kMaps = "/api/v1/namespaces/default/configmaps";
constexpr int kNames = 6;
// Longer than any pause of a reflector, and than what a link holds back.
constexpr Duration kQuiet = std::chrono::seconds{75};

std::string any_name(Random& random) { return fmt::format("map-{}", random.below(kNames)); }

Value map_document(const std::string& name, const std::string& text) {
  return Object{{"metadata", Object{{"namespace", "default"}, {"name", name}}},
                {"data", Object{{"text", text}}}};
}

// Says when a handler is told something that cannot have happened.
class Witness {
 public:
  explicit Witness(sim::Kernel& kernel) : kernel_(kernel) {}

  void see(const kube::Change<ConfigMap>& change) {
    if (change.before) check_before(*change.before);
    if (!change.after) return gone(*change.before);
    const kube::ObjectMeta& meta = change.after->meta;
    if (ended_.contains(meta.uid)) fail("came back", meta);
    std::uint64_t& last = versions_[meta.uid];
    if (meta.resource_version <= last) fail("is older than what was seen", meta);
    if (!change.before && last != 0) fail("was added twice", meta);
    last = meta.resource_version;
    if (!change.before && !names_.emplace(meta.name, meta.uid).second) fail("is not alone", meta);
    kernel_.note("sees", meta.name);
  }

 private:
  void check_before(const ConfigMap& before) {
    const auto known = versions_.find(before.meta.uid);
    if (known == versions_.end() || known->second != before.meta.resource_version) {
      fail("was not what the handler saw last", before.meta);
    }
  }
  void gone(const ConfigMap& last) {
    ended_.insert(last.meta.uid);
    const auto named = names_.find(last.meta.name);
    if (named == names_.end() || named->second != last.meta.uid) {
      fail("was deleted without having been added", last.meta);
    } else {
      names_.erase(named);
    }
  }
  void fail(std::string_view what, const kube::ObjectMeta& meta) {
    kernel_.fail(fmt::format("{} uid {} at version {} {}", meta.name, meta.uid,
                             meta.resource_version, what));
  }

  sim::Kernel& kernel_;
  std::map<std::string, std::uint64_t> versions_;          // by uid
  std::map<std::string, std::string, std::less<>> names_;  // the uid that has the name
  std::set<std::string> ended_;
};

using Network = std::unique_ptr<net::Transport>;
// What lies between a process and its network: nothing, or a defect that a test plants.
using Around = std::function<Network(Network)>;

// A process with a cache, which also writes and puts the answers into its cache at once.
class Reader {
 public:
  Reader(Cluster& cluster, sim::Process& process, const Around& around)
      : cluster_(cluster),
        process_(process),
        random_(process.kernel().fork_random()),
        network_(around(cluster.connect(process))),
        client_(*network_, kube::fixed_config(Cluster::kServerUrl, {})),
        witness_(process.kernel()),
        informer_(process, client_, kube::config_map_projection(), random_.fork()) {
    informer_.store().on_change(
        [this](const kube::Change<ConfigMap>& change) { witness_.see(change); });
    informer_.start({});
    editor_ = process.spawn("editor", [this](std::stop_token stop) { edit(std::move(stop)); });
  }

  sim::Process& process() { return process_; }

  Result<> equals_server() {
    Result<std::vector<Value>> items = cluster_.list("/api/v1/configmaps");
    if (!items) return pass(items);
    const kube::Store<ConfigMap>& store = informer_.store();
    for (const Value& item : *items) {
      const auto mine = store.get(wire::string_at(item, "/metadata/namespace"),
                                  wire::string_at(item, "/metadata/name"));
      if (!mine) return fail(Code::internal, "{} lacks {}", process_.name(), wire::to_json(item));
      const bool same = mine->meta.uid == wire::string_at(item, "/metadata/uid") &&
                        std::to_string(mine->meta.resource_version) ==
                            wire::string_at(item, "/metadata/resourceVersion") &&
                        mine->get("text") == wire::string_at(item, "/data/text");
      if (!same) {
        return fail(Code::internal, "{} has version {} of {}", process_.name(),
                    mine->meta.resource_version, wire::to_json(item));
      }
    }
    if (store.size() == items->size()) return {};
    return fail(Code::internal, "{} has {} objects, the server {}", process_.name(), store.size(),
                items->size());
  }

 private:
  void edit(std::stop_token stop) {
    const Context context{.tasks = process_, .stop = stop};
    const kube::Projection<ConfigMap> projection = kube::config_map_projection();
    wire::JsonReader reader;
    for (std::uint64_t i = random_.below(10); i > 0; --i) {
      if (!sleep_for(process_, up_to(random_, std::chrono::seconds{4}), stop)) return;
      const std::string name = any_name(random_);
      const Value object = map_document(name, fmt::format("{}-{}", process_.name(), i));
      const Result<Value> written =
          random_.chance(0.5) ? client_.create(context, kube::types::kConfigMap, object)
                              : client_.patch(context, kube::types::kConfigMap, {"default", name},
                                              kube::PatchType::merge, object);
      if (!written) continue;
      // The answer may have been on its way for long.
      if (!sleep_for(process_, up_to(random_, std::chrono::seconds{2}), stop)) return;
      if (auto decoded = projection.from_json(reader, wire::to_json(*written)))
        informer_.store().put(std::move(*decoded));
    }
  }

  Cluster& cluster_;
  sim::Process& process_;
  Random random_;
  Network network_;
  kube::Client client_;
  Witness witness_;
  kube::Informer<ConfigMap> informer_;
  std::unique_ptr<Task> editor_;
};

// Creates, changes, deletes and creates again under the same names.
void write_at_random(Cluster& cluster, Random random, const std::stop_token& stop) {
  const std::uint64_t writes = 10 + random.below(40);
  for (std::uint64_t i = 0; i < writes; ++i) {
    if (!cluster.pause(up_to(random, std::chrono::milliseconds{1500}), stop)) return;
    const std::string name = any_name(random);
    const Value object = map_document(name, fmt::format("w{}", i));
    switch (random.below(4)) {
      case 0: (void)cluster.ask("DELETE", kMaps + "/" + name); break;
      case 1: (void)cluster.ask("PATCH", kMaps + "/" + name, object); break;
      case 2:
        (void)cluster.ask("DELETE", kMaps + "/" + name);
        (void)cluster.ask("POST", kMaps, object);
        break;
      default: (void)cluster.ask("POST", kMaps, object); break;
    }
  }
}

world::ClusterOptions bad_network(Random& random) {
  world::ClusterOptions options;
  options.kernel.min_latency = std::chrono::milliseconds{1};
  options.kernel.max_latency = up_to(random, std::chrono::milliseconds{400});
  options.link.max_watch_delay = up_to(random, std::chrono::seconds{3});
  options.link.lost_answer_chance = random.chance(0.5) ? 0.05 : 0;
  options.link.cut_stream_chance = random.chance(0.5) ? 0.1 : 0;
  options.history_changes = random.chance(0.3) ? 8 : 4096;
  return options;
}

Result<sim::RunReport> run_history(std::uint64_t seed, const Around& around) {
  Random random(seed);
  Cluster cluster(seed, bad_network(random));
  world::Gremlin gremlin(
      cluster, {.pause = std::chrono::milliseconds{800} + up_to(random, std::chrono::seconds{2}),
                .resources = {"configmaps"}});
  std::vector<std::unique_ptr<Reader>> readers;
  const std::uint64_t count = 1 + random.below(3);
  for (std::uint64_t i = 0; i < count; ++i) {
    readers.push_back(std::make_unique<Reader>(
        cluster, cluster.kernel().start_process(fmt::format("reader-{}", i)), around));
  }
  const int writers = 1 + static_cast<int>(random.below(2));
  std::vector<std::shared_ptr<const bool>> writing;
  for (int i = 0; i < writers; ++i) {
    writing.push_back(
        cluster.play("writer", [&cluster, mine = random.fork()](const std::stop_token& stop) {
          write_at_random(cluster, mine, stop);
        }));
  }
  const auto finish = [&]() -> Result<> {
    if (Result<> ran = cluster.run_until([&] { return all_through(writing); }); !ran) return ran;
    gremlin.stop();
    cluster.link().cut_stream_chance = 0;
    cluster.link().lost_answer_chance = 0;
    if (Result<> ran = cluster.settle(kQuiet); !ran) return ran;
    for (const auto& reader : readers) {
      if (Result<> equal = reader->equals_server(); !equal) return equal;
    }
    return {};
  };
  Result<> finished = finish();
  readers.clear();
  if (!finished) return pass(finished);
  if (cluster.kernel().failure()) return fail(*cluster.kernel().failure());
  return cluster.kernel().report();
}

TEST(CacheScenarios, EveryStoreEqualsTheServerWhenAllIsQuiet) {
  const Around nothing = [](Network network) { return network; };
  const auto swept = sim::sweep(sweep_for("caches", std::chrono::seconds{8}),
                                [&](std::uint64_t seed) { return run_history(seed, nothing); });
  ASSERT_TRUE(swept) << swept.error().message;
}

// Loses the lines of a watch that have this text in them.
class LossyNetwork final : public net::Transport {
 public:
  LossyNetwork(Network inner, std::string lost)
      : inner_(std::move(inner)), lost_(std::move(lost)) {}

  Result<net::Response> call(const Context& context, const net::Request& request) override {
    return inner_->call(context, request);
  }
  Result<std::unique_ptr<net::Stream>> open(const Context& context,
                                            const net::Request& request) override {
    auto stream = inner_->open(context, request);
    if (!stream || request.url.find("watch=true") == std::string::npos) return stream;
    return std::make_unique<LossyStream>(std::move(*stream), lost_);
  }

 private:
  class LossyStream final : public net::Stream {
   public:
    LossyStream(std::unique_ptr<net::Stream> inner, const std::string& lost)
        : inner_(std::move(inner)), lost_(lost) {}
    int status() const override { return inner_->status(); }
    const net::Headers& headers() const override { return inner_->headers(); }
    Result<std::optional<std::string>> read(const Context& context) override {
      for (;;) {
        auto chunk = inner_->read(context);
        if (!chunk || !*chunk) return chunk;
        std::string kept = without_lost(**chunk);
        if (!kept.empty()) return kept;
      }
    }

   private:
    std::string without_lost(std::string_view rest) const {
      std::string kept;
      while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n') + 1);
        const std::string_view whole = line.empty() ? rest : line;
        if (whole.find(lost_) == std::string_view::npos) kept += whole;
        rest.remove_prefix(whole.size());
      }
      return kept;
    }

    std::unique_ptr<net::Stream> inner_;
    const std::string& lost_;
  };

  Network inner_;
  const std::string lost_;
};

TEST(CacheScenarios, FindsALostEvent) {
  for (const char* lost : {"\"type\":\"DELETED\"", "\"type\":\"MODIFIED\"", "\"type\":\"ADDED\""}) {
    const Around planted = [&](Network network) {
      return std::make_unique<LossyNetwork>(std::move(network), lost);
    };
    const auto swept = sim::sweep({.name = fmt::format("caches without {}", lost), .count = 100},
                                  [&](std::uint64_t seed) { return run_history(seed, planted); });
    EXPECT_FALSE(swept) << lost;
  }
}

}  // namespace
}  // namespace berth::scenario
