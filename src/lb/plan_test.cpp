#include "lb/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::lb {
namespace {

using model::ListenerId;
using model::ListenerSpec;
using model::Protocol;
using model::Rule;
using model::RuleKey;
using model::Transport;
using model::WeightedTarget;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

WeightedTarget target(int n, std::uint32_t weight = 10) {
  return {{fmt::format("10.0.0.{}", n), 80}, weight};
}

ListenerSpec listener(std::string name, model::Port first, std::vector<WeightedTarget> targets = {},
                      Protocol protocol = Protocol::tcp) {
  return model::plain_listener(protocol, {first, first}, std::move(name), std::move(targets));
}

ObservedListener there(std::string id, ListenerSpec spec) {
  return {ListenerId(std::move(id)), std::move(spec)};
}

constexpr model::PortRange kAll{1, 65535};
const ListenerId kNoId;
const ListenerId kFirst("l1");

// Of an owner that has these ports: all of them unless it is said.
Desired wish(const ListenerSpec& spec, const ListenerId& id = kNoId, model::PortRange own = kAll) {
  return {.spec = &spec, .name = spec.name, .known_id = &id, .protocol = spec.protocol, .own = own};
}
Desired farewell(std::string_view name, const ListenerId& id, model::PortRange own = kAll) {
  return {.spec = nullptr, .name = name, .known_id = &id, .own = own};
}

Inventory inventory(std::vector<ObservedListener> listeners) {
  Inventory out;
  out.replace(std::move(listeners));
  return out;
}

const PlanRules kRules{.limits = {}, .name_prefix = "berth-", .wished_elsewhere = {}};

Plan plan_one(const Desired& desired, const Inventory& known, const PlanRules& rules = kRules) {
  return plan({&desired, 1}, known, rules);
}

TEST(Plan, NothingIsDoneWhenAllIsAsWished) {
  const ListenerSpec spec = listener("berth-80", 80, {target(1), target(2)});
  const Plan out = plan_one(wish(spec), inventory({there("l1", spec)}));
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(out.findings[0].verdict, Verdict::as_wished);
  EXPECT_EQ(out.findings[0].listener_id, kFirst);
}

TEST(Plan, ANewListenerIsCreatedAndThenGetsItsTargets) {
  const ListenerSpec spec = listener("berth-80", 80, {target(1)});
  const Plan out = plan_one(wish(spec), {});
  ASSERT_THAT(out.creations, SizeIs(1));
  EXPECT_FALSE(out.creations[0].later);
  ASSERT_THAT(out.targets, SizeIs(1));
  EXPECT_TRUE(out.targets[0].later);
  EXPECT_THAT(out.targets[0].change.add, ElementsAre(target(1)));
}

TEST(Plan, OnlyTargetsThatDifferAreChanged) {
  const ListenerSpec spec = listener("berth-80", 80, {target(1), target(2, 50), target(4)});
  const Plan out = plan_one(
      wish(spec),
      inventory({there("l1", listener("berth-80", 80, {target(1), target(2), target(3)}))}));
  ASSERT_THAT(out.targets, SizeIs(1));
  EXPECT_THAT(out.targets[0].change.add, ElementsAre(target(2, 50), target(4)));
  EXPECT_THAT(out.targets[0].change.remove, ElementsAre(target(3).target));
}

TEST(Plan, AForeignListenerOnThePortIsReportedAndLeftAlone) {
  const ListenerSpec spec = listener("berth-80", 80);
  const Plan out = plan_one(wish(spec), inventory({there("l1", listener("theirs", 80))}));
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(out.findings[0].verdict, Verdict::foreign);
  EXPECT_THAT(out.findings[0].holder, testing::HasSubstr("theirs"));
}

// An id comes from an object's status, which people can write.
TEST(Plan, AKnownIdMakesNoForeignListenerOurs) {
  const ListenerSpec spec = listener("berth-80", 80, {target(1)});
  const Inventory known = inventory({there("l1", listener("theirs", 80))});
  const Plan out = plan_one(wish(spec, kFirst), known);
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(out.findings[0].verdict, Verdict::foreign);
  EXPECT_TRUE(plan_one(farewell("berth-80", kFirst), known).empty());
}

TEST(Plan, NothingIsRemovedOutsideOfTheOwnersPorts) {
  const Inventory known = inventory({there("l1", listener("berth-victim", 80, {target(1)}))});
  // By its id, and by its name.
  for (const Desired& attack :
       {farewell("berth-mine", kFirst, {90, 99}), farewell("berth-victim", kNoId, {90, 99})}) {
    const Plan out = plan_one(attack, known);
    EXPECT_TRUE(out.empty());
    EXPECT_EQ(out.findings[0].verdict, Verdict::as_wished);
  }
  const ListenerSpec moved = listener("berth-victim", 90);
  const Plan out = plan_one(wish(moved, kFirst, {90, 99}), known);
  EXPECT_THAT(out.removals, IsEmpty());
  EXPECT_THAT(out.creations, SizeIs(1));
}

TEST(Plan, NothingIsRemovedThatReachesBeyondTheOwnersPorts) {
  ListenerSpec wide = listener("berth-old", 80);
  wide.ports.last = 95;
  const ListenerSpec spec = listener("berth-new", 90);
  const Plan out = plan_one(wish(spec, kNoId, {90, 99}), inventory({there("l1", wide)}));
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(out.findings[0].verdict, Verdict::held);
}

TEST(Plan, NothingIsRemovedThatAnotherWishWants) {
  PlanRules rules = kRules;
  rules.wished_elsewhere = [](const KnownListener& there) { return there.id == kFirst; };
  const Plan out = plan_one(farewell("berth-80", kFirst),
                            inventory({there("l1", listener("berth-80", 80))}), rules);
  EXPECT_TRUE(out.empty());
}

TEST(Plan, RemovalOfWhatIsNotThereIsDone) {
  const Plan out =
      plan_one(farewell("berth-80", kFirst), inventory({there("l2", listener("theirs", 80))}));
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(out.findings[0].verdict, Verdict::as_wished);
}

TEST(Plan, AListenerThatMovesIsRemovedAndCreated) {
  const ListenerSpec spec = listener("berth-a", 81);
  const Plan out = plan_one(wish(spec, kFirst), inventory({there("l1", listener("berth-a", 80))}));
  ASSERT_THAT(out.removals, SizeIs(1));
  EXPECT_EQ(out.removals[0].id, kFirst);
  EXPECT_THAT(out.creations, SizeIs(1));
}

TEST(Plan, ALeftoverOfOursMakesRoomOnlyWhenNobodyWishesIt) {
  const ListenerSpec spec = listener("berth-new", 80);
  const Inventory known = inventory({there("l1", listener("berth-old", 80))});
  const Plan free = plan_one(wish(spec), known);
  ASSERT_THAT(free.removals, SizeIs(1));
  EXPECT_EQ(free.removals[0].id, kFirst);
  ASSERT_THAT(free.creations, SizeIs(1));
  EXPECT_TRUE(free.creations[0].later);

  PlanRules rules = kRules;
  rules.wished_elsewhere = [](const KnownListener& there) { return there.id == kFirst; };
  const Plan held = plan_one(wish(spec), known, rules);
  EXPECT_TRUE(held.empty());
  EXPECT_EQ(held.findings[0].verdict, Verdict::held);
}

TEST(Plan, WithoutAPrefixNoLeftoverIsOurs) {
  PlanRules rules = kRules;
  rules.name_prefix = {};
  const ListenerSpec spec = listener("berth-new", 80);
  const Plan out = plan_one(wish(spec), inventory({there("l1", listener("berth-old", 80))}), rules);
  EXPECT_EQ(out.findings[0].verdict, Verdict::foreign);
}

TEST(Plan, OfTwoWishesForOnePortTheEarlierIsServed) {
  const ListenerSpec a = listener("berth-a", 80);
  const ListenerSpec b = listener("berth-b", 80);
  const Desired wishes[] = {wish(a), wish(b)};
  const Plan out = plan(wishes, {}, kRules);
  ASSERT_THAT(out.creations, SizeIs(1));
  EXPECT_EQ(out.creations[0].wish, 0u);
  EXPECT_EQ(out.findings[1].verdict, Verdict::held);
}

TEST(Plan, APortThatIsGivenUpAndWantedInOnePlanIsHandedOver) {
  const ListenerSpec b = listener("berth-b", 80);
  const Desired wishes[] = {wish(b), farewell("berth-a", kFirst)};
  const Plan out = plan(wishes, inventory({there("l1", listener("berth-a", 80))}), kRules);
  EXPECT_THAT(out.removals, SizeIs(1));
  ASSERT_THAT(out.creations, SizeIs(1));
  EXPECT_TRUE(out.creations[0].later);
}

TEST(Plan, RangesAreInTheWayOfEachOther) {
  ListenerSpec theirs = listener("theirs", 70);
  theirs.ports = {70, 90};
  const ListenerSpec spec = listener("berth-80", 80);
  EXPECT_EQ(plan_one(wish(spec), inventory({there("l1", theirs)})).findings[0].verdict,
            Verdict::foreign);
  ListenerSpec range = listener("berth-r", 60);
  range.ports = {60, 70};
  EXPECT_EQ(plan_one(wish(range), inventory({there("l1", theirs)})).findings[0].verdict,
            Verdict::foreign);
}

TEST(Plan, ARangeIsUnsupportedWhereTheProviderHasNone) {
  PlanRules rules = kRules;
  rules.limits.has_ranges = false;
  ListenerSpec range = listener("berth-r", 60);
  range.ports = {60, 70};
  const Plan out = plan_one(wish(range), {}, rules);
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(out.findings[0].verdict, Verdict::unsupported);
}

TEST(Plan, ProtocolsShareAPortUnlessTheProviderForbids) {
  const ListenerSpec udp = listener("berth-u", 80, {}, Protocol::udp);
  const Inventory known = inventory({there("l1", listener("theirs", 80))});
  EXPECT_THAT(plan_one(wish(udp), known).creations, SizeIs(1));
  PlanRules rules = kRules;
  rules.limits.has_both_protocols = false;
  EXPECT_EQ(plan_one(wish(udp), known, rules).findings[0].verdict, Verdict::foreign);
}

TEST(Plan, AttributesLeftToTheProviderAgreeWithWhatItReports) {
  const ListenerSpec spec = listener("berth-80", 80);
  ListenerSpec reported = spec;
  reported.rules[0].attributes.health_check = model::HealthCheck{.timeout_seconds = 2};
  reported.attributes.max_rate = 100;
  Inventory known = inventory({there("l1", reported)});
  EXPECT_TRUE(plan_one(wish(spec), known).empty());

  // A value of ours that is wished no more goes back to the default, and a report does not undo
  // that.
  known.change(ListenerChange{kFirst, reported.attributes});
  known.change(RuleChange{{kFirst, {}}, reported.rules[0].attributes});
  EXPECT_THAT(plan_one(wish(spec), known).listeners, SizeIs(1));
  EXPECT_THAT(plan_one(wish(spec), known).rules, SizeIs(1));
  known.change(ListenerChange{kFirst, spec.attributes});
  known.change(RuleChange{{kFirst, {}}, spec.rules[0].attributes});
  known.replace({there("l1", reported)});
  EXPECT_TRUE(plan_one(wish(spec), known).empty());
}

// Layer 7.

Rule rule(std::string domain, std::string path, std::vector<WeightedTarget> targets = {}) {
  return {.key = {std::move(domain), std::move(path)}, .targets = std::move(targets)};
}

ListenerSpec web(std::string name, std::vector<Rule> rules, Protocol protocol = Protocol::http) {
  return {
      .protocol = protocol, .ports = {80, 80}, .name = std::move(name), .rules = std::move(rules)};
}

TEST(Plan, RulesOfANewListenerComeAfterItAndTheirTargetsAfterThem) {
  const ListenerSpec spec = web("berth-w", {rule("a.com", "/", {target(1)}), rule("b.com", "/")});
  const Plan out = plan_one(wish(spec), {});
  EXPECT_THAT(out.creations, SizeIs(1));
  ASSERT_THAT(out.rule_creations, SizeIs(2));
  EXPECT_TRUE(out.rule_creations[0].later && out.rule_creations[1].later);
  ASSERT_THAT(out.targets, SizeIs(1));
  EXPECT_TRUE(out.targets[0].later);
  EXPECT_EQ(out.targets[0].change.rule.key, (RuleKey{"a.com", "/"}));
}

TEST(Plan, OnlyRulesThatDifferAreTouched) {
  Rule changed = rule("c.com", "/", {target(3)});
  changed.attributes.session_seconds = 60;
  const ListenerSpec spec =
      web("berth-w", {rule("a.com", "/", {target(1)}), rule("b.com", "/", {target(2)}), changed});
  const Plan out =
      plan_one(wish(spec), inventory({there("l1", web("berth-w", {rule("a.com", "/", {target(1)}),
                                                                  rule("c.com", "/", {target(3)}),
                                                                  rule("d.com", "/")}))}));
  EXPECT_THAT(out.creations, IsEmpty());
  ASSERT_THAT(out.rule_creations, SizeIs(1));
  EXPECT_FALSE(out.rule_creations[0].later);
  EXPECT_EQ(out.rule_creations[0].rule.rule, (RuleRef{kFirst, {"b.com", "/"}}));
  ASSERT_THAT(out.rule_removals, SizeIs(1));
  EXPECT_EQ(out.rule_removals[0].rule, (RuleRef{kFirst, {"d.com", "/"}}));
  ASSERT_THAT(out.rules, SizeIs(1));
  EXPECT_EQ(out.rules[0].change.rule, (RuleRef{kFirst, {"c.com", "/"}}));
  ASSERT_THAT(out.targets, SizeIs(1));
  EXPECT_EQ(out.targets[0].change.rule.key, (RuleKey{"b.com", "/"}));
  EXPECT_TRUE(out.targets[0].later);
}

TEST(Plan, ATransportOfAPortIsTakenWhateverIsSpokenThere) {
  const Inventory known = inventory({there("l1", listener("theirs", 80))});
  for (const Protocol protocol :
       {Protocol::http, Protocol::https, Protocol::tls, Protocol::tcp_udp}) {
    const ListenerSpec spec = web("berth-w", {}, protocol);
    EXPECT_EQ(plan_one(wish(spec), known).findings[0].verdict, Verdict::foreign)
        << model::to_string(protocol);
  }
  const ListenerSpec quic = listener("berth-q", 80, {}, Protocol::quic);
  EXPECT_THAT(plan_one(wish(quic), known).creations, SizeIs(1));
  const ListenerSpec udp = listener("berth-u", 80, {}, Protocol::udp);
  const Inventory both = inventory({there("l1", listener("theirs", 80, {}, Protocol::tcp_udp))});
  EXPECT_EQ(plan_one(wish(udp), both).findings[0].verdict, Verdict::foreign);
  const Desired wishes[] = {wish(quic), wish(udp)};
  EXPECT_EQ(plan(wishes, {}, kRules).findings[1].verdict, Verdict::held);
}

TEST(Plan, WhatTheProviderDoesNotSpeakIsUnsupported) {
  PlanRules rules = kRules;
  rules.limits.protocols = {Protocol::tcp, Protocol::udp};
  const ListenerSpec spec = web("berth-w", {});
  const Plan out = plan_one(wish(spec), {}, rules);
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(out.findings[0].verdict, Verdict::unsupported);
  EXPECT_EQ(out.findings[0].holder, "HTTP");
}

TEST(Plan, AnotherProtocolOnThePortIsANewListener) {
  const ListenerSpec spec = web("berth-w", {rule("a.com", "/")}, Protocol::https);
  const Plan out =
      plan_one(wish(spec, kFirst), inventory({there("l1", web("berth-w", {rule("a.com", "/")}))}));
  EXPECT_THAT(out.removals, SizeIs(1));
  ASSERT_THAT(out.creations, SizeIs(1));
  EXPECT_TRUE(out.creations[0].later);
}

// It gives up a transport, and is not in its own way; when it goes, all of it goes.
TEST(Plan, AListenerOfFewerTransportsTakesThePlaceOfItsOwn) {
  const Inventory known = inventory({there("l1", listener("berth-g", 443, {}, Protocol::tcp_udp))});
  for (const Protocol protocol : {Protocol::tcp, Protocol::udp}) {
    const ListenerSpec spec = listener("berth-g", 443, {}, protocol);
    const Plan out = plan_one(wish(spec, kFirst, {443, 443}), known);
    EXPECT_THAT(out.removals, SizeIs(1)) << model::to_string(protocol);
    EXPECT_THAT(out.creations, SizeIs(1)) << model::to_string(protocol);
  }
  EXPECT_THAT(plan_one(farewell("berth-g", kFirst, {443, 443}), known).removals, SizeIs(1));
  EXPECT_THAT(plan_one(farewell("berth-other", kFirst, {443, 443}), known).removals, IsEmpty());
}

TEST(Plan, WhatCannotBeChangedIsMadeAnew) {
  PlanRules rules = kRules;
  rules.can_change = [](const auto&, const auto&) { return false; };
  rules.can_change_rule = [](const auto&, const auto&) { return false; };
  // The wish itself is among all that are looked through.
  rules.wished_elsewhere = [](const KnownListener&) { return true; };
  ListenerSpec spec = web("berth-w", {rule("a.com", "/", {target(1)}), rule("b.com", "/")});
  const Inventory known = inventory({there("l1", spec)});
  EXPECT_TRUE(plan_one(wish(spec), known, rules).empty());

  spec.rules[0].attributes.session_seconds = 60;
  const Plan of_rule = plan_one(wish(spec), known, rules);
  EXPECT_THAT(of_rule.removals, IsEmpty());
  EXPECT_THAT(of_rule.rule_removals, SizeIs(1));
  ASSERT_THAT(of_rule.rule_creations, SizeIs(1));
  EXPECT_TRUE(of_rule.rule_creations[0].later);
  ASSERT_THAT(of_rule.targets, SizeIs(1));
  EXPECT_TRUE(of_rule.targets[0].later);

  spec.attributes.keep_alive = true;
  const Plan of_all = plan_one(wish(spec), known, rules);
  EXPECT_THAT(of_all.removals, SizeIs(1));
  EXPECT_THAT(of_all.creations, SizeIs(1));
  EXPECT_THAT(of_all.rule_creations, SizeIs(2));

  // The rule of layer 4 comes and goes with its listener.
  ListenerSpec plain = listener("berth-80", 80, {target(1)});
  const Inventory with_plain = inventory({there("l1", plain)});
  plain.rules[0].attributes.session_seconds = 60;
  const Plan of_plain = plan_one(wish(plain), with_plain, rules);
  EXPECT_THAT(of_plain.removals, SizeIs(1));
  EXPECT_THAT(of_plain.creations, SizeIs(1));
  EXPECT_THAT(of_plain.rule_removals, IsEmpty());
  // But nothing outside of the owner's ports is.
  EXPECT_THAT(plan_one(wish(plain, kFirst, {90, 99}), with_plain, rules).removals, IsEmpty());
}

TEST(Plan, ACertificateIsWhatItsReferenceNames) {
  ListenerSpec spec = web("berth-w", {}, Protocol::https);
  spec.attributes.tls = model::Tls{.certificates = {{"games/web"}}};
  ListenerSpec reported = spec;
  EXPECT_TRUE(plan_one(wish(spec), inventory({there("l1", reported)})).empty());
  reported.attributes.tls->certificates[0].reference = "games/former";
  EXPECT_THAT(plan_one(wish(spec), inventory({there("l1", reported)})).listeners, SizeIs(1));
}

TEST(Plan, ALargeChangeIsCutWithItsAdditionsFirst) {
  Plan large;
  TargetStep step{.wish = 0, .change = {.rule = {kFirst, {}}}};
  for (int i = 0; i < 5; ++i) step.change.add.push_back(target(i));
  for (int i = 5; i < 10; ++i) step.change.remove.push_back(target(i).target);
  large.targets = {step, {.wish = 1, .change = {{ListenerId("l2"), {}}, {target(1)}, {}}}};
  const Batches out = cut(large, {.target_batch = 4});
  ASSERT_THAT(out.targets, SizeIs(3));
  EXPECT_THAT(out.targets[0], SizeIs(1));
  EXPECT_THAT(out.targets[0][0].change.add, SizeIs(4));
  EXPECT_THAT(out.targets[1][0].change.add, SizeIs(1));
  EXPECT_THAT(out.targets[1][0].change.remove, SizeIs(3));
  EXPECT_THAT(out.targets[2], SizeIs(2));
}

TEST(Inventory, FindsByIdNameAndPort) {
  Inventory known = inventory({there("l1", listener("a", 80)), there("l2", listener("b", 81))});
  EXPECT_EQ(known.by_id(kFirst)->spec.name, "a");
  EXPECT_THAT(known.by_name("b"), SizeIs(1));
  EXPECT_THAT(known.overlapping(Transport::tcp, {70, 80}), SizeIs(1));
  EXPECT_THAT(known.overlapping(Transport::udp, {1, 65535}), IsEmpty());
  known.put({.id = kFirst, .spec = listener("c", 90)});
  EXPECT_THAT(known.by_name("a"), IsEmpty());
  EXPECT_THAT(known.overlapping(Transport::tcp, {80, 80}), IsEmpty());
  known.erase(kFirst);
  EXPECT_THAT(known.overlapping(Transport::tcp, {90, 90}), IsEmpty());
  EXPECT_EQ(known.size(), 1u);
}

}  // namespace
}  // namespace berth::lb
