// The engine on threads and real time: what production runs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/threads.h"
#include "engine/test_support.h"

namespace berth::engine {
namespace {

using namespace std::chrono_literals;
using sim::lb::ModelDriver;
using sim::lb::ModelProvider;

// Far above what any of this takes.
constexpr Duration kPatience = 30s;

class CountingSink final : public Sink {
 public:
  explicit CountingSink(Tasks& tasks) : tasks_(tasks), signal_(tasks.signal()) {}

  void report(const Outcome& outcome) override {
    {
      const MutexLock lock(mu_);
      if (outcome.result) latest_[outcome.key] = outcome.version;
    }
    signal_->notify();
  }
  // Waits until this version of every key is done.
  bool wait_for(const std::map<WishKey, WishVersion>& versions) {
    const Instant until = tasks_.now() + kPatience;
    for (;;) {
      {
        const MutexLock lock(mu_);
        if (latest_ == versions) return true;
      }
      if (tasks_.now() >= until) return false;
      (void)tasks_.wait(*signal_, until, {});
    }
  }

 private:
  Tasks& tasks_;
  std::unique_ptr<Signal> signal_;
  Mutex mu_;
  std::map<WishKey, WishVersion> latest_ GUARDED_BY(mu_);
};

class EngineThreadsTest : public testing::Test {
 protected:
  explicit EngineThreadsTest(sim::lb::ModelOptions options = {.min_latency = 100us,
                                                              .max_latency = 2ms})
      : provider_(std::move(options)) {}

  void start() {
    engine_ = std::make_unique<Engine>(
        tasks_, lb::Drivers::always(driver_.seams()),
        [](const model::LoadBalancerRef&) { return Standing{}; }, sink_, [] { return true; },
        Random(1), EngineOptions{.settle = 50ms, .name_prefix = std::string(kPrefix)});
    run_ = tasks_.spawn("run", [this](std::stop_token stop) {
      engine_->run({.tasks = tasks_, .stop = std::move(stop)});
    });
  }
  void stop() { run_.reset(); }

  ThreadTasks tasks_;
  ModelProvider provider_;
  ModelDriver driver_{provider_};
  CountingSink sink_{tasks_};
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Task> run_;
};

TEST_F(EngineThreadsTest, ManyCallersManyLoadBalancersOneTruth) {
  constexpr int kCallers = 4;
  constexpr int kPorts = 50;
  constexpr int kRounds = 5;
  provider_.set_faults({.throttled = 0.02, .retry_after = 1ms, .partial = 0.02});
  start();
  std::map<WishKey, WishVersion> last;
  {
    std::vector<std::unique_ptr<Task>> callers;
    for (int c = 0; c < kCallers; ++c) {
      const model::LoadBalancerRef lb{model::Provider::edge, "", fmt::format("lb-{}", c % 2)};
      for (int p = 0; p < kPorts; ++p) {
        last[WishKey(fmt::format("{}/{}", c, p))] = WishVersion(std::to_string(kRounds));
      }
      callers.push_back(tasks_.spawn("caller", [this, c, lb](std::stop_token) {
        for (int round = 1; round <= kRounds; ++round) {
          for (int p = 0; p < kPorts; ++p) {
            const auto port = static_cast<model::Port>(30000 + c * kPorts + p);
            Wish wish = wish_for(port, {target(round)}, lb);
            wish.version = WishVersion(std::to_string(round));
            engine_->want(WishKey(fmt::format("{}/{}", c, p)), std::move(wish));
          }
        }
      }));
    }
  }
  ASSERT_TRUE(sink_.wait_for(last));
  stop();
  for (const char* id : {"lb-0", "lb-1"}) {
    const auto listeners = provider_.listeners({model::Provider::edge, "", id});
    EXPECT_EQ(listeners.size(), std::size_t{kCallers * kPorts / 2});
    for (const auto& listener : listeners) {
      EXPECT_THAT(listener.spec.rules.front().targets, testing::ElementsAre(target(kRounds)));
    }
  }
}

TEST_F(EngineThreadsTest, AStopReturnsPromptlyFromACallThatWaits) {
  start();
  provider_.script(sim::lb::Call::create, {sim::lb::Scripted::Kind::slow, {}, 1h});
  engine_->want(WishKey("games/a"), wish_for(30000));
  const Instant until = tasks_.now() + kPatience;
  while (provider_.calls(sim::lb::Call::create) == 0 && tasks_.now() < until) {
    (void)sleep_for(tasks_, 1ms, {});
  }
  const Instant before = tasks_.now();
  stop();
  EXPECT_LT(tasks_.now() - before, kPatience) << "the call would have waited for an hour";
}

}  // namespace
}  // namespace berth::engine
