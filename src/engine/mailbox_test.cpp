#include "engine/mailbox.h"

#include <gtest/gtest.h>

#include "engine/desk.h"
#include "engine/test_support.h"

namespace berth::engine {
namespace {

using namespace std::chrono_literals;

class MailboxTest : public testing::Test {
 protected:
  // Takes without waiting.
  Box* take() {
    std::stop_source stop;
    Box* box = nullptr;
    const auto worker =
        process_.spawn("take", [&](std::stop_token) { box = boxes_.take(stop.get_token()); });
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
  const Mail mail = boxes_.read(*box);
  ASSERT_EQ(mail.wishes.size(), 1u);
  EXPECT_EQ(mail.wishes.at(WishKey("a"))->spec->rules.front().targets.size(), 1u);
}

TEST_F(MailboxTest, AWishThatMovesIsForgottenWhereItWas) {
  boxes_.want(WishKey("a"), wish_for(1));
  Box* first = take();
  ASSERT_TRUE(first);
  (void)boxes_.read(*first);
  boxes_.want(WishKey("a"), wish_for(1, {}, kOtherLb));
  Box* second = take();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->lb, kOtherLb);
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

}  // namespace
}  // namespace berth::engine
