#include "engine/mailbox.h"

#include <gtest/gtest.h>

#include "engine/place_reconciler.h"
#include "engine/test_support.h"
#include "sim/kernel/run_for.h"

namespace berth::engine {
namespace {

using namespace std::chrono_literals;

class MailboxTest : public testing::Test {
 protected:
  // Takes without waiting.
  Box* take() { return take(boxes_); }
  Box* take(Mailboxes& boxes) {
    std::stop_source stop;
    Box* box = nullptr;
    const auto worker =
        process_.spawn("take", [&](std::stop_token) { box = boxes.take(stop.get_token()); });
    (void)kernel_.run_until_quiescent(1ns);
    stop.request_stop();
    worker->join();
    return box;
  }

  sim::Kernel kernel_{1};
  sim::Process& process_ = kernel_.start_process("test");
  Mailboxes boxes_{process_};
};

TEST_F(MailboxTest, WishesCollectWhileABoxIsTaken) {
  boxes_.want(WishKey("a"), wish_for(1));
  Box* box = take();
  ASSERT_TRUE(box);
  EXPECT_EQ(boxes_.read(*box).wishes.size(), 1u);
  boxes_.want(WishKey("b"), wish_for(2));
  boxes_.want(WishKey("c"), wish_for(3));
  EXPECT_FALSE(take()) << "two workers serve one load balancer";
  boxes_.give_back(*box, {});
  ASSERT_EQ(take(), box);
  EXPECT_EQ(boxes_.read(*box).wishes.size(), 2u);
}

TEST_F(MailboxTest, TheNewestWishOfAKeyCounts) {
  boxes_.want(WishKey("a"), wish_for(1));
  boxes_.want(WishKey("a"), wish_for(1, {target(7)}));
  Box* box = take();
  ASSERT_TRUE(box);
  const Messages messages = boxes_.read(*box);
  ASSERT_EQ(messages.wishes.size(), 1u);
  EXPECT_EQ(messages.wishes.at(WishKey("a"))->spec->rules.front().targets.size(), 1u);
}

// Nobody asked for it, so nobody else knows where it is.
TEST_F(MailboxTest, ARepairIsForgottenToo) {
  boxes_.audit(kLb);
  Box* box = take();
  ASSERT_TRUE(box);
  (void)boxes_.read(*box);
  boxes_.give_back(*box, {.opened = {WishKey("a"), WishKey("b")}});
  boxes_.forget(WishKey("a"));
  ASSERT_EQ(take(), box);
  const Messages messages = boxes_.read(*box);
  ASSERT_EQ(messages.wishes.size(), 1u);
  EXPECT_FALSE(messages.wishes.at(WishKey("a")));
  // The other one is wanted elsewhere before it is told that a repair was begun.
  Wish elsewhere = wish_for(1);
  elsewhere.credential = model::CredentialId("team-a");
  boxes_.want(WishKey("c"), elsewhere);
  boxes_.give_back(*box, {.opened = {WishKey("c")}});
  const Box* const first = take();
  ASSERT_TRUE(first);
  Box* const second = take();
  ASSERT_TRUE(second);
  EXPECT_TRUE(first == box || second == box);
}

TEST_F(MailboxTest, AWishThatMovesIsForgottenWhereItWas) {
  boxes_.want(WishKey("a"), wish_for(1));
  Box* first = take();
  ASSERT_TRUE(first);
  (void)boxes_.read(*first);
  boxes_.want(WishKey("a"), wish_for(1, {}, kOtherLb));
  Box* second = take();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->place.lb, kOtherLb);
  boxes_.give_back(*first, {});
  ASSERT_EQ(take(), first);
  EXPECT_FALSE(boxes_.read(*first).wishes.at(WishKey("a"))) << "the old load balancer is not told";
}

TEST_F(MailboxTest, AForgottenKeyReachesItsLoadBalancerUnlessItIsDone) {
  boxes_.want(WishKey("a"), wish_for(1));
  Box* box = take();
  ASSERT_TRUE(box);
  (void)boxes_.read(*box);
  boxes_.give_back(*box, {.settled = {WishKey("a")}});
  boxes_.forget(WishKey("a"));
  EXPECT_FALSE(take()) << "nobody knows the key any more";
}

TEST_F(MailboxTest, ABoxComesAgainWhenItIsDue) {
  boxes_.want(WishKey("a"), wish_for(1));
  Box* box = take();
  ASSERT_TRUE(box);
  (void)boxes_.read(*box);
  boxes_.give_back(*box, {.due = kernel_.now() + 10s});
  EXPECT_FALSE(take());
  Box* again = nullptr;
  const auto worker =
      process_.spawn("take", [&](std::stop_token stop) { again = boxes_.take(std::move(stop)); });
  ASSERT_TRUE(kernel_.run_until([&] { return again != nullptr; }));
  EXPECT_EQ(again, box);
}

TEST_F(MailboxTest, ARetiredBoxIsMadeAnew) {
  boxes_.want(WishKey("a"), wish_for(1));
  Box* box = take();
  ASSERT_TRUE(box);
  (void)boxes_.read(*box);
  boxes_.give_back(*box, {.retire = true, .settled = {WishKey("a")}});
  EXPECT_FALSE(take());
  boxes_.want(WishKey("a"), wish_for(1));
  ASSERT_TRUE(take());
}

// Where writes must follow each other; nobody's due time is lost meanwhile.
TEST_F(MailboxTest, PlacesOfOneLoadBalancerTakeTurns) {
  Mailboxes boxes(process_, [](const model::LoadBalancerRef& lb) { return lb == kLb; });
  const auto wish_of = [](const char* credential, const model::LoadBalancerRef& lb) {
    Wish wish = wish_for(1, {}, lb);
    wish.credential = model::CredentialId(credential);
    return wish;
  };
  boxes.want(WishKey("a"), wish_of("a", kLb));
  boxes.want(WishKey("b"), wish_of("b", kLb));
  Box* const first = take(boxes);
  ASSERT_TRUE(first);
  EXPECT_FALSE(take(boxes)) << "two workers write to one load balancer";
  boxes.want(WishKey("c"), wish_of("c", kLb));
  boxes.want(WishKey("d"), wish_of("d", kOtherLb));
  boxes.want(WishKey("e"), wish_of("e", kOtherLb));
  Box* const elsewhere = take(boxes);
  ASSERT_TRUE(elsewhere);
  EXPECT_EQ(elsewhere->place.lb, kOtherLb);
  EXPECT_TRUE(take(boxes)) << "writes to that one need not wait";
  (void)boxes.read(*first);
  boxes.give_back(*first, {.due = process_.now()});
  std::vector<std::string> order;
  for (int i = 0; i < 3; ++i) {
    Box* const next = take(boxes);
    ASSERT_TRUE(next);
    order.push_back(next->place.credential.value);
    (void)boxes.read(*next);
    boxes.give_back(*next, {});
  }
  EXPECT_EQ(order, (std::vector<std::string>{"b", "c", "a"}));
}

class GatheringTest : public MailboxTest {
 protected:
  // The box of kLb, whose calls are known to take half a second.
  void make_box(Mailboxes& boxes) {
    boxes.audit(kLb);
    Box* const box = take(boxes);
    ASSERT_TRUE(box);
    (void)boxes.read(*box);
    boxes.give_back(*box, {.call = 500ms});
  }
  static bool always(const model::LoadBalancerRef&) { return true; }
  void pass(Duration span) { ASSERT_TRUE(sim::run_for(kernel_, span)); }
  const lb::Place place_{kLb};
};

TEST_F(GatheringTest, AWishWaitsForOneThatIsBeingWritten) {
  Mailboxes boxes(process_, always);
  make_box(boxes);
  boxes.expect(WishKey("b"), place_, Notice::written);
  boxes.want(WishKey("a"), wish_for(1));
  pass(30ms);
  EXPECT_FALSE(take(boxes));
  boxes.want(WishKey("b"), wish_for(2));
  pass(20ms);
  Box* const box = take(boxes);
  ASSERT_TRUE(box);
  EXPECT_EQ(boxes.read(*box).wishes.size(), 2u);
}

TEST_F(GatheringTest, WhoeverElseHasSomethingToSayDoesNotWait) {
  Mailboxes boxes(process_, always);
  make_box(boxes);
  boxes.want(WishKey("a"), wish_for(1));
  ASSERT_FALSE(take(boxes));
  boxes.audit(kLb);
  EXPECT_TRUE(take(boxes));
}

TEST_F(GatheringTest, WhatIsDueIsNotPutOff) {
  Mailboxes boxes(process_, always);
  make_box(boxes);
  boxes.audit(kLb);
  boxes.expect(WishKey("b"), place_, Notice::written);
  boxes.want(WishKey("c"), wish_for(3));
  EXPECT_TRUE(take(boxes));
}

TEST_F(GatheringTest, WhatCameDuringACallLeavesAtOnce) {
  Mailboxes boxes(process_, always);
  make_box(boxes);
  boxes.audit(kLb);
  Box* const box = take(boxes);
  ASSERT_TRUE(box);
  (void)boxes.read(*box);
  boxes.want(WishKey("a"), wish_for(1));
  boxes.give_back(*box, {});
  EXPECT_TRUE(take(boxes));
}

TEST_F(GatheringTest, NobodyWaitsWhereWritesNeedNotFollowEachOther) {
  make_box(boxes_);
  boxes_.expect(WishKey("b"), place_, Notice::written);
  boxes_.want(WishKey("a"), wish_for(1));
  EXPECT_TRUE(take());
}

}  // namespace
}  // namespace berth::engine
