// A load balancer that its provider does not have any more: what is let go of, and what comes back.
#include <gmock/gmock.h>

#include "engine/test_engine.h"

namespace berth::engine {
namespace {

using sim::lb::Call;
using testing::Each;
using testing::Field;
using namespace std::chrono_literals;

class EngineGone : public EngineTest {
 protected:
  EngineGone() : EngineTest({.strict = true}) {
    provider_.add_load_balancer(kLb);
    start();
    want("games/a", wish_for(30000, {target(1)}));
    want("games/b", wish_for(30001, {target(2)}));
    run_until_applied();
    cluster_.outcomes.clear();
  }
  // The last that was said of it.
  const Outcome* last_of(const std::string& key) const {
    const Outcome* out = nullptr;
    for (const Outcome& one : cluster_.outcomes)
      if (one.key.value == key) out = &one;
    return out;
  }
  bool is_nowhere(const std::string& key) const {
    const Outcome* const last = last_of(key);
    return last && last->nowhere;
  }
};

TEST_F(EngineGone, WhatShallLeadNowhereDoesSoWhenTheProviderSaidItTwice) {
  provider_.remove_load_balancer(kLb);
  const Instant before = kernel_.now();
  want("games/a", wish_for(30000));
  ASSERT_TRUE(kernel_.run_until([&] { return is_nowhere("games/a"); }));
  EXPECT_GE(kernel_.now() - before, 15s) << "once is not enough";
  EXPECT_LE(kernel_.now() - before, 20s);
  EXPECT_EQ(last_of("games/a")->result.error().code, Code::not_found) << "it is not in place";
  EXPECT_FALSE(is_nowhere("games/b")) << "which leads somewhere, as soon as it can";
  EXPECT_TRUE(last_of("games/b")->astray);
  // What comes later is looked at once more, and does not wait as long.
  want("games/b", wish_for(30001));
  const Instant then = kernel_.now();
  ASSERT_TRUE(kernel_.run_until([&] { return is_nowhere("games/b"); }));
  EXPECT_LE(kernel_.now() - then, 1s);
}

TEST_F(EngineGone, ThatItIsThereAgainIsSeenAndEverythingComesBack) {
  provider_.remove_load_balancer(kLb);
  want("games/a", wish_for(30000));
  ASSERT_TRUE(kernel_.run_until([&] { return is_nowhere("games/a"); }));
  provider_.add_load_balancer(kLb);
  running_->engine().audit(kLb);  // whoever describes it says so
  const Instant before = kernel_.now();
  run_until_applied();
  EXPECT_LE(kernel_.now() - before, 2min);
  EXPECT_TRUE(is_there(30000));
  EXPECT_EQ(targets_at(30001), std::vector{target(2)});
  EXPECT_FALSE(is_nowhere("games/a"));
}

TEST_F(EngineGone, OneWrongAnswerLetsGoOfNothing) {
  script_error(Call::look_up, Code::not_found);
  script_error(Call::targets, Code::not_found);
  want("games/a", wish_for(30000));
  run_until_applied();
  EXPECT_THAT(cluster_.outcomes, Each(Field(&Outcome::nowhere, false)));
  EXPECT_TRUE(targets_at(30000).empty());
}

TEST_F(EngineGone, AProviderThatDoesNotAnswerOrRefusesLetsGoOfNothing) {
  for (const Code code : {Code::forbidden, Code::unauthorized, Code::throttled, Code::unavailable,
                          Code::timeout, Code::internal}) {
    for (int i = 0; i < 3; ++i) {
      script_error(Call::list, code);
      script_error(Call::look_up, code);
      script_error(Call::targets, code);
    }
  }
  want("games/a", wish_for(30000));
  want("games/b", removal_of(wish_for(30001)));
  for (int i = 0; i < 60; ++i) {
    pass(10s);
    EXPECT_THAT(cluster_.outcomes, Each(Field(&Outcome::nowhere, false)));
    EXPECT_FALSE(cluster_.objects["games/b"].applied && is_there(30001));
  }
}

TEST_F(EngineGone, ARemovalWaitsForTheSecondAnswerToo) {
  provider_.remove_load_balancer(kLb);
  const Instant before = kernel_.now();
  want("games/a", removal_of(wish_for(30000)));
  ASSERT_TRUE(kernel_.run_until([&] { return cluster_.objects["games/a"].applied; }));
  EXPECT_GE(kernel_.now() - before, 15s);
  EXPECT_LE(kernel_.now() - before, 20s);
}

}  // namespace
}  // namespace berth::engine
