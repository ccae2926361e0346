// After a takeover: what is in doubt is asked for, and all of a load balancer is listed when it is
// audited, later.

#include <gmock/gmock.h>

#include <array>

#include "engine/test_engine.h"
#include "lb/test_forwarding_listeners.h"

namespace berth::engine {
namespace {

using namespace std::chrono_literals;
using model::Transport;
using sim::lb::Call;
using testing::ElementsAre;
using testing::IsEmpty;

// Counts what it is asked.
struct Asked {
  int lists = 0;
  std::vector<std::size_t> questions{};   // of each look
  std::map<std::string, Instant> last{};  // by name: when it was asked for
  Duration answers_after{};
};
class CountingListeners final : public lb::ForwardingListeners {
 public:
  CountingListeners(lb::Listeners& inner, Asked& asked)
      : ForwardingListeners(inner), asked_(asked) {}
  Result<std::vector<lb::ObservedListener>> list(const Context& context,
                                                 const lb::Place& place) override {
    ++asked_.lists;
    return inner_.list(context, place);
  }
  Result<std::vector<lb::ObservedListener>> look_up(
      const Context& context, const lb::Place& place,
      std::span<const lb::Question> questions) override {
    asked_.questions.push_back(questions.size());
    for (const lb::Question& one : questions) asked_.last[one.name] = context.tasks.now();
    auto answers = inner_.look_up(context, place, questions);
    (void)sleep_for(context.tasks, asked_.answers_after, context.stop);
    return answers;
  }

 private:
  Asked& asked_;
};

class TakeoverTest : public EngineTest {
 protected:
  TakeoverTest() {
    around_ = [this](lb::Listeners& inner) {
      return std::make_unique<CountingListeners>(inner, asked_);
    };
  }
  // As a former leader left it: made, and written down as applied.
  void left_applied(model::Port first, int count) {
    for (int i = 0; i < count; ++i) {
      const auto port = static_cast<model::Port>(first + i);
      Wish wish = wish_for(port, {target(1)});
      wish.known_id = provider_.add_listener(kLb, *wish.spec);
      cluster_.objects[key_of(port)] = {wish, true};
    }
  }
  static std::string key_of(model::Port port) { return fmt::format("games/{}", port); }
  void remove_at(model::Port port) {
    provider_.remove_listener(kLb, provider_.find(kLb, Transport::tcp, port)->id);
  }

  const Instant begin_ = kernel_.now();
  Asked asked_;
};

TEST_F(TakeoverTest, OnlyWhatIsOpenIsAskedFor) {
  left_applied(30000, 1000);
  start();
  running_->engine().attend(kLb);
  want(key_of(30000), wish_for(30000, {target(2)}));
  want(key_of(30001), removal_of(wish_for(30001)));
  want(key_of(40000), wish_for(40000, {target(2)}));
  run_until_applied();
  ASSERT_FALSE(asked_.questions.empty());
  EXPECT_EQ(asked_.questions.front(), 3u);
  for (const std::size_t questions : asked_.questions) EXPECT_LE(questions, 3u);
  EXPECT_EQ(asked_.lists, 0);
  EXPECT_THAT(targets_at(30000), ElementsAre(target(2)));
  EXPECT_FALSE(is_there(30001));
  EXPECT_THAT(targets_at(40000), ElementsAre(target(2)));
}

TEST_F(TakeoverTest, NothingIsCalledWhereNothingIsOpenUntilTheAudit) {
  left_applied(30000, 100);
  start({.audit_period = 10min});
  running_->engine().attend(kLb);
  ASSERT_TRUE(kernel_.run_until([&] { return provider_.calls() > 0; }));
  EXPECT_EQ(asked_.lists, 1);
  EXPECT_THAT(asked_.questions, IsEmpty());
  EXPECT_GT(kernel_.now(), begin_ + 1s);
  EXPECT_LE(kernel_.now(), begin_ + 10min + 1s);
}

TEST_F(TakeoverTest, DriftIsFoundWithinThePeriod) {
  left_applied(30000, 100);
  remove_at(30050);
  start({.audit_period = 10min});
  running_->engine().attend(kLb);
  ASSERT_TRUE(kernel_.run_until([&] { return is_there(30050); }));
  EXPECT_LE(kernel_.now(), begin_ + 10min + 10s);
  EXPECT_THAT(registry_.text(),
              testing::HasSubstr("berth_lb_drift_total{lb=\"ap-nanjing:lb-1\"} 1"));
}

TEST_F(TakeoverTest, ASmallLoadBalancerIsListedAtOnce) {
  left_applied(30000, 10);
  remove_at(30005);
  start();
  running_->engine().attend(kLb);
  ASSERT_TRUE(kernel_.run_until([&] { return is_there(30005); }));
  EXPECT_LE(kernel_.now(), begin_ + 10s) << "nothing has to be believed of it";
  EXPECT_EQ(asked_.lists, 1);
}

// Nobody wishes anything of it, and what is applied is not what is there.
TEST_F(TakeoverTest, TheFirstListIsTriedAgainWhereNothingIsOpen) {
  left_applied(30000, 10);
  remove_at(30005);
  script_error(Call::list, Code::throttled);
  start();
  running_->engine().attend(kLb);
  ASSERT_TRUE(kernel_.run_until([&] { return is_there(30005); }));
  EXPECT_LE(kernel_.now(), begin_ + 10s);
}

// A question that is under way when the time of doubt ends was asked before it did.
TEST_F(TakeoverTest, DoubtsOutliveAnAnswerThatComesAfterTheirTime) {
  left_applied(30000, 100);
  cluster_.objects[key_of(30000)].applied = false;  // its leader died in the middle of it
  start({.settle = 30s});
  want(key_of(30000), wish_for(30000, {target(2)}));
  pass(29s);
  asked_.answers_after = 2s;
  want(key_of(40000), wish_for(40000));
  pass(2500ms);
  asked_.answers_after = {};
  pass(5s);
  EXPECT_LT(asked_.last[fmt::format("{}40000", kPrefix)], begin_ + 30s) << "it was under way";
  EXPECT_GE(asked_.last[fmt::format("{}30000", kPrefix)], begin_ + 30s);
}

TEST_F(TakeoverTest, WhoAsksForManyListsThemAll) {
  left_applied(30000, 1000);
  start();
  for (model::Port port = 30000; port < 30500; ++port)
    want(key_of(port), wish_for(port, {target(2)}));
  run_until_applied();
  EXPECT_GT(asked_.lists, 0);
  EXPECT_THAT(asked_.questions, IsEmpty());
}

// However they trickle in.
TEST_F(TakeoverTest, WhatComesOneByOneIsNotAskedForForEver) {
  left_applied(30000, 1000);
  start_settled();
  for (model::Port port = 30000; port < 30200; ++port) {
    want(key_of(port), wish_for(port, {target(2)}));
    run_until_applied();
  }
  EXPECT_EQ(asked_.lists, 1);
  EXPECT_LE(asked_.questions.size(), 51u);
}

TEST_F(TakeoverTest, ACreationWhoseReplyWasLostIsFoundByItsName) {
  left_applied(30000, 100);
  provider_.add_listener(kLb, *wish_for(40000).spec);
  start();
  want(key_of(40000), wish_for(40000, {target(1)}));
  run_until_applied();
  EXPECT_EQ(provider_.calls(Call::create), 0u);
  EXPECT_EQ(asked_.lists, 0);
}

TEST_F(TakeoverTest, AForeignListenerInTheWayIsFoundAndLookedAtAgain) {
  left_applied(30000, 100);
  const model::ListenerId id =
      provider_.add_listener(kLb, {.ports = {39990, 40010}, .name = "theirs"});
  start({.audit_period = 100h});
  want(key_of(40000), wish_for(40000, {target(1)}));
  run_until_told(1);
  EXPECT_TRUE(cluster_.outcomes[0].foreign);
  provider_.remove_listener(kLb, id);
  run_until_applied();
  EXPECT_EQ(asked_.lists, 0);
}

// What was believed of it was wrong: it is changed from what is there.
TEST_F(TakeoverTest, AChangeBeginsWithWhatIsThere) {
  left_applied(30000, 100);
  const lb::TargetChange change{
      {provider_.find(kLb, Transport::tcp, 30007)->id, {}}, {target(9)}, {}};
  sim::lb::ModelDriver driver(provider_);
  ASSERT_TRUE(driver.change_targets({.tasks = kernel_.world()}, kLb, {&change, 1})[0]);
  start();
  running_->engine().attend(kLb);
  pass(1s);
  want(key_of(30007), wish_for(30007, {target(2)}));
  run_until_applied();
  EXPECT_THAT(targets_at(30007), ElementsAre(target(2)));
  EXPECT_EQ(asked_.lists, 0);
}

// A dead leader's call lands in the time that is waited for that: it is found at its end.
TEST_F(TakeoverTest, WhatLandsLateIsFoundWhenItCanLandNoMore) {
  left_applied(30000, 100);
  cluster_.objects[key_of(30007)].applied = false;
  start({.audit_period = 100h});
  running_->engine().want(WishKey(key_of(30007)), cluster_.objects[key_of(30007)].wish);
  running_->engine().attend(kLb);
  run_until_applied();
  remove_at(30007);
  ASSERT_TRUE(kernel_.run_until([&] { return is_there(30007); }));
  EXPECT_LE(kernel_.now(), begin_ + 70s);
  EXPECT_EQ(asked_.lists, 0);
}

// It was being made when its leader died, and its object goes: whoever hears that it is gone lets
// the object go, and nobody would remove what lands after that.
TEST_F(TakeoverTest, WhatMayStillBeMadeIsCalledGoneWhenItCanLandNoMore) {
  left_applied(30000, 100);
  cluster_.objects[key_of(40000)] = {removal_of(wish_for(40000)), false};
  start({.audit_period = 100h});
  running_->engine().want(WishKey(key_of(40000)), removal_of(wish_for(40000)));
  pass(10s);
  EXPECT_FALSE(cluster_.all_applied());
  provider_.add_listener(kLb, *wish_for(40000).spec);
  run_until_applied();
  EXPECT_FALSE(is_there(40000));
  EXPECT_LE(kernel_.now(), begin_ + 70s);
}

// The same of a call of our own, that we gave up.
TEST_F(TakeoverTest, WhatACallWithoutAnEndMayMakeIsCalledGoneWhenItCanLandNoMore) {
  left_applied(30000, 100);
  start({.audit_period = 100h, .call_limit = 10s, .settle = 30s});
  want(key_of(30000), wish_for(30000));
  pass(1min);
  provider_.script(Call::create, {sim::lb::Scripted::Kind::slow, {}, 25s});
  want(key_of(40000), wish_for(40000));
  pass(12s);
  want(key_of(40000), removal_of(wish_for(40000)));
  run_until_applied();
  cluster_.objects.erase(key_of(40000));
  running_->engine().forget(WishKey(key_of(40000)));
  pass(1min);
  provider_.advance(kernel_.now());
  EXPECT_FALSE(is_there(40000));
}

// It was there, or we made it, or its id says that somebody did.
TEST_F(TakeoverTest, WhatNobodyMakesAnyMoreIsCalledGoneAtOnce) {
  left_applied(30000, 100);
  remove_at(30007);
  provider_.add_listener(kLb, *wish_for(40000).spec);
  cluster_.objects[key_of(40000)] = {removal_of(wish_for(40000)), false};
  cluster_.objects[key_of(40001)] = {wish_for(40001), false};
  start({.audit_period = 100h});
  for (const model::Port port : std::array<model::Port, 3>{30007, 30008, 40000})
    want(key_of(port), removal_of(wish_for(port)));
  want(key_of(40001), wish_for(40001));
  run_until_applied();
  want(key_of(40001), removal_of(wish_for(40001)));
  run_until_applied();
  EXPECT_FALSE(is_there(40000));
  EXPECT_LE(kernel_.now(), begin_ + 10s);
}

TEST_F(TakeoverTest, LeftoversAreJudgedByListsAlone) {
  left_applied(30000, 100);
  provider_.add_listener(kLb, *wish_for(40000).spec);
  start({.audit_period = 100h});
  running_->engine().attend(kLb);
  want(key_of(30000), wish_for(30000, {target(2)}));
  // It names the leftover, and is not there any more when the next look comes.
  want(key_of(40000), wish_for(40000, {target(1)}));
  run_until_applied();
  cluster_.objects.erase(key_of(40000));
  running_->engine().forget(WishKey(key_of(40000)));
  pass(1h);
  EXPECT_TRUE(is_there(40000));
  running_->engine().audit(kLb);
  pass(3min);
  EXPECT_FALSE(is_there(40000));
}

TEST_F(TakeoverTest, WhoComesBackInChargeAsksToo) {
  left_applied(30000, 100);
  start_settled();
  want(key_of(30000), wish_for(30000, {target(2)}));
  run_until_applied();
  may_act_ = false;
  want(key_of(30001), wish_for(30001, {target(2)}));
  pass(5s);
  may_act_ = true;
  run_until_applied();
  EXPECT_EQ(asked_.lists, 0);
  EXPECT_THAT(asked_.questions, ElementsAre(1u, 1u));
}

// Somebody else was in charge meanwhile: an audit of what is believed would find nothing.
TEST_F(TakeoverTest, WhoComesBackInChargeAuditsWhatIsThere) {
  left_applied(30000, 100);
  start({.audit_period = 10min, .settle = {}});
  running_->engine().attend(kLb);
  ASSERT_TRUE(kernel_.run_until([&] { return asked_.lists == 1; }));
  pass(1s);
  may_act_ = false;
  want(key_of(30000), wish_for(30000, {target(2)}));
  pass(5s);
  running_->engine().forget(WishKey(key_of(30000)));
  remove_at(30050);
  may_act_ = true;
  const Instant back = kernel_.now();
  ASSERT_TRUE(kernel_.run_until([&] { return is_there(30050); }));
  EXPECT_LE(kernel_.now(), back + 12min);
}

TEST_F(TakeoverTest, ALookIsCounted) {
  left_applied(30000, 100);
  start();
  want(key_of(30000), wish_for(30000, {target(2)}));
  run_until_applied();
  EXPECT_THAT(registry_.text(), testing::HasSubstr("rpc=\"look_up_listeners\"}"));
}

}  // namespace
}  // namespace berth::engine
