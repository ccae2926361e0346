// The fixture of tests that watch one engine from outside: with virtual time, a model of a provider
// and the objects of a cluster.
#pragma once

#include <gtest/gtest.h>

#include "engine/test_support.h"
#include "sim/kernel/run_for.h"

namespace berth::engine {

class EngineTest : public testing::Test {
 protected:
  EngineTest() = default;
  explicit EngineTest(sim::lb::ModelOptions provider) : provider_(std::move(provider)) {}

  void start(EngineOptions options = {}) {
    options.name_prefix = kPrefix;
    options.registry = &registry_;
    running_ = std::make_unique<EngineProcess>(
        process_, provider_, cluster_, std::move(options), [this] { return may_act_; }, 7, around_);
  }
  // Without the time after the first touch in which everything is read back.
  void start_settled() { start({.settle = {}}); }

  void want(const std::string& key, Wish wish) {
    wish.known_id = cluster_.objects[key].wish.known_id;
    wish.version = WishVersion(std::to_string(++version_));
    cluster_.objects[key] = {wish, false};
    running_->engine().want(WishKey(key), std::move(wish));
  }
  void run_until_applied() {
    const auto done = kernel_.run_until([this] { return cluster_.all_applied(); });
    ASSERT_TRUE(done) << done.error().to_string();
  }
  void run_until_told(std::size_t outcomes) {
    const auto done = kernel_.run_until([&] { return cluster_.outcomes.size() >= outcomes; });
    ASSERT_TRUE(done) << done.error().to_string();
  }
  void pass(Duration span) { ASSERT_TRUE(sim::run_for(kernel_, span)); }
  std::vector<model::WeightedTarget> targets_at(model::Port port) {
    const auto listener = provider_.find(kLb, model::Transport::tcp, port);
    return listener ? model::targets_of(listener->spec) : std::vector<model::WeightedTarget>{};
  }
  bool is_there(model::Port port) {
    return provider_.find(kLb, model::Transport::tcp, port).has_value();
  }
  // What somebody left there, of ours unless it has another name.
  static model::ListenerSpec left_at(model::Port port, const std::string& name) {
    return model::plain_listener(model::Protocol::tcp, {port, port},
                                 name.empty() ? fmt::format("{}{}", kPrefix, port) : name);
  }
  void script_error(sim::lb::Call call, Code code) {
    provider_.script(call, {sim::lb::Scripted::Kind::error, error_of(code, "scripted"), {}});
  }

  sim::Kernel kernel_{
      5,
      {.min_latency = std::chrono::milliseconds{10}, .max_latency = std::chrono::milliseconds{20}}};
  sim::Process& process_ = kernel_.start_process("berth");
  sim::lb::ModelProvider provider_;
  metrics::Registry registry_;
  Cluster cluster_;
  bool may_act_ = true;
  Around around_{};
  int version_ = 0;
  std::unique_ptr<EngineProcess> running_;
};

}  // namespace berth::engine
