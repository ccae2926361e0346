// A listener that is several things at its provider, and what becomes of one that is half made.

#include <gmock/gmock.h>

#include "engine/test_engine.h"

namespace berth::engine {
namespace {

using namespace std::chrono_literals;
using model::Transport;
using sim::lb::Call;
using testing::IsEmpty;
using testing::SizeIs;

class HalfMadeTest : public EngineTest {
 protected:
  HalfMadeTest() : EngineTest({.groups = true}) {}

  model::ListenerId leave(model::Port port, const std::string& name = {}) {
    return provider_.add_half_made(kLb, left_at(port, name));
  }
};

TEST_F(HalfMadeTest, IsFinishedForItsWish) {
  leave(30000);
  start();
  want("games/a", wish_for(30000, {target(1)}));
  run_until_applied();
  EXPECT_THAT(provider_.half_made(kLb), IsEmpty());
  EXPECT_THAT(targets_at(30000), SizeIs(1));
  EXPECT_EQ(provider_.calls(Call::remove), 0u);
  EXPECT_EQ(provider_.calls(Call::remove_groups), 0u);
}

TEST_F(HalfMadeTest, IsRemovedBeforeAListenerIsCalledGone) {
  leave(30000);
  start();
  script_error(Call::remove_groups, Code::unavailable);
  cluster_.on_success = [&](const std::string&, const Cluster::Object&) {
    EXPECT_THAT(provider_.half_made(kLb), IsEmpty());
  };
  want("games/a", removal_of(wish_for(30000)));
  run_until_applied();
  EXPECT_THAT(provider_.half_made(kLb), IsEmpty());
}

TEST_F(HalfMadeTest, OfACreationThatFailedGoesWithItsWish) {
  start_settled();
  want("games/b", wish_for(30001));
  run_until_applied();
  script_error(Call::create, Code::throttled);
  want("games/a", wish_for(30000));
  const auto begun = kernel_.run_until([&] { return provider_.half_made(kLb).size() == 1; });
  ASSERT_TRUE(begun) << begun.error().to_string();
  want("games/a", removal_of(wish_for(30000)));
  run_until_applied();
  EXPECT_THAT(provider_.half_made(kLb), IsEmpty());
  EXPECT_FALSE(is_there(30000));
  EXPECT_TRUE(is_there(30001));
}

// Something like it stays of a call that landed late.
TEST_F(HalfMadeTest, BesideAListenerThatIsAsWishedGoesAtAnAudit) {
  start_settled();
  want("games/a", wish_for(30000, {target(1)}));
  run_until_applied();
  const auto listener = provider_.find(kLb, Transport::tcp, 30000);
  leave(30000);
  const std::size_t told = cluster_.outcomes.size();
  running_->engine().audit(kLb);
  pass(1min);
  EXPECT_THAT(provider_.half_made(kLb), IsEmpty());
  EXPECT_EQ(provider_.find(kLb, Transport::tcp, 30000)->id, listener->id);
  EXPECT_EQ(cluster_.outcomes.size(), told) << "nobody need hear of it";
}

TEST_F(HalfMadeTest, ThatNobodyWishesIsALeftover) {
  leave(30000);
  start();
  running_->engine().audit(kLb);
  pass(50s);
  EXPECT_THAT(provider_.half_made(kLb), SizeIs(1)) << "its wish may be on its way";
  pass(20s);
  EXPECT_THAT(provider_.half_made(kLb), IsEmpty());
  EXPECT_THAT(registry_.text(),
              testing::HasSubstr("berth_lb_leftovers_removed_total{lb=\"ap-nanjing:lb-1\"} 1"));
}

TEST_F(HalfMadeTest, ThatNobodyWishesStaysUntilAllWishesAreKnown) {
  leave(30000);
  cluster_.complete = false;
  start();
  want("games/b", wish_for(30001));
  pass(2h);
  EXPECT_THAT(provider_.half_made(kLb), SizeIs(1));
}

TEST_F(HalfMadeTest, OfOthersIsNeitherTouchedNorInTheWay) {
  leave(30000, "theirs");
  leave(30001, "berth-c2-30001");
  start();
  want("games/a", wish_for(30000, {target(1)}));
  want("games/b", wish_for(30001, {target(1)}));
  run_until_applied();
  pass(2h);
  EXPECT_THAT(provider_.half_made(kLb), SizeIs(2));
  EXPECT_EQ(provider_.calls(Call::remove_groups), 0u);
}

// A wish that cannot be met may be met tomorrow: what was begun for it is nobody else's.
TEST_F(HalfMadeTest, OfAWishThatCannotBeMetIsNoLeftover) {
  provider_.add_listener(kLb,
                         model::plain_listener(model::Protocol::tcp, {30000, 30000}, "theirs"));
  leave(30000);
  start();
  want("games/a", wish_for(30000));
  pass(2h);
  EXPECT_THAT(provider_.half_made(kLb), SizeIs(1));
  EXPECT_FALSE(cluster_.objects["games/a"].applied);
}

}  // namespace
}  // namespace berth::engine
