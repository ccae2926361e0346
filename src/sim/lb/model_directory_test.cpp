// Whose load balancers are, how they come and go, and what goes wrong with it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/lb/model_driver.h"

namespace berth::sim::lb {
namespace {

using namespace std::chrono_literals;
using berth::lb::NewLoadBalancer;
using berth::lb::Place;
using model::CredentialId;
using model::LoadBalancerRef;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const LoadBalancerRef kLb{model::Provider::tencent, "ap-nanjing", "lb-1"};
const LoadBalancerRef kOther{model::Provider::tencent, "ap-nanjing", "lb-2"};
const berth::lb::Tag kMark{"made-by", "us"};
const CredentialId kOwn;
const CredentialId kGames("games");
const CredentialId kShop("shop");

class ModelDirectoryTest : public testing::Test {
 protected:
  ModelDirectoryTest() {
    provider_.add_load_balancer(kLb);
    provider_.add_load_balancer(kOther);
  }
  Context context() { return {.tasks = process_}; }
  static NewLoadBalancer wanted(std::string name = "made") {
    return {.region = "ap-nanjing", .name = std::move(name), .tags = {kMark}};
  }
  Result<LoadBalancerRef> make(const NewLoadBalancer& one, const CredentialId& credential = kOwn) {
    return driver_.make(context(), credential, {&one, 1})[0];
  }
  Result<> remove(const LoadBalancerRef& lb) {
    return driver_.remove(context(), kOwn, {&lb, 1}, kMark)[0];
  }
  Code list_code(const LoadBalancerRef& lb, const CredentialId& credential) {
    const auto listed = driver_.list(context(), Place(lb, credential));
    return listed ? Code::internal : listed.error().code;  // internal: it went well
  }
  auto search(const berth::lb::DirectoryQuery& query, const CredentialId& credential = kOwn) {
    return driver_.search(context(), credential, query);
  }

  Kernel kernel_{1};
  Process& process_ = kernel_.start_process("test");
  ModelProvider provider_{{.strict = true}};
  ModelDriver driver_{provider_, process_};
};

// --- Accounts.

TEST_F(ModelDirectoryTest, ACredentialReachesItsAccountAlone) {
  provider_.set_account(kLb, "a");
  provider_.set_account(kOther, "b");
  provider_.set_credential(kGames, "a");
  provider_.set_credential(kShop, "b");
  EXPECT_EQ(list_code(kLb, kGames), Code::internal);
  EXPECT_EQ(list_code(kOther, kGames), Code::forbidden);
  EXPECT_EQ(list_code(kLb, kShop), Code::forbidden);
  EXPECT_EQ(list_code(kLb, kOwn), Code::internal) << "the process's own reaches all";
  provider_.set_credential(kOwn, "a");
  EXPECT_EQ(list_code(kOther, kOwn), Code::forbidden);
}

TEST_F(ModelDirectoryTest, WhatDoesNotSufficeChangesNothing) {
  provider_.set_credential(kGames, "", CredentialState::forbidden);
  provider_.set_credential(kShop, "", CredentialState::expired);
  const auto spec = plain_listener(model::Protocol::tcp, {80, 80}, "l-80");
  for (const CredentialId& one : {kGames, kShop, CredentialId("nobody")}) {
    const auto made = driver_.create(context(), Place(kLb, one), {&spec, 1});
    EXPECT_EQ(made[0].error().code, Code::forbidden) << one;
    EXPECT_EQ(make(wanted(), one).error().code, Code::forbidden) << one;
    EXPECT_EQ(search({}, one).error().code, Code::forbidden) << one;
    const std::vector both{kLb, kOther};
    for (const auto& info : driver_.describe(context(), one, both))
      EXPECT_EQ(info.error().code, Code::forbidden) << one;
  }
  EXPECT_THAT(provider_.listeners(kLb), IsEmpty());
  EXPECT_THAT(provider_.load_balancers(), SizeIs(2));
}

TEST_F(ModelDirectoryTest, ASearchShowsTheAccountOfItsCredential) {
  provider_.set_account(kLb, "a");
  provider_.set_account(kOther, "b");
  provider_.set_credential(kGames, "a");
  const auto found = search({}, kGames);
  ASSERT_TRUE(found);
  ASSERT_THAT(*found, SizeIs(1));
  EXPECT_EQ(found->front().ref, kLb);
}

TEST_F(ModelDirectoryTest, WhoCalledWhatIsRemembered) {
  provider_.set_credential(kGames, "");
  (void)list_code(kLb, kGames);
  (void)list_code(kLb, kOwn);
  (void)list_code(kOther, kShop);
  EXPECT_EQ(provider_.calls_with(kGames), 1u);
  EXPECT_EQ(provider_.calls_with(kShop), 1u) << "refused, and still a call";
  EXPECT_THAT(provider_.callers().at(kLb), ElementsAre(kOwn, kGames));
  EXPECT_THAT(provider_.callers().at(kOther), ElementsAre(kShop));
}

// --- Faults.

TEST_F(ModelDirectoryTest, EveryKindOfCallFailsAsScripted) {
  const auto error = [&](Call call) {
    provider_.script(call, {Scripted::Kind::error, error_of(Code::throttled, "scripted"), {}});
  };
  error(Call::search);
  EXPECT_EQ(search({}).error().code, Code::throttled);
  error(Call::describe);
  EXPECT_EQ(describe_one(context(), driver_, kLb).error().code, Code::throttled);
  error(Call::look_up);
  EXPECT_EQ(driver_.look_up(context(), kLb, {}).error().code, Code::throttled);
  for (const Call call : {Call::make, Call::tag}) {
    error(call);
    EXPECT_EQ(make(wanted()).error().code, Code::throttled);
  }
  const auto lb = make(wanted());
  error(Call::remove_load_balancer);
  EXPECT_EQ(remove(*lb).error().code, Code::throttled);
  EXPECT_TRUE(remove(*lb));
}

TEST_F(ModelDirectoryTest, EveryKindOfCallMeetsDrawnFaults) {
  provider_.set_faults({.throttled = 1});
  EXPECT_EQ(search({}).error().code, Code::throttled);
  EXPECT_EQ(describe_one(context(), driver_, kLb).error().code, Code::throttled);
  EXPECT_EQ(driver_.look_up(context(), kLb, {}).error().code, Code::throttled);
  EXPECT_EQ(make(wanted()).error().code, Code::throttled);
  EXPECT_EQ(remove(kLb).error().code, Code::throttled);
}

// --- Making and removing.

TEST_F(ModelDirectoryTest, OneThatIsBegunHasNoTagsAndIsFinishedByWhoAsksAgain) {
  provider_.script(Call::tag, {Scripted::Kind::error, error_of(Code::unavailable, ""), {}});
  EXPECT_EQ(make(wanted()).error().code, Code::unavailable);
  auto found = search({.name = "made"});
  ASSERT_THAT(*found, SizeIs(1));
  EXPECT_THAT(found->front().tags, IsEmpty());
  EXPECT_EQ(remove(found->front().ref).error().code, Code::forbidden) << "it has no mark yet";
  NewLoadBalancer others = wanted();
  others.tags = {{"made-by", "them"}};
  EXPECT_EQ(make(others).error().code, Code::already_exists) << "somebody else began it";
  EXPECT_EQ(*make(wanted()), found->front().ref);
  EXPECT_THAT(search({.name = "made", .tags = {kMark}}).value(), SizeIs(1));
  EXPECT_TRUE(remove(found->front().ref));
}

TEST_F(ModelDirectoryTest, ALostReplyMakesNoSecond) {
  for (const Call call : {Call::make, Call::tag}) {
    provider_.script(call, {Scripted::Kind::lost_reply, {}, {}});
    EXPECT_EQ(make(wanted()).error().code, Code::timeout);
  }
  EXPECT_TRUE(make(wanted()));
  EXPECT_THAT(provider_.load_balancers(), SizeIs(3));
}

TEST_F(ModelDirectoryTest, ASlowTaskThatNobodyAwaitsMakesNoSecond) {
  provider_.script(Call::make, {Scripted::Kind::slow, {}, 30s});
  const NewLoadBalancer one = wanted();
  EXPECT_EQ(driver_.make(context().within(10s), kOwn, {&one, 1})[0].error().code, Code::timeout);
  EXPECT_THAT(provider_.load_balancers(), SizeIs(2));
  const auto lb = make(wanted());
  ASSERT_TRUE(lb);
  provider_.advance(kernel_.now() + 60s);
  EXPECT_THAT(provider_.load_balancers(), SizeIs(3));
  EXPECT_EQ(*make(wanted()), *lb);
}

// Whoever hears that it is not there believes that nothing is carried any more.
TEST_F(ModelDirectoryTest, OneThatIsBeingRemovedIsUnavailableUntilItIsGone) {
  const auto lb = make(wanted());
  const auto spec = plain_listener(model::Protocol::tcp, {80, 80}, "l-80");
  EXPECT_TRUE(driver_.create(context(), *lb, {&spec, 1})[0]);
  provider_.script(Call::remove_load_balancer, {Scripted::Kind::slow, {}, 30s});
  const auto given_up = driver_.remove(context().within(10s), kOwn, {&*lb, 1}, kMark);
  EXPECT_EQ(given_up[0].error().code, Code::timeout);
  EXPECT_EQ(list_code(*lb, kOwn), Code::unavailable);
  EXPECT_EQ(describe_one(context(), driver_, *lb).error().code, Code::unavailable);
  EXPECT_EQ(driver_.create(context(), *lb, {&spec, 1})[0].error().code, Code::unavailable);
  EXPECT_EQ(make(wanted()).error().code, Code::unavailable);
  EXPECT_THAT(search({.name = "made"}).value(), IsEmpty());
  provider_.advance(kernel_.now() + 30s);
  EXPECT_EQ(list_code(*lb, kOwn), Code::not_found);
  EXPECT_TRUE(remove(*lb));
  EXPECT_NE(*make(wanted()), *lb);
}

TEST_F(ModelDirectoryTest, TheListenersOfOneThatIsRemovedAreSeenToGo) {
  const auto lb = make(wanted());
  const auto spec = plain_listener(model::Protocol::tcp, {80, 80}, "l-80");
  EXPECT_TRUE(driver_.create(context(), *lb, {&spec, 1})[0]);
  std::vector<std::string> gone;
  provider_.observe([&](const Change& change) { gone.push_back(change.before->spec.name); });
  EXPECT_TRUE(remove(*lb));
  EXPECT_THAT(gone, ElementsAre("l-80"));
}

// --- Health.

TEST_F(ModelDirectoryTest, HealthIsWhatATestSaysLast) {
  const berth::lb::RuleRef rule{model::ListenerId("lbl-1"), {}};
  const model::Target target{"10.0.0.1", 80};
  EXPECT_THAT(driver_.last(kLb), IsEmpty());
  provider_.set_health(kLb, {rule, target, berth::lb::Health::unhealthy});
  provider_.set_health(kLb, {rule, target, berth::lb::Health::healthy});
  ASSERT_THAT(driver_.last(kLb), SizeIs(1));
  EXPECT_EQ(driver_.last(kLb)[0].health, berth::lb::Health::healthy);
  EXPECT_THAT(driver_.last(kOther), IsEmpty());
}

}  // namespace
}  // namespace berth::sim::lb
