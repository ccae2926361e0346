#include "lb/polled_health.h"

#include <gtest/gtest.h>

#include "sim/kernel/kernel.h"
#include "sim/kernel/run_for.h"

namespace berth::lb {
namespace {

using namespace std::chrono_literals;

const model::LoadBalancerRef kLb{model::Provider::tencent, "ap-x", "lb-1"};
const model::LoadBalancerRef kOtherLb{model::Provider::tencent, "ap-x", "lb-2"};

RuleRef rule(int n) { return {.listener = model::ListenerId(fmt::format("lbl-{}", n)), .key = {}}; }
model::Target room(int n) { return {fmt::format("10.0.0.{}", n), 8000}; }

class PolledHealthTest : public ::testing::Test {
 protected:
  struct Asked {
    Place place;
    std::size_t rules;  // 0: all
  };

  Result<std::vector<TargetHealth>> answer(const Place& place, std::span<const RuleRef> rules) {
    asked_.push_back({place, rules.size()});
    if (error_) return fail(*error_);
    std::vector<TargetHealth> out;
    for (const auto& [ref, health] : health_) {
      const bool wanted = rules.empty() || std::ranges::find(rules, ref) != rules.end();
      if (wanted && place.lb == kLb) out.push_back({ref, room(1), health});
    }
    return out;
  }
  std::unique_ptr<Following> follow(int n, const model::LoadBalancerRef& lb = kLb) {
    return feed_.follow(lb, rule(n),
                        [this](const TargetHealth& one) { heard_.push_back(one.health); });
  }
  void pass(Duration span) { ASSERT_TRUE(sim::run_for(kernel_, span)); }

  sim::Kernel kernel_{1};
  sim::Process& tasks_ = kernel_.start_process("test");
  std::map<RuleRef, Health> health_;
  std::optional<Error> error_;
  std::vector<Asked> asked_;
  std::vector<Health> heard_;
  std::vector<Place> places_;
  PolledHealth feed_{
      tasks_, [this](const Context& context, const Place& place, std::span<const RuleRef> rules) {
        (void)sleep_for(tasks_, 50ms, context.stop);
        return answer(place, rules);
      }};
  std::unique_ptr<Task> running_ = tasks_.spawn("run", [this](std::stop_token stop) {
    feed_.run({.tasks = tasks_, .stop = stop}, [this] { return places_; });
  });
};

TEST_F(PolledHealthTest, NobodyIsAskedForWhatNobodyFollows) {
  pass(10min);
  EXPECT_TRUE(asked_.empty());
}

TEST_F(PolledHealthTest, AFollowerHearsOfEachChangeOnce) {
  health_[rule(1)] = Health::unhealthy;
  const auto following = follow(1);
  ASSERT_TRUE(kernel_.run_until([&] { return !heard_.empty(); }));
  pass(10s);
  EXPECT_EQ(heard_, (std::vector{Health::unhealthy}));
  health_[rule(1)] = Health::healthy;
  pass(5s);
  EXPECT_EQ(heard_, (std::vector{Health::unhealthy, Health::healthy}));
  EXPECT_EQ(feed_.last(kLb).size(), 1u);
}

TEST_F(PolledHealthTest, WhatIsWellIsAskedForSeldom) {
  health_[rule(1)] = Health::healthy;
  const auto following = follow(1);
  pass(10min);
  EXPECT_LE(asked_.size(), 21u);
  EXPECT_GE(asked_.size(), 19u);
}

TEST_F(PolledHealthTest, WhatStaysIllIsAskedForSeldomAfterAWhile) {
  health_[rule(1)] = Health::unhealthy;
  const auto following = follow(1);
  pass(2min);
  const std::size_t often = asked_.size();
  EXPECT_GE(often, 50u);
  pass(10min);
  EXPECT_LE(asked_.size() - often, 25u);
}

TEST_F(PolledHealthTest, WhoHasLetGoHearsNothingAndNobodyIsAsked) {
  health_[rule(1)] = Health::unhealthy;
  auto following = follow(1);
  ASSERT_TRUE(kernel_.run_until([&] { return !heard_.empty(); }));
  following.reset();
  health_[rule(1)] = Health::healthy;
  pass(1s);
  const std::size_t before = asked_.size();
  pass(10min);
  EXPECT_EQ(heard_.size(), 1u);
  EXPECT_LE(asked_.size() - before, 1u);
  EXPECT_TRUE(feed_.last(kLb).empty()) << "nothing is kept of it";
}

TEST_F(PolledHealthTest, ManyRulesAreFewCalls) {
  std::vector<std::unique_ptr<Following>> all;
  for (int i = 0; i < 120; ++i) {
    health_[rule(i)] = Health::healthy;
    all.push_back(follow(i));
  }
  ASSERT_TRUE(kernel_.run_until([&] { return heard_.size() == 120; }));
  ASSERT_EQ(asked_.size(), 3u);
  EXPECT_EQ(asked_[0].rules + asked_[1].rules + asked_[2].rules, 120u);
  EXPECT_LE(asked_[0].rules, 50u);
}

TEST_F(PolledHealthTest, OneRoundIsBoundedAndTheRestIsNext) {
  std::vector<std::unique_ptr<Following>> all;
  for (int i = 0; i < 700; ++i) {
    health_[rule(i)] = Health::healthy;
    all.push_back(follow(i));
  }
  ASSERT_TRUE(kernel_.run_until([&] { return heard_.size() == 700; }));
  EXPECT_EQ(asked_.size(), 14u) << "nobody is asked for twice before all were";
}

TEST_F(PolledHealthTest, EverythingIsLookedAtForMetrics) {
  for (int i = 0; i < 3; ++i) health_[rule(i)] = Health::healthy;
  places_ = {kLb, kOtherLb};
  pass(1min);
  ASSERT_EQ(asked_.size(), 2u);
  EXPECT_EQ(asked_.front().rules, 0u);
  EXPECT_EQ(feed_.last(kLb).size(), 3u);
  health_.erase(rule(0));
  pass(6min);
  EXPECT_EQ(asked_.size(), 4u);
  EXPECT_EQ(feed_.last(kLb).size(), 2u) << "a target that is gone has no health";
  places_.clear();
  pass(1min);
  EXPECT_TRUE(feed_.last(kLb).empty());
}

TEST_F(PolledHealthTest, AProviderThatRefusesIsLeftAlone) {
  error_ = error_of(Code::throttled, "slow down");
  error_->retry_after = 1min;
  health_[rule(1)] = Health::healthy;
  const auto following = follow(1);
  pass(10min);
  EXPECT_LE(asked_.size(), 11u);
  EXPECT_TRUE(heard_.empty());
  error_.reset();
  pass(2min);
  EXPECT_EQ(heard_, (std::vector{Health::healthy}));
}

TEST_F(PolledHealthTest, WhoChangesTargetsIsNotKeptWaiting) {
  health_[rule(1)] = Health::healthy;
  const auto following = follow(1);
  ASSERT_TRUE(kernel_.run_until([&] { return !heard_.empty(); }));
  pass(5s);
  health_[rule(1)] = Health::unhealthy;
  feed_.hurry(kLb, rule(1));
  const Instant before = kernel_.now();
  ASSERT_TRUE(kernel_.run_until([&] { return heard_.size() == 2; }));
  EXPECT_LE(kernel_.now() - before, 1s);
}

}  // namespace
}  // namespace berth::lb
