#include "controllers/portpool/pool_survey.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/keys.h"
#include "api/pod_ports.h"
#include "claims/test_support.h"
#include "controllers/portpool/pod_index.h"

namespace berth::controllers::portpool {
namespace {

using claims::testing::applied;
using claims::testing::foreign_at;
using claims::testing::kRefsOf;
using claims::testing::leading_to;
using claims::testing::lock_at;
using claims::testing::peer_at;
using claims::testing::Place;
using claims::testing::pool_with;
using claims::testing::put;
using claims::testing::tcp_item;
using claims::testing::with_claim;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const ledger::Claim kClaim{
    .state = ledger::SlotState::bound, .token = "t", .ns = "games", .pod_name = "room-0"};

Place at(model::Port port, std::string item = "item1") {
  return {.item = std::move(item), .ports = {port, port}};
}

// A pool with two ports in `item1`, and what the cache has of its Listeners.
class PoolSurveyTest : public ::testing::Test {
 protected:
  PoolSurveyTest() {
    claims::add_indexes(listeners_, {});
    add_pod_indexes(pods_);
  }

  void have(api::Listener listener) {
    listener.meta.resource_version = ++version_;
    listeners_.put(std::move(listener));
  }
  // Both looks, and what they point to.
  struct PoolSurvey : frontend::Survey, SlotSurvey {
    std::shared_ptr<const PoolWants> wants{};
  };
  PoolSurvey survey(std::map<std::string, frontend::PartReport> reports = {}) const {
    PoolSurvey out;
    out.wants = std::make_shared<const PoolWants>(wants_of(pool_, kRefsOf, {}));
    static_cast<frontend::Survey&>(out) =
        frontend::survey(owner_of(pool_), out.wants->parts, std::move(reports),
                         {listeners_, claims::testing::sealer(), {}});
    static_cast<SlotSurvey&>(out) = survey_slots(out, listeners_, pods_, claims::testing::sealer());
    return out;
  }
  // Items whose grants go.
  std::vector<std::string> released(
      const PoolSurvey& found,
      const std::vector<std::shared_ptr<const api::LoadBalancer>>& balancers) const {
    std::map<std::string, std::vector<ledger::Grant>> granted;
    for (const auto& balancer : balancers)
      granted[balancer->meta.name] = claims::list_of(*balancer);
    std::vector<std::string> out;
    for (const auto& [name, grants] :
         frontend::grants_to_release(owner_of(pool_), found.wants->parts, found, granted))
      for (const ledger::Grant& grant : grants) out.push_back(grant.item);
    return out;
  }
  static std::vector<frontend::ChangedListener> changes(const PoolSurvey& found) {
    return changes_of(found, found, claims::testing::sealer());
  }
  // On east, with a peer on west.
  void use_two_load_balancers() {
    pool_.spec.pool_items.front().load_balancer_ids = {"edge:east", "edge:west"};
    pool_.spec.pool_items.front().end_port = 30001;
  }
  static api::Listener east() {
    api::Listener lock = lock_at({.lb = "east"});
    put(lock.meta.annotations, kPeersAnnotation, "west-tcp-30000");
    return claims::testing::sealed(lock);
  }
  static api::Listener west() {
    api::Listener peer = peer_at({.lb = "west"});
    put(peer.meta.annotations, kLockAnnotation, "east-tcp-30000");
    return claims::testing::sealed(peer);
  }
  std::vector<std::string> removable_names() const {
    return names(frontend::removable(
        listeners_.by_index(claims::kOwnerIndex, claims::pool_key(pool_.meta.key()))));
  }
  static std::vector<std::string> names(const std::vector<claims::ListenerPtr>& listeners) {
    std::vector<std::string> out;
    for (const claims::ListenerPtr& one : listeners) out.push_back(one->meta.name);
    std::ranges::sort(out);
    return out;
  }

  api::PortPool pool_ = pool_with({tcp_item("item1", 30000, 30002)});
  claims::ListenerStore listeners_;
  kube::Store<kube::Pod> pods_;
  kube::ResourceVersion version_ = 0;
};

TEST_F(PoolSurveyTest, WhatIsNotThereIsMissing) {
  have(lock_at(at(30001)));
  const PoolSurvey found = survey();
  ASSERT_EQ(found.missing.size(), 1u);
  EXPECT_EQ(found.missing.front()->name, "demo-tcp-30000");
  EXPECT_EQ(found.reports.at("item1").wanted, 2u);
  EXPECT_EQ(found.reports.at("item1").ready, 1u);
}

TEST_F(PoolSurveyTest, NothingIsMissedBeforeThePortsAreGranted) {
  EXPECT_THAT(survey({{"item1", {.problem = "granted to another"}}}).missing, IsEmpty());
  EXPECT_EQ(survey().missing.size(), 2u);
}

TEST_F(PoolSurveyTest, AnItemThatGrowsMissesOnlyItsNewPorts) {
  have(with_claim(lock_at(at(30000)), kClaim));
  have(lock_at(at(30001)));
  EXPECT_THAT(survey().missing, IsEmpty());
  pool_.spec.pool_items.front().end_port = 30003;
  ASSERT_EQ(survey().missing.size(), 1u);
  EXPECT_EQ(survey().missing.front()->name, "demo-tcp-30002");
}

TEST_F(PoolSurveyTest, AListenerIsReadyWhenTheLoadBalancerHasItInUseOrNot) {
  have(with_claim(applied(leading_to(lock_at(at(30000)), "10.0.0.1")), kClaim));
  api::Listener unmade = lock_at(at(30001));
  unmade.status.listener_id.clear();
  have(unmade);
  EXPECT_EQ(survey().reports.at("item1").ready, 1u);
  api::Listener removed = lock_at(at(30001));
  removed.meta.deleting = true;
  have(removed);
  EXPECT_EQ(survey().reports.at("item1").ready, 1u);
  EXPECT_THAT(survey().missing, IsEmpty()) << "its name is not free yet";
}

TEST_F(PoolSurveyTest, AListenerOfSomebodyElseIsNamedAndLeftAlone) {
  api::Listener foreign = applied(leading_to(lock_at(at(30000)), "10.0.0.1"));
  put(foreign.meta.labels, api::kOwnerKindKey, "Ingress");
  put(foreign.meta.labels, api::kOwnerNameKey, "web");
  foreign.meta.owners = {
      {.kind = kube::Interned("Ingress"), .name = "web", .uid = "uid-of-web", .controller = true}};
  have(claims::testing::sealed(foreign));
  const PoolSurvey found = survey();
  EXPECT_EQ(found.reports.at("item1").problem, "Listener demo-tcp-30000 belongs to Ingress web");
  EXPECT_THAT(found.strays, IsEmpty());
  EXPECT_THAT(found.outdated, IsEmpty());
  EXPECT_EQ(survey({{"item1", {.problem = "granted to another"}}}).reports.at("item1").problem,
            "granted to another")
      << "says more";
}

TEST_F(PoolSurveyTest, ListenersOfAnotherControllerAreLeftAloneAndNamed) {
  have(leading_to(foreign_at(at(30000)), "10.0.0.1"));
  have(leading_to(foreign_at(at(31000)), "10.0.0.2"));  // of an item that is not in the pool
  pool_.spec.listener_attribute = api::ListenerAttribute{.session_time = 30};
  const PoolSurvey found = survey();
  EXPECT_THAT(found.leaving, IsEmpty()) << "players are on them";
  EXPECT_THAT(found.outdated, IsEmpty());
  EXPECT_THAT(found.strays, IsEmpty());
  EXPECT_THAT(removable_names(), IsEmpty()) << "not even when the pool is deleted";
  ASSERT_EQ(found.missing.size(), 1u) << "the other port is ours to use";
  EXPECT_EQ(found.missing.front()->name, "demo-tcp-30001");
  EXPECT_EQ(
      found.reports.at("item1").problem,
      "Listener demo-tcp-30000 was made by another controller, for PortPool rooms: it is left "
      "alone, and its port is not given out; stop that controller and delete its Listeners, "
      "then they are made anew");
  have(foreign_at(at(30001)));
  EXPECT_THAT(survey().reports.at("item1").problem,
              HasSubstr("for PortPool rooms (and 1 more like it):"));
}

TEST_F(PoolSurveyTest, APeerOfAnotherControllerIsNotTakenBackNorRemoved) {
  use_two_load_balancers();
  have(east());
  have(leading_to(foreign_at({.lb = "west"}), "10.0.0.1"));
  EXPECT_THAT(survey().strays, IsEmpty());
  EXPECT_THAT(peers_in(listeners_, east()), IsEmpty());
  EXPECT_THAT(removable_names(), ElementsAre("east-tcp-30000"));
}

TEST_F(PoolSurveyTest, AnAnnotationThatSomebodyTookOffDoesNotMakeAListenerForeign) {
  api::Listener lock = lock_at(at(30000));
  std::erase_if(lock.meta.annotations,
                [](const auto& one) { return one.first.view() == claims::kItemAnnotation; });
  have(lock);
  EXPECT_THAT(removable_names(), ElementsAre("demo-tcp-30000")) << "it is made anew";
}

TEST_F(PoolSurveyTest, AttributesOfThePoolReachEveryListenerInUseToo) {
  have(with_claim(applied(leading_to(lock_at(at(30000)), "10.0.0.1")), kClaim));
  have(lock_at(at(30001)));
  EXPECT_THAT(changes(survey()), IsEmpty());
  pool_.spec.listener_attribute = api::ListenerAttribute{.session_time = 30};
  pool_.spec.pool_items.front().certificate = api::ListenerCertificate{.cert_id = "c-1"};
  const auto changed = changes(survey());
  ASSERT_EQ(changed.size(), 2u);
  for (const frontend::ChangedListener& one : changed) {
    EXPECT_EQ(one.change.spec->listener_attribute->session_time, 30);
    EXPECT_EQ(one.change.spec->certificate->cert_id, "c-1");
  }
  EXPECT_TRUE(claims::has_targets(*changed.front().change.spec)) << "the Pod is still reached";
}

TEST_F(PoolSurveyTest, WhatLeadsSomewhereFromAFreeSlotIsTakenBack) {
  have(applied(leading_to(lock_at(at(30000)), "10.0.0.1")));
  have(with_claim(applied(leading_to(lock_at(at(30001)), "10.0.0.2")), kClaim));
  pool_.spec.listener_attribute = api::ListenerAttribute{.session_time = 30};
  const PoolSurvey found = survey();
  EXPECT_THAT(names(found.strays), ElementsAre("demo-tcp-30000"));
  const auto changed = changes(found);
  ASSERT_EQ(changed.size(), 2u);
  EXPECT_FALSE(claims::has_targets(*changed[0].change.spec));
  EXPECT_TRUE(changed[0].change.spec->listener_attribute) << "in one write";
  EXPECT_TRUE(claims::has_targets(*changed[1].change.spec));
}

TEST_F(PoolSurveyTest, APeerLeadsWhereItsLocksClaimAllows) {
  use_two_load_balancers();
  have(east());
  have(applied(leading_to(west(), "10.0.0.1")));
  EXPECT_THAT(names(survey().strays), ElementsAre("west-tcp-30000"));
  have(with_claim(east(), kClaim));
  EXPECT_THAT(survey().strays, IsEmpty());
}

TEST_F(PoolSurveyTest, AnItemThatLeftThePoolIsLeavingAndHoldsItsGrants) {
  have(lock_at(at(31000, "item2")));
  auto balancer = std::make_shared<api::LoadBalancer>();
  balancer->meta.name = "edge.demo";
  balancer->spec.grants = {{.protocol = "TCP", .owner_uid = "uid-of-rooms", .item = "item1"},
                           {.protocol = "TCP", .owner_uid = "uid-of-rooms", .item = "item2"},
                           {.protocol = "TCP", .owner_uid = "uid-of-rooms", .item = "item3"},
                           {.protocol = "TCP", .owner_uid = "somebody", .item = "item4"}};
  const PoolSurvey found = survey();
  ASSERT_TRUE(found.leaving.contains("item2"));
  EXPECT_THAT(names(found.leaving.at("item2")), ElementsAre("demo-tcp-31000"));
  EXPECT_THAT(released(found, {balancer}), ElementsAre("item3"))
      << "item2 has a listener yet, and item4 is another's";
}

TEST_F(PoolSurveyTest, HalfAnItemDoesNotHoldPortsThatOthersWant) {
  auto balancer = std::make_shared<api::LoadBalancer>();
  balancer->meta.name = "edge.demo";
  balancer->spec.grants = {{.protocol = "TCP", .owner_uid = "uid-of-rooms", .item = "item1"}};
  const std::map<std::string, frontend::PartReport> refused{
      {"item1", {.problem = "taken", .refused = true}}};
  EXPECT_THAT(released(survey(refused), {balancer}), ElementsAre("item1"));
  EXPECT_THAT(released(survey({{"item1", {.problem = "no address yet"}}}), {balancer}), IsEmpty());
  have(lock_at(at(30000)));
  EXPECT_THAT(released(survey(refused), {balancer}), IsEmpty())
      << "it wanted to grow; what it has is in use";
}

// A look goes through all Listeners: a pool of 40,000 ports whose rooms come and go would do
// nothing else.
TEST_F(PoolSurveyTest, APortThatChangesHandsIsNoReasonToLookAtItsPool) {
  const auto free = std::make_shared<const api::Listener>(lock_at(at(30000)));
  const auto held = std::make_shared<const api::Listener>(
      applied(with_claim(leading_to(*free, "10.0.0.1"), kClaim)));
  const auto concerns = [this](auto before, auto after) {
    have(*after);
    return concerns_pool({before, after}, &pool_, listeners_);
  };
  EXPECT_FALSE(concerns(free, held));
  EXPECT_FALSE(concerns(held, free));

  const auto bare = std::make_shared<const api::Listener>(peer_at(at(30000)));
  EXPECT_TRUE(concerns(free, bare)) << "its annotation comes back";
  api::Listener unmade = *free;
  unmade.status = {.status = std::string(api::kNotSynced)};
  api::Listener refused = unmade;
  refused.status.message = "forbidden: no permission";
  EXPECT_TRUE(concerns(std::make_shared<const api::Listener>(unmade),
                       std::make_shared<const api::Listener>(refused)))
      << "the pool says why";
  refused.status.listener_id = unmade.status.listener_id = "lbl-1";
  EXPECT_FALSE(concerns(std::make_shared<const api::Listener>(unmade),
                        std::make_shared<const api::Listener>(refused)));
  EXPECT_TRUE(concerns(free, std::make_shared<const api::Listener>(leading_to(*free, "10.0.0.9"))))
      << "it leads somewhere, and nobody has it";
  pool_.meta.deleting = true;
  EXPECT_TRUE(concerns(held, free)) << "it may go now";
  pool_.meta.deleting = false;
  api::PortPoolItem& item = pool_.spec.pool_items.front();
  ++item.start_port;
  EXPECT_TRUE(concerns(held, free)) << "its item came back with other ports";
  --item.start_port;
  EXPECT_FALSE(concerns(held, free));
  item.load_balancer_ids = {"edge:other"};
  EXPECT_TRUE(concerns(held, free)) << "or on another load balancer";
  item.load_balancer_ids = {"edge:demo"};
  item.item_name = "renamed";
  EXPECT_TRUE(concerns(held, free));
}

TEST_F(PoolSurveyTest, AFreeSlotWhosePeerLeadsSomewhereIsAReason) {
  use_two_load_balancers();
  have(applied(leading_to(west(), "10.0.0.9")));
  const auto lock = std::make_shared<const api::Listener>(east());
  const auto held = std::make_shared<const api::Listener>(with_claim(east(), kClaim));
  EXPECT_TRUE(concerns_pool({held, lock}, &pool_, listeners_));
  have(*lock);
  const auto peer = std::make_shared<const api::Listener>(west());
  const auto led = std::make_shared<const api::Listener>(leading_to(west(), "10.0.0.9"));
  EXPECT_TRUE(concerns_pool({peer, led}, &pool_, listeners_));
}

TEST_F(PoolSurveyTest, WhatLeadsToAPodThatWasToldOfItIsNotTakenFromIt) {
  have(applied(leading_to(lock_at(at(30000)), "10.0.0.1")));
  kube::Pod pod{.meta = {.ns = kube::Interned("games"), .name = "room-0", .uid = "uid-1"},
                .ips = {"10.0.0.1"}};
  const api::PortBindingItem told{.pool_name = "rooms",
                                  .pool_namespace = "games",
                                  .load_balancer_ids = {"edge:demo"},
                                  .pool_item_name = "item1",
                                  .protocol = "TCP",
                                  .start_port = 30000,
                                  .rs_start_port = 8000};
  put(pod.meta.annotations, api::kPoolBindingsAnnotation, api::encode_pool_bindings({told}));
  pod.meta.resource_version = 1;
  pods_.put(pod);
  EXPECT_THAT(survey().strays, IsEmpty()) << "somebody took its claim off";
  pod.ips = {"10.0.0.2"};
  pod.meta.resource_version = 2;
  pods_.put(pod);
  EXPECT_THAT(names(survey().strays), ElementsAre("demo-tcp-30000")) << "another Pod had it";
}

TEST_F(PoolSurveyTest, AFreeLockWithoutItsAnnotationGetsItBack) {
  have(peer_at(at(30000)));
  have(lock_at(at(30001)));
  const std::vector<frontend::ChangedListener> refreshed = changes(survey());
  ASSERT_EQ(refreshed.size(), 1u);
  EXPECT_EQ(refreshed.front().listener->meta.name, "demo-tcp-30000");
  EXPECT_EQ(refreshed.front().change.claim, "");
  EXPECT_FALSE(refreshed.front().change.spec);
}

TEST_F(PoolSurveyTest, AnItemUnderANewNameHasNoListenerOfTheOldOne) {
  have(lock_at(at(30000, "old")));
  const PoolSurvey found = survey();
  EXPECT_EQ(found.reports.at("item1").ready, 0u);
  EXPECT_EQ(found.reports.at("item1").problem, "Listener demo-tcp-30000 is still of item old");
  EXPECT_TRUE(found.leaving.contains("old"));
}

TEST_F(PoolSurveyTest, OnlySlotsThatNobodyHasMayGo) {
  have(lock_at(at(30000)));
  for (const ledger::SlotState state :
       {ledger::SlotState::claimed, ledger::SlotState::bound, ledger::SlotState::draining,
        ledger::SlotState::kept, ledger::SlotState::quarantined}) {
    ledger::Claim claim = kClaim;
    claim.state = state;
    have(with_claim(lock_at(at(30001)), claim));
    EXPECT_THAT(removable_names(), ElementsAre("demo-tcp-30000")) << ledger::to_string(state);
  }
  have(with_claim(lock_at(at(30001)), "scribble"));
  EXPECT_THAT(removable_names(), ElementsAre("demo-tcp-30000")) << "nobody knows whose it is";
}

TEST_F(PoolSurveyTest, PeersGoWithTheirLockOrAfterItNeverBefore) {
  have(with_claim(east(), kClaim));
  have(west());
  EXPECT_THAT(removable_names(), IsEmpty()) << "somebody has the slot";
  have(east());
  EXPECT_THAT(removable_names(), ElementsAre("east-tcp-30000")) << "the peer follows";
  listeners_.erase(east().meta.key(), "", ++version_);
  EXPECT_THAT(removable_names(), ElementsAre("west-tcp-30000")) << "left by an interrupted removal";
}

// The item was taken out of the pool, and came back with other ports.
TEST_F(PoolSurveyTest, ListenersOfFormerPortsLeave) {
  have(lock_at(at(30000)));
  have(with_claim(lock_at(at(40000)), kClaim));
  const PoolSurvey found = survey();
  ASSERT_TRUE(found.leaving.contains("item1"));
  EXPECT_EQ(found.leaving.at("item1").front()->meta.name, "demo-tcp-40000");
  EXPECT_EQ(found.leaving.at("item1").size(), 1u);
}

// What a Listener is for as long as it lives, people have changed.
TEST_F(PoolSurveyTest, WhatPeopleChangedIsPutRightAndSealed) {
  const api::Listener whole = lock_at(at(30000));
  api::Listener moved = whole;
  moved.spec.port = 31000;
  api::Listener renamed = whole;
  put(renamed.meta.annotations, claims::kItemAnnotation, "other");
  api::Listener led = whole;
  put(led.meta.annotations, kPeersAnnotation, "victim-tcp-80");
  api::Listener disowned = whole;
  disowned.meta.owners = std::vector<kube::OwnerReference>{};
  put(disowned.meta.labels, api::kOwnerNameKey, "others");
  for (const api::Listener& changed : {moved, renamed, led, disowned}) {
    have(changed);
    const auto refreshed = changes(survey());
    ASSERT_EQ(refreshed.size(), 1u);
    const claims::ListenerChange& change = refreshed.front().change;
    ASSERT_TRUE(change.marks);
    EXPECT_EQ(change.marks->seal, kube::get(whole.meta.annotations, claims::kSealAnnotation));
    EXPECT_EQ(change.marks->identity.item, "item1");
  }
  EXPECT_TRUE(changes(survey()).front().change.belonging);
  have(whole);
  EXPECT_THAT(changes(survey()), IsEmpty()) << "nothing is written when nothing was changed";
}

TEST_F(PoolSurveyTest, ListenersOfTheVersionBeforeAreSealed) {
  api::Listener old = lock_at(at(30000));
  put(old.meta.annotations, claims::kSealAnnotation, "");
  put(old.meta.annotations, claims::kBalancerAnnotation, "");
  have(old);
  const auto refreshed = changes(survey());
  ASSERT_EQ(refreshed.size(), 1u);
  EXPECT_TRUE(refreshed.front().change.marks);
  EXPECT_FALSE(refreshed.front().change.spec) << "nobody's traffic is touched by that";
  EXPECT_THAT(changes(survey({{"item1", {.problem = "granted to another"}}})), IsEmpty())
      << "only where it lies inside a grant";
}

// By the name of its choice, on a port that the item has not made yet.
TEST_F(PoolSurveyTest, APortOfAnotherControllersListenerIsNotTaken) {
  api::Listener theirs = foreign_at(at(30001));
  theirs.meta.name = "lb-fo-42001";
  theirs.meta.ns = kube::Interned("web");
  theirs.spec.protocol = "HTTPS";
  put(theirs.meta.labels, api::kOwnerKindKey, "Ingress");
  have(theirs);
  const PoolSurvey found = survey();
  ASSERT_EQ(found.missing.size(), 1u);
  EXPECT_EQ(found.missing.front()->name, "demo-tcp-30000");
  EXPECT_THAT(found.reports.at("item1").problem, HasSubstr("lb-fo-42001"));
}

// An item that was taken out and came back under its name, with TLS: one port, two names.
TEST_F(PoolSurveyTest, APortThatComesBackWithTlsWaitsUntilTheOldListenerIsGone) {
  have(with_claim(lock_at(at(30000)), kClaim));
  pool_.spec.pool_items.front().protocol = "TCP_SSL";
  const PoolSurvey found = survey();
  std::vector<std::string> missing;
  for (const frontend::WantedListener* const one : found.missing) missing.push_back(one->name);
  EXPECT_THAT(missing, ElementsAre("demo-tcpssl-30001"));
  EXPECT_EQ(found.reports.at("item1").problem,
            "Listener demo-tcp-30000 is still there, and goes first");
}

TEST_F(PoolSurveyTest, WhatALoadBalancerRefusesOfAListenerConcernsItsPool) {
  api::Listener one = lock_at(at(30000));
  const auto before = std::make_shared<const api::Listener>(one);
  const auto trouble = [](const api::Listener& listener) {
    return std::string(frontend::trouble_of(listener));
  };
  one.status.status = std::string(api::kNotSynced);
  one.status.message = "there is no Secret games/front";
  EXPECT_EQ(trouble(one), "") << "whom it leads to is for its room to tell";
  one.spec.certificate = api::ListenerCertificate{.cert_id = "front"};
  EXPECT_EQ(trouble(one), "there is no Secret games/front");
  EXPECT_TRUE(
      concerns_pool({before, std::make_shared<const api::Listener>(one)}, &pool_, listeners_));
  have(one);
  const frontend::Survey found = survey();
  EXPECT_EQ(found.reports.at("item1").trouble,
            "Listener demo-tcp-30000: there is no Secret games/front");
  EXPECT_EQ(found.reports.at("item1").troubled, 1u);
  one = lock_at(at(30000));
  one.status = {.status = std::string(api::kNotSynced), .message = "quota"};
  EXPECT_EQ(trouble(one), "quota") << "it was never made";
  one.status.status = std::string(api::kSynced);
  EXPECT_EQ(trouble(one), "");
}

}  // namespace
}  // namespace berth::controllers::portpool
