#include "edge/knock.h"

#include <gtest/gtest.h>

#include "edge/test_support.h"

namespace berth::edge {
namespace {

using namespace testing;
using model::Transport;

constexpr Duration kPatience = std::chrono::seconds{20};

TEST(Knock, WhoeverWaitsForUsToSpeakAnswers) {
  Edge edge({.threads = 1});
  EXPECT_TRUE(knock(edge.open_room(), kPatience)) << "it says nothing of itself";
  EXPECT_TRUE(knock(edge.open_room("ahoy"), kPatience)) << "it speaks first";
}

TEST(Knock, NobodyThereIsARefusal) {
  Edge edge({.threads = 1});
  const Result<> heard = knock(edge.room_at(), kPatience);
  ASSERT_FALSE(heard);
  EXPECT_EQ(heard.error().code, Code::unavailable) << heard.error().to_string();
}

// As clients of a load balancer whose target is gone see it.
TEST(Knock, ALoadBalancerWithNobodyBehindItEndsTheConnection) {
  Edge edge({.threads = 1});
  const auto dead = edge.open_door(Transport::tcp, {{edge.room_at()}});
  const Result<> heard = knock(dead.at, kPatience);
  ASSERT_FALSE(heard);
  EXPECT_EQ(heard.error().code, Code::unavailable) << heard.error().to_string();
  const auto alive = edge.open_door(Transport::tcp, {{edge.open_room()}});
  EXPECT_TRUE(knock(alive.at, kPatience));
}

TEST(Knock, WhatIsNoAddressIsSaid) { EXPECT_FALSE(knock({"lb.example.com", 80}, kPatience)); }

}  // namespace
}  // namespace berth::edge
