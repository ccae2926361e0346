// The kit's shell on a scripted API: what is written, in which order, and what becomes of it when
// somebody is faster.
#include "frontend/keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/decode.h"
#include "api/keys.h"
#include "api/walkers.h"
#include "claims/resolver.h"
#include "frontend/steps.h"
#include "frontend/test_support.h"
#include "kube/client/test_scripted_api.h"
#include "sim/kernel/kernel.h"

namespace berth::frontend {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::stage;

class KeeperTest : public ::testing::Test {
 protected:
  KeeperTest() {
    claims::add_indexes(listeners_, {});
    claims::add_indexes(balancers_);
    claims::add_indexes(blocks_);
    api_.on_change = [this](std::string_view plural, const kube::ObjectKey& key,
                            const wire::Value* now) {
      if (plural == "listeners") tell(listeners_, api::decode_listener, key, now);
      if (plural == "loadbalancers") tell(balancers_, api::decode_load_balancer, key, now);
      if (plural == "portblocks") tell(blocks_, api::decode_port_block, key, now);
    };
  }
  template <class Store, class Decode>
  void tell(Store& store, Decode decode, const kube::ObjectKey& key, const wire::Value* now) {
    if (!is_watching_) return;
    if (now) {
      store.put(decode(*now).value());
    } else {
      store.erase(key, "", api_.version());
    }
  }

  // One part with these ports of demo, a Listener for each.
  static WantedPart part_of(const Owner& owner, std::string name, model::PortRange ports) {
    WantedPart part{.name = std::move(name)};
    part.grants = {testing::grant_on("demo", owner, ports, part.name)};
    const auto labels =
        std::make_shared<const Labels>(Labels{{std::string(api::kOwnerKindKey), owner.type.kind},
                                              {std::string(api::kOwnerNameKey), owner.key.name}});
    for (int port = ports.first; port <= ports.last; ++port)
      part.listeners.push_back(
          {.name = fmt::format("demo-{}", port),
           .part = part.name,
           .lb = {model::Provider::edge, "", "demo"},
           .spec = {.load_balancer_id = "edge:demo", .port = port, .protocol = "TCP"}});
    return part;
  }

  // On a task of its own: the kit starts more.
  template <class Body>
  auto run(Body body) {
    std::optional<decltype(body())> out;
    const auto task = tasks_.spawn("test", [&](std::stop_token) { out = body(); });
    EXPECT_TRUE(kernel_.run_until([&] { return out.has_value(); }));
    return std::move(*out);
  }
  Survey keep(const Owner& owner, const std::vector<WantedPart>& parts) {
    return run([&] { return reconcile(owner, parts); });
  }
  bool let_go(const Owner& owner) {
    return run([&] {
      Round round;
      return keeper_.let_go(context_, owner, round).value();
    });
  }
  // What a front end's reconcile does.
  Survey reconcile(const Owner& owner, const std::vector<WantedPart>& parts) {
    refusals_.clear();
    overtaken_ = false;
    Round round;
    EXPECT_TRUE(keeper_.settle_grants(context_, owner.type, owner.key, owner.uid, round));
    std::vector<WantedGrant> wanted;
    for (const WantedPart& part : parts)
      wanted.insert(wanted.end(), part.grants.begin(), part.grants.end());
    keeper_.contend(owner, wanted);
    std::map<std::string, PartReport> reports;
    for (const WantedPart& part : parts) {
      const auto report = keeper_.ensure_grants(context_, owner, part, [this](const Error& error) {
        refusals_.push_back(error.to_string());
      });
      EXPECT_TRUE(report) << report.error().to_string();
      reports[part.name] = report.value_or(PartReport{});
    }
    Survey found = keeper_.survey_of(owner, parts, std::move(reports));
    const Result<> done =
        keeper_.carry_out(context_, owner, parts, found,
                          changes_of(found.outdated, claims::testing::sealer()), round);
    EXPECT_TRUE(done) << done.error().to_string();
    overtaken_ = round.overtaken;
    return found;
  }
  std::vector<std::string> listeners() const {
    std::vector<std::string> out;
    for (const wire::Value& one : api_.all(api::listener_kind().type))
      out.emplace_back(wire::string_at(one, "/metadata/name"));
    return out;
  }
  // "30000-30001 of main/front".
  std::vector<std::string> grants() const {
    std::vector<std::string> out;
    for (const ledger::Grant& grant : grantor_.grants({model::Provider::edge, "", "demo"}))
      out.push_back(fmt::format("{}-{} of {}/{}", grant.ports.first, grant.ports.last,
                                grant.owner.name, grant.item));
    return out;
  }

  sim::Kernel kernel_{1};
  Tasks& tasks_ = kernel_.world();
  kube::testing::ScriptedApi api_;
  kube::Client client_{api_, kube::fixed_config("https://api:6443", {})};
  claims::ListenerStore listeners_;
  claims::BalancerStore balancers_;
  claims::BlockStore blocks_;
  claims::Grantor grantor_{client_, balancers_, blocks_, listeners_, claims::testing::sealer()};
  claims::Courtesy courtesy_;
  Contenders contenders_;
  Keeper keeper_{{client_,
                  listeners_,
                  grantor_,
                  claims::testing::sealer(),
                  courtesy_,
                  contenders_,
                  {},
                  "berth-system"}};
  const Context context_{.tasks = tasks_};
  const Owner main_ = stage("main");
  std::vector<std::string> refusals_;
  bool overtaken_ = false;
  bool is_watching_ = true;
};

TEST_F(KeeperTest, PortsAreOwnedBeforeListenersAreMadeAndThenNothingIsWritten) {
  const std::vector<WantedPart> parts{part_of(main_, "front", {30000, 30001})};
  keep(main_, parts);
  EXPECT_THAT(api_.writes(), ElementsAre("POST loadbalancers", "POST listeners", "POST listeners"));
  EXPECT_THAT(grants(), ElementsAre("30000-30001 of main/front"));
  EXPECT_THAT(listeners(), ElementsAre("demo-30000", "demo-30001"));
  const std::string_view label = "/metadata/labels/ingress.bkbcs.tencent.com~1lbid";
  for (const wire::Value& one : api_.all(api::listener_kind().type))
    EXPECT_EQ(wire::string_at(one, label), "demo") << "it is listed by that";
  api_.forget_calls();
  keep(main_, parts);
  EXPECT_THAT(api_.writes(), IsEmpty());
}

TEST_F(KeeperTest, WhatIsWantedNoMoreGoesAndItsPortsAreForOthers) {
  keep(main_, {part_of(main_, "front", {30000, 30001}), part_of(main_, "back", {30005, 30005})});
  keep(main_, {part_of(main_, "front", {30000, 30001})});
  EXPECT_THAT(listeners(), ElementsAre("demo-30000", "demo-30001", "demo-30005"))
      << "it has our finalizer: its load balancer must let go first";
  api_.erase(api::listener_kind().type, {"games", "demo-30005"});
  keep(main_, {part_of(main_, "front", {30000, 30001})});
  EXPECT_THAT(grants(), ElementsAre("30000-30001 of main/front"));
  const Owner other = stage("other");
  keep(other, {part_of(other, "front", {30005, 30005})});
  EXPECT_THAT(grants(), ElementsAre("30000-30001 of main/front", "30005-30005 of other/front"));
}

TEST_F(KeeperTest, APartThatCannotHaveAllItsPortsHasNoneAndNamesWhoHasThem) {
  keep(main_, {part_of(main_, "front", {30000, 30001})});
  const Owner other = stage("other");
  const Survey found = keep(other, {part_of(other, "front", {30001, 30002})});
  EXPECT_THAT(listeners(), ElementsAre("demo-30000", "demo-30001"));
  EXPECT_THAT(grants(), ElementsAre("30000-30001 of main/front"));
  EXPECT_THAT(found.reports.at("front").problem, HasSubstr("Stage games/main"));
  ASSERT_EQ(refusals_.size(), 1U);
}

TEST_F(KeeperTest, AnOlderOwnerOfAnotherKindGoesFirst) {
  Owner arena{.type = testing::kArena,
              .key = {"", "dome"},
              .uid = "uid-of-dome",
              .created = testing::kNow - std::chrono::hours{1},
              .listeners_ns = "berth-system"};
  contenders_.put(arena, {testing::grant_on("demo", arena, {30001, 30001})});
  const Survey found = keep(main_, {part_of(main_, "front", {30000, 30001})});
  EXPECT_THAT(found.reports.at("front").problem, HasSubstr("wanted by the older Arena dome"));
  EXPECT_THAT(api_.writes(), IsEmpty());
  keep(arena, {part_of(arena, "all", {30001, 30001})});
  EXPECT_THAT(grants(), ElementsAre("30001-30001 of dome/all"));
}

// The cache shows the port as free; somebody has it by now.
TEST_F(KeeperTest, WhoComesTooLateIsRefusedThoughItsCacheDoesNotShowWhy) {
  keep(main_, {part_of(main_, "front", {30000, 30000})});
  is_watching_ = false;
  wire::Value grants =
      api_.find(api::load_balancer_kind().type, {"", "edge.demo"})->at("spec").at("grants");
  ledger::Grant theirs = testing::grant_on("demo", stage("faster"), {30007, 30007}).grant;
  grants.as_array().push_back(api::encode(claims::to_api(theirs)));
  api_.edit(api::load_balancer_kind().type, {"", "edge.demo"},
            wire::Object{{"spec", wire::Object{{"grants", grants}}}});
  const Owner late = stage("late");
  const Survey found = keep(late, {part_of(late, "front", {30007, 30007})});
  EXPECT_THAT(found.reports.at("front").problem, HasSubstr("Stage games/faster"));
  EXPECT_THAT(listeners(), ElementsAre("demo-30000"));
}

TEST_F(KeeperTest, AnOwnerThatIsDeletedHasLeftWhenNothingOfItIsLeft) {
  keep(main_, {part_of(main_, "front", {30000, 30000})});
  EXPECT_FALSE(let_go(main_));
  EXPECT_THAT(grants(), ElementsAre("30000-30000 of main/front")) << "its Listener is there";
  api_.erase(api::listener_kind().type, {"games", "demo-30000"});
  EXPECT_TRUE(let_go(main_));
  EXPECT_THAT(grants(), IsEmpty());
}

// Its finalizer was taken off by hand, and another of its name is there.
TEST_F(KeeperTest, WhatAFormerOwnerOfTheNameHadIsReleased) {
  keep(main_, {part_of(main_, "front", {30000, 30000})});
  api_.erase(api::listener_kind().type, {"games", "demo-30000"});
  Owner next = main_;
  next.uid = "uid-of-the-next";
  keep(next, {part_of(next, "front", {30003, 30003})});
  EXPECT_THAT(grants(), ElementsAre("30003-30003 of main/front"));
}

TEST_F(KeeperTest, AListenerWhoseAnswerWasLostIsNoErrorTheNextTime) {
  is_watching_ = false;
  api_.on({"POST", "listeners"}, {.lost_after = true});
  const std::vector<WantedPart> parts{part_of(main_, "front", {30000, 30000})};
  const auto make = [&]() -> Result<> {
    Round round;
    const auto report = keeper_.ensure_grants(context_, main_, parts.front(), [](const Error&) {});
    const Survey found = keeper_.survey_of(main_, parts, {{"front", report.value()}});
    EXPECT_EQ(found.missing.size(), 1U) << "the cache does not show it";
    return keeper_.carry_out(context_, main_, parts, found, {}, round);
  };
  EXPECT_FALSE(run(make)) << "whether it was made is not known";
  EXPECT_TRUE(run(make)) << "it is there";
  EXPECT_THAT(listeners(), ElementsAre("demo-30000"));
}

// All that the kit asks of an object.
struct Arena {
  kube::ObjectMeta meta{};
};
Result<Arena> read_arena(wire::JsonReader& reader, std::string_view text) {
  static const kube::MetaRules kRules{.finalizers = true};
  Arena out;
  Result<> read = kube::decode_object(reader, text, testing::kArena, kRules, out.meta,
                                      [](std::string_view, wire::JsonNode) {});
  return read ? Result<Arena>(std::move(out)) : fail(read.error());
}

// Arena "dome" has port 30000. Its Listeners live in our namespace, and it in none.
class ClusterScopedTest : public KeeperTest {
 protected:
  ClusterScopedTest() {
    api_.put(testing::kArena, wire::Object{{"apiVersion", "example.dev/v1"},
                                           {"kind", "Arena"},
                                           {"metadata", wire::Object{{"name", "dome"}}}});
    look();
    const Owner owner = owner_of(testing::kArena, arena()->meta, "berth-system");
    keep(owner, {part_of(owner, "all", {30000, 30000})});
  }
  std::shared_ptr<const Arena> arena() {
    const wire::Value* const now = api_.find(testing::kArena, kDome);
    if (!now) return nullptr;
    wire::JsonReader reader;
    return std::make_shared<const Arena>(read_arena(reader, wire::to_json(*now)).value());
  }
  // A look at the name, as every front end begins one. True: there is somebody to look at.
  bool look() {
    return run([this] {
      const auto over = begin(context_, keeper_, objects_, kDome, arena().get());
      EXPECT_TRUE(over) << over.error().to_string();
      return over && !*over;
    });
  }

  static inline const kube::ObjectKey kDome{"", "dome"};
  kube::Store<Arena> arenas_;
  const kube::Typed<Arena> objects_{client_, arenas_, testing::kArena, read_arena};
};

TEST_F(ClusterScopedTest, HasItsFinalizerAndItsListenersInOurNamespace) {
  EXPECT_TRUE(look());
  EXPECT_TRUE(claims::has_our_finalizer(arena()->meta));
  EXPECT_THAT(grants(), ElementsAre("30000-30000 of dome/all"));
  EXPECT_TRUE(api_.find(api::listener_kind().type, {"berth-system", "demo-30000"}));
}

TEST_F(ClusterScopedTest, GrantsThatPeopleTakeOutComeBack) {
  api_.edit(api::load_balancer_kind().type, {"", "edge.demo"},
            wire::Object{{"spec", wire::Object{{"grants", wire::Array{}}}}});
  ASSERT_THAT(grants(), IsEmpty());
  EXPECT_TRUE(look());
  EXPECT_THAT(grants(), ElementsAre("30000-30000 of dome/all"));
}

// Its finalizer was taken off by hand.
TEST_F(ClusterScopedTest, WhatAFormerOneHadIsReleased) {
  api_.erase(testing::kArena, kDome);
  api_.erase(api::listener_kind().type, {"berth-system", "demo-30000"});
  EXPECT_FALSE(look());
  EXPECT_THAT(grants(), IsEmpty());
}

}  // namespace
}  // namespace berth::frontend
