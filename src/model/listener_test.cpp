#include "model/listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::model {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

const WeightedTarget kRoom{{"10.0.0.1", 7777}}, kOther{{"10.0.0.2", 7777}, 5};
const RuleKey kLobby{"example.com", "/lobby"}, kShop{"example.com", "/shop"}, kAny{};

ListenerSpec web(std::vector<Rule> rules) {
  return {.protocol = Protocol::http, .ports = {80, 80}, .name = "web", .rules = std::move(rules)};
}

TEST(Listener, APlainOneHasOneRuleWithoutAKey) {
  const ListenerSpec spec = plain_listener(Protocol::udp, {7000, 7009}, "rooms", {kRoom, kOther},
                                           {.session_seconds = 30});
  EXPECT_EQ(spec.protocol, Protocol::udp);
  EXPECT_EQ(spec.ports, (PortRange{7000, 7009}));
  EXPECT_EQ(spec.name, "rooms");
  EXPECT_EQ(spec.attributes, ListenerAttributes{});
  ASSERT_EQ(spec.rules.size(), 1u);
  EXPECT_TRUE(spec.rules[0].key.empty());
  EXPECT_EQ(spec.rules[0].attributes, RuleAttributes{.session_seconds = 30});
  EXPECT_THAT(spec.rules[0].targets, ElementsAre(kRoom, kOther));
}

TEST(Listener, AKeyIsWrittenAsPeopleWriteIt) {
  EXPECT_EQ(to_string(kLobby), "example.com/lobby");
  EXPECT_EQ(to_string(RuleKey{"example.com", ""}), "example.com");
  EXPECT_EQ(to_string(kAny), "");
  EXPECT_FALSE(RuleKey("", "/lobby").empty());
  EXPECT_FALSE(RuleKey("example.com", "").empty());
}

TEST(Listener, ARuleIsFoundByItsWholeKey) {
  ListenerSpec spec = web({{.key = kLobby}, {.key = kShop, .targets = {kRoom}}});
  const ListenerSpec& fixed = spec;
  EXPECT_EQ(find_rule(fixed, kShop), &spec.rules[1]);
  EXPECT_EQ(find_rule(fixed, {"example.com", ""}), nullptr);
  EXPECT_EQ(find_rule(fixed, {"", "/shop"}), nullptr);
  EXPECT_EQ(find_rule(fixed, kAny), nullptr);
  find_rule(spec, kLobby)->targets = {kOther};
  EXPECT_THAT(spec.rules[0].targets, ElementsAre(kOther));
  EXPECT_EQ(find_rule(plain_listener(Protocol::tcp, {1, 1}, "a"), kShop), nullptr);
}

TEST(Listener, LeadsWhereARuleHasTargets) {
  const ListenerSpec spec = web({{.key = kLobby}, {.key = kShop, .targets = {kRoom, kOther}}});
  EXPECT_TRUE(leads_somewhere(spec));
  EXPECT_THAT(leads_of(spec), ElementsAre(Pair(kShop, ElementsAre(kRoom, kOther))));
  for (const ListenerSpec& nowhere :
       {web({}), web({{.key = kLobby}}), plain_listener(Protocol::tcp, {1, 1}, "a")}) {
    EXPECT_FALSE(leads_somewhere(nowhere));
    EXPECT_THAT(leads_of(nowhere), IsEmpty());
  }
  EXPECT_THAT(leads_of(plain_listener(Protocol::tcp, {1, 1}, "a", {kRoom})),
              ElementsAre(Pair(kAny, ElementsAre(kRoom))));
}

TEST(Listener, WithoutTargetsItIsOtherwiseTheSame) {
  const RuleAttributes attributes{.scheduler = Scheduler::source_ip,
                                  .health_check = HealthCheck{.interval_seconds = 7}};
  const ListenerSpec spec = web({{.key = kLobby, .attributes = attributes, .targets = {kRoom}},
                                 {.key = kShop, .targets = {kOther}}});
  EXPECT_EQ(without_targets(spec),
            web({{.key = kLobby, .attributes = attributes}, {.key = kShop}}));
}

TEST(Listener, SortedItsRulesAndTheirTargetsAreInOrder) {
  ListenerSpec spec = web({{.key = kShop}, {.key = kLobby, .targets = {kOther, kRoom}}});
  sort(spec);
  EXPECT_EQ(spec, web({{.key = kLobby, .targets = {kRoom, kOther}}, {.key = kShop}}));
}

TEST(Listener, AttributesAreComparedByWhatTheyHold) {
  const Tls tls{.certificates = {{.reference = "cert-1"}}};
  ListenerAttributes one{.tls = tls};
  const ListenerAttributes copy = one;
  EXPECT_EQ(one, copy);
  one.tls->certificates[0].reference = "cert-2";
  EXPECT_NE(one, copy) << "a copy has its own";
  EXPECT_NE(copy, ListenerAttributes{});
  EXPECT_NE((RuleAttributes{.health_check = HealthCheck{}}), RuleAttributes{})
      << "one that was asked for is not the provider's default";
}

}  // namespace
}  // namespace berth::model
