// The engine on slow load balancers: how long many of them take, beside what one call after the
// other takes on one of them.

#include <latch>

#include "base/threads.h"
#include "bench.h"
#include "engine/engine.h"
#include "sim/lb/model_driver.h"

namespace berth::bench {
namespace {

constexpr int kBalancers = 40;
constexpr int kListenersEach = 25;  // 1,000 Pods
constexpr Duration kCall = std::chrono::milliseconds{500};
// A list, one batch of creations, one of targets, and a list that reads them back.
constexpr int kCallsInARow = 4;

class DoneSink final : public engine::Sink {
 public:
  void report(const engine::Outcome& outcome) override {
    if (outcome.result) left_.count_down();
  }
  void wait() { left_.wait(); }

 private:
  std::latch left_{kBalancers * kListenersEach};
};

engine::Wish wish_for(int balancer, int n) {
  const auto port = static_cast<model::Port>(30'000 + n);
  model::ListenerSpec spec =
      model::plain_listener(model::Protocol::tcp, {port, port}, fmt::format("bench_{}", port),
                            {{.target = {fmt::format("10.0.{}.{}", balancer, n + 1), 8000}}});
  return {.lb = {model::Provider::tencent, "bench", fmt::format("lb-{}", balancer)},
          .spec = spec,
          .ports = spec.ports,
          .name = spec.name,
          .own = spec.ports,
          .version = engine::WishVersion("1")};
}

Result<std::vector<Line>> slow_balancers(Environment&) {
  sim::lb::ModelProvider provider({.min_latency = kCall, .max_latency = kCall});
  sim::lb::ModelDriver driver(provider);
  ThreadTasks tasks;
  DoneSink sink;
  engine::Engine engine(
      tasks, lb::Drivers::always(driver.seams()),
      [](const model::LoadBalancerRef&) { return engine::Standing{}; }, sink, [] { return true; },
      Random(1), {.name_prefix = "bench_"});
  const auto running = tasks.spawn(
      "engine", [&](std::stop_token stop) { engine.run({.tasks = tasks, .stop = stop}); });
  const Instant begin = tasks.now();
  for (int n = 0; n < kListenersEach; ++n)
    for (int balancer = 0; balancer < kBalancers; ++balancer)
      engine.want(engine::WishKey(fmt::format("bench/{}-{}", balancer, n)), wish_for(balancer, n));
  sink.wait();
  return std::vector<Line>{
      {"model-40-lbs",
       "1,000 listeners with targets on 40 load balancers at 0.5 s a call, beside 4 calls in a row",
       to_seconds(tasks.now() - begin), kCallsInARow * to_seconds(kCall), "s", "lower"}};
}

}  // namespace

std::vector<Bench> engine_benches() { return {{{"model-40-lbs"}, slow_balancers}}; }

}  // namespace berth::bench
