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
    return calls_of(made, wishes, known_, provider);
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

TEST_F(CostTest, ATargetThatIsThereGetsItsWeightByAnotherCall) {
  want(Protocol::tcp, 30000, 30000, {{{"10.0.0.1", 80}, 10}, {{"10.0.0.2", 80}, 10}});
  known_.put(newly_made(model::ListenerId("lbl-1"), specs_.front()));
  const auto there = [&](std::vector<model::WeightedTarget> targets) {
    known_.change(TargetChange{.rule = {model::ListenerId("lbl-1"), {}},
                               .add = std::move(targets),
                               .remove = {{"10.0.0.2", 80}, {"10.0.0.3", 80}}});
  };
  there({{{"10.0.0.1", 80}, 5}, {{"10.0.0.2", 80}, 10}});
  EXPECT_EQ(cost(Provider::tencent), (Calls{{"BatchModifyTargetWeight", 1}}));
  EXPECT_EQ(cost(Provider::edge), (Calls{{"change_targets", 1}}));
  there({{{"10.0.0.1", 80}, 5}});
  EXPECT_EQ(cost(Provider::tencent),
            (Calls{{"BatchModifyTargetWeight", 1}, {"BatchRegisterTargets", 1}}));
  there({{{"10.0.0.1", 80}, 10}, {{"10.0.0.2", 80}, 10}, {{"10.0.0.3", 80}, 10}});
  EXPECT_EQ(cost(Provider::tencent), (Calls{{"BatchDeregisterTargets", 1}}));
}

TEST_F(CostTest, WeightsOfManyRulesAreSeveralCalls) {
  for (int i = 0; i < 101; ++i) {
    const auto port = static_cast<model::Port>(30000 + i);
    want(Protocol::tcp, port, port, {{{"10.0.0.1", 8000}, 10}});
    const model::ListenerId id(fmt::format("lbl-{}", i));
    known_.put(newly_made(id, specs_.back()));
    known_.change(TargetChange{.rule = {id, {}}, .add = {{{"10.0.0.1", 8000}, 0}}});
  }
  EXPECT_EQ(cost(Provider::tencent), (Calls{{"BatchModifyTargetWeight", 2}}));
}

// The attributes of a listener of layer 4 are its own at the cloud; those that rules of a domain
// share have a call of their own.
TEST_F(CostTest, AttributesAreChangedByTheCallThatHasThem) {
  want(Protocol::tcp, 30000, 30000);
  want(Protocol::https, 443, 443);
  ListenerSpec& plain = specs_.front();
  ListenerSpec& web = specs_.back();
  web.rules = {{.key = {"a.com", "/"}}, {.key = {"b.com", "/"}}};
  for (const auto& [id, spec] : {std::pair("lbl-1", &plain), std::pair("lbl-2", &web)}) {
    KnownListener known = newly_made(model::ListenerId(id), *spec);
    known.spec.rules = spec->rules;
    known_.put(std::move(known));
  }
  EXPECT_EQ(cost(Provider::tencent), Calls{});
  plain.rules.front().attributes.session_seconds = 60;
  EXPECT_EQ(cost(Provider::tencent), (Calls{{"ModifyListener", 1}}));
  web.rules[0].attributes.over_quic = true;
  EXPECT_EQ(cost(Provider::tencent), (Calls{{"ModifyListener", 1}, {"ModifyDomainAttributes", 1}}));
  web.rules[1].attributes.to_targets = model::TargetProtocol::grpc;
  EXPECT_EQ(cost(Provider::tencent),
            (Calls{{"ModifyListener", 1}, {"ModifyDomainAttributes", 2}, {"ModifyRule", 1}}));
  web.rules[1].attributes.to_targets = model::TargetProtocol::http;
  web.rules[1].attributes.session_seconds = 60;
  EXPECT_EQ(cost(Provider::tencent),
            (Calls{{"ModifyListener", 1}, {"ModifyDomainAttributes", 1}, {"ModifyRule", 1}}));
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
