#include "frontend/grant_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "claims/grantor.h"
#include "frontend/contenders.h"
#include "frontend/test_support.h"

namespace berth::frontend {
namespace {

using testing::grant_on;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kNow;
using testing::stage;

// An owner that wants ten ports of east and of west, and what is granted there.
class GrantPlanTest : public ::testing::Test {
 protected:
  void grant(const std::string& lb, const std::string& uid, const std::string& item,
             std::uint16_t first = 30000, std::uint16_t last = 30009) {
    grants_[lb] = {
        {.ports = {first, last}, .owner = {"PortPool", "games", uid, uid}, .item = item}};
  }
  GrantPlan plan() const {
    const model::PortRange ports{30000, 30009};
    return plan_grants(
        owner_, {grant_on("east", owner_, ports, part_), grant_on("west", owner_, ports, part_)},
        {.grants_on = [this](const auto& lb, const auto&) { return at(grants_, lb.id); },
         .holdings_on = [this](const auto& lb, const auto&) { return at(holdings_, lb.id); },
         .rival_of = [this](const auto& owner,
                            const auto& wanted) { return contenders_.older_than(owner, wanted); }});
  }
  template <class T>
  static T at(const std::map<std::string, T>& map, const std::string& key) {
    const auto it = map.find(key);
    return it == map.end() ? T{} : it->second;
  }

  const Owner owner_ = stage("rooms");
  std::string part_ = "item1";
  std::map<std::string, std::vector<ledger::Grant>> grants_;
  std::map<std::string, std::vector<ledger::Holding>> holdings_;
  Contenders contenders_;
};

TEST_F(GrantPlanTest, TakesWhatIsFreeAndNotWhatItHas) {
  EXPECT_EQ(plan().steps.size(), 2u);
  grant("east", "uid-of-rooms", "item1");
  ASSERT_EQ(plan().steps.size(), 1u);
  EXPECT_EQ(plan().steps.front().wanted.lb.id, "west");
  grant("west", "uid-of-rooms", "item1");
  EXPECT_THAT(plan().steps, IsEmpty());
  EXPECT_FALSE(plan().refused);
}

TEST_F(GrantPlanTest, TakesNothingWhereItCannotHaveEverything) {
  grant("west", "somebody", "item1", 30009, 30009);
  EXPECT_THAT(plan().steps, IsEmpty()) << "east would be held for nothing";
  ASSERT_TRUE(plan().refused);
  EXPECT_THAT(plan().refused->to_string(), HasSubstr("edge:west: TCP ports 30009-30009 are granted "
                                                     "to PortPool games/somebody, item item1"));
}

// Whoever edited the object, or lost it: another owner's Listener lives there.
TEST_F(GrantPlanTest, WhatAnotherPoolsListenerHoldsIsRefusedThoughItWasGranted) {
  grant("east", "uid-of-rooms", "item1");
  grant("west", "uid-of-rooms", "item1");
  holdings_["west"] = {{.ports = {30003, 30003},
                        .owner = {"PortPool", "games", "others", "uid-of-others"},
                        .item = "item1",
                        .holder = "Listener games/west-tcp-30003"}};
  ASSERT_TRUE(plan().refused);
  EXPECT_THAT(plan().refused->to_string(),
              HasSubstr("edge:west: TCP ports 30003-30003 are held by Listener "
                        "games/west-tcp-30003 of PortPool games/others"));
}

TEST_F(GrantPlanTest, ARenamedItemHasNothingUntilTheOldOneIsGone) {
  grant("east", "uid-of-rooms", "item1");
  grant("west", "uid-of-rooms", "item1");
  part_ = "renamed";
  EXPECT_THAT(plan().steps, IsEmpty());
  ASSERT_TRUE(plan().refused);
  EXPECT_THAT(plan().refused->to_string(), HasSubstr("item item1"));
  grants_.clear();
  EXPECT_EQ(plan().steps.size(), 2u);
}

TEST_F(GrantPlanTest, AnItemThatGrowsKnowsWhatItHad) {
  grant("east", "uid-of-rooms", "item1", 30000, 30004);
  ASSERT_EQ(plan().steps.size(), 2u);
  ASSERT_EQ(plan().steps.front().before.size(), 1u);
  EXPECT_EQ(plan().steps.front().before.front().ports.last, 30004);
  EXPECT_THAT(plan().steps.back().before, IsEmpty());
}

TEST_F(GrantPlanTest, APartThatWantsLessGivesTheRestBackWhenNothingLivesThere) {
  grant("east", "uid-of-rooms", "item1", 29990, 30030);
  grant("west", "uid-of-rooms", "item1");
  const Owner older = stage("halls", kNow - std::chrono::hours{1});
  contenders_.put(older, {grant_on("east", older, {30005, 30006})});
  ASSERT_EQ(plan().steps.size(), 1u) << plan().waits_for << ": what it has is not another's";
  EXPECT_EQ(plan().steps.front().wanted.lb.id, "east");
  holdings_["east"] = {{.ports = {30020, 30020},
                        .owner = {"PortPool", "games", "rooms", "uid-of-rooms"},
                        .item = "item1",
                        .holder = "Listener games/east-tcp-30020"}};
  EXPECT_THAT(plan().steps, IsEmpty());
  EXPECT_FALSE(plan().refused);
}

TEST_F(GrantPlanTest, AnOlderOwnerGoesFirstOnEveryLoadBalancer) {
  const Owner older = stage("halls", kNow - std::chrono::hours{1});
  contenders_.put(older, {grant_on("west", older, {30005, 30006})});
  EXPECT_THAT(plan().steps, IsEmpty());
  EXPECT_THAT(plan().waits_for,
              HasSubstr("of edge:west are wanted by the older Stage games/halls"));
  // Once it has them, that is what is told.
  grant("west", "uid-of-halls", "item1", 30005, 30006);
  EXPECT_THAT(plan().waits_for, IsEmpty());
  ASSERT_TRUE(plan().refused);
  EXPECT_THAT(plan().refused->to_string(), HasSubstr("TCP ports 30005-30006 are granted to"));
}

// `lb-1` with one default region, and `ap-y:lb-1` with another.
TEST(SameAddress, IsNamedWithBothSpellings) {
  const auto balancer = [](std::string region, std::string owner, std::string since) {
    const model::LoadBalancerRef ref{model::Provider::edge, region, "lb-1"};
    auto object = std::make_shared<api::LoadBalancer>();
    object->meta.name = model::object_name(ref);
    object->spec = {.provider = "edge", .region = region, .load_balancer_id = "lb-1"};
    object->spec.grants = {{.protocol = "TCP",
                            .start_port = 30000,
                            .end_port = 30009,
                            .owner_kind = "PortPool",
                            .owner_namespace = "games",
                            .owner_name = owner,
                            .owner_uid = "uid-of-" + owner,
                            .item = "item1",
                            .since = std::move(since)}};
    object->status.vips = {"192.0.2.1"};
    return object;
  };
  const auto first = balancer("", "first", "2026-01-01T00:00:00.000000Z");
  const auto second = balancer("ap-y", "second", "2026-01-02T00:00:00.000000Z");
  const auto wanted_of = [](const api::LoadBalancer& object, const std::string& uid) {
    return WantedGrant{.lb = {model::Provider::edge, object.spec.region, "lb-1"},
                       .grant = {.ports = {30000, 30009}, .owner = {.uid = uid}, .item = "item1"}};
  };
  kube::ResourceVersion version = 0;
  const auto twin = [&](const WantedGrant& wanted) {
    claims::BalancerStore balancers;
    claims::BlockStore blocks;
    claims::add_indexes(balancers);
    claims::add_indexes(blocks);
    for (const auto& object : {first, second}) {
      object->meta.resource_version = ++version;
      balancers.put(*object);
    }
    return same_address(wanted, claims::GrantBook(balancers, blocks));
  };
  EXPECT_EQ(twin(wanted_of(*second, "uid-of-second")),
            "load balancers ap-y:lb-1 and lb-1 have one address, 192.0.2.1, where TCP ports "
            "30000-30009 are granted to PortPool games/first: write the same text for both");
  EXPECT_EQ(twin(wanted_of(*first, "uid-of-first")), "") << "who was there first is not disturbed";
  second->status.vips = {"192.0.2.2"};
  EXPECT_EQ(twin(wanted_of(*second, "uid-of-second")), "");
}

}  // namespace
}  // namespace berth::frontend
