// What the caller hears of a listener that it believes to be as wished, and that is not.
#include <gmock/gmock.h>

#include "engine/test_engine.h"

namespace berth::engine {
namespace {

using namespace std::chrono_literals;
using model::Transport;
using sim::lb::Call;
using testing::Each;
using testing::Field;
using testing::SizeIs;

class EngineAstray : public EngineTest {
 protected:
  void SetUp() override {
    start_settled();
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

// Nothing was seen: what is known stays known.
TEST_F(EngineAstray, IsNotSaidOfAProviderThatDoesNotAnswer) {
  for (const Code code : {Code::throttled, Code::unavailable, Code::forbidden, Code::unauthorized})
    for (int i = 0; i < 4; ++i) script_error(Call::list, code);
  running_->engine().audit(kLb);
  pass(5min);
  EXPECT_THAT(cluster_.outcomes, Each(Field(&Outcome::astray, false)));
  EXPECT_TRUE(cluster_.objects["games/a"].applied);
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
