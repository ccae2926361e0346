// Things that were begun and not finished: what the inventory knows of them, what the planner does.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lb/plan.h"

namespace berth::lb {
namespace {

using model::ListenerId;
using model::ListenerSpec;
using model::Protocol;
using model::RuleKey;
using model::Transport;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr model::PortRange kAll{1, 65535};
const ListenerId kNoId;
const ListenerId kHalf("tg-1");
const RuleKey kLobby{"example.com", "/lobby"};

ListenerSpec tcp(std::string name, model::Port port) {
  return model::plain_listener(Protocol::tcp, {port, port}, std::move(name));
}

ListenerSpec http(std::string name, model::Port port, std::vector<RuleKey> keys) {
  ListenerSpec out{.protocol = Protocol::http, .ports = {port, port}, .name = std::move(name)};
  for (RuleKey& key : keys) out.rules.push_back({.key = std::move(key)});
  return out;
}

ObservedListener whole(std::string id, ListenerSpec spec) {
  return {ListenerId(std::move(id)), std::move(spec)};
}
ObservedListener half(std::string id, ListenerSpec spec) {
  return {ListenerId(std::move(id)), std::move(spec), true};
}

Inventory inventory(std::vector<ObservedListener> listeners) {
  Inventory out;
  out.replace(std::move(listeners));
  return out;
}

Desired wish(const ListenerSpec& spec, const ListenerId& id = kNoId, model::PortRange own = kAll) {
  return {.spec = &spec, .name = spec.name, .known_id = &id, .protocol = spec.protocol, .own = own};
}
Desired farewell(std::string_view name, const ListenerId& id = kNoId, model::PortRange own = kAll) {
  return {.spec = nullptr, .name = name, .known_id = &id, .own = own};
}

const PlanRules kRules{.limits = {}, .name_prefix = "berth-", .wished_elsewhere = {}};

Plan plan_one(const Desired& desired, const Inventory& known, const PlanRules& rules = kRules) {
  return plan({&desired, 1}, known, rules);
}

std::vector<ListenerId> removed_by(const Plan& plan) {
  std::vector<ListenerId> out;
  for (const Removal& step : plan.removals) out.push_back(step.id);
  return out;
}

TEST(HalfMade, IsFoundByIdAndNameButTakesNoPort) {
  const Inventory known = inventory({half("tg-1", tcp("berth-80", 80))});
  EXPECT_TRUE(known.has_half_made());
  ASSERT_NE(known.by_id(kHalf), nullptr);
  EXPECT_TRUE(known.by_id(kHalf)->half_made);
  EXPECT_THAT(known.by_name("berth-80"), SizeIs(1));
  EXPECT_THAT(known.half_made("berth-80"), SizeIs(1));
  EXPECT_THAT(known.overlapping(Transport::tcp, {80, 80}), IsEmpty());
}

TEST(HalfMade, BesideAListenerOnThePortHidesNoneOfThem) {
  Inventory known = inventory({half("tg-1", tcp("berth-80", 80)), whole("l1", tcp("berth-x", 80)),
                               half("tg-2", tcp("berth-y", 80))});
  ASSERT_THAT(known.overlapping(Transport::tcp, {80, 80}), SizeIs(1));
  known.erase(kHalf);
  known.erase(ListenerId("tg-2"));
  EXPECT_FALSE(known.has_half_made());
  ASSERT_THAT(known.overlapping(Transport::tcp, {80, 80}), SizeIs(1));
  EXPECT_EQ(known.overlapping(Transport::tcp, {80, 80})[0]->id, ListenerId("l1"));
}

TEST(HalfMade, IsGoneWithTheCreationOfItsListenerOrRule) {
  Inventory known =
      inventory({half("tg-1", tcp("berth-80", 80)), half("tg-2", http("berth-80", 80, {kLobby})),
                 half("tg-3", tcp("berth-81", 81))});
  known.put(newly_made(ListenerId("l1"), http("berth-80", 80, {})));
  EXPECT_EQ(known.by_id(kHalf), nullptr);
  EXPECT_NE(known.by_id(ListenerId("tg-2")), nullptr) << "its rule is not made yet";
  known.put(NewRule{{ListenerId("l1"), kLobby}, {}});
  EXPECT_EQ(known.by_id(ListenerId("tg-2")), nullptr);
  EXPECT_NE(known.by_id(ListenerId("tg-3")), nullptr);
}

TEST(HalfMade, IsFinishedByACreationWithItsRules) {
  const ListenerSpec spec = tcp("berth-80", 80);
  const Plan out = plan_one(wish(spec), inventory({half("tg-1", spec)}));
  ASSERT_THAT(out.creations, SizeIs(1));
  EXPECT_FALSE(out.creations[0].later);
  EXPECT_THAT(out.removals, IsEmpty());
  EXPECT_EQ(out.findings[0].verdict, Verdict::change);
  EXPECT_TRUE(out.findings[0].listener_id.empty());
}

// Its id may be what an object's status says.
TEST(HalfMade, IsNoWishsListenerByItsIdEither) {
  const ListenerSpec spec = tcp("berth-80", 80);
  const Plan out = plan_one(wish(spec, kHalf), inventory({half("tg-1", spec)}));
  EXPECT_THAT(out.creations, SizeIs(1));
  EXPECT_TRUE(out.findings[0].listener_id.empty());
}

TEST(HalfMade, RuleIsFinishedByACreationOfTheRule) {
  const ListenerSpec spec = http("berth-80", 80, {kLobby});
  const Plan out =
      plan_one(wish(spec), inventory({whole("l1", http("berth-80", 80, {})), half("tg-1", spec)}));
  EXPECT_THAT(out.creations, IsEmpty());
  EXPECT_THAT(out.removals, IsEmpty());
  ASSERT_THAT(out.rule_creations, SizeIs(1));
  EXPECT_EQ(out.rule_creations[0].rule.rule, (RuleRef{ListenerId("l1"), kLobby}));
}

TEST(HalfMade, IsInNobodysWay) {
  const ListenerSpec spec = tcp("berth-80", 80);
  for (const char* name : {"theirs", "berth-other"}) {
    const Plan out = plan_one(wish(spec), inventory({half("tg-1", tcp(name, 80))}));
    ASSERT_THAT(out.creations, SizeIs(1));
    EXPECT_FALSE(out.creations[0].later);
    EXPECT_THAT(out.removals, IsEmpty()) << "it is another's";
  }
}

TEST(HalfMade, IsRemovedWhenItsListenerShallNotExist) {
  const Inventory known =
      inventory({whole("l1", http("berth-80", 80, {kLobby})),
                 half("tg-1", http("berth-80", 80, {kLobby})), half("tg-2", tcp("berth-80", 80))});
  EXPECT_THAT(removed_by(plan_one(farewell("berth-80"), known)),
              testing::UnorderedElementsAre(ListenerId("l1"), kHalf, ListenerId("tg-2")));
}

TEST(HalfMade, IsRemovedWhenTheWishIsMetWithoutIt) {
  const ListenerSpec spec = tcp("berth-80", 80);
  const Plan out =
      plan_one(wish(spec), inventory({whole("l1", spec), half("tg-1", tcp("berth-80", 80))}));
  EXPECT_THAT(removed_by(out), ElementsAre(kHalf));
  EXPECT_EQ(out.findings[0].verdict, Verdict::change);
  EXPECT_EQ(out.findings[0].listener_id, ListenerId("l1"));
}

TEST(HalfMade, RuleThatNobodyWishesIsRemoved) {
  const ListenerSpec spec = http("berth-80", 80, {});
  const Plan out = plan_one(
      wish(spec), inventory({whole("l1", spec), half("tg-1", http("berth-80", 80, {kLobby}))}));
  EXPECT_THAT(removed_by(out), ElementsAre(kHalf));
}

// What is wished may still need it, and traffic does not wait for what does not matter.
TEST(HalfMade, StaysWhileSomethingElseIsToBeDone) {
  ListenerSpec spec = tcp("berth-80", 80);
  const Inventory known = inventory({whole("l1", spec), half("tg-1", spec)});
  spec.rules[0].targets = {{{"10.0.0.1", 80}, 10}};
  const Plan out = plan_one(wish(spec), known);
  EXPECT_THAT(out.targets, SizeIs(1));
  EXPECT_THAT(out.removals, IsEmpty());
}

TEST(HalfMade, OfOthersIsNotTouched) {
  const ListenerSpec spec = tcp("berth-80", 80);
  const Inventory known = inventory({half("tg-1", tcp("theirs", 80))});
  EXPECT_TRUE(plan_one(farewell("theirs"), known).empty());
  EXPECT_TRUE(plan_one(farewell("berth-80", kHalf), known).empty());
}

// An id leads nowhere here: the name says whose it is.
TEST(HalfMade, OfAnotherNameIsNotTouched) {
  const Inventory known = inventory({half("tg-1", tcp("berth-victim", 80))});
  EXPECT_TRUE(plan_one(farewell("berth-mine", kHalf), known).empty());
}

TEST(HalfMade, OutsideOfTheOwnersPortsIsNotTouched) {
  const Inventory known = inventory({half("tg-1", tcp("berth-victim", 80))});
  EXPECT_TRUE(plan_one(farewell("berth-victim", kNoId, {90, 99}), known).empty());
}

TEST(HalfMade, ThatAnotherWishFinishesIsNotTouched) {
  const ListenerSpec spec = tcp("berth-80", 80);
  const Inventory known = inventory({half("tg-1", spec)});
  const std::vector<Desired> both{farewell("berth-80"), wish(spec)};
  const Plan out = plan(both, known, kRules);
  EXPECT_THAT(out.removals, IsEmpty());
  EXPECT_THAT(out.creations, SizeIs(1));
  PlanRules rules = kRules;
  rules.wished_elsewhere = [](const KnownListener&) { return true; };
  EXPECT_TRUE(plan_one(farewell("berth-80"), known, rules).empty());
}

// Whoever looks for somebody who wants it finds the wish itself.
TEST(HalfMade, IsRemovedAlthoughTheWishThatIsMetHasItsName) {
  const ListenerSpec spec = tcp("berth-80", 80);
  PlanRules rules = kRules;
  rules.wished_elsewhere = [](const KnownListener&) { return true; };
  const Plan out = plan_one(wish(spec), inventory({whole("l1", spec), half("tg-1", spec)}), rules);
  EXPECT_THAT(removed_by(out), ElementsAre(kHalf));
}

}  // namespace
}  // namespace berth::lb
