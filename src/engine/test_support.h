// An engine in simulation, with a model of a provider, a caller that keeps wishes as an API server
// would, and a sink that writes down what it hears. For tests.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "sim/kernel/kernel.h"
#include "sim/lb/model_driver.h"

namespace berth::engine {

inline const model::LoadBalancerRef kLb{model::Provider::tencent, "ap-nanjing", "lb-1"};
inline const model::LoadBalancerRef kOtherLb{model::Provider::tencent, "ap-nanjing", "lb-2"};
inline constexpr std::string_view kPrefix = "berth-c1-";

inline model::WeightedTarget target(int last_byte, std::uint32_t weight = model::kDefaultWeight) {
  return {{fmt::format("10.0.0.{}", last_byte), 8080}, weight};
}

inline Wish wish_for(model::Port port, std::vector<model::WeightedTarget> targets = {},
                     const model::LoadBalancerRef& lb = kLb) {
  model::ListenerSpec spec = model::plain_listener(
      model::Protocol::tcp, {port, port}, fmt::format("{}{}", kPrefix, port), std::move(targets));
  Wish wish{.lb = lb,
            .ports = spec.ports,
            .name = spec.name,
            .own = spec.ports,
            .version = WishVersion("1")};
  wish.spec = std::move(spec);
  return wish;
}

inline Wish removal_of(Wish wish) {
  wish.spec.reset();
  return wish;
}

// The objects of a cluster: what is wished, and what was reported of it. Outlives engines.
class Cluster final : public Sink {
 public:
  struct Object {
    Wish wish{};
    bool applied = false;
  };

  void report(const Outcome& outcome) override {
    outcomes.push_back(outcome);
    const auto it = objects.find(outcome.key.value);
    if (it == objects.end() || it->second.wish.version != outcome.version) return;
    it->second.applied = outcome.result.has_value();
    if (outcome.result) it->second.wish.known_id = outcome.listener_id;
    if (outcome.result && on_success) on_success(it->first, it->second);
  }

  Standing standing(const model::LoadBalancerRef& lb) const {
    Standing out{.complete = complete};
    for (const auto& [key, object] : objects) {
      if (object.wish.lb == lb) out.wishes.push_back({WishKey(key), object.wish, object.applied});
    }
    return out;
  }

  bool all_applied() const {
    for (const auto& [key, object] : objects) {
      if (!object.applied) return false;
    }
    return true;
  }

  bool complete = true;
  std::map<std::string, Object> objects{};  // by the text of its key
  std::vector<Outcome> outcomes{};
  std::function<void(const std::string&, const Object&)> on_success{};
};

// What a test puts between an engine and its driver.
using Around = std::function<std::unique_ptr<lb::Listeners>(lb::Listeners&)>;

// One process that runs an engine. What it says when it is dead, nobody hears.
class EngineProcess final : private Sink {
 public:
  EngineProcess(sim::Process& process, sim::lb::ModelProvider& provider, Cluster& cluster,
                EngineOptions options, std::function<bool()> may_act, std::uint64_t seed,
                const Around& around = {})
      : process_(process),
        cluster_(cluster),
        driver_(provider, process),
        around_(around ? around(driver_) : nullptr),
        engine_(
            process, drivers(),
            [&cluster](const model::LoadBalancerRef& lb) { return cluster.standing(lb); }, *this,
            std::move(may_act), Random(seed), std::move(options)),
        task_(process.spawn("run", [&](std::stop_token stop) {
          engine_.run({.tasks = process, .stop = std::move(stop)});
        })) {}

  Engine& engine() { return engine_; }

 private:
  lb::Drivers drivers() {
    lb::Driver driver = driver_.seams();
    if (around_) driver.listeners = around_.get();
    return lb::Drivers::always(driver);
  }
  void report(const Outcome& outcome) override {
    if (process_.alive()) cluster_.report(outcome);
  }

  sim::Process& process_;
  Cluster& cluster_;
  sim::lb::ModelDriver driver_;
  const std::unique_ptr<lb::Listeners> around_;
  Engine engine_;
  std::unique_ptr<Task> task_;
};

}  // namespace berth::engine
