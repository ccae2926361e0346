// The engine with the driver of Tencent's load balancers on the simulated cloud: what is wished
// comes true, at the cost of few calls, also when the cloud stumbles, and others' listeners stay.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cloud/tencent/driver.h"
#include "engine/test_support.h"
#include "sim/cloud/tencent/transport.h"
#include "sim/kernel/run_for.h"

namespace berth {
namespace {

using namespace std::chrono_literals;
using engine::Cluster;
using engine::kLb;
using engine::kPrefix;
using engine::Wish;
using engine::WishKey;
using engine::WishVersion;
using sim::tencent::FaultKind;

constexpr std::string_view kAccount = "100000000001";

class TencentEngine : public testing::Test {
 protected:
  TencentEngine() {
    cloud_.add_account({.uin = std::string(kAccount)});
    cloud_.add_key({.secret_id = "AKIDEXAMPLE",
                    .secret_key = Secret("example-key"),
                    .account = std::string(kAccount)});
    cloud_.add_load_balancer({.id = kLb.id,
                              .account = std::string(kAccount),
                              .region = kLb.region,
                              .name = "rooms",
                              .listener_quota = 1000},
                             process_.wall_time());
    start();
  }
  ~TencentEngine() override { running_.reset(); }

  // A process that knows nothing but what the cluster knows.
  void start() {
    running_.reset();
    running_ = std::make_unique<Running>(process_, cloud_, cluster_, registry_);
  }
  void want(const std::string& key, Wish wish) {
    wish.known_id = cluster_.objects[key].wish.known_id;
    wish.version = WishVersion(std::to_string(++version_));
    cluster_.objects[key] = {wish, false};
    running_->engine.want(WishKey(key), std::move(wish));
  }
  void want_at(model::Port port, std::vector<model::WeightedTarget> targets) {
    std::ranges::sort(targets);
    want(fmt::format("room-{}", port - 30000), engine::wish_for(port, std::move(targets)));
  }
  void want_rooms(int count, int first_target) {
    for (int i = 0; i < count; ++i)
      want_at(static_cast<model::Port>(30000 + i), {target(first_target + i)});
  }
  static model::WeightedTarget target(int n) {
    return {{fmt::format("10.0.{}.{}", n / 200, n % 200 + 1), 9000}};
  }
  void run_until_applied() {
    const auto done =
        kernel_.run_until([this] { return cluster_.all_applied(); }, {.max_steps = 10'000'000});
    ASSERT_TRUE(done) << done.error().to_string();
  }
  // "30000 10.0.0.1" for each target of each listener.
  std::vector<std::string> leads() {
    cloud_.advance(process_.wall_time());
    std::vector<std::string> out;
    const auto there = cloud_.load_balancer(kLb.id)->listeners;
    for (const auto& [id, listener] : there)
      for (const auto& one : listener.rules.at(0).targets)
        out.push_back(fmt::format("{} {}", listener.port, one.ip));
    std::ranges::sort(out);
    return out;
  }
  static std::vector<std::string> expected(int count, int first_target) {
    std::vector<std::string> out;
    for (int i = 0; i < count; ++i)
      out.push_back(fmt::format("{} {}", 30000 + i, target(first_target + i).target.ip));
    std::ranges::sort(out);
    return out;
  }
  static FaultKind any_kind(Random& random) {
    return sim::tencent::kFaultKinds[random.below(sim::tencent::kFaultKinds.size())];
  }
  std::uint64_t calls(const std::string& action) { return cloud_.calls()[action].answered; }
  std::uint64_t writes() {
    std::uint64_t out = 0;
    for (const auto& [action, count] : cloud_.calls())
      if (!action.starts_with("Describe")) out += count.answered;
    return out;
  }

  struct Running {
    Running(sim::Process& process, sim::tencent::Cloud& cloud, Cluster& cluster,
            metrics::Registry& registry)
        : transport(cloud, {.round_trip = 50ms}),
          credentials({.id = "AKIDEXAMPLE", .key = Secret("example-key")}),
          driver(process, transport, credentials, {.region = kLb.region}),
          engine(
              process, {{model::Provider::tencent, driver.seams()}},
              [&cluster](const model::LoadBalancerRef& lb) { return cluster.standing(lb); },
              cluster, [] { return true; }, Random(7),
              {.name_prefix = std::string(kPrefix), .registry = &registry}),
          task(process.spawn("run", [this, &process](std::stop_token stop) {
            engine.run({.tasks = process, .stop = std::move(stop)});
          })) {}

    sim::tencent::CloudTransport transport;
    cloud::tencent::GivenCredentials credentials;
    cloud::tencent::ClbDriver driver;
    engine::Engine engine;
    std::unique_ptr<Task> task;
  };

  sim::Kernel kernel_{5};
  sim::Process& process_ = kernel_.start_process("berth");
  sim::tencent::Cloud cloud_{sim::tencent::Settings{}};
  Cluster cluster_;
  metrics::Registry registry_;
  int version_ = 0;
  std::unique_ptr<Running> running_;
};

TEST_F(TencentEngine, RoomsAreMadeRolledAndRemovedInBatches) {
  want_rooms(100, 0);
  run_until_applied();
  EXPECT_EQ(leads(), expected(100, 0));
  EXPECT_LE(calls("CreateListener"), 4u) << "49 go in one call";
  EXPECT_LE(calls("BatchRegisterTargets"), 4u);

  ASSERT_TRUE(sim::run_for(kernel_, 3min));  // nobody else's calls can land any more
  cloud_.reset_calls();
  want_rooms(100, 200);
  run_until_applied();
  EXPECT_EQ(leads(), expected(100, 200));
  EXPECT_EQ(calls("BatchRegisterTargets"), 1u) << "nobody announced them, and they go together";
  EXPECT_EQ(calls("BatchDeregisterTargets"), 1u);
  EXPECT_EQ(calls("CreateListener"), 0u);

  for (auto& [key, object] : cluster_.objects) want(key, engine::removal_of(object.wish));
  run_until_applied();
  EXPECT_TRUE(cloud_.load_balancer(kLb.id)->listeners.empty());
  EXPECT_LE(calls("DeleteLoadBalancerListeners"), 7u) << "twenty in one call";
}

TEST_F(TencentEngine, OneRoomCostsOneRoundTripAndOneTask) {
  want_rooms(20, 0);
  run_until_applied();
  ASSERT_TRUE(sim::run_for(kernel_, 3min));
  for (int i = 0; i < 5; ++i) {  // how long such tasks take is known by then
    want_at(30003, {target(3), target(20 + i)});
    run_until_applied();
  }
  cloud_.reset_calls();
  const Instant start = process_.now();
  want_at(30003, {target(3), target(24), target(90)});
  run_until_applied();
  EXPECT_LE(process_.now() - start, 700ms) << "the call 50 ms, its task 500 ms, the question 50 ms";
  EXPECT_EQ(calls("BatchRegisterTargets"), 1u);
  EXPECT_EQ(calls("DescribeTargets"), 0u);
  EXPECT_EQ(calls("DescribeListeners"), 0u);
}

TEST_F(TencentEngine, ARestartInSyncWritesNothing) {
  want_rooms(120, 0);
  run_until_applied();
  ASSERT_TRUE(sim::run_for(kernel_, 3min));
  cloud_.reset_calls();
  start();
  running_->engine.attend(kLb);
  for (const auto& [key, object] : cluster_.objects)
    running_->engine.want(WishKey(key), object.wish);
  ASSERT_TRUE(sim::run_for(kernel_, 25min));  // two audits
  EXPECT_EQ(writes(), 0u);
  EXPECT_EQ(leads(), expected(120, 0));
}

TEST_F(TencentEngine, WhatHandsDidIsRepairedAndStrangersStay) {
  cloud_.add_listener(kLb.id, {.name = "somebody-else", .protocol = "TCP", .port = 30002});
  want_rooms(6, 0);
  ASSERT_TRUE(sim::run_for(kernel_, 3min));
  EXPECT_FALSE(cluster_.objects.at("room-2").applied);
  EXPECT_TRUE(std::ranges::any_of(cluster_.outcomes, &engine::Outcome::foreign));
  cloud_.edit(kLb.id, [](sim::tencent::LoadBalancer& lb) {
    std::erase_if(lb.listeners, [](const auto& one) { return one.second.port == 30001; });
    for (auto& [id, listener] : lb.listeners)
      if (listener.port == 30004) listener.rules.at(0).targets.clear();
    for (auto& [id, listener] : lb.listeners)
      if (listener.port == 30005) listener.rules.at(0).session_seconds = 300;
  });
  ASSERT_TRUE(sim::run_for(kernel_, 15min));
  const auto there = cloud_.load_balancer(kLb.id)->listeners;
  EXPECT_EQ(there.size(), 6u);
  for (const auto& [id, listener] : there) {
    if (listener.port == 30002) {
      EXPECT_EQ(listener.name, "somebody-else");
      EXPECT_TRUE(listener.rules.at(0).targets.empty());
    } else {
      EXPECT_EQ(listener.rules.at(0).targets.size(), 1u) << listener.port;
      EXPECT_EQ(listener.rules.at(0).session_seconds, 0) << listener.port;
    }
  }
  EXPECT_THAT(registry_.text(),
              ::testing::HasSubstr(
                  fmt::format("berth_lb_drift_total{{lb=\"{}:{}\"}} 3\n", kLb.region, kLb.id)))
      << "one was removed, one lost its target, one its attributes";
}

// A listener of layer 7: rules come and go, targets move between them.
TEST_F(TencentEngine, RulesBecomeAsWishedWhateverGoesWrong) {
  const auto rule = [](int n, std::uint32_t session) {
    return model::Rule{.key = {fmt::format("room{:02}.example.com", n), "/"},
                       .attributes = {.session_seconds = session},
                       .targets = {target(n)}};
  };
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const std::vector<std::string> actions{"CreateListener", "CreateRule", "ModifyRule",
                                           "DeleteRule", "BatchRegisterTargets"};
    for (int i = 0; i < 12; ++i) {
      cloud_.inject({.kind = any_kind(random),
                     .action = actions[random.below(actions.size())],
                     .duration = 90s});
    }
    Wish wish = engine::wish_for(8080);
    wish.protocol = wish.spec->protocol = model::Protocol::http;
    wish.spec->rules.clear();
    const int first = static_cast<int>(seed) * 4;
    for (int n = first; n < first + 10; ++n)
      wish.spec->rules.push_back(rule(n, n % 2 == 0 ? 30 * static_cast<std::uint32_t>(seed) : 0));
    want("web", wish);
    run_until_applied();
    const auto there = cloud_.load_balancer(kLb.id)->listeners;
    ASSERT_EQ(there.size(), 1u);
    std::vector<std::string> found;
    for (const auto& one : there.begin()->second.rules) {
      ASSERT_EQ(one.targets.size(), 1u) << one.domain();
      found.push_back(
          fmt::format("{} {} {}", one.domain(), one.session_seconds, one.targets[0].ip));
    }
    std::ranges::sort(found);
    std::vector<std::string> wished;
    for (const model::Rule& one : wish.spec->rules)
      wished.push_back(fmt::format("{} {} {}", one.key.domain(), one.attributes.session_seconds,
                                   one.targets[0].target.ip));
    EXPECT_EQ(found, wished);
  }
}

TEST_F(TencentEngine, ComesToTheWishedStateWhateverGoesWrong) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const std::vector<std::string> actions{"CreateListener",         "BatchRegisterTargets",
                                           "BatchDeregisterTargets", "DeleteLoadBalancerListeners",
                                           "DescribeListeners",      "DescribeTargets",
                                           "DescribeTaskStatus",     "BatchModifyTargetWeight"};
    for (int i = 0; i < 25; ++i) {
      sim::tencent::Fault fault{.kind = any_kind(random),
                                .action = actions[random.below(actions.size())],
                                .duration = 90s};
      if (random.below(3) == 0) fault.error = {"RequestLimitExceeded", "slow down"};
      cloud_.inject(std::move(fault));
    }
    want_rooms(60, static_cast<int>(seed) * 100);
    run_until_applied();
    EXPECT_EQ(leads(), expected(60, static_cast<int>(seed) * 100));
  }
  cloud_.clear_faults();
  for (auto& [key, object] : cluster_.objects) want(key, engine::removal_of(object.wish));
  run_until_applied();
  ASSERT_TRUE(sim::run_for(kernel_, 25min));
  EXPECT_TRUE(cloud_.load_balancer(kLb.id)->listeners.empty()) << "nothing is left in the cloud";
}

}  // namespace
}  // namespace berth
