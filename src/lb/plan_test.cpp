#include "lb/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::lb {
namespace {

using model::ListenerSpec;
using model::Transport;
using model::WeightedTarget;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

WeightedTarget target(int n, std::uint32_t weight = 10) {
  return {{fmt::format("10.0.0.{}", n), 80}, weight};
}

ListenerSpec listener(std::string name, model::Port first, std::vector<WeightedTarget> targets = {},
                      Transport protocol = Transport::tcp) {
  return {.protocol = protocol,
          .ports = {first, first},
          .name = std::move(name),
          .targets = std::move(targets)};
}

constexpr model::PortRange kAll{1, 65535};

// Of an owner that has these ports: all of them unless it is said.
Desired wish(const ListenerSpec& spec, std::string_view id = {}, model::PortRange own = kAll) {
  return {.spec = &spec, .name = spec.name, .known_id = id, .protocol = spec.protocol, .own = own};
}
Desired farewell(std::string_view name, std::string_view id, model::PortRange own = kAll) {
  return {.spec = nullptr, .name = name, .known_id = id, .own = own};
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
  const Plan out = plan_one(wish(spec), inventory({{"l1", spec}}));
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(out.findings[0].verdict, Verdict::as_wished);
  EXPECT_EQ(out.findings[0].listener_id, "l1");
}

TEST(Plan, ANewListenerIsCreatedAndThenGetsItsTargets) {
  const ListenerSpec spec = listener("berth-80", 80, {target(1)});
  const Plan out = plan_one(wish(spec), {});
  ASSERT_THAT(out.creations, SizeIs(1));
  EXPECT_FALSE(out.creations[0].after_removal);
  ASSERT_THAT(out.targets, SizeIs(1));
  EXPECT_THAT(out.targets[0].change.listener_id, IsEmpty());
  EXPECT_THAT(out.targets[0].change.add, ElementsAre(target(1)));
}

TEST(Plan, OnlyTargetsThatDifferAreChanged) {
  const ListenerSpec spec = listener("berth-80", 80, {target(1), target(2, 50), target(4)});
  const Plan out = plan_one(
      wish(spec), inventory({{"l1", listener("berth-80", 80, {target(1), target(2), target(3)})}}));
  ASSERT_THAT(out.targets, SizeIs(1));
  EXPECT_THAT(out.targets[0].change.add, ElementsAre(target(2, 50), target(4)));
  EXPECT_THAT(out.targets[0].change.remove, ElementsAre(target(3).target));
}

TEST(Plan, AForeignListenerOnThePortIsReportedAndLeftAlone) {
  const ListenerSpec spec = listener("berth-80", 80);
  const Plan out = plan_one(wish(spec), inventory({{"l1", listener("theirs", 80)}}));
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(out.findings[0].verdict, Verdict::foreign);
  EXPECT_THAT(out.findings[0].holder, testing::HasSubstr("theirs"));
}

// An id comes from an object's status, which people can write.
TEST(Plan, AKnownIdMakesNoForeignListenerOurs) {
  const ListenerSpec spec = listener("berth-80", 80, {target(1)});
  const Inventory known = inventory({{"l1", listener("theirs", 80)}});
  const Plan out = plan_one(wish(spec, "l1"), known);
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(out.findings[0].verdict, Verdict::foreign);
  EXPECT_TRUE(plan_one(farewell("berth-80", "l1"), known).empty());
}

TEST(Plan, NothingIsRemovedOutsideOfTheOwnersPorts) {
  const Inventory known = inventory({{"l1", listener("berth-victim", 80, {target(1)})}});
  // By its id, and by its name.
  for (const Desired& attack :
       {farewell("berth-mine", "l1", {90, 99}), farewell("berth-victim", "", {90, 99})}) {
    const Plan out = plan_one(attack, known);
    EXPECT_TRUE(out.empty());
    EXPECT_EQ(out.findings[0].verdict, Verdict::as_wished);
  }
  const ListenerSpec moved = listener("berth-victim", 90);
  const Plan out = plan_one(wish(moved, "l1", {90, 99}), known);
  EXPECT_THAT(out.removals, IsEmpty());
  EXPECT_THAT(out.creations, SizeIs(1));
}

TEST(Plan, NothingIsRemovedThatReachesBeyondTheOwnersPorts) {
  ListenerSpec wide = listener("berth-old", 80);
  wide.ports.last = 95;
  const ListenerSpec spec = listener("berth-new", 90);
  const Plan out = plan_one(wish(spec, "", {90, 99}), inventory({{"l1", wide}}));
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(out.findings[0].verdict, Verdict::held);
}

TEST(Plan, NothingIsRemovedThatAnotherWishWants) {
  PlanRules rules = kRules;
  rules.wished_elsewhere = [](const KnownListener& there) { return there.id == "l1"; };
  const Plan out =
      plan_one(farewell("berth-80", "l1"), inventory({{"l1", listener("berth-80", 80)}}), rules);
  EXPECT_TRUE(out.empty());
}

TEST(Plan, RemovalOfWhatIsNotThereIsDone) {
  const Plan out =
      plan_one(farewell("berth-80", "l1"), inventory({{"l2", listener("theirs", 80)}}));
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(out.findings[0].verdict, Verdict::as_wished);
}

TEST(Plan, AListenerThatMovesIsRemovedAndCreated) {
  const ListenerSpec spec = listener("berth-a", 81);
  const Plan out = plan_one(wish(spec, "l1"), inventory({{"l1", listener("berth-a", 80)}}));
  ASSERT_THAT(out.removals, SizeIs(1));
  EXPECT_EQ(out.removals[0].id, "l1");
  EXPECT_THAT(out.creations, SizeIs(1));
}

TEST(Plan, ALeftoverOfOursMakesRoomOnlyWhenNobodyWishesIt) {
  const ListenerSpec spec = listener("berth-new", 80);
  const Inventory known = inventory({{"l1", listener("berth-old", 80)}});
  const Plan free = plan_one(wish(spec), known);
  ASSERT_THAT(free.removals, SizeIs(1));
  EXPECT_EQ(free.removals[0].id, "l1");
  ASSERT_THAT(free.creations, SizeIs(1));
  EXPECT_TRUE(free.creations[0].after_removal);

  PlanRules rules = kRules;
  rules.wished_elsewhere = [](const KnownListener& there) { return there.id == "l1"; };
  const Plan held = plan_one(wish(spec), known, rules);
  EXPECT_TRUE(held.empty());
  EXPECT_EQ(held.findings[0].verdict, Verdict::held);
}

TEST(Plan, WithoutAPrefixNoLeftoverIsOurs) {
  PlanRules rules = kRules;
  rules.name_prefix = {};
  const ListenerSpec spec = listener("berth-new", 80);
  const Plan out = plan_one(wish(spec), inventory({{"l1", listener("berth-old", 80)}}), rules);
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
  const Desired wishes[] = {wish(b), farewell("berth-a", "l1")};
  const Plan out = plan(wishes, inventory({{"l1", listener("berth-a", 80)}}), kRules);
  EXPECT_THAT(out.removals, SizeIs(1));
  ASSERT_THAT(out.creations, SizeIs(1));
  EXPECT_TRUE(out.creations[0].after_removal);
}

TEST(Plan, RangesAreInTheWayOfEachOther) {
  ListenerSpec theirs = listener("theirs", 70);
  theirs.ports = {70, 90};
  const ListenerSpec spec = listener("berth-80", 80);
  EXPECT_EQ(plan_one(wish(spec), inventory({{"l1", theirs}})).findings[0].verdict,
            Verdict::foreign);
  ListenerSpec range = listener("berth-r", 60);
  range.ports = {60, 70};
  EXPECT_EQ(plan_one(wish(range), inventory({{"l1", theirs}})).findings[0].verdict,
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
  const ListenerSpec udp = listener("berth-u", 80, {}, Transport::udp);
  const Inventory known = inventory({{"l1", listener("theirs", 80)}});
  EXPECT_THAT(plan_one(wish(udp), known).creations, SizeIs(1));
  PlanRules rules = kRules;
  rules.limits.has_both_protocols = false;
  EXPECT_EQ(plan_one(wish(udp), known, rules).findings[0].verdict, Verdict::foreign);
}

TEST(Plan, AttributesLeftToTheProviderAgreeWithWhatItReports) {
  const ListenerSpec spec = listener("berth-80", 80);
  ListenerSpec reported = spec;
  reported.attributes.health_check = model::HealthCheck{.timeout_seconds = 2};
  Inventory known = inventory({{"l1", reported}});
  EXPECT_TRUE(plan_one(wish(spec), known).empty());

  // A value of ours that is wished no more goes back to the default, and a report does not undo
  // that.
  known.change(AttributeChange{"l1", reported.attributes});
  EXPECT_THAT(plan_one(wish(spec), known).attributes, SizeIs(1));
  known.change(AttributeChange{"l1", spec.attributes});
  known.replace({{"l1", reported}});
  EXPECT_TRUE(plan_one(wish(spec), known).empty());
}

TEST(Plan, ALargeChangeIsCutWithItsAdditionsFirst) {
  Plan large;
  TargetStep step{.wish = 0, .change = {.listener_id = "l1"}};
  for (int i = 0; i < 5; ++i) step.change.add.push_back(target(i));
  for (int i = 5; i < 10; ++i) step.change.remove.push_back(target(i).target);
  large.targets = {step, {.wish = 1, .change = {"l2", {target(1)}, {}}}};
  const Batches out = cut(large, {.target_batch = 4});
  ASSERT_THAT(out.targets, SizeIs(3));
  EXPECT_THAT(out.targets[0], SizeIs(1));
  EXPECT_THAT(out.targets[0][0].change.add, SizeIs(4));
  EXPECT_THAT(out.targets[1][0].change.add, SizeIs(1));
  EXPECT_THAT(out.targets[1][0].change.remove, SizeIs(3));
  EXPECT_THAT(out.targets[2], SizeIs(2));
}

TEST(Inventory, FindsByIdNameAndPort) {
  Inventory known = inventory({{"l1", listener("a", 80)}, {"l2", listener("b", 81)}});
  EXPECT_EQ(known.by_id("l1")->spec.name, "a");
  EXPECT_THAT(known.by_name("b"), SizeIs(1));
  EXPECT_THAT(known.overlapping(Transport::tcp, {70, 80}), SizeIs(1));
  EXPECT_THAT(known.overlapping(Transport::udp, {1, 65535}), IsEmpty());
  known.put({.id = "l1", .spec = listener("c", 90)});
  EXPECT_THAT(known.by_name("a"), IsEmpty());
  EXPECT_THAT(known.overlapping(Transport::tcp, {80, 80}), IsEmpty());
  known.erase("l1");
  EXPECT_THAT(known.overlapping(Transport::tcp, {90, 90}), IsEmpty());
  EXPECT_EQ(known.size(), 1u);
}

}  // namespace
}  // namespace berth::lb
