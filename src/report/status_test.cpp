// What a person reads who types `berth status`, word by word.
#include "report/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/keys.h"
#include "report/test_support.h"

namespace berth::report {
namespace {

using namespace std::chrono_literals;
using ledger::SlotState;
using testing::claim_of;
using testing::cluster;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::hold;
using ::testing::IsEmpty;
using testing::kNow;
using testing::lease;
using testing::listener_at;
using ::testing::Not;
using testing::put;

std::vector<std::string> problems(const ClusterView& view) { return make_status(view).problems; }

TEST(Status, WhenAllIsWell) {
  ClusterView view = cluster();
  hold(view, 30000, claim_of("room-0"));
  EXPECT_EQ(to_text(make_status(view)), R"(controller: berth-1 leads, last seen 2 s ago

POOL          ITEM    STATUS   PORTS   READY   USED   MESSAGE
games/rooms   item1   Ready    3       3       1

LOAD BALANCER   ADDRESSES   LISTENERS   QUOTA   LAST ERROR
edge:demo       1.1.1.1     3           ?

claims: 1 bound, 0 draining, 0 kept, 0 quarantined, 0 unbound

all is well
)");
  EXPECT_TRUE(make_status(view).well());
}

// Nearly everything that can be wrong at once.
ClusterView broken() {
  ClusterView view = cluster();
  view.lease = lease("berth-1", 5min);
  view.webhooks = nullptr;
  view.unseen = {"events"};
  testing::item_status(view)["status"] = api::kNotReady;
  testing::item_status(view)["message"] = "1 of 3 listeners are ready";
  view.balancers[0].status.listener_quota = 3;
  view.balancers[0].status.last_error = "unavailable: no route";
  api::Listener unsynced = listener_at(30001);
  unsynced.status = {.status = std::string(api::kNotSynced), .message = "the port is in use"};
  put(view, unsynced);
  put(view, claims::testing::with_claim(listener_at(30002), R"({"v":9})"));
  api::PortBinding binding;
  binding.meta = {.ns = kube::Interned("games"), .name = "room-0", .created = kNow - 1h};
  binding.status = {.status = std::string(api::kNotReady),
                    .update_time = format_rfc3339_micro(kNow - 3min)};
  testing::bindings(view) = {testing::as_object(binding)};
  return view;
}

TEST(Status, WhenMuchIsWrong) {
  EXPECT_EQ(to_text(make_status(broken())), R"(controller: berth-1 is gone, last seen 5 min ago

POOL          ITEM    STATUS     PORTS   READY   USED   MESSAGE
games/rooms   item1   NotReady   3       2       1      1 of 3 listeners are ready

LOAD BALANCER   ADDRESSES   LISTENERS   QUOTA   LAST ERROR
edge:demo       1.1.1.1     3           3       unavailable: no route

NOT READY                  SINCE   WHY
PortBinding games/room-0   3 min   NotReady

NOT SYNCED                      SINCE    WHY
Listener games/demo-tcp-30001   60 min   the port is in use

claims: 0 bound, 0 draining, 0 kept, 0 quarantined, 0 unbound, 1 unreadable

not looked at: events, which this user may not read
problem: no controller runs: berth-1 renewed lease berth-system/berth 5 min ago
problem: the webhook configuration berth is missing: Pods get no ports
problem: PortPool games/rooms item item1 is NotReady: 1 of 3 listeners are ready
problem: PortBinding games/room-0 is NotReady since 3 min
problem: the claim of Listener games/demo-tcp-30002 cannot be read
problem: load balancer edge:demo: unavailable: no route
problem: load balancer edge:demo is full: 3 of 3 listeners
problem: 1 Listeners are not synced: the port is in use
)");
}

TEST(Status, AsJsonHasWhatTheTextHas) {
  ClusterView view = broken();
  view.refusals = {{.object = "Deployment games/lobby", .message = "it is full", .ago = 30s}};
  const wire::Value json = to_json(make_status(view));
  EXPECT_FALSE(json.at("well").as_bool());
  EXPECT_EQ(json.at("problems").as_array().size(), 9u);
  wire::Value rest = json;
  rest.as_object().erase("problems");
  EXPECT_EQ(rest, wire::parse_json(R"({
    "well": false,
    "leader": {"holder": "berth-1", "alive": false, "renewedSecondsAgo": 300.0},
    "items": [{"pool": "games/rooms", "item": "item1", "status": "NotReady",
               "message": "1 of 3 listeners are ready", "ports": 3, "ready": 2, "used": 1}],
    "loadBalancers": [{"name": "edge:demo", "vips": ["1.1.1.1"], "quota": 3, "used": 3,
                       "lowPortLimit": 0, "lowPortOffset": 0,
                       "lastError": "unavailable: no route"}],
    "bindingsNotReady": [{"object": "PortBinding games/room-0", "why": "NotReady",
                          "seconds": 180.0}],
    "listenersNotSynced": [{"object": "Listener games/demo-tcp-30001",
                            "why": "the port is in use", "seconds": 3600.0}],
    "refusals": [{"object": "Deployment games/lobby", "why": "it is full", "secondsAgo": 30.0,
                  "over": false}],
    "notLookedAt": ["events"],
    "claims": {"bound": 0, "draining": 0, "kept": 0, "quarantined": 0, "unbound": 0,
               "unreadable": 1}
  })")
                      .value());
}

TEST(Status, SaysWhyNobodyLeads) {
  ClusterView view = cluster();
  view.lease = lease("", 0s);
  EXPECT_THAT(problems(view),
              ElementsAre("no controller leads: lease berth-system/berth has no holder"));
  view.lease = nullptr;
  EXPECT_THAT(problems(view),
              ElementsAre("no controller leads: lease berth-system/berth is not there"));
  view.ns.clear();
  view.installed = false;
  EXPECT_THAT(problems(view),
              ElementsAre("Berth is not installed: its kinds are not known (berth manifests)",
                          "no controller leads: no namespace has a lease named berth (berth "
                          "manifests installs one)"));
  EXPECT_THAT(to_text(make_status(view)), HasSubstr("controller: none leads\n"));
}

TEST(Status, SaysWhoHasThePortsOfAFullPool) {
  ClusterView view = cluster();
  hold(view, 30000, claim_of("room-0"));
  hold(view, 30001, claim_of("room-1"));
  EXPECT_THAT(problems(view), IsEmpty());
  ledger::Claim kept = claim_of("room-2", SlotState::kept);
  kept.until = kNow + 1h;
  hold(view, 30002, kept);
  EXPECT_THAT(problems(view),
              ElementsAre("PortPool games/rooms is full: 3 of 3 TCP ports are in use: 2 by "
                          "games/room-0, games/room-1; 1 kept for games/room-2, which is gone "
                          "(the first until 2026-01-02T01:00:00Z)"));
}

TEST(Status, AClaimWithoutAPodIsAProblemWhenNobodyFreesIt) {
  ClusterView view = cluster();
  ledger::Claim claim = claim_of("", SlotState::claimed);
  hold(view, 30000, claim);
  EXPECT_THAT(problems(view), IsEmpty());
  claim.since = kNow - 3min;
  hold(view, 30000, claim);
  EXPECT_THAT(problems(view),
              ElementsAre("the claim of Listener games/demo-tcp-30000 has no Pod since 3 min"));
}

TEST(Status, WhatIsYoungMayTakeItsTime) {
  ClusterView view = cluster();
  api::PortBinding binding;
  binding.meta = {.ns = kube::Interned("games"), .name = "room-0", .created = kNow - 10s};
  testing::bindings(view) = {testing::as_object(binding)};
  api::Listener young = listener_at(30000);
  young.status.status.clear();
  young.meta.created = kNow - 10s;
  put(view, young);
  EXPECT_THAT(problems(view), IsEmpty());
  EXPECT_THAT(to_text(make_status(view)), HasSubstr("PortBinding games/room-0   10 s    NotReady"));
  view.now += 2min;
  view.lease = nullptr;
  EXPECT_THAT(problems(view), Contains("PortBinding games/room-0 is NotReady, created 2 min ago"));
  EXPECT_THAT(problems(view), Contains("1 Listeners are not synced: NotSynced"));
}

TEST(Status, WhatIsOverIsNoProblem) {
  ClusterView view = cluster();
  for (const std::string_view word : {api::kReady, api::kCleaned}) {
    api::PortBinding binding;
    binding.meta = {.ns = kube::Interned("games"), .name = "room-0", .created = kNow - 1h};
    binding.status.status = std::string(word);
    testing::bindings(view).push_back(testing::as_object(binding));
  }
  view.refusals = {
      {.object = "Deployment games/lobby", .message = "full", .ago = 30s, .over = true}};
  EXPECT_THAT(problems(view), IsEmpty());
  view.refusals[0].over = false;
  EXPECT_THAT(problems(view),
              ElementsAre("Deployment games/lobby was refused ports 30 s ago: full"));
}

TEST(Status, SaysWhereLowPortsAreOpen) {
  ClusterView view = cluster();
  view.balancers[0].status.low_port_limit = 1024;
  view.balancers[0].status.low_port_offset = 61000;
  EXPECT_THAT(
      to_text(make_status(view)),
      HasSubstr("edge:demo: ports below 1024 are open 61000 higher: connect to 61080 for 80"));
}

TEST(Status, LongListsAreCut) {
  ClusterView view = cluster();
  for (int i = 0; i < 25; ++i) {
    api::PortBinding binding;
    binding.meta = {
        .ns = kube::Interned("games"), .name = fmt::format("room-{}", i), .created = kNow};
    testing::bindings(view).push_back(testing::as_object(binding));
  }
  const std::string text = to_text(make_status(view));
  EXPECT_THAT(text, HasSubstr("games/room-19 "));
  EXPECT_THAT(text, Not(HasSubstr("games/room-20 ")));
  EXPECT_THAT(text, HasSubstr("and 5 more\n"));
}

// A new front end needs no line here.
TEST(Status, WhatAModuleAddsIsShownAtItsPlaceAndInTheJson) {
  static constexpr Part kStages{.module = "stages",
                                .add_status = [](const ClusterView& view, Status& status) {
                                  status.text[Place::first] += "STAGE\nmain\n\n";
                                  status.json["stages"] = view.objects.size();
                                  status.problems.emplace_back("Stage main is dark");
                                }};
  ClusterView view = cluster();
  view.parts = {&kStages};
  const Status status = make_status(view);
  EXPECT_THAT(to_text(status), HasSubstr("ago\n\nSTAGE\nmain\n\nLOAD BALANCER"));
  EXPECT_THAT(to_text(status), Not(HasSubstr("claims:"))) << "which is of a part that is not here";
  EXPECT_EQ(to_json(status).at("stages").to_number<int>(), 1);
  EXPECT_THAT(status.problems, ElementsAre("Stage main is dark"));
}

TEST(Status, AgesAreToldAsPeopleSayThem) {
  EXPECT_EQ(age(-1s), "0 s");
  EXPECT_EQ(age(119s), "119 s");
  EXPECT_EQ(age(2min), "2 min");
  EXPECT_EQ(age(119min), "119 min");
  EXPECT_EQ(age(47h), "47 h");
  EXPECT_EQ(age(48h), "2 d");
}

}  // namespace
}  // namespace berth::report
