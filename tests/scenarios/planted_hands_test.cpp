// Proof that the proof works, against people: each test takes one protection away, and the
// invariants of the scenarios with hands must notice, at the one deed that the defect invites and
// in random lives of people who have a habit of such deeds. Where lives would meet the defect too
// seldom, the deed alone has to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "admission/webhooks.h"
#include "api/keys.h"
#include "claims/slot.h"
#include "hand_objects.h"
#include "hands_house.h"
#include "ingress_book.h"
#include "ledger/claim.h"
#include "trust_plants.h"

namespace berth::scenario {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using wire::Array;
using wire::Object;
using wire::Value;
using world::Role;

using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::uint64_t kLives = 10;

// The house while somebody does one thing; errors are what the books said.
class Stage {
 public:
  Stage(Role role, const Plant& plant) : house_(1, options(plant), role) {}

  HandsHouse& house() { return house_; }
  world::World& world() { return house_.world(); }
  Result<> open() { return house_.open(); }
  Hand hand(std::size_t index) {
    return {world(), house_.trust(), house_.diary(), house_.people()[index], Random(1)};
  }
  Result<> run_for(Duration span) {
    const Instant end = world().kernel().now() + span;
    Result<> ran = house_.house().run_until([&] { return world().kernel().now() >= end; });
    if (!ran) return ran;
    house_.trust().check_all();
    if (const auto& failure = world().kernel().failure()) return fail(*failure);
    return {};
  }
  Result<> play(std::vector<std::function<void()>> at_once) {
    std::vector<std::shared_ptr<const bool>> tasks;
    for (auto& one : at_once)
      tasks.push_back(house_.house().cluster().play("deed", [one](std::stop_token) { one(); }));
    return house_.house().run_until([&] { return all_through(tasks); });
  }
  Result<> put_in_order() {
    if (Result<> tidied = house_.tidy_up(); !tidied) return tidied;
    if (Result<> settled = house_.house().settle(); !settled) return settled;
    return house_.fill_lobby();
  }

 private:
  static world::WorldOptions options(const Plant& plant) {
    world::WorldOptions out;
    out.cluster.link.max_watch_delay = std::chrono::milliseconds{200};
    if (plant) plant(out);
    return out;
  }

  HandsHouse house_;
};

// An error is a violation.
using Act = Result<> (*)(Stage& stage);

struct Deed {
  Role role;
  Act act;
};

Object items(Array list) { return {{"spec", Object{{"poolItems", std::move(list)}}}}; }

Value get(Stage& stage, const std::string& path) {
  const auto found = stage.world().cluster().ask("GET", path);
  return found ? *found : Value(nullptr);
}

// A Listener of his own, with all its marks, at a port that is nobody's yet.
Result<> holds_ports_by_a_forged_listener(Stage& stage) {
  Hand mallory = stage.hand(0);
  Object copy =
      fresh_copy(get(stage, path_in(kLobby, "listeners", "demo-tcp-31000")), kLobby, "copied");
  copy["spec"].as_object()["port"] = 30006;
  // A pool that is not there does not put it right.
  copy["metadata"].as_object()["labels"].as_object()[api::kOwnerNameKey] = "ghost";
  if (auto made = mallory.ask("POST", path_in(kLobby, "listeners"), copy); !made)
    return fail(made.error());
  if (Result<> ran = stage.run_for(seconds{30}); !ran) return ran;
  // The pool of the games grows onto it.
  const Result<> grown = stage.play({[&stage] {
    (void)User(stage.world()).change_pool("rooms", [](Value& pool) {
      pool.as_object()["spec"].as_object()["poolItems"].as_array()[0].as_object()["endPort"] =
          30008;
      return true;
    });
  }});
  if (!grown) return grown;
  if (Result<> ran = stage.run_for(minutes{1}); !ran) return ran;
  const Value rooms = get(stage, path_in(kGames, "portpools", "rooms"));
  if (wire::string_at(rooms, "/status/status") != api::kReady)
    return fail(Code::internal, "a pool does not get its ports: {}",
                wire::to_json(*wire::find(rooms, "/status")));
  return stage.put_in_order();
}

// A Pod that never passed our admission, told of a free port that it chose.
Result<> forges_an_admitted_pod(Stage& stage) {
  const std::string told = api::encode_pool_bindings({{.pool_name = "rooms",
                                                       .pool_namespace = kGames,
                                                       .load_balancer_ids = {"edge:demo"},
                                                       .pool_item_name = "item1",
                                                       .protocol = "TCP",
                                                       .start_port = 30000,
                                                       .rs_start_port = 8000}});
  const std::string token = ledger::make_token(stage.world().kernel().wall_time(), 1, 2);
  const auto made = stage.hand(0).ask("POST", path_in(kAlley, "pods"),
                                      pod(kAlley, "guest", {{ledger::kTokenLabel, token}},
                                          {{api::kPortPoolsAnnotation, "true"},
                                           {api::kPortsAnnotation, "rooms.games TCP 8000"},
                                           {api::kPoolBindingsAnnotation, told},
                                           {"berth.dev/ports-seal", "0:forged.forged"}}));
  if (!made) return fail(made.error());
  if (Result<> ran = stage.run_for(minutes{2}); !ran) return ran;
  return stage.put_in_order();
}

// It goes and comes back with other ports at once, beside a new one, while its Listeners are on
// their way out.
Result<> moves_an_item(Stage& stage) {
  Hand mallory = stage.hand(0);
  const std::string pool = path_in(kLobby, "portpools", "more");
  Object more = items({item("a", 33000, 33002), item("b", 33010, 33014)});
  more["apiVersion"] = "networkextension.bkbcs.tencent.com/v1";
  more["kind"] = "PortPool";
  more["metadata"] = Object{{"namespace", kLobby}, {"name", "more"}};
  if (auto made = mallory.ask("POST", path_in(kLobby, "portpools"), more); !made)
    return fail(made.error());
  if (Result<> ran = stage.run_for(seconds{20}); !ran) return ran;
  for (const Object& change :
       {items({item("a", 33000, 33002)}),
        items({item("a", 33000, 33002), item("b", 33030, 33034), item("c", 33050, 33052)})}) {
    if (auto changed = mallory.ask("PATCH", pool, change); !changed) return fail(changed.error());
  }
  if (Result<> ran = stage.run_for(minutes{1}); !ran) return ran;
  return stage.put_in_order();
}

// An older pool would like to have what the calm rooms have, when nothing says who has it.
Result<> loses_balancers(Stage& stage) {
  Hand oscar = stage.hand(1);
  const std::string rooms = path_in(kGames, "portpools", "rooms");
  const auto wished =
      oscar.ask("PATCH", rooms, items({item("item1", 30000, 30006), item("two", 32000, 32002)}));
  if (!wished) return fail(wished.error());
  if (Result<> ran = stage.run_for(seconds{30}); !ran) return ran;
  if (auto gone = oscar.ask("DELETE", "/apis/berth.dev/v1/loadbalancers"); !gone) return pass(gone);
  if (Result<> ran = stage.run_for(minutes{3}); !ran) return ran;
  if (auto back = oscar.ask("PATCH", rooms, items({item("item1", 30000, 30006)})); !back)
    return pass(back);
  return stage.put_in_order();
}

// A copy of somebody's Listener, in a namespace of his own.
Result<> takes_name_of(Stage& stage, std::string_view owner, std::string_view name,
                       std::string_view ns) {
  Hand mallory = stage.hand(0);
  const Value theirs = get(stage, path_in(owner, "listeners", name));
  if (theirs.is_null()) return fail(Code::internal, "there is no Listener {}", name);
  if (auto made = mallory.ask("POST", path_in(ns, "listeners"), fresh_copy(theirs, ns, name));
      !made)
    return fail(made.error());
  if (Result<> ran = stage.run_for(seconds{30}); !ran) return ran;
  (void)mallory.ask("DELETE", path_in(ns, "listeners", name));
  if (Result<> ran = stage.run_for(minutes{1}); !ran) return ran;
  // Something is written at the provider.
  (void)mallory.ask("POST", path_in(kLobby, "pods"),
                    asking(kLobby, "guest", "own/one TCP 8000;own/pair TCP_UDP 8000"));
  if (Result<> ran = stage.run_for(minutes{2}); !ran) return ran;
  return stage.put_in_order();
}

Result<> takes_anothers_name(Stage& stage) {
  return takes_name_of(stage, kCalm, "demo-tcp-32000", kLobby);
}

// Of Ingresses.
Result<> takes_a_gates_name(Stage& stage) {
  return takes_name_of(stage, kCalm, "demo-35000", kLobby);
}
Result<> takes_a_doors_name(Stage& stage) {
  if (Result<> ran = stage.run_for(kNewWants); !ran) return ran;  // the book bears with new ones
  return takes_name_of(stage, kLobby, "east-35100", kAlley);
}

// Another's id, in the status of his own.
Result<> writes_anothers_id(Stage& stage) {
  Hand mallory = stage.hand(0);
  const Value calm = get(stage, path_in(kCalm, "listeners", "demo-tcp-32000"));
  const std::string own = path_in(kLobby, "listeners", "demo-tcp-31000");
  const Object status{{"listenerID", wire::string_at(calm, "/status/listenerID")}};
  if (auto written = mallory.ask("PATCH", own, Object{{"status", status}}); !written)
    return pass(written);
  if (Result<> ran = stage.run_for(seconds{5}); !ran) return ran;
  (void)mallory.ask("DELETE", own);
  if (Result<> ran = stage.run_for(seconds{30}); !ran) return ran;
  return stage.put_in_order();
}

// As a later version of us would write it.
Result<> writes_a_claim_of_another_version(Stage& stage) {
  Hand mallory = stage.hand(0);
  const auto claimed = mallory.patch_meta(
      path_in(kLobby, "listeners", "demo-tcp-31000"),
      {{"annotations", Object{{ledger::kClaimAnnotation, R"({"v":99,"state":"Bound"})"}}}});
  if (!claimed) return fail(claimed.error());
  if (Result<> ran = stage.run_for(seconds{10}); !ran) return ran;
  for (int i = 0; i < 4; ++i)
    (void)mallory.ask("POST", path_in(kLobby, "pods"),
                      asking(kLobby, fmt::format("guest-{}", i), "own/one TCP 8000"));
  if (Result<> ran = stage.run_for(minutes{2}); !ran) return ran;
  return stage.put_in_order();
}

// The quota refuses it, after our answer.
Result<> asks_for_a_refused_pod(Stage& stage) {
  stage.house().house().quota().refuses = 1;
  for (int i = 0; i < 4; ++i)
    (void)stage.hand(0).ask("POST", path_in(kLobby, "pods"),
                            asking(kLobby, fmt::format("never-{}", i), "own/one TCP 8000", "1h"));
  stage.house().house().quota().refuses = 0;
  if (Result<> ran = stage.run_for(minutes{4}); !ran) return ran;
  return stage.put_in_order();
}

Result<> asks_no_more(Stage& stage) {
  Hand mallory = stage.hand(0);
  if (auto made =
          mallory.ask("POST", path_in(kLobby, "pods"), asking(kLobby, "guest", "own/one TCP 8000"));
      !made)
    return fail(made.error());
  if (Result<> ran = stage.run_for(seconds{30}); !ran) return ran;
  const auto off =
      mallory.patch_meta(path_in(kLobby, "pods", "guest"),
                         {{"annotations", Object{{api::kPortPoolsAnnotation, nullptr}}}});
  if (!off) return fail(off.error());
  if (Result<> ran = stage.run_for(minutes{3}); !ran) return ran;
  return stage.put_in_order();
}

Result<> deletes_the_lease(Stage& stage) {
  const std::string lease = "/apis/coordination.k8s.io/v1/namespaces/default/leases/berth";
  if (auto gone = stage.hand(1).ask("DELETE", lease); !gone) return pass(gone);
  return stage.run_for(minutes{1});
}

// The address is known, its last segment is not.
Result<> posts_without_the_secret(Stage& stage) {
  // Replicas look every ten minutes whether an API server calls them without it.
  if (Result<> ran = stage.run_for(minutes{11}); !ran) return ran;
  const auto hooks = stage.world().cluster().list(
      "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations");
  if (!hooks || hooks->empty()) return fail(Code::internal, "no webhooks");
  const std::string known(wire::string_at(hooks->front(), "/webhooks/0/clientConfig/url"));
  const std::size_t path = known.find('/', std::string_view("https://").size());
  const std::string url = known.substr(0, path) + std::string(admission::kPodPortsPath);
  const Object review{
      {"apiVersion", "admission.k8s.io/v1"},
      {"kind", "AdmissionReview"},
      {"request",
       Object{{"uid", "1"},
              {"operation", "CREATE"},
              {"namespace", kLobby},
              {"name", "ghost"},
              {"resource", Object{{"group", ""}, {"version", "v1"}, {"resource", "pods"}}},
              {"object", asking(kLobby, "ghost", "own/one TCP 8000")}}}};
  const auto status = std::make_shared<int>(0);
  const Result<> posted = stage.play({[&stage, url, review, status] {
    const auto answer = stage.world().call({.url = url}, wire::to_json(review), seconds{10});
    if (answer) *status = answer->status;
  }});
  if (!posted) return posted;
  if (*status != 404) return fail(Code::internal, "a stranger was answered with {}", *status);
  return stage.put_in_order();
}

Result<> perform(const Deed& deed, const Plant& plant) {
  Stage stage(deed.role, plant);
  Result<> done = stage.open();
  if (done) done = deed.act(stage);
  return done;
}

// What the books said about it.
std::string find_by_deed(const Deed& deed, const Plant& plant) {
  const Result<> done = perform(deed, plant);
  return done ? "" : done.error().message;
}

// The same in random lives, with people about who make these moves alone.
std::string find_in_lives(const std::string& moves, const Plant& plant, Role role = Role::tenant) {
  ::setenv("BERTH_SCENARIO_HANDS", moves.c_str(), 1);
  const auto lived =
      sim::sweep({.name = "people who " + moves, .count = kLives, .repeat_every = 0},
                 [&](std::uint64_t seed) { return live_with_hands(seed, role, plant); });
  ::unsetenv("BERTH_SCENARIO_HANDS");
  return lived ? "" : lived.error().cause->message;
}

// A listener at the provider that somebody needs.
const auto kIsMissing = AnyOf(HasSubstr("does not lead"), HasSubstr("leads nowhere"),
                              HasSubstr("was removed"), HasSubstr("no cloud listener"));

constexpr Deed kForgedListener{Role::tenant, holds_ports_by_a_forged_listener};
constexpr Deed kForgedPod{Role::tenant, forges_an_admitted_pod};
constexpr Deed kMovedItem{Role::tenant, moves_an_item};
constexpr Deed kLostBalancers{Role::operator_of_ours, loses_balancers};
constexpr Deed kAnothersName{Role::tenant, takes_anothers_name};
constexpr Deed kGatesName{Role::tenant, takes_a_gates_name};
constexpr Deed kDoorsName{Role::tenant, takes_a_doors_name};
constexpr Deed kAnothersId{Role::tenant, writes_anothers_id};
constexpr Deed kAnothersVersion{Role::tenant, writes_a_claim_of_another_version};
constexpr Deed kRefusedPod{Role::tenant, asks_for_a_refused_pod};
constexpr Deed kAsksNoMore{Role::tenant, asks_no_more};
constexpr Deed kLostLease{Role::operator_of_ours, deletes_the_lease};
constexpr Deed kStranger{Role::tenant, posts_without_the_secret};

// No deed is a defect where nothing is planted.
TEST(PlantedHands, NothingIsFoundWhereNothingIsPlanted) {
  for (const Deed& deed :
       {kForgedListener, kForgedPod, kMovedItem, kLostBalancers, kAnothersName, kAnothersId,
        kAnothersVersion, kRefusedPod, kAsksNoMore, kLostLease, kStranger}) {
    const Result<> done = perform(deed, {});
    EXPECT_TRUE(done) << done.error().to_string();
  }
  for (const Deed& deed : {kGatesName, kDoorsName, kLostBalancers}) {
    const Result<> done = perform(deed, in_a_wide_house());
    EXPECT_TRUE(done) << done.error().to_string();
  }
}

// It holds ports that its writer was never granted.
TEST(PlantedHands, ASealOfAListenerThatNobodyChecks) {
  EXPECT_THAT(find_by_deed(kForgedListener, unchecked_listener_seals()),
              HasSubstr("a pool does not get its ports"));
}

TEST(PlantedHands, ASealOfAPodThatNobodyChecks) {
  EXPECT_THAT(find_by_deed(kForgedPod, unchecked_pod_seals()), HasSubstr("we never admitted it"));
}

TEST(PlantedHands, AGrantThatMovesAwayFromItsListeners) {
  EXPECT_THAT(find_by_deed(kMovedItem, grants_that_move()), HasSubstr("left Listener lobby/"));
  EXPECT_THAT(find_in_lives("swaps an item,moves an item,asks for a port", grants_that_move()),
              AnyOf(HasSubstr("left Listener"), HasSubstr("grants that overlap")));
}

TEST(PlantedHands, ALostLoadBalancerThatIsNotRebuiltFromListeners) {
  EXPECT_THAT(find_by_deed(kLostBalancers, grants_without_listeners()),
              HasSubstr("left Listener calm/"));
  EXPECT_THAT(find_in_lives("deletes LoadBalancers,writes a pool,moves an item",
                            grants_without_listeners(), Role::operator_of_ours),
              AnyOf(HasSubstr("left Listener"), HasSubstr("outside of a grant")));
}

TEST(PlantedHands, ARemovalByNameAlone) {
  EXPECT_THAT(find_by_deed(kAnothersName, removal_by_name()), kIsMissing);
  EXPECT_THAT(
      find_in_lives("copies a Listener,deletes a Listener,asks for a port", removal_by_name()),
      kIsMissing);
}

TEST(PlantedHands, ARemovalByNameAloneInAWideHouse) {
  const Plant plant = both(in_a_wide_house(), removal_by_name());
  EXPECT_THAT(find_by_deed(kGatesName, plant),
              HasSubstr("of an Ingress that nobody touches lost its listener"));
  EXPECT_THAT(find_by_deed(kDoorsName, plant),
              HasSubstr("Ingress lobby/door is called Ready, but port"));
}

TEST(PlantedHands, ARemovalByIdAlone) {
  EXPECT_THAT(find_by_deed(kAnothersId, removal_by_id()), kIsMissing);
  EXPECT_THAT(find_in_lives("edits a Listener,deletes a Listener", removal_by_id()), kIsMissing);
}

TEST(PlantedHands, AClaimOfAnotherVersionThatCountsAsFree) {
  EXPECT_THAT(find_by_deed(kAnothersVersion, unreadable_claims_are_free()),
              HasSubstr("cannot be read was written over"));
  EXPECT_THAT(find_in_lives("edits a claim,asks for a port", unreadable_claims_are_free()),
              HasSubstr("cannot be read was written over"));
}

TEST(PlantedHands, ANameThatIsKeptWithoutAPod) {
  EXPECT_THAT(find_by_deed(kRefusedPod, keeping_what_was_no_pod()),
              HasSubstr("what was never a Pod is kept"));
  EXPECT_THAT(find_in_lives("asks for a port,copies a Pod", keeping_what_was_no_pod()),
              HasSubstr("what was never a Pod is kept"));
}

TEST(PlantedHands, APodThatAsksNoMoreAndKeepsItsPort) {
  EXPECT_THAT(find_by_deed(kAsksNoMore, asking_for_ever()),
              HasSubstr("asks for no port any more, and is still called Ready"));
  EXPECT_THAT(find_in_lives("asks no more,asks for a port", asking_for_ever()),
              HasSubstr("asks for no port any more, and is still called Ready"));
}

TEST(PlantedHands, TwoLeadersBesideAnOperator) {
  EXPECT_THAT(find_by_deed(kLostLease, renewals_that_are_never_sent()),
              HasSubstr("2 replicas lead"));
}

TEST(PlantedHands, APostWithoutTheSecretOfThePath) {
  EXPECT_THAT(find_by_deed(kStranger, paths_without_a_secret()),
              HasSubstr("a stranger was answered"));
}

}  // namespace
}  // namespace berth::scenario
