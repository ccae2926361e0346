// A listener that is several things: what stays of it when one of the steps fails.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/lb/model_driver.h"

namespace berth::sim::lb {
namespace {

using namespace std::chrono_literals;
using berth::lb::NewRule;
using berth::lb::RuleRef;
using model::ListenerId;
using model::ListenerSpec;
using model::LoadBalancerRef;
using model::Protocol;
using model::RuleKey;
using testing::IsEmpty;
using testing::SizeIs;

const LoadBalancerRef kLb{model::Provider::aws, "eu-west-1", "lb-1"};
const RuleKey kLobby{"example.com", "/lobby"};
const RuleKey kRoom{"example.com", "/room"};

class ModelGroupsTest : public testing::Test {
 protected:
  Context context() { return {.tasks = process_}; }
  static ListenerSpec at(model::Port port, Protocol protocol = Protocol::tcp) {
    ListenerSpec spec = plain_listener(protocol, {port, port}, fmt::format("l-{}", port));
    if (is_layer7(protocol)) spec.rules.clear();
    return spec;
  }
  Result<ListenerId> create(const ListenerSpec& spec) {
    return driver_.create(context(), kLb, {&spec, 1})[0];
  }
  Result<> create(const NewRule& rule) {
    return driver_.create_rules(context(), kLb, {&rule, 1})[0];
  }
  Result<> remove(const ListenerId& id) { return driver_.remove(context(), kLb, {&id, 1})[0]; }
  Result<> remove(const RuleRef& rule) {
    return driver_.remove_rules(context(), kLb, {&rule, 1})[0];
  }
  void fail_next(Call call, Code code) {
    provider_.script(call, {Scripted::Kind::error, error_of(code, "scripted"), {}});
  }
  auto half_made() { return provider_.half_made(kLb); }

  Kernel kernel_{1};
  Process& process_ = kernel_.start_process("test");
  ModelProvider provider_{{.groups = true}};
  ModelDriver driver_{provider_, process_};
};

TEST_F(ModelGroupsTest, AListenerIsMadeOfTwoThingsAndNothingIsHalfMade) {
  const auto id = create(at(80));
  ASSERT_TRUE(id);
  EXPECT_EQ(provider_.calls(Call::create_groups), 1u);
  EXPECT_THAT(half_made(), IsEmpty());
  EXPECT_TRUE(remove(*id));
  EXPECT_EQ(provider_.calls(Call::remove_groups), 1u);
  EXPECT_THAT(half_made(), IsEmpty());
  EXPECT_THAT(provider_.listeners(kLb), IsEmpty());
}

TEST_F(ModelGroupsTest, WhatMaySucceedSoonKeepsItsGroupAndSaysSo) {
  fail_next(Call::create, Code::unavailable);
  EXPECT_EQ(create(at(80)).error().code, Code::conflict) << "somebody must look";
  ASSERT_THAT(half_made(), SizeIs(1));
  EXPECT_EQ(half_made()[0].spec.name, "l-80");
  EXPECT_TRUE(create(at(80)));
  EXPECT_THAT(half_made(), IsEmpty());
}

TEST_F(ModelGroupsTest, WhatIsRefusedForGoodLeavesNothing) {
  provider_.add_listener(kLb, at(80));
  ListenerSpec second = at(80);
  second.name = "other";
  EXPECT_EQ(create(second).error().code, Code::already_exists);
  EXPECT_THAT(half_made(), IsEmpty());
}

TEST_F(ModelGroupsTest, WhatCouldNotBeClearedAwayIsToldToo) {
  provider_.set_quota(1);
  provider_.add_listener(kLb, at(80));
  fail_next(Call::remove_groups, Code::throttled);
  EXPECT_EQ(create(at(81)).error().code, Code::conflict);
  EXPECT_THAT(half_made(), SizeIs(1));
}

TEST_F(ModelGroupsTest, ALostReplyOfEitherStepIsFoundAgain) {
  provider_.script(Call::create_groups, {Scripted::Kind::lost_reply, {}, {}});
  EXPECT_EQ(create(at(80)).error().code, Code::timeout);
  EXPECT_THAT(half_made(), SizeIs(1));
  provider_.script(Call::create, {Scripted::Kind::lost_reply, {}, {}});
  EXPECT_EQ(create(at(80)).error().code, Code::timeout);
  EXPECT_TRUE(provider_.find(kLb, model::Transport::tcp, 80));
  EXPECT_THAT(half_made(), IsEmpty());
}

TEST_F(ModelGroupsTest, EitherStepMayBeASlowTask) {
  for (const Call call : {Call::create_groups, Call::create, Call::remove, Call::remove_groups}) {
    SCOPED_TRACE(to_string(call));
    provider_.script(call, {Scripted::Kind::slow, {}, 30s});
    const Instant before = kernel_.now();
    const auto id = create(at(80));
    ASSERT_TRUE(id);
    EXPECT_TRUE(remove(*id));
    EXPECT_EQ(kernel_.now() - before, 30s);
    EXPECT_THAT(half_made(), IsEmpty());
  }
}

TEST_F(ModelGroupsTest, ARemovalThatFailsHalfWaySaysSo) {
  const auto id = create(at(80));
  fail_next(Call::remove_groups, Code::unavailable);
  EXPECT_EQ(remove(*id).error().code, Code::conflict);
  ASSERT_THAT(half_made(), SizeIs(1));
  fail_next(Call::remove_groups, Code::unavailable);
  EXPECT_EQ(remove(half_made()[0].id).error().code, Code::unavailable) << "nothing happened";
  EXPECT_TRUE(remove(half_made()[0].id));
  EXPECT_THAT(half_made(), IsEmpty());
}

TEST_F(ModelGroupsTest, ARemovalThatBeginsWithAFailureTouchesNothing) {
  const auto id = create(at(80));
  for (const Call call : {Call::list_groups, Call::remove}) {
    fail_next(call, Code::throttled);
    EXPECT_EQ(remove(*id).error().code, Code::throttled);
    EXPECT_THAT(half_made(), IsEmpty());
    EXPECT_TRUE(provider_.find(kLb, model::Transport::tcp, 80));
  }
}

TEST_F(ModelGroupsTest, EachRuleHasItsOwn) {
  const auto id = create(at(80, Protocol::http));
  EXPECT_EQ(provider_.calls(Call::create_groups), 0u) << "its rules have them";
  EXPECT_TRUE(create(NewRule{{*id, kLobby}, {}}));
  fail_next(Call::create_rules, Code::unavailable);
  EXPECT_EQ(create(NewRule{{*id, kRoom}, {}}).error().code, Code::conflict);
  ASSERT_THAT(half_made(), SizeIs(1));
  EXPECT_EQ(half_made()[0].spec.rules[0].key, kRoom);
  EXPECT_TRUE(create(NewRule{{*id, kRoom}, {}}));
  EXPECT_THAT(half_made(), IsEmpty());
  fail_next(Call::remove_groups, Code::unavailable);
  EXPECT_EQ(remove(RuleRef{*id, kLobby}).error().code, Code::conflict);
  ASSERT_THAT(half_made(), SizeIs(1));
  EXPECT_EQ(half_made()[0].spec.rules[0].key, kLobby);
}

TEST_F(ModelGroupsTest, AListenerOfLayer7LeavesOneForEachRule) {
  const auto id = create(at(80, Protocol::http));
  for (const RuleKey& key : {kLobby, kRoom}) EXPECT_TRUE(create(NewRule{{*id, key}, {}}));
  fail_next(Call::remove_groups, Code::unavailable);
  EXPECT_EQ(remove(*id).error().code, Code::conflict);
  EXPECT_THAT(half_made(), SizeIs(2));
  // The same listener, made anew, finds them.
  const auto again = create(at(80, Protocol::http));
  for (const RuleKey& key : {kLobby, kRoom}) EXPECT_TRUE(create(NewRule{{*again, key}, {}}));
  EXPECT_THAT(half_made(), IsEmpty());
}

TEST_F(ModelGroupsTest, WhatBelongsToNoListenerIsRefusedBeforeAnythingIsMade) {
  EXPECT_EQ(create(NewRule{{ListenerId("nobody"), kLobby}, {}}).error().code, Code::not_found);
  const auto tcp = create(at(80));
  EXPECT_EQ(create(NewRule{{*tcp, kLobby}, {}}).error().code, Code::invalid);
  EXPECT_THAT(half_made(), IsEmpty());
}

}  // namespace
}  // namespace berth::sim::lb
