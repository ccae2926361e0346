#include "controllers/portpool/sweep.h"

#include <gmock/gmock.h>

#include "controllers/portpool/test_controllers.h"

namespace berth::controllers::portpool {
namespace {

using namespace std::chrono_literals;
using ledger::SlotState;
using ::testing::ElementsAre;
using testing::entry;
using ::testing::IsEmpty;
using testing::kPod;
using testing::kRoom;
using testing::Room;
using wire::Object;

class SweepTest : public testing::PortPoolControllerTest {
 protected:
  // An answer was given, and nothing is known of its Pod.
  static Room answered(const std::vector<api::PortBindingItem>& told = {entry(30000)}) {
    Room room(told);
    room.pod.reset();
    return room;
  }
  bool is_free(const std::string& name = "demo-tcp-30000") const {
    return claims::claim_text(listener(name)).empty();
  }

  ClaimSweeper sweeper_{tasks_,
                        replica_.client,
                        caches_,
                        replica_.claimer,
                        {.quarantine = 10s, .may_write = [this] { return may_write_; }},
                        &registry_};
  std::unique_ptr<Task> running_ = start(sweeper_);
};

TEST_F(SweepTest, AClaimWhosePodNeverCameIsFreedWhenItsLifetimeIsOver) {
  settle();
  has(answered());
  pass(59s);
  EXPECT_FALSE(is_free());
  EXPECT_THAT(api_.calls(), IsEmpty()) << "nobody is asked before";
  pass(2s);
  EXPECT_TRUE(is_free());
}

TEST_F(SweepTest, AYoungerClaimOfTheNamespaceHasItsOwnMinute) {
  settle();
  has(answered());
  pass(20s);
  Room later = answered({entry(30001)});
  ledger::Claim claimed = later.claim("demo-tcp-30001");
  claimed.token = ledger::make_token(testing::kNow, 2, 2);
  later.set_claim(claimed, "demo-tcp-30001");
  has(later);
  pass(41s);
  EXPECT_TRUE(is_free());
  EXPECT_FALSE(is_free("demo-tcp-30001"));
  pass(20s);
  EXPECT_TRUE(is_free("demo-tcp-30001"));
}

TEST_F(SweepTest, OneListOfPodsAnswersForAllClaimsOfANamespace) {
  settle();
  has(answered({entry(30000), entry(30001), entry(30002)}));
  pass(61s);
  EXPECT_THAT(api_.calls(),
              ElementsAre("GET pods", "PATCH listeners/demo-tcp-30000",
                          "PATCH listeners/demo-tcp-30001", "PATCH listeners/demo-tcp-30002"));
}

TEST_F(SweepTest, APodThatWaitsForItsAddressHasItsClaimBound) {
  settle();
  Room room;
  room.pod->ips.clear();
  has(room);
  pass(61s);
  EXPECT_EQ(claim().state, SlotState::bound);
  EXPECT_EQ(claim().pod_name, "room-0");
  EXPECT_EQ(claim().pod_uid, "uid-1");
}

TEST_F(SweepTest, APodThatTheCacheDoesNotShowYetKeepsItsPort) {
  settle();
  hears_pods_ = false;
  has(Room());
  pass(61s);
  EXPECT_EQ(claim().state, SlotState::bound);
}

TEST_F(SweepTest, APodWhoseLabelWasTakenOffKeepsWhatItWasTold) {
  settle();
  Room room;
  room.pod->meta.labels = {};
  has(room);
  pass(61s);
  EXPECT_EQ(claim().state, SlotState::bound);
}

// The later creation was refused, and its token is in the claim.
TEST_F(SweepTest, ANameThatWasCreatedTwiceKeepsWhatItsPodWasTold) {
  settle();
  Room room;
  ledger::Claim claimed = room.claim();
  claimed.pod_name = "room-0";
  claimed.token = ledger::make_token(testing::kNow, 2, 2);
  room.set_claim(claimed);
  has(room);
  pass(61s);
  EXPECT_EQ(claim().state, SlotState::bound);
  EXPECT_EQ(claim().pod_uid, "uid-1");
}

TEST_F(SweepTest, APodOfThatNameThatWasToldOfAnotherPortHasNoPartInIt) {
  settle();
  Room room({entry(30000), entry(30001)});
  ledger::Claim claimed = room.claim();
  claimed.pod_name = "room-0";
  claimed.token = ledger::make_token(testing::kNow, 2, 2);
  room.set_claim(claimed);
  room.pod = room.new_pod("uid-1", Room::kToken, {entry(30001)});
  has(room);
  pass(61s);
  EXPECT_TRUE(is_free());
  EXPECT_EQ(claim("demo-tcp-30001").state, SlotState::bound);
}

TEST_F(SweepTest, APodThatHasEndedHoldsNothing) {
  settle();
  has(Room());
  api_.edit(kPod, kRoom, Object{{"status", Object{{"phase", "Failed"}}}});
  pass(61s);
  EXPECT_TRUE(is_free());
}

TEST_F(SweepTest, WithoutTheListNothingIsFreed) {
  settle();
  has(answered());
  api_.on({"GET", "pods"}, {.refused = 500});
  ASSERT_TRUE(kernel_.run_until([&] { return !api_.calls().empty(); }));
  EXPECT_FALSE(is_free());
  pass(30s);
  EXPECT_TRUE(is_free()) << "it is asked again";
}

TEST_F(SweepTest, AClaimThatChangedMeanwhileIsNotFreed) {
  settle();
  has(answered());
  // Its name was admitted once more.
  ledger::Claim next = claim();
  next.token = ledger::make_token(testing::kNow, 3, 3);
  api_.on({"PATCH", "listeners/demo-tcp-30000"},
          {.before = [&] { put(claims::testing::with_claim(listener(), next)); }});
  pass(61s);
  EXPECT_EQ(claim().token, next.token);
  pass(50s);
  EXPECT_FALSE(is_free()) << "its own minute has begun";
  pass(15s);
  EXPECT_TRUE(is_free());
}

// It took its port back, whose last Pod may still be reached.
TEST_F(SweepTest, ANameWhosePortStillLeadsSomewhereIsDrained) {
  settle();
  Room room = answered();
  ledger::Claim back = room.claim();
  back.pod_name = "room-0";
  back.pod_uid = "uid-0";
  room.set_claim(back);
  room.listeners["demo-tcp-30000"] =
      claims::testing::leading_to(room.listeners.at("demo-tcp-30000"), "10.0.0.1");
  has(room);
  pass(61s);
  EXPECT_EQ(claim().state, SlotState::draining);
}

TEST_F(SweepTest, ANameWhosePeerLeadsOnTheServerIsNotFreed) {
  settle();
  Room room = answered({entry(30000, {"east", "west"})});
  ledger::Claim back = room.claim("east-tcp-30000");
  back.pod_name = "room-0";
  back.pod_uid = "uid-0";
  room.set_claim(back, "east-tcp-30000");
  has(room);
  hears_listeners_ = false;
  put(claims::testing::leading_to(listener("west-tcp-30000"), "10.0.0.1"));
  hears_listeners_ = true;
  pass(70s);
  EXPECT_EQ(claim("east-tcp-30000").state, SlotState::draining);
}

TEST_F(SweepTest, AClaimForANamespaceThatCannotBeIsFreedWithoutAQuestion) {
  settle();
  Room room = answered();
  ledger::Claim forged = room.claim();
  forged.ns = "../pods";
  room.set_claim(forged);
  has(room);
  pass(61s);
  EXPECT_THAT(api_.calls(), ElementsAre("PATCH listeners/demo-tcp-30000"));
  EXPECT_TRUE(is_free());
}

TEST_F(SweepTest, NothingIsFreedWithoutTheLead) {
  settle();
  may_write_ = false;
  has(answered());
  pass(2min);
  EXPECT_THAT(api_.calls(), IsEmpty());
}

}  // namespace
}  // namespace berth::controllers::portpool
