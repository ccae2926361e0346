// Grants that are asked for at one moment, and how many writes they cost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <deque>

#include "api/decode.h"
#include "api/walkers.h"
#include "claims/grantor.h"
#include "claims/test_support.h"
#include "kube/client/test_scripted_api.h"
#include "sim/kernel/kernel.h"
#include "sim/kernel/run_for.h"

namespace berth::claims {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const model::LoadBalancerRef kDemo{model::Provider::edge, "", "demo"};
const model::LoadBalancerRef kWest{model::Provider::edge, "", "west"};

// So many owners of one port each.
class GrantorBatchTest : public ::testing::Test {
 protected:
  GrantorBatchTest() {
    add_indexes(listeners_, {});
    add_indexes(balancers_);
    add_indexes(blocks_);
    // The first write takes a moment, in which the next ones come.
    for (int i = 0; i < 2; ++i) api_.on({"POST", "loadbalancers"}, {.late = 50ms});
  }
  static ledger::Grant port(int owner, model::Port port) {
    return {.ports = {port, port},
            .owner = {"Stage", "games", fmt::format("stage-{}", owner),
                      fmt::format("uid-of-{}", owner)},
            .item = "one",
            .since = testing::kNow};
  }
  void ask(const model::LoadBalancerRef& lb, int owner, model::Port wanted) {
    const std::size_t i = answers_.size();
    answers_.emplace_back();
    tasks_.push_back(kernel_.world().spawn("asks", [this, lb, owner, wanted, i](std::stop_token) {
      answers_[i] = grantor_.grant({.tasks = kernel_.world()}, lb, port(owner, wanted));
    }));
  }
  void wait() {
    ASSERT_TRUE(kernel_.run_until([&] {
      return std::ranges::all_of(answers_, [](const auto& answer) { return answer.has_value(); });
    }));
  }
  std::size_t granted(const std::string& lb) const {
    return list_of(*balancers_.get({"", lb})).size();
  }

  sim::Kernel kernel_{1};
  kube::testing::ScriptedApi api_;
  kube::Client client_{api_, kube::fixed_config("https://api:6443", {})};
  BalancerStore balancers_;
  ListenerStore listeners_;
  BlockStore blocks_;
  // Lists are never long: this is about one object.
  Grantor grantor_{client_,    balancers_,        blocks_,
                   listeners_, testing::sealer(), {.long_list = 10'000, .noticeable_list = 10'000}};
  std::deque<std::optional<Result<>>> answers_;
  std::vector<std::unique_ptr<Task>> tasks_;
};

TEST_F(GrantorBatchTest, AllThatWaitForALoadBalancerGoInOneWrite) {
  for (int i = 0; i < 64; ++i) ask(kDemo, i, static_cast<model::Port>(30000 + i));
  wait();
  for (const auto& answer : answers_) EXPECT_TRUE(*answer) << answer->error().to_string();
  EXPECT_EQ(granted("edge.demo"), 64U);
  EXPECT_THAT(api_.writes(), ElementsAre("POST loadbalancers", "PATCH loadbalancers/edge.demo"));
}

TEST_F(GrantorBatchTest, OfTwoThatWantOnePortTheFirstToComeHasItAndTheOtherHearsOfIt) {
  ask(kDemo, 9, 30009);
  ask(kDemo, 1, 30000);
  ask(kDemo, 2, 30000);
  ask(kDemo, 3, 30001);
  wait();
  EXPECT_TRUE(*answers_[1]);
  ASSERT_FALSE(*answers_[2]);
  EXPECT_EQ(answers_[2]->error().code, Code::conflict);
  EXPECT_THAT(answers_[2]->error().to_string(), HasSubstr("Stage games/stage-1"));
  EXPECT_TRUE(*answers_[3]) << "one that is refused costs nobody else anything";
  EXPECT_EQ(granted("edge.demo"), 3U);
}

TEST_F(GrantorBatchTest, LoadBalancersDoNotWaitForEachOther) {
  const Instant began = kernel_.now();
  ask(kDemo, 1, 30000);
  ask(kWest, 2, 30000);
  wait();
  EXPECT_EQ(kernel_.now() - began, 50ms) << "two writes, side by side";
}

TEST_F(GrantorBatchTest, AWriteThatFailsIsToldToThoseWhoWaitedForItAndTheNextGoesOn) {
  ask(kDemo, 0, 30000);
  wait();
  api_.on({"PATCH", "loadbalancers"}, {.refused = 500});
  ask(kDemo, 1, 30001);
  wait();
  ASSERT_FALSE(*answers_[1]);
  EXPECT_EQ(granted("edge.demo"), 1U);
  ask(kDemo, 1, 30001);
  ask(kDemo, 2, 30002);
  wait();
  EXPECT_TRUE(*answers_[2]);
  EXPECT_TRUE(*answers_[3]);
}

// Whoever writes may be held up by a call; those who wait for it and are to stop do not wait.
TEST_F(GrantorBatchTest, WhoIsToStopLeavesAndTheOthersAreServed) {
  std::stop_source stop;
  ask(kDemo, 0, 30000);
  ASSERT_TRUE(kernel_.run_until([&] { return !api_.calls().empty(); }));
  std::optional<Result<>> left;
  const auto leaves = kernel_.world().spawn("leaves", [&](std::stop_token) {
    left =
        grantor_.grant({.tasks = kernel_.world(), .stop = stop.get_token()}, kDemo, port(1, 30001));
  });
  ask(kDemo, 2, 30002);
  ASSERT_TRUE(sim::run_for(kernel_, 10ms));
  ASSERT_FALSE(left);
  stop.request_stop();
  ASSERT_TRUE(kernel_.run_until([&] { return left.has_value(); }));
  ASSERT_FALSE(*left);
  EXPECT_EQ(left->error().code, Code::stopped);
  EXPECT_FALSE(answers_[0]) << "its call is still under way";
  wait();
  EXPECT_TRUE(*answers_[0]);
  EXPECT_TRUE(*answers_[1]);
  EXPECT_EQ(granted("edge.demo"), 2U);
}

// Somebody wrote between our look and our write.
TEST_F(GrantorBatchTest, AnOvertakenWriteIsDecidedAnewForAll) {
  ask(kDemo, 0, 30000);
  wait();
  api_.on({"PATCH", "loadbalancers"}, {.before = [this] {
            wire::Array grants;
            for (const ledger::Grant& grant : list_of(*balancers_.get({"", "edge.demo"})))
              grants.push_back(api::encode(to_api(grant)));
            grants.push_back(api::encode(to_api(port(7, 30001))));
            api_.edit(api::load_balancer_kind().type, {"", "edge.demo"},
                      wire::Object{{"spec", wire::Object{{"grants", grants}}}});
          }});
  ask(kDemo, 1, 30001);
  ask(kDemo, 2, 30002);
  wait();
  ASSERT_FALSE(*answers_[1]);
  EXPECT_THAT(answers_[1]->error().to_string(), HasSubstr("stage-7"));
  EXPECT_TRUE(*answers_[2]);
}

TEST_F(GrantorBatchTest, OneTooManyIsRefusedAlone) {
  std::vector<ledger::Grant> full;
  for (std::size_t i = 0; i + 1 < api::kMaxGrants; ++i)
    full.push_back(port(static_cast<int>(i), static_cast<model::Port>(1 + i)));
  wire::Array grants;
  for (const ledger::Grant& grant : full) grants.push_back(api::encode(to_api(grant)));
  wire::Value object = wire::Object{
      {"metadata", wire::Object{{"name", "edge.demo"}}},
      {"spec", wire::Object{{"provider", "edge"}, {"loadBalancerID", "demo"}, {"grants", grants}}}};
  api_.put(api::load_balancer_kind().type, std::move(object));
  balancers_.put(
      api::decode_load_balancer(*api_.find(api::load_balancer_kind().type, {"", "edge.demo"}))
          .value());
  api_.on({"PATCH", "loadbalancers"}, {.late = 50ms});
  ask(kDemo, 9001, 30001);
  ask(kDemo, 9002, 30002);
  ask(kDemo, 5, 6);  // it has that one
  wait();
  EXPECT_TRUE(*answers_[0]);
  ASSERT_FALSE(*answers_[1]);
  EXPECT_EQ(answers_[1]->error().code, Code::exhausted);
  EXPECT_TRUE(*answers_[2]) << answers_[2]->error().to_string();
}

}  // namespace
}  // namespace berth::claims
