// Claims that are used again: of a name that comes back, of a webhook that is called again, and of
// an owner whose Pods do not come into being.
#include <gmock/gmock.h>

#include "api/pod_ports.h"
#include "claims/test_claimer.h"

namespace berth::claims {
namespace {

using namespace std::chrono_literals;
using ledger::Claim;
using ledger::SlotState;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::encoded;
using ::testing::IsEmpty;
using testing::lock_at;
using ::testing::StartsWith;
using testing::with_claim;
using wire::Object;
using wire::Value;

const kube::ResourceType& kBinding = api::port_binding_kind().type;

Value pod(const std::string& name, const std::string& uid, Object labels = {},
          Object annotations = {}) {
  return Object{{"metadata", Object{{"namespace", "games"},
                                    {"name", name},
                                    {"uid", uid},
                                    {"labels", std::move(labels)},
                                    {"annotations", std::move(annotations)}}}};
}
// What a Pod was told of a port.
api::PortBindingItem told(int port) {
  return {.pool_name = "rooms",
          .pool_namespace = "games",
          .load_balancer_ids = {"edge:demo"},
          .pool_item_name = "item1",
          .protocol = "TCP",
          .start_port = port,
          .rs_start_port = 8000};
}
Object told_annotation(int port) {
  return {{api::kPoolBindingsAnnotation, api::encode_pool_bindings({told(port)})}};
}

// A Pod was called room-0 and had a port, which its name keeps.
class TakeBackTest : public ClaimerTest {
 protected:
  Claim of_room(SlotState state, int entry = 0) {
    return {.state = state,
            .token = "old",
            .ns = "games",
            .pod_name = "room-0",
            .pod_uid = "uid-1",
            .request = "request",
            .entry = entry,
            .since = tasks_.wall_time(),
            .keep = 1h};
  }
  void hold(int port, const Claim& claim) {
    const auto at = static_cast<model::Port>(port);
    api_.put(kListener, encoded(with_claim(lock_at({.ports = {at, at}}), claim)));
  }
  void hold_and_know(int port, const Claim& claim) {
    hold(port, claim);
    here_.catch_up();
  }
  void record(const std::vector<int>& ports) {
    api::PortBindingSpec spec;
    for (const int port : ports) spec.port_binding_list.push_back(told(port));
    api_.put(kBinding, Object{{"metadata", Object{{"namespace", "games"}, {"name", "room-0"}}},
                              {"spec", api::encode(spec)}});
  }
  Claim admission(std::string request = "request") {
    return {.token = "new",
            .ns = "games",
            .pod_name = "room-0",
            .request = std::move(request),
            .since = tasks_.wall_time(),
            .keep = 1h};
  }
  Result<std::vector<TakenSlot>> reclaim(const std::vector<SlotRequest>& requests = {kTcp}) {
    return here_.claimer.reclaim(context_, "room-0", requests, admission());
  }
  SlotState state_of(int port) const {
    return ledger::decode_claim(claim_on(port)).value().value_or(Claim{.state = {}}).state;
  }
};

TEST_F(TakeBackTest, AKeptPortIsItsNamesAgain) {
  open(30003);
  hold_and_know(30001, of_room(SlotState::kept));
  record({30001});
  EXPECT_EQ(ports(reclaim()), "30001");
  const Claim now = ledger::decode_claim(claim_on(30001)).value().value();
  EXPECT_EQ(now.state, SlotState::claimed);
  EXPECT_EQ(now.token, "new");
  EXPECT_EQ(now.pod_uid, "uid-1") << "it may still lead there";
  EXPECT_EQ(now.pod_port.port, 8000);
}

TEST_F(TakeBackTest, ANameThatHasNothingGetsNothingHere) {
  open(30001);
  EXPECT_EQ(ports(reclaim()), "");
  EXPECT_THAT(api_.writes(), IsEmpty());
}

// The Pod ended a moment ago, and this replica's cache is older than that.
TEST_F(TakeBackTest, WhereToLookIsReadFromTheServer) {
  open(30003);
  hold(30001, of_room(SlotState::kept));
  record({30001});
  EXPECT_EQ(ports(reclaim()), "30001");
}

TEST_F(TakeBackTest, WithoutTheRecordOfItsPortsNothingIsSaid) {
  open(30003);
  hold(30001, of_room(SlotState::kept));
  record({30001});
  api_.on({"GET", "portbindings/room-0"}, {.refused = 500});
  EXPECT_EQ(ports(reclaim()), "unavailable") << "it might get another port";
  api_.on({"GET", "listeners/demo-tcp-30001"}, {.refused = 500});
  EXPECT_EQ(ports(reclaim()), "unavailable");
}

TEST_F(TakeBackTest, APodThatIsStillThereKeepsItsPort) {
  open(30003);
  hold_and_know(30001, of_room(SlotState::bound));
  api_.put(kube::types::kPod, pod("room-0", "uid-1"));
  EXPECT_EQ(ports(reclaim()), "already_exists");
  EXPECT_EQ(state_of(30001), SlotState::bound);
  api_.on({"GET", "pods/room-0"}, {.refused = 500});
  EXPECT_EQ(ports(reclaim()), "unavailable");
  api_.erase(kube::types::kPod, {"games", "room-0"});
  EXPECT_EQ(ports(reclaim()), "30001") << "it is gone; its controller has not looked yet";
}

TEST_F(TakeBackTest, AnotherPodOfItsNameIsNotTheOneThatHadIt) {
  open(30003);
  hold_and_know(30001, of_room(SlotState::bound));
  api_.put(kube::types::kPod, pod("room-0", "uid-2"));
  EXPECT_EQ(ports(reclaim()), "30001");
}

TEST_F(TakeBackTest, WhoAsksForSomethingElseGetsNothingBack) {
  open(30003);
  hold_and_know(30001, of_room(SlotState::kept));
  EXPECT_EQ(ports(here_.claimer.reclaim(context_, "room-0", {kTcp}, admission("another"))), "");
  EXPECT_EQ(state_of(30001), SlotState::kept);
}

TEST_F(TakeBackTest, APortThatRestsOrIsNotKeptIsNotTakenBack) {
  open(30003);
  hold_and_know(30000, of_room(SlotState::quarantined));
  Claim passing = of_room(SlotState::draining);
  passing.keep = 0s;
  hold_and_know(30001, passing);
  EXPECT_EQ(ports(reclaim()), "");
}

// From draining to kept.
TEST_F(TakeBackTest, AControllerThatMovesItMeanwhileCostsNothing) {
  open(30003);
  hold_and_know(30001, of_room(SlotState::draining));
  api_.on({"PATCH", "listeners/demo-tcp-30001"},
          {.before = [&] { hold(30001, of_room(SlotState::kept)); }});
  EXPECT_EQ(ports(reclaim()), "30001");
  EXPECT_EQ(holder_of(30001), "new");
}

TEST_F(TakeBackTest, WhatBecameAnothersMeanwhileIsNotTakenBack) {
  open(30003);
  hold_and_know(30001, of_room(SlotState::kept));
  Claim stranger = of_room(SlotState::claimed);
  stranger.pod_name = "lobby-0";
  stranger.token = "stranger";
  api_.on({"PATCH", "listeners/demo-tcp-30001"}, {.before = [&] { hold(30001, stranger); }});
  EXPECT_EQ(ports(reclaim()), "");
  EXPECT_EQ(holder_of(30001), "stranger");
}

TEST_F(TakeBackTest, AllOfItsPortsOrNone) {
  open(30003);
  hold_and_know(30000, of_room(SlotState::kept, 0));
  hold_and_know(30001, of_room(SlotState::kept, 1));
  const std::string before = claim_on(30000);
  api_.on({"PATCH", "listeners/demo-tcp-30001"}, {.lost_after = true});
  EXPECT_EQ(ports(reclaim({kTcp, kTcp})), "timeout");
  EXPECT_EQ(claim_on(30000), before) << "as it was, not free";
  EXPECT_EQ(state_of(30001), SlotState::kept);
  EXPECT_EQ(ports(reclaim({kTcp, kTcp})), "30000 30001");
}

// The webhook is called for one Pod a second time.
class RecentClaimTest : public TakeBackTest {
 protected:
  bool is_recent(const Claim& claim) {
    return here_.claimer.is_recent_claim(context_, claim, {told(30000)}).value();
  }
};

TEST_F(RecentClaimTest, IsOneThatWasGivenHereOrByAnotherReplica) {
  open(30002);
  ASSERT_EQ(ports(claim_at(there_, "a")), "30000");
  EXPECT_TRUE(is_recent(claim("a"))) << "told by a replica that this one has not heard of";
  tasks_.advance(31s);
  EXPECT_FALSE(is_recent(claim("a"))) << "the API server has given that request up";
}

TEST_F(RecentClaimTest, IsOfThatPodAndNoOther) {
  open(30002);
  ASSERT_EQ(ports(claim_at(here_, "a")), "30000");
  Claim other = claim("a");
  other.pod_name = "copy-of-it";
  EXPECT_FALSE(is_recent(other));
  other = claim("a");
  other.ns = "elsewhere";
  EXPECT_FALSE(is_recent(other));
  other = claim("a");
  other.request = "more";
  EXPECT_FALSE(is_recent(other));
  EXPECT_FALSE(is_recent(claim("b")));
  EXPECT_TRUE(is_recent(claim("a")));
}

TEST_F(RecentClaimTest, IsNotBoundYet) {
  open(30002);
  hold_and_know(30000, ledger::bound_to(claim("a"), "pod-a", "uid-1", tasks_.wall_time()));
  EXPECT_FALSE(is_recent(claim("a")));
}

// With generateName, the manifest of a Pod that has come may be posted again.
TEST_F(RecentClaimTest, WithoutANameIsOneWhosePodHasNotCome) {
  open(30002);
  Claim unnamed = claim("a");
  unnamed.pod_name.clear();
  ASSERT_TRUE(here_.claimer.claim_all(context_, {kTcp}, unnamed));
  EXPECT_TRUE(is_recent(unnamed));
  api_.put(kube::types::kPod, pod("room-x7k2p", "uid-1", {{ledger::kTokenLabel, "a"}}));
  EXPECT_FALSE(is_recent(unnamed));
  api_.on({"GET", "pods"}, {.refused = 500});
  EXPECT_FALSE(here_.claimer.is_recent_claim(context_, unnamed, {told(30000)}));
}

// A ReplicaSet whose Pods are refused after our answer, one after the other.
class ReuseTest : public ClaimerTest {
 protected:
  ReuseTest() { open(30020); }
  Result<std::vector<TakenSlot>> attempt(int number, std::string owner = "owner") {
    Claim own = claim(fmt::format("t{}", number));
    own.pod_name.clear();
    own.owner_uid = std::move(owner);
    tasks_.advance(1s);
    own.since = tasks_.wall_time();
    return here_.claimer.claim_all(context_, {kTcp}, own);
  }
  void fail_attempts(int count) {
    for (int i = 0; i < count; ++i) ASSERT_EQ(ports(attempt(i)), fmt::format("{}", 30000 + i));
  }
};

TEST_F(ReuseTest, FromEightOnTheOldestIsUsedAgain) {
  fail_attempts(8);
  tasks_.advance(1min);
  EXPECT_EQ(ports(attempt(8)), "30000");
  EXPECT_EQ(holder_of(30000), "t8");
  EXPECT_EQ(ports(attempt(9)), "30001");
}

TEST_F(ReuseTest, SevenAreNotTooMany) {
  fail_attempts(7);
  tasks_.advance(1min);
  EXPECT_EQ(ports(attempt(7)), "30007");
}

TEST_F(ReuseTest, AYoungOneMayStillGetItsPod) {
  fail_attempts(8);
  EXPECT_EQ(ports(attempt(8)), "30008") << "a large workload starts";
}

TEST_F(ReuseTest, WhatOthersFailedToUseIsNotItsOwn) {
  fail_attempts(8);
  tasks_.advance(1min);
  EXPECT_EQ(ports(attempt(8, "another")), "30008");
  EXPECT_EQ(ports(attempt(9, "")), "30009");
}

TEST_F(ReuseTest, APodThatLivesKeepsWhatItWasTold) {
  fail_attempts(8);
  tasks_.advance(1min);
  api_.put(kube::types::kPod, pod("room-a", "uid-1", {{ledger::kTokenLabel, "t0"}}));
  EXPECT_EQ(ports(attempt(8)), "30008") << "it has the token";
  api_.put(kube::types::kPod, pod("room-a", "uid-1", {}, told_annotation(30000)));
  EXPECT_EQ(ports(attempt(9)), "30009") << "somebody took the label off";
  api_.edit(kube::types::kPod, {"games", "room-a"},
            Object{{"status", Object{{"phase", "Failed"}}}});
  EXPECT_EQ(ports(attempt(10)), "30000") << "it has ended";
}

TEST_F(ReuseTest, WhetherItsPodLivesMustBeKnown) {
  fail_attempts(8);
  tasks_.advance(1min);
  api_.on({"GET", "pods"}, {.refused = 500});
  EXPECT_EQ(ports(attempt(8)), "unavailable");
  EXPECT_EQ(holder_of(30000), "t0");
}

TEST_F(ReuseTest, WhoLosesTheOldestGetsAnother) {
  fail_attempts(8);
  tasks_.advance(1min);
  api_.on({"PATCH", "listeners/demo-tcp-30000"}, {.before = [&] {
            api_.put(kListener, encoded(lock_at({})));  // swept
          }});
  EXPECT_EQ(ports(attempt(8)), "30000") << "free by now, and taken as any other";
  EXPECT_EQ(holder_of(30000), "t8");
}

}  // namespace
}  // namespace berth::claims
