// A provider whose listeners die with the process that made them: whoever takes over begins with
// nothing there, and may not be able to make it, for its machine has not the address.
#include <gmock/gmock.h>

#include <set>

#include "engine/test_engine.h"

namespace berth::engine {
namespace {

using namespace std::chrono_literals;
using sim::lb::Call;
using testing::ElementsAre;
using testing::IsEmpty;

sim::lb::ModelOptions forgetful() {
  sim::lb::ModelOptions out;
  out.limits.outlives_caller = false;
  out.limits.keeps_listeners = false;
  return out;
}

class FailoverTest : public EngineTest {
 protected:
  FailoverTest() : EngineTest(forgetful()) {
    // As the former leader left them: applied, and gone with it.
    for (const model::Port port : {model::Port{30000}, model::Port{30001}}) {
      Wish wish = wish_for(port, {target(1)});
      wish.known_id = provider_.add_listener(kLb, *wish.spec);
      provider_.remove_listener(kLb, wish.known_id);
      cluster_.objects[fmt::format("games/{}", port)] = {wish, true};
    }
  }
  // It answers all that is asked, and can make nothing.
  void cannot_make(Code code) {
    for (int i = 0; i < 100; ++i) script_error(Call::create, code);
  }
  void take_over() {
    start();
    running_->engine().attend(kLb);
  }
  std::set<std::string> told_astray() const {
    std::set<std::string> out;
    for (const Outcome& outcome : cluster_.outcomes)
      if (!outcome.result && outcome.astray) out.insert(outcome.key.value);
    return out;
  }
};

class FailoverWith : public FailoverTest, public testing::WithParamInterface<Code> {};

// Not after the third try, and whatever the reason is: the first one says that nobody is led there.
TEST_P(FailoverWith, WhatTheNewMachineCannotMakeIsToldAtOnce) {
  cannot_make(GetParam());
  take_over();
  run_until_told(2);
  EXPECT_EQ(provider_.calls(Call::create), 1u);
  EXPECT_THAT(told_astray(), ElementsAre("games/30000", "games/30001"));
  EXPECT_EQ(cluster_.outcomes.front().result.error().code, GetParam());
  EXPECT_FALSE(cluster_.objects["games/30000"].applied);
  EXPECT_THAT(targets_at(30000), IsEmpty());
}
const auto kCodeName = [](const auto& one) { return std::string(traits_of(one.param).name); };
INSTANTIATE_TEST_SUITE_P(Reasons, FailoverWith,
                         testing::Values(Code::unavailable, Code::conflict, Code::exhausted,
                                         Code::forbidden, Code::timeout),
                         kCodeName);

TEST_F(FailoverTest, WhatIsMadeInTheEndIsToldToo) {
  for (int i = 0; i < 5; ++i) script_error(Call::create, Code::unavailable);
  take_over();
  run_until_told(2);
  run_until_applied();
  EXPECT_THAT(targets_at(30000), ElementsAre(target(1)));
  EXPECT_THAT(targets_at(30001), ElementsAre(target(1)));
}

// Nobody hears of what was made in a moment: nobody need be called not Ready for it.
TEST_F(FailoverTest, WhatIsMadeAtOnceIsNotToldAsAFailure) {
  take_over();
  ASSERT_TRUE(kernel_.run_until([&] { return is_there(30000) && is_there(30001); }));
  pass(5min);
  EXPECT_THAT(told_astray(), IsEmpty());
  EXPECT_TRUE(cluster_.all_applied());
}

// Some answer is better than none: the machine does not even say what is there.
TEST_F(FailoverTest, WhatNobodyCanSeeIsNotCalledAstray) {
  for (int i = 0; i < 10; ++i) script_error(Call::list, Code::unavailable);
  take_over();
  pass(5s);
  EXPECT_THAT(told_astray(), IsEmpty());
  run_until_applied();
}

}  // namespace
}  // namespace berth::engine
