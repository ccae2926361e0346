// What the provider counts is paid for before it is called.

#include <gtest/gtest.h>

#include "sim/lb/model_driver.h"

namespace berth::sim::lb {
namespace {

using namespace std::chrono_literals;

const model::LoadBalancerRef kLb{model::Provider::tencent, "ap-nanjing", "lb-1"};
const model::LoadBalancerRef kElsewhere{model::Provider::tencent, "ap-beijing", "lb-1"};

class ModelBudget : public testing::Test {
 protected:
  void refuse(Call call, Duration retry_after) {
    Error error = error_of(Code::throttled, "slow down");
    error.retry_after = retry_after;
    provider_.script(call, {Scripted::Kind::error, error, {}});
  }
  Duration took(const std::function<void()>& call) {
    const Instant before = process_.now();
    bool done = false;
    const auto task = process_.spawn("call", [&](std::stop_token) {
      call();
      done = true;
    });
    EXPECT_TRUE(kernel_.run_until([&] { return done; }));
    return process_.now() - before;
  }
  Context context() { return {.tasks = process_}; }

  Kernel kernel_{1, {.min_latency = 10ms, .max_latency = 10ms}};
  Process& process_ = kernel_.start_process("test");
  ModelProvider provider_;
  ModelDriver driver_{provider_, process_};
};

TEST_F(ModelBudget, AReadThatWasRefusedIsWaitedForAndOthersAreNot) {
  refuse(Call::describe, 20s);
  (void)took([&] { (void)berth::lb::describe_one(context(), driver_, kLb); });
  EXPECT_LE(took([&] { (void)driver_.list(context(), kLb); }), 1s);
  EXPECT_LE(took([&] { (void)berth::lb::describe_one(context(), driver_, kElsewhere); }), 1s);
  EXPECT_GE(took([&] { EXPECT_TRUE(berth::lb::describe_one(context(), driver_, kLb)); }), 18s);
}

TEST_F(ModelBudget, ACallThatWouldWaitForTooLongIsNotSent) {
  refuse(Call::list, 20s);
  (void)took([&] { (void)driver_.list(context(), kLb); });
  const auto before = provider_.calls();
  EXPECT_LE(took([&] {
              const auto listed = driver_.list(context().within(5s), kLb);
              ASSERT_FALSE(listed);
              EXPECT_EQ(listed.error().code, Code::throttled);
            }),
            1s);
  EXPECT_EQ(provider_.calls(), before);
}

TEST_F(ModelBudget, WhoPlansIsToldWhenThereIsRoom) {
  using berth::lb::Action;
  EXPECT_LE(driver_.free_at(kLb, Action::create_listeners, 100, process_.now()), process_.now());
  refuse(Call::create, 20s);
  const model::ListenerSpec spec = model::plain_listener(model::Protocol::tcp, {80, 80}, "a");
  (void)took([&] { (void)driver_.create(context(), kLb, {&spec, 1}); });
  EXPECT_GE(driver_.free_at(kLb, Action::create_listeners, 1, process_.now()),
            process_.now() + 18s);
  EXPECT_LE(driver_.free_at(kLb, Action::remove_listeners, 1, process_.now()), process_.now());
  EXPECT_LE(driver_.free_at(kElsewhere, Action::create_listeners, 1, process_.now()),
            process_.now());
}

}  // namespace
}  // namespace berth::sim::lb
