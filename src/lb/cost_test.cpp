#include "lb/cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>

namespace berth::lb {
namespace {

using model::ListenerSpec;
using model::Protocol;
using model::Provider;

class CostTest : public ::testing::Test {
 protected:
  void want(Protocol protocol, model::Port first, model::Port last,
            std::vector<model::WeightedTarget> targets = {}) {
    specs_.push_back(model::plain_listener(protocol, {first, last}, fmt::format("x_{}", first),
                                           std::move(targets)));
  }
  Calls cost(Provider provider) {
    std::vector<Desired> wishes;
    for (const ListenerSpec& one : specs_)
      wishes.push_back(
          {.spec = &one, .name = one.name, .protocol = one.protocol, .own = {1, 65535}});
    const model::Abilities& limits = model::traits_of(provider).abilities;
    const Plan made = plan(wishes, known_, {.limits = limits, .name_prefix = "x_"});
    return calls_of(made, wishes, provider);
  }

  std::list<ListenerSpec> specs_;  // wishes point to them
  Inventory known_;
};

TEST_F(CostTest, ABatchIsACall) {
  for (int i = 0; i < 100; ++i)
    want(Protocol::tcp, static_cast<model::Port>(30000 + i), static_cast<model::Port>(30000 + i));
  EXPECT_EQ(cost(Provider::tencent), (Calls{{"CreateListener", 3}})) << "49 ports each";
  EXPECT_EQ(cost(Provider::edge), (Calls{{"create_listeners", 1}}));
  EXPECT_EQ(cost(Provider::aws), (Calls{{"create_listeners", 100}})) << "one listener each";
}

TEST_F(CostTest, WhatIsNotAlikeIsNotMadeByOneCall) {
  want(Protocol::tcp, 30000, 30000);
  want(Protocol::udp, 30000, 30000);
  want(Protocol::tcp, 30001, 30001);
  want(Protocol::tcp, 31000, 31009);
  want(Protocol::tcp, 31010, 31019);
  EXPECT_EQ(cost(Provider::tencent), (Calls{{"CreateListener", 4}}))
      << "two of TCP, one of UDP, and two ranges";
}

TEST_F(CostTest, TargetsOfManyListenersShareACall) {
  for (int i = 0; i < 30; ++i)
    want(Protocol::tcp, static_cast<model::Port>(30000 + i), static_cast<model::Port>(30000 + i),
         {{{"10.0.0.1", 8000}}});
  EXPECT_EQ(cost(Provider::tencent), (Calls{{"CreateListener", 1}, {"BatchRegisterTargets", 1}}));
}

TEST_F(CostTest, WhatIsThereCostsNothing) {
  want(Protocol::tcp, 30000, 30000);
  known_.put(newly_made(model::ListenerId("lbl-1"), specs_.front()));
  EXPECT_EQ(cost(Provider::tencent), Calls{});
}

TEST(Cost, TheLargerOfRateAndRowCounts) {
  const Calls one{{"CreateListener", 10}, {"BatchRegisterTargets", 10}};
  EXPECT_DOUBLE_EQ(seconds_at_least(std::vector{one}, Provider::tencent), 20 * 0.55)
      << "one after the other";
  const std::vector<Calls> many(100, one);
  EXPECT_DOUBLE_EQ(seconds_at_least(many, Provider::tencent), 2000 / 20.0)
      << "each write is asked about, 20 times a second";
  EXPECT_DOUBLE_EQ(seconds_at_least(many, Provider::edge), 0);
}

}  // namespace
}  // namespace berth::lb
