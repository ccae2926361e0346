// What the caller hears of a listener that it believes to be as wished, and that is not.
#include <gmock/gmock.h>

#include "engine/test_engine.h"
#include "lb/test_forwarding_listeners.h"

namespace berth::engine {
namespace {

using namespace std::chrono_literals;
using model::Transport;
using sim::lb::Call;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

class EngineAstray : public EngineTest {
 protected:
  void SetUp() override {
    options_.settle = {};
    start(options_);
    want("games/a", wish_for(30000, {target(1)}));
    run_until_applied();
    cluster_.outcomes.clear();
  }
  void lead_elsewhere() {
    const model::ListenerId id = provider_.find(kLb, Transport::tcp, 30000)->id;
    const auto driver = std::make_unique<sim::lb::ModelDriver>(provider_);
    const lb::TargetChange change{{id, {}}, {target(9)}, {target(1).target}};
    ASSERT_TRUE(driver->change_targets({.tasks = kernel_.world()}, kLb, {&change, 1})[0]);
  }

  EngineOptions options_;
};

TEST_F(EngineAstray, IsToldWhenItsRepairFailsForWhateverReason) {
  for (const Code code : {Code::throttled, Code::forbidden, Code::unavailable}) {
    cluster_.outcomes.clear();
    lead_elsewhere();
    script_error(Call::targets, code);
    running_->engine().audit(kLb);
    run_until_told(1);
    EXPECT_EQ(cluster_.outcomes[0].result.error().code, code);
    EXPECT_TRUE(cluster_.outcomes[0].astray);
    run_until_applied();
    EXPECT_TRUE(cluster_.outcomes.back().result) << "that it leads there again is told, too";
  }
}

TEST_F(EngineAstray, IsToldWhenAStrangerHasThePort) {
  provider_.remove_listener(kLb, provider_.find(kLb, Transport::tcp, 30000)->id);
  model::ListenerSpec theirs;
  theirs.ports = {30000, 30000};
  theirs.name = "theirs";
  provider_.add_listener(kLb, theirs);
  running_->engine().audit(kLb);
  run_until_told(1);
  EXPECT_TRUE(cluster_.outcomes[0].astray);
  EXPECT_TRUE(cluster_.outcomes[0].foreign);
}

TEST_F(EngineAstray, IsToldWhenItsLoadBalancerIsGone) {
  for (int i = 0; i < 3; ++i) script_error(Call::list, Code::not_found);
  running_->engine().audit(kLb);
  run_until_told(1);
  EXPECT_TRUE(cluster_.outcomes[0].astray);
  EXPECT_EQ(cluster_.outcomes[0].result.error().code, Code::not_found);
}

TEST_F(EngineAstray, IsToldWhenItsRepairTakesLong) {
  lead_elsewhere();
  provider_.script(Call::targets, {sim::lb::Scripted::Kind::slow, {}, 40s});
  running_->engine().audit(kLb);
  // The next one finds the load balancer busy for as long.
  run_until_told(1);
  run_until_applied();
}

// Nothing was seen: what is known stays known, and of the load balancer it is said that it cannot
// be seen.
class EngineUnseen : public EngineAstray, public testing::WithParamInterface<Code> {
 protected:
  EngineUnseen() {
    // Some of them are asked for, in place of a list.
    around_ = [this](lb::Listeners& inner) {
      return std::make_unique<Unseen>(inner, failing_, GetParam());
    };
    options_.on_look = [this](const model::LoadBalancerRef& lb) { changed_.push_back(lb); };
  }
  // Lists and answers to questions fail while it says so; all that is done works.
  class Unseen final : public lb::ForwardingListeners {
   public:
    Unseen(lb::Listeners& inner, const bool& failing, Code code)
        : ForwardingListeners(inner), failing_(failing), code_(code) {}
    Result<std::vector<lb::ObservedListener>> list(const Context& context,
                                                   const lb::Place& place) override {
      if (failing_) return fail(code_, "not shown");
      return inner_.list(context, place);
    }
    Result<std::vector<lb::ObservedListener>> look_up(
        const Context& context, const lb::Place& place,
        std::span<const lb::Question> questions) override {
      if (failing_) return fail(code_, "not shown");
      return inner_.look_up(context, place, questions);
    }

   private:
    const bool& failing_;
    const Code code_;
  };
  std::optional<Code> why_unseen() {
    const auto look = running_->engine().last_look(kLb);
    return look && !*look ? std::optional(look->error().code) : std::nullopt;
  }
  std::string gauge(int value) {
    return fmt::format("berth_lb_unseen{{lb=\"ap-nanjing:lb-1\"}} {}\n", value);
  }

  bool failing_ = false;
  std::vector<model::LoadBalancerRef> changed_;
};

TEST_P(EngineUnseen, KeepsWhatIsKnownAndSaysThatItCannotBeSeen) {
  ASSERT_TRUE(running_->engine().last_look(kLb));
  EXPECT_EQ(why_unseen(), std::nullopt);
  EXPECT_THAT(registry_.text(), HasSubstr(gauge(0)));
  changed_.clear();

  failing_ = true;
  running_->engine().audit(kLb);
  ASSERT_TRUE(kernel_.run_until([&] { return !changed_.empty(); }));
  pass(5min);
  EXPECT_EQ(why_unseen(), GetParam());
  EXPECT_THAT(changed_, ElementsAre(kLb)) << "once, however often it fails";
  EXPECT_THAT(registry_.text(), HasSubstr(gauge(1)));
  EXPECT_THAT(cluster_.outcomes, IsEmpty());
  EXPECT_TRUE(cluster_.objects["games/a"].applied);

  failing_ = false;
  ASSERT_TRUE(kernel_.run_until([&] { return changed_.size() == 2; }));
  EXPECT_EQ(why_unseen(), std::nullopt);
  EXPECT_THAT(registry_.text(), HasSubstr(gauge(0)));
  EXPECT_THAT(cluster_.outcomes, IsEmpty());
}

// Whoever wants something meanwhile hears why it is not done.
TEST_P(EngineUnseen, TellsWhoeverWantsSomethingMeanwhile) {
  failing_ = true;
  running_->engine().audit(kLb);
  want("games/b", wish_for(30001, {target(2)}));
  run_until_told(1);
  EXPECT_EQ(cluster_.outcomes[0].key, WishKey("games/b"));
  EXPECT_EQ(cluster_.outcomes[0].result.error().code, GetParam());
  EXPECT_FALSE(cluster_.outcomes[0].astray);
  EXPECT_TRUE(cluster_.objects["games/a"].applied);
  failing_ = false;
  run_until_applied();
}

// It is for another replica to say by then.
TEST_P(EngineUnseen, IsNotSaidByWhoIsNotInCharge) {
  failing_ = true;
  running_->engine().audit(kLb);
  ASSERT_TRUE(kernel_.run_until([&] { return why_unseen().has_value(); }));
  may_act_ = false;
  ASSERT_TRUE(kernel_.run_until([&] { return !running_->engine().last_look(kLb).has_value(); }));
  EXPECT_THAT(registry_.text(), HasSubstr(gauge(0)));
}
const auto kCodeName = [](const auto& one) { return std::string(traits_of(one.param).name); };
INSTANTIATE_TEST_SUITE_P(Reasons, EngineUnseen,
                         testing::Values(Code::throttled, Code::unavailable, Code::timeout,
                                         Code::forbidden, Code::unauthorized),
                         kCodeName);

// A single answer that does not come is no news.
TEST_F(EngineAstray, ALookThatFailsOnceIsNotTold) {
  script_error(Call::list, Code::unavailable);
  running_->engine().audit(kLb);
  const std::uint64_t lists = provider_.calls(Call::list);
  ASSERT_TRUE(kernel_.run_until([&] { return provider_.calls(Call::list) >= lists + 2; }));
  EXPECT_THAT(registry_.text(),
              testing::Not(HasSubstr("berth_lb_unseen{lb=\"ap-nanjing:lb-1\"} 1")));
}

// Nor of attributes, which lead nobody elsewhere.
TEST_F(EngineAstray, IsNotSaidOfAttributes) {
  const auto driver = std::make_unique<sim::lb::ModelDriver>(provider_);
  const lb::RuleChange change{{provider_.find(kLb, Transport::tcp, 30000)->id, {}},
                              {.session_seconds = 77}};
  ASSERT_TRUE(driver->change_rules({.tasks = kernel_.world()}, kLb, {&change, 1})[0]);
  script_error(Call::change_rules, Code::forbidden);
  running_->engine().audit(kLb);
  pass(5min);
  EXPECT_THAT(cluster_.outcomes, Each(Field(&Outcome::astray, false)));
}

}  // namespace
}  // namespace berth::engine
