#include "edge/balancer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <thread>

namespace berth::edge {
namespace {

using testing::ElementsAre;
using testing::Pair;
using Scheduler = model::Scheduler;
constexpr Duration kSecond = std::chrono::seconds{1};

class BalancerTest : public testing::Test {
 protected:
  BackendPtr backend(std::uint8_t number, std::uint32_t weight = 10) {
    const model::Target target{fmt::format("10.0.0.{}", number), 80};
    auto made = std::make_shared<Backend>(target, SocketAddress::of(target).value(), 1);
    made->weight = weight;
    return made;
  }
  static IpBytes client(std::uint32_t number) {
    IpBytes ip{};
    for (std::size_t i = 0; i < 4; ++i) ip[12 + i] = static_cast<std::uint8_t>(number >> (8 * i));
    return ip;
  }
  char name(const BackendPtr& chosen) const {
    const auto it = std::ranges::find(all_, chosen);
    return it == all_.end() ? '-' : static_cast<char>('a' + (it - all_.begin()));
  }
  void use(std::vector<BackendPtr> backends) {
    all_ = backends;
    balancer_.set_backends(backends);
  }
  std::string choose(int times, std::uint32_t who = 1) {
    std::string out;
    for (int i = 0; i < times; ++i) out += name(balancer_.choose(client(who), now_));
    return out;
  }

  Instant now_{kSecond * 1000};
  Balancer balancer_;
  std::vector<BackendPtr> all_;
};

TEST_F(BalancerTest, EqualTargetsTakeTurns) {
  use({backend(1), backend(2), backend(3)});
  EXPECT_EQ(choose(6), "abcabc");
}

TEST_F(BalancerTest, AHeavyTargetIsChosenByItsWeightAndNotInOneGo) {
  use({backend(1, 5), backend(2, 1), backend(3, 1)});
  EXPECT_EQ(choose(14), "aabacaaaabacaa");
}

TEST_F(BalancerTest, ADrainedTargetGetsNothingNew) {
  use({backend(1), backend(2, 0)});
  EXPECT_EQ(choose(3), "aaa");
  all_[0]->weight = 0;
  EXPECT_EQ(choose(1), "-") << "all are drained";
}

TEST_F(BalancerTest, NoTargetsGiveNothing) { EXPECT_EQ(choose(1), "-"); }

TEST_F(BalancerTest, ATargetThatStaysKeepsItsTurn) {
  use({backend(1), backend(2)});
  EXPECT_EQ(choose(1), "a");
  auto more = all_;
  more.push_back(backend(3));
  use(more);
  EXPECT_EQ(choose(1), "b") << "it was next, and still is";
}

TEST_F(BalancerTest, NewWeightsHoldFromTheNextTurnOn) {
  use({backend(1, 100), backend(2, 100)});
  EXPECT_EQ(choose(1), "a");
  for (const BackendPtr& each : all_) each->weight = 1;
  use(all_);
  EXPECT_EQ(choose(6), "bababa") << "not a hundred times b, which had gained a hundred";
  for (const BackendPtr& each : all_) each->weight = 100;
  use(all_);
  EXPECT_EQ(choose(4), "baba");
}

TEST_F(BalancerTest, ATargetWhoseHealthChangesMeanwhileIsNotOverlooked) {
  use({backend(1)});
  std::jthread checker([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) all_[0]->healthy = !all_[0]->healthy;
  });
  for (int i = 0; i < 300'000; ++i) ASSERT_EQ(choose(1), "a") << i;
}

TEST_F(BalancerTest, UnhealthyTargetsAreLeftOutUntilAllAre) {
  use({backend(1), backend(2)});
  all_[0]->healthy = false;
  EXPECT_EQ(choose(3), "bbb");
  all_[1]->healthy = false;
  EXPECT_THAT(choose(4), testing::AnyOf("abab", "baba")) << "all unhealthy: traffic goes to all";
}

TEST_F(BalancerTest, ADrainedTargetIsNotTheLastResort) {
  use({backend(1, 0), backend(2)});
  all_[1]->healthy = false;
  EXPECT_EQ(choose(2), "bb");
}

TEST_F(BalancerTest, TheLeastUsedForItsWeightIsChosen) {
  balancer_.set_rules(Scheduler::least_connections, {});
  use({backend(1, 10), backend(2, 20)});
  std::string order;
  for (int i = 0; i < 30; ++i) {
    const BackendPtr chosen = balancer_.choose(client(1), now_);
    chosen->active += 1;
    order += name(chosen);
  }
  EXPECT_EQ(std::ranges::count(order, 'a'), 10) << order;
  all_[1]->active = 0;
  EXPECT_EQ(choose(1), "b") << "its connections ended";
}

TEST_F(BalancerTest, AClientAddressStaysWithItsTargetByHash) {
  balancer_.set_rules(Scheduler::source_ip, {});
  use({backend(1), backend(2), backend(3), backend(4)});
  std::map<char, int> spread;
  std::map<std::uint32_t, std::string> first;
  for (std::uint32_t who = 0; who < 4000; ++who) {
    first[who] = choose(1, who);
    EXPECT_EQ(choose(1, who), first[who]);
    ++spread[first[who][0]];
  }
  for (const auto& [target, clients] : spread) EXPECT_NEAR(clients, 1000, 150) << target;

  // A target that goes moves its own clients alone.
  const auto gone = all_[3];
  all_[3]->weight = 0;
  int moved = 0;
  for (const auto& [who, target] : first) {
    if (target == "d")
      EXPECT_NE(choose(1, who), "d");
    else
      moved += choose(1, who) != target;
  }
  EXPECT_EQ(moved, 0);
}

TEST_F(BalancerTest, HashingHonoursWeights) {
  balancer_.set_rules(Scheduler::source_ip, {});
  use({backend(1, 30), backend(2, 10)});
  int heavy = 0;
  for (std::uint32_t who = 0; who < 4000; ++who) heavy += choose(1, who) == "a";
  EXPECT_NEAR(heavy, 3000, 200);
}

TEST_F(BalancerTest, AClientIsRememberedForAsLongAsItKeepsComing) {
  balancer_.set_rules(Scheduler::weighted_round_robin, 10 * kSecond);
  use({backend(1), backend(2)});
  EXPECT_EQ(choose(3, 1), "aaa");
  EXPECT_EQ(choose(3, 2), "bbb");
  now_ += 8 * kSecond;
  EXPECT_EQ(choose(1, 1), "a");
  now_ += 8 * kSecond;
  EXPECT_EQ(choose(1, 1), "a") << "8 s after its last connection";
  EXPECT_EQ(balancer_.sticky_clients(), 1u) << "the other one was forgotten";
  now_ += 11 * kSecond;
  EXPECT_EQ(choose(1, 3), "a");
  EXPECT_EQ(choose(1, 1), "b") << "too long ago";
}

TEST_F(BalancerTest, ARememberedTargetThatIsDrainedUnhealthyOrGoneIsNotUsed) {
  balancer_.set_rules(Scheduler::weighted_round_robin, 10 * kSecond);
  use({backend(1), backend(2)});
  EXPECT_EQ(choose(1), "a");
  all_[0]->weight = 0;
  EXPECT_EQ(choose(2), "bb");
  all_[0]->weight = 10;
  all_[1]->healthy = false;
  EXPECT_EQ(choose(2), "aa");
  all_[1]->healthy = true;
  all_[0]->removed = true;
  EXPECT_EQ(choose(2), "bb");
}

TEST_F(BalancerTest, RememberedClientsAreBounded) {
  balancer_.set_rules(Scheduler::weighted_round_robin, 10 * kSecond, 100);
  use({backend(1), backend(2)});
  for (std::uint32_t who = 0; who < 1000; ++who) choose(1, who);
  EXPECT_EQ(balancer_.sticky_clients(), 100u);
  balancer_.set_rules(Scheduler::weighted_round_robin, {});
  EXPECT_EQ(balancer_.sticky_clients(), 0u);
}

TEST_F(BalancerTest, WhatWasTriedIsNotChosenAgain) {
  use({backend(1), backend(2), backend(3)});
  std::vector<BackendPtr> tried;
  for (int i = 0; i < 3; ++i) {
    const BackendPtr chosen = balancer_.choose(client(1), now_, tried);
    ASSERT_TRUE(chosen);
    EXPECT_THAT(tried, testing::Not(testing::Contains(chosen)));
    tried.push_back(chosen);
  }
  EXPECT_FALSE(balancer_.choose(client(1), now_, tried));
}

TEST_F(BalancerTest, AnUnhealthyTargetStepsInAfterAllHealthyOnesWereTried) {
  use({backend(1), backend(2)});
  all_[1]->healthy = false;
  EXPECT_EQ(name(balancer_.choose(client(1), now_, {{all_[0]}})), 'b');
}

TEST_F(BalancerTest, AStickyClientWhoseTargetFailedStaysWithTheNext) {
  balancer_.set_rules(Scheduler::weighted_round_robin, kSecond * 60);
  use({backend(1), backend(2)});
  const BackendPtr first = balancer_.choose(client(1), now_);
  const std::vector<BackendPtr> tried{first};
  const BackendPtr second = balancer_.choose(client(1), now_, tried);
  EXPECT_NE(second, first);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(balancer_.choose(client(1), now_), second);
}

TEST_F(BalancerTest, OthersOfAClientWithoutMemoryAreNotDisturbedByAFailure) {
  balancer_.set_rules(Scheduler::source_ip, {});
  use({backend(1), backend(2), backend(3)});
  const BackendPtr first = balancer_.choose(client(1), now_);
  const std::vector<BackendPtr> tried{first};
  const BackendPtr second = balancer_.choose(client(1), now_, tried);
  EXPECT_NE(second, first);
  EXPECT_EQ(balancer_.choose(client(1), now_, tried), second);
  EXPECT_EQ(balancer_.choose(client(1), now_), first);
}

}  // namespace
}  // namespace berth::edge
