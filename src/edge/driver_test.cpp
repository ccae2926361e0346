#include "edge/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edge/test_support.h"

namespace berth::edge {
namespace {

using model::Transport;
using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

model::ListenerSpec spec_of(const char* name, model::PortRange ports,
                            Transport protocol = Transport::tcp) {
  return model::plain_listener(model::protocol_of(protocol), ports, name);
}

const model::ListenerId kNobody("edge-none");

class EdgeDriverTest : public ::testing::Test {
 protected:
  Result<model::ListenerId> create(const model::ListenerSpec& spec) {
    return edge_.driver->create(edge_.context, edge_.lb, {&spec, 1}).front();
  }
  std::vector<lb::ObservedListener> list() {
    return edge_.driver->list(edge_.context, edge_.lb).value();
  }
  // Of the only listener.
  std::vector<model::WeightedTarget> targets() { return list().at(0).spec.rules.at(0).targets; }
  Result<> remove(const model::ListenerId& id) {
    return edge_.driver->remove(edge_.context, edge_.lb, {&id, 1}).front();
  }

  Edge edge_;
};

TEST_F(EdgeDriverTest, AnyIdIsALoadBalancerWithAnAddressOfItsOwn) {
  const auto info = lb::describe_one(edge_.context, *edge_.driver, {.id = "lb-1"}).value();
  EXPECT_THAT(info.vips, ElementsAre(loopback_address("lb-1")));
  EXPECT_EQ(info.type, "OPEN");
  EXPECT_EQ(info.listener_quota, kListenerQuota);
  EXPECT_THAT(edge_.driver->list(edge_.context, {{.id = "lb-1"}}).value(), IsEmpty());
}

TEST_F(EdgeDriverTest, ACreatedListenerIsListedWithItsAttributesAndWithoutTargets) {
  auto spec = spec_of("room", {30'000, 30'009});
  spec.attributes = {.keep_alive = true, .max_rate = 500};
  spec.rules[0] = {.attributes = {.scheduler = model::Scheduler::source_ip,
                                  .session_seconds = 30,
                                  .health_check = model::HealthCheck{.interval_seconds = 7}},
                   .targets = {{{"127.0.0.1", 80}}}};
  const model::ListenerId id = create(spec).value();
  const auto listed = list();
  ASSERT_THAT(listed, SizeIs(1));
  EXPECT_EQ(listed[0].id, id);
  EXPECT_EQ(listed[0].spec, model::without_targets(spec));
}

TEST_F(EdgeDriverTest, CreatingAgainUnderTheSameNameGivesTheSameListener) {
  const model::ListenerId id = create(spec_of("room", {30'000, 30'000})).value();
  EXPECT_EQ(create(spec_of("room", {30'000, 30'000})).value(), id);
  EXPECT_THAT(list(), SizeIs(1));
}

// Whoever noted its id down need not write another one after every restart; and the id of one
// listener never names another.
TEST_F(EdgeDriverTest, AListenerHasItsIdAgainAfterARestart) {
  const model::ListenerId id = create(spec_of("room", {30'000, 30'000})).value();
  const model::ListenerId udp = create(spec_of("room", {30'000, 30'000}, Transport::udp)).value();
  EXPECT_NE(udp, id);
  ASSERT_TRUE(remove(id));
  const model::ListenerId heir = create(spec_of("heir", {30'000, 30'000})).value();
  EXPECT_NE(heir, id);

  Edge next;
  next.lb = edge_.lb;
  const model::ListenerSpec spec = spec_of("heir", {30'000, 30'000});
  EXPECT_EQ(next.driver->create(next.context, next.lb, {&spec, 1}).front().value(), heir);
}

TEST_F(EdgeDriverTest, ATakenPortIsSaidToBeTakenAndByWhom) {
  ASSERT_TRUE(create(spec_of("room", {30'000, 30'009})));
  for (const auto& other :
       {spec_of("other", {30'000, 30'000}), spec_of("other", {30'009, 30'020}),
        spec_of("other", {29'000, 31'000}), spec_of("room", {30'005, 30'005})}) {
    const auto created = create(other);
    ASSERT_FALSE(created);
    EXPECT_EQ(created.error().code, Code::already_exists);
    EXPECT_THAT(created.error().to_string(), HasSubstr("'room'"));
  }
  EXPECT_TRUE(create(spec_of("after", {30'010, 30'010})));
  EXPECT_TRUE(create(spec_of("before", {29'999, 29'999})));
  EXPECT_TRUE(create(spec_of("other", {30'000, 30'000}, Transport::udp))) << "UDP is apart";
}

TEST_F(EdgeDriverTest, ABatchMaySucceedInPart) {
  const std::vector wanted{spec_of("a", {30'000, 30'000}), spec_of("b", {30'000, 30'000}),
                           spec_of("c", {0, 0}), spec_of("d", {30'001, 30'001})};
  const auto outcomes = edge_.driver->create(edge_.context, edge_.lb, wanted);
  ASSERT_THAT(outcomes, SizeIs(4));
  EXPECT_TRUE(outcomes[0]);
  EXPECT_EQ(outcomes[1].error().code, Code::already_exists);
  EXPECT_EQ(outcomes[2].error().code, Code::invalid);
  EXPECT_TRUE(outcomes[3]);
  EXPECT_NE(*outcomes[0], *outcomes[3]);
}

TEST_F(EdgeDriverTest, LoadBalancersThatShareAnAddressShareItsPorts) {
  Edge shared({.addresses = fixed_plan({{"a", {"127.16.9.9"}}, {"b", {"127.16.9.9"}}})});
  const auto spec = spec_of("room", {30'000, 30'000});
  ASSERT_TRUE(shared.driver->create(shared.context, {{.id = "a"}}, {&spec, 1}).front());
  const auto second = shared.driver->create(shared.context, {{.id = "b"}}, {&spec, 1}).front();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::already_exists);
  EXPECT_THAT(second.error().message, HasSubstr("edge:a"));
  const auto unknown = shared.driver->create(shared.context, {{.id = "c"}}, {&spec, 1}).front();
  EXPECT_EQ(unknown.error().code, Code::not_found);
}

TEST_F(EdgeDriverTest, RemovingFreesThePortAndMayBeRepeated) {
  const model::ListenerId id = create(spec_of("room", {30'000, 30'009})).value();
  EXPECT_TRUE(remove(id));
  EXPECT_TRUE(remove(id)) << "gone already is a success";
  EXPECT_THAT(list(), IsEmpty());
  const model::ListenerId next = create(spec_of("other", {30'000, 30'000})).value();
  EXPECT_NE(next, id);
  EXPECT_TRUE(remove(id));
  EXPECT_THAT(list(), SizeIs(1)) << "a stale id names nobody else";
}

TEST_F(EdgeDriverTest, AnotherLoadBalancersListenerIsNotTouched) {
  const model::ListenerId id = create(spec_of("room", {30'000, 30'000})).value();
  const model::LoadBalancerRef other{.id = "other"};
  EXPECT_TRUE(edge_.driver->remove(edge_.context, other, {&id, 1}).front());
  EXPECT_THAT(list(), SizeIs(1));
  const lb::TargetChange change{.rule = {id, {}}};
  EXPECT_EQ(edge_.driver->change_targets(edge_.context, other, {&change, 1}).front().error().code,
            Code::not_found);
}

TEST_F(EdgeDriverTest, TargetsAreAddedReweightedAndRemoved) {
  const model::ListenerId id = create(spec_of("room", {30'000, 30'000})).value();
  const model::Target a{"127.16.9.1", 1001}, b{"127.16.9.1", 1002}, c{"::1", 1003};
  ASSERT_TRUE(edge_.change(id, {{b, 5}, {a, 0}}));
  EXPECT_THAT(targets(), ElementsAre(model::WeightedTarget{a, 0}, model::WeightedTarget{b, 5}));
  ASSERT_TRUE(edge_.change(id, {{a, 7}, {c, 1}}, {b}));
  EXPECT_THAT(targets(), ElementsAre(model::WeightedTarget{a, 7}, model::WeightedTarget{c, 1}));
  ASSERT_TRUE(edge_.change(id, {}, {a, c, b}));
  EXPECT_THAT(targets(), IsEmpty());
}

TEST_F(EdgeDriverTest, AWrongTargetChangesNothing) {
  const model::ListenerId id = create(spec_of("room", {30'000, 30'009})).value();
  const model::Target good{"127.16.9.1", 1001};
  for (const model::Target& bad :
       {model::Target{"room.example", 80}, {"127.0.0.1", 0}, {"127.0.0.1", 65'530}}) {
    const auto changed = edge_.change(id, {{good}, {bad}});
    ASSERT_FALSE(changed) << model::to_string(bad);
    EXPECT_EQ(changed.error().code, Code::invalid);
  }
  EXPECT_THAT(targets(), IsEmpty());
  EXPECT_EQ(edge_.change(kNobody, {}).error().code, Code::not_found);
}

TEST_F(EdgeDriverTest, AttributesAreReplaced) {
  const model::ListenerId id = create(spec_of("room", {30'000, 30'000})).value();
  const lb::RuleChange change{.rule = {id, {}},
                              .attributes = {.scheduler = model::Scheduler::least_connections}};
  const std::vector changes{change, lb::RuleChange{.rule = {kNobody, {}}}};
  const auto outcomes = edge_.driver->change_rules(edge_.context, edge_.lb, changes);
  EXPECT_TRUE(outcomes[0]);
  EXPECT_EQ(outcomes[1].error().code, Code::not_found);
  EXPECT_EQ(list()[0].spec.rules.at(0).attributes, change.attributes);
}

TEST_F(EdgeDriverTest, ThoseOfTheWholeListenerAreKeptApart) {
  auto spec = spec_of("room", {30'000, 30'000});
  spec.rules[0].attributes.session_seconds = 30;
  const model::ListenerId id = create(spec).value();
  const std::vector changes{lb::ListenerChange{.listener = id, .attributes = {.max_rate = 500}},
                            lb::ListenerChange{.listener = kNobody}};
  const auto outcomes = edge_.driver->change(edge_.context, edge_.lb, changes);
  EXPECT_TRUE(outcomes[0]);
  EXPECT_EQ(outcomes[1].error().code, Code::not_found);
  spec.attributes.max_rate = 500;
  EXPECT_EQ(list()[0].spec, spec);
}

TEST_F(EdgeDriverTest, WhatItDoesNotSpeakIsSaidSo) {
  using model::Protocol;
  for (const Protocol protocol : {Protocol::tcp_udp, Protocol::quic}) {
    const auto created = create(model::plain_listener(protocol, {30'000, 30'000}, "room"));
    ASSERT_FALSE(created) << model::to_string(protocol);
    EXPECT_EQ(created.error().code, Code::unsupported);
    EXPECT_THAT(created.error().message, HasSubstr(model::to_string(protocol)));
  }
  EXPECT_THAT(list(), IsEmpty());
}

TEST_F(EdgeDriverTest, AListenerHasOneRuleAndNoOther) {
  const model::ListenerId id = create(spec_of("room", {30'000, 30'000})).value();
  const model::RuleKey key{"example.com", "/lobby"};
  const lb::NewRule wanted{.rule = {id, key}};
  EXPECT_EQ(edge_.driver->create_rules(edge_.context, edge_.lb, {&wanted, 1}).front().error().code,
            Code::invalid);
  const lb::RuleRef own{id, {}};
  EXPECT_EQ(edge_.driver->remove_rules(edge_.context, edge_.lb, {&own, 1}).front().error().code,
            Code::unsupported);
  const lb::RuleChange changed{.rule = {id, key}};
  EXPECT_EQ(edge_.driver->change_rules(edge_.context, edge_.lb, {&changed, 1}).front().error().code,
            Code::not_found);
  const lb::TargetChange led{.rule = {id, key}, .add = {{{"127.16.9.1", 1001}}}};
  EXPECT_EQ(edge_.driver->change_targets(edge_.context, edge_.lb, {&led, 1}).front().error().code,
            Code::not_found);
  EXPECT_EQ(list()[0].spec, spec_of("room", {30'000, 30'000}));
}

TEST_F(EdgeDriverTest, AListenerIsOpenOnlyWhileSomebodyCanBeReached) {
  const auto room = edge_.open_room();
  for (const Transport protocol : {Transport::tcp, Transport::udp}) {
    const auto door = edge_.open_door(protocol, {});
    const auto ask = [&] {
      return protocol == Transport::tcp ? ask_over_tcp(door.at, "ahoy", kTimeoutMs)
                                        : ask_over_udp(door.at, "ahoy", kTimeoutMs);
    };
    EXPECT_FALSE(ask());
    EXPECT_FALSE(edge_.seen(door.id).open);
    ASSERT_TRUE(edge_.change(door.id, {{room}}));
    EXPECT_EQ(ask().value(), "ahoy");
    EXPECT_TRUE(edge_.seen(door.id).open);
    ASSERT_TRUE(edge_.change(door.id, {}, {room}));
    EXPECT_FALSE(ask());
    ASSERT_TRUE(edge_.change(door.id, {{room}}));
    EXPECT_EQ(ask().value(), "ahoy");
    ASSERT_TRUE(edge_.driver->remove(edge_.context, edge_.lb, {&door.id, 1}).front());
    EXPECT_FALSE(ask());
  }
  EXPECT_EQ(edge_.driver->snapshot().fds_used, 0u);
}

TEST_F(EdgeDriverTest, APortOfAnotherProcessIsSaidToBeTaken) {
  const auto door = edge_.open_door(Transport::tcp, {});
  const auto squatter = EchoServer::start(door.at).value();
  const auto changed = edge_.change(door.id, {{edge_.room_at()}});
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, Code::already_exists);
  EXPECT_THAT(changed.error().message, HasSubstr(model::to_string(door.at)));
  EXPECT_THAT(targets(), IsEmpty()) << "nothing changed";
}

TEST_F(EdgeDriverTest, LowPortsAreOpenedAtTheOffsetThatDescribeShows) {
  Edge low({.low_ports = LowPorts{.limit = 30'000, .offset = 10'000}});
  const auto info = lb::describe_one(low.context, *low.driver, low.lb).value();
  EXPECT_EQ(info.low_port_limit, 30'000u);
  EXPECT_EQ(info.low_port_offset, 10'000u);
  const auto room = low.open_room();
  const auto door = low.open_door(Transport::tcp, {{room}});
  ASSERT_LT(door.at.port, 30'000);
  const auto offset = static_cast<model::Port>(door.at.port + 10'000);
  EXPECT_EQ(ask_over_tcp({door.at.ip, offset}, "ahoy", kTimeoutMs).value(), "ahoy");
  const auto spec = spec_of("other", {offset, offset});
  EXPECT_EQ(low.driver->create(low.context, low.lb, {&spec, 1}).front().error().code,
            Code::already_exists);
}

TEST_F(EdgeDriverTest, TheQuotaOfALoadBalancerIsKept) {
  Edge small({.listener_quota = 2});
  const std::vector wanted{spec_of("a", {1, 1}), spec_of("b", {2, 2}), spec_of("c", {3, 3})};
  const auto outcomes = small.driver->create(small.context, small.lb, wanted);
  EXPECT_TRUE(outcomes[1]);
  ASSERT_FALSE(outcomes[2]);
  EXPECT_EQ(outcomes[2].error().code, Code::exhausted);
  EXPECT_TRUE(small.driver->create(small.context, {{.id = "other"}}, wanted)[1]);
}

TEST_F(EdgeDriverTest, AListenerWithoutFileDescriptorsIsToldSo) {
  Edge small({.threads = 1, .fd_budget = 10});
  const auto room = small.open_room();
  const auto door = small.open_door(Transport::tcp, {}, {}, 11);
  const auto changed = small.change(door.id, {{room}});
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, Code::exhausted);
  EXPECT_EQ(small.driver->snapshot().fds_used, 0u);
}

TEST_F(EdgeDriverTest, ACallPastItsDeadlineDoesNothing) {
  const auto spec = spec_of("room", {30'000, 30'000});
  Context late = edge_.context;
  late.deadline = edge_.tasks.now();
  EXPECT_EQ(edge_.driver->create(late, edge_.lb, {&spec, 1}).front().error().code, Code::timeout);
  EXPECT_EQ(edge_.driver->list(late, edge_.lb).error().code, Code::timeout);
  EXPECT_THAT(list(), IsEmpty());
}

TEST_F(EdgeDriverTest, TheAddressOfEverythingIsRefused) {
  Edge any({.addresses = fixed_plan({{"any", {"0.0.0.0"}}, {"text", {"here"}}})});
  EXPECT_EQ(lb::describe_one(any.context, *any.driver, {.id = "any"}).error().code, Code::invalid);
  EXPECT_EQ(lb::describe_one(any.context, *any.driver, {.id = "text"}).error().code, Code::invalid);
}

TEST_F(EdgeDriverTest, OneListenerMayBeChangedByMany) {
  const auto room = edge_.open_room();
  const auto door = edge_.open_door(Transport::tcp, {});
  std::atomic<int> failures{0};
  {
    std::vector<std::jthread> writers;
    for (int w = 0; w < 4; ++w) {
      writers.emplace_back([&] {
        for (int i = 0; i < 50; ++i) {
          if (!edge_.change(door.id, {{room}})) ++failures;
          if (!edge_.change(door.id, {}, {room})) ++failures;
        }
      });
    }
  }
  EXPECT_EQ(failures, 0) << "a port that one call closes is free for the next";
  ASSERT_TRUE(edge_.change(door.id, {{room}}));
  EXPECT_EQ(ask_over_tcp(door.at, "ahoy", kTimeoutMs).value(), "ahoy");
}

}  // namespace
}  // namespace berth::edge
