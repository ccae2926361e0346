#include "edge/fd_budget.h"

#include <gtest/gtest.h>

#include <thread>

namespace berth::edge {
namespace {

TEST(FdBudget, AllAreGivenOrNone) {
  FdBudget budget(10);
  EXPECT_TRUE(budget.take(6));
  EXPECT_FALSE(budget.take(5));
  EXPECT_EQ(budget.used(), 6u);
  EXPECT_TRUE(budget.take(4));
  EXPECT_FALSE(budget.take());
  budget.give_back(10);
  EXPECT_EQ(budget.used(), 0u);
}

TEST(FdBudget, WhoAsksForTooMuchTakesNothingFromOthersMeanwhile) {
  FdBudget budget(10);
  std::atomic<int> tried{0};
  std::jthread greedy([&](const std::stop_token& stop) {
    for (; !stop.stop_requested(); ++tried) EXPECT_FALSE(budget.take(100));
  });
  for (int i = 0; i < 2'000'000 || tried < 2'000'000; ++i) {
    ASSERT_TRUE(budget.take()) << i;
    budget.give_back();
  }
}

TEST(FdBudget, WhatIsKeptForListeningIsNotGivenToOthers) {
  FdBudget budget(10, 4);
  EXPECT_FALSE(budget.take(7));
  EXPECT_TRUE(budget.take(6));
  EXPECT_FALSE(budget.take());
  EXPECT_TRUE(budget.take_listening(4));
  EXPECT_FALSE(budget.take_listening());
  EXPECT_EQ(budget.used(), 10u);
  EXPECT_EQ(budget.listening(), 4u);
  budget.give_back(6);
  EXPECT_TRUE(budget.take_listening(5)) << "more than is kept, while nobody else has it";
  EXPECT_TRUE(budget.take());
  EXPECT_FALSE(budget.take());
  budget.give_back_listening(9);
  EXPECT_EQ(budget.used(), 1u);
  EXPECT_TRUE(budget.take(5)) << "and it is given back";
  EXPECT_FALSE(budget.take());
}

TEST(FdBudget, UdpSessionsLeaveFilesForTcpAndPortsForTheMachine) {
  EXPECT_EQ(default_udp_sessions(40), 30u);
  EXPECT_GE(default_udp_sessions(0), 1u);
  EXPECT_LT(default_udp_sessions(10'000'000), 65'536u);
}

}  // namespace
}  // namespace berth::edge
