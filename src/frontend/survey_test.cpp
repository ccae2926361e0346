// What the kit sees of an owner that is no pool. (Slots: see controllers/portpool.)
#include "frontend/survey.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/keys.h"
#include "frontend/listener_object.h"
#include "frontend/test_support.h"

namespace berth::frontend {
namespace {

using claims::testing::put;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A Stage that wants TCP 443 of demo, to lead to one address.
class SurveyTest : public ::testing::Test {
 protected:
  SurveyTest() { claims::add_indexes(listeners_, {}); }

  static WantedListener wanted(const Owner& owner) {
    return {.name = "demo-443",
            .part = "front",
            .lb = {model::Provider::edge, "", "demo"},
            .spec = {.load_balancer_id = "edge:demo",
                     .port = 443,
                     .protocol = "TCP",
                     .target_group =
                         api::ListenerTargetGroup{.protocol = "TCP",
                                                  .backends = {{.ip = "10.0.0.1", .port = 80}}}},
            .labels = std::make_shared<const Labels>(
                Labels{{std::string(api::kOwnerKindKey), owner.type.kind},
                       {std::string(api::kOwnerNameKey), owner.key.name}})};
  }
  // As it was made for this owner.
  static api::Listener made(const Owner& owner) {
    const WantedListener want = wanted(owner);
    api::Listener out;
    out.meta = {.ns = kube::Interned(owner.listeners_ns), .name = want.name, .uid = "uid-of-it"};
    for (const auto& [key, value] : *want.labels) put(out.meta.labels, key, value);
    put(out.meta.annotations, claims::kItemAnnotation, want.part);
    out.meta.owners = {{.kind = kube::Interned(owner.type.kind),
                        .name = owner.key.name,
                        .uid = owner.uid,
                        .controller = true}};
    out.spec = want.spec;
    return claims::testing::sealed(std::move(out));
  }
  void have(api::Listener listener) {
    listener.meta.resource_version = ++version_;
    listeners_.put(std::move(listener));
  }
  Survey look() {
    parts_ = {{.name = "front", .listeners = {wanted(owner_)}}};
    return survey(owner_, parts_, {}, {listeners_, claims::testing::sealer(), {}});
  }

  // "edge.demo front" of each grant that goes.
  std::vector<std::string> released(
      const std::vector<std::shared_ptr<const api::LoadBalancer>>& balancers) {
    const Survey found = look();
    parts_.front().grants = {testing::grant_on("demo", owner_, {443, 443}, "front")};
    std::map<std::string, std::vector<ledger::Grant>> granted;
    for (const auto& balancer : balancers)
      granted[balancer->meta.name] = claims::list_of(*balancer);
    std::vector<std::string> out;
    for (const auto& [name, grants] : grants_to_release(owner_, parts_, found, granted))
      for (const ledger::Grant& grant : grants) out.push_back(name + " " + grant.item);
    return out;
  }

  Owner owner_ = testing::stage("main");
  std::vector<WantedPart> parts_;
  claims::ListenerStore listeners_;
  kube::ResourceVersion version_ = 0;
};

TEST_F(SurveyTest, WhatIsThereAsItIsWantedIsLeftAlone) {
  ASSERT_EQ(look().missing.size(), 1U);
  have(made(owner_));
  const Survey found = look();
  EXPECT_THAT(found.missing, IsEmpty());
  EXPECT_THAT(found.outdated, IsEmpty());
  EXPECT_THAT(found.leaving, IsEmpty());
  EXPECT_EQ(found.found.size(), 1U);
}

TEST_F(SurveyTest, WhereItLeadsFollowsItsOwner) {
  api::Listener elsewhere = made(owner_);
  elsewhere.spec.target_group->backends.front().ip = "10.0.0.9";
  have(elsewhere);
  const auto changes = changes_of(look().outdated, claims::testing::sealer());
  ASSERT_EQ(changes.size(), 1U);
  ASSERT_TRUE(changes.front().change.spec);
  EXPECT_EQ(changes.front().change.spec->target_group->backends.front().ip, "10.0.0.1");
}

TEST_F(SurveyTest, WhatIsNoSlotMayGoAtOnce) {
  have(made(owner_));
  parts_.clear();
  const Survey found = survey(owner_, {}, {}, {listeners_, claims::testing::sealer(), {}});
  ASSERT_EQ(found.leaving.at("front").size(), 1U);
  EXPECT_EQ(removable(found.leaving.at("front")).size(), 1U);
}

// Two owners of different kinds and one name.
TEST_F(SurveyTest, AnotherKindOfTheSameNameHasListenersOfItsOwn) {
  Owner arena = owner_;
  arena.type = testing::kArena;
  arena.uid = "uid-of-the-arena";
  have(made(arena));
  const Survey found = look();
  EXPECT_THAT(found.leaving, IsEmpty());
  EXPECT_THAT(found.reports.at("front").problem, HasSubstr("belongs to Arena main"));
}

TEST_F(SurveyTest, ListenersOfAClusterScopedOwnerLiveInOurNamespace) {
  kube::ObjectMeta meta{.name = "dome", .uid = "uid-of-dome"};
  owner_ = owner_of(testing::kArena, meta, "berth-system");
  EXPECT_EQ(owner_.listeners_ns, "berth-system");
  EXPECT_EQ(to_string(owner_), "Arena dome");
  EXPECT_EQ(identity_of(owner_, wanted(owner_)).ns, "berth-system");
  have(made(owner_));
  EXPECT_THAT(look().missing, IsEmpty());
  EXPECT_THAT(look().outdated, IsEmpty());
}

// Somebody took its labels and its owner off, and its ports are granted to us.
TEST_F(SurveyTest, WhatBelongsToItComesBack) {
  api::Listener bare = made(owner_);
  bare.meta.labels = {};
  bare.meta.owners = {};
  have(bare);
  const auto changes = changes_of(look().outdated, claims::testing::sealer());
  ASSERT_EQ(changes.size(), 1U);
  ASSERT_TRUE(changes.front().change.belonging);
  EXPECT_EQ(changes.front().change.belonging->labels.at(std::string(api::kOwnerNameKey)), "main");
  EXPECT_TRUE(changes.front().change.marks);
}

TEST_F(SurveyTest, GrantsOfPartsThatHaveNothingAreReleased) {
  auto balancer = std::make_shared<api::LoadBalancer>();
  balancer->meta.name = "edge.demo";
  balancer->spec.grants = {{.protocol = "TCP", .owner_uid = owner_.uid, .item = "front"},
                           {.protocol = "TCP", .owner_uid = owner_.uid, .item = "gone"},
                           {.protocol = "TCP", .owner_uid = "another", .item = "gone-too"}};
  EXPECT_THAT(released({balancer}), ElementsAre("edge.demo gone"));
}

// The part goes by its name still, and has its ports elsewhere.
TEST_F(SurveyTest, WhatAPartHadWhereItWantsNothingAnyMoreIsReleased) {
  const auto balancer = [this](const std::string& name, const std::string& protocol) {
    auto object = std::make_shared<api::LoadBalancer>();
    object->meta.name = name;
    object->spec.grants = {{.protocol = protocol, .owner_uid = owner_.uid, .item = "front"}};
    return object;
  };
  EXPECT_THAT(released({balancer("edge.demo", "TCP"), balancer("edge.west", "TCP")}),
              ElementsAre("edge.west front"));
  EXPECT_THAT(released({balancer("edge.demo", "UDP")}), ElementsAre("edge.demo front"));
}

}  // namespace
}  // namespace berth::frontend
