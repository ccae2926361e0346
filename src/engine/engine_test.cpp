#include "engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/test_engine.h"

namespace berth::engine {
namespace {

using namespace std::chrono_literals;
using model::Transport;
using sim::lb::Call;
using sim::lb::ModelOptions;
using sim::lb::ModelProvider;
using sim::lb::Scripted;
using testing::IsEmpty;
using testing::SizeIs;

TEST_F(EngineTest, AWishedListenerIsCreatedAndReportedWithItsId) {
  start();
  want("games/a", wish_for(30000, {target(1)}));
  run_until_applied();
  const auto listener = provider_.find(kLb, Transport::tcp, 30000);
  ASSERT_TRUE(listener);
  EXPECT_THAT(listener->spec.rules.front().targets, testing::ElementsAre(target(1)));
  EXPECT_EQ(cluster_.objects["games/a"].wish.known_id, listener->id);
  EXPECT_THAT(cluster_.outcomes, SizeIs(1));
}

TEST_F(EngineTest, ALoneChangeOfTargetsTakesOneCall) {
  start_settled();
  want("games/a", wish_for(30000, {target(1)}));
  run_until_applied();
  const auto before = provider_.calls();
  want("games/a", wish_for(30000, {target(2)}));
  run_until_applied();
  EXPECT_EQ(provider_.calls(), before + 1);
  EXPECT_THAT(targets_at(30000), testing::ElementsAre(target(2)));
}

TEST_F(EngineTest, AStormFillsBatches) {
  start_settled();
  for (int i = 0; i < 500; ++i) {
    want(fmt::format("games/{}", i), wish_for(static_cast<model::Port>(30000 + i)));
  }
  run_until_applied();
  EXPECT_LE(provider_.calls(Call::create), 11u);
  EXPECT_EQ(provider_.calls(Call::list), 1u);
  for (int i = 0; i < 500; ++i) {
    want(fmt::format("games/{}", i), wish_for(static_cast<model::Port>(30000 + i), {target(1)}));
  }
  run_until_applied();
  EXPECT_LE(provider_.calls(Call::targets), 3u);
}

// What a former leader's call may still change is read back then; it knew none of these.
TEST_F(EngineTest, ANewPoolIsNotReadBackAfterATakeover) {
  start();
  for (int i = 0; i < 500; ++i)
    want(fmt::format("games/{}", i), wish_for(static_cast<model::Port>(30000 + i)));
  run_until_applied();
  EXPECT_EQ(provider_.calls(Call::list), 1u);
  EXPECT_EQ(provider_.calls(Call::look_up), 0u);
  want("games/7", wish_for(30007, {target(1)}));
  run_until_applied();
  EXPECT_EQ(provider_.calls(Call::list), 1u);
  EXPECT_EQ(provider_.calls(Call::look_up), 1u) << "before a Pod is called Ready";
}

TEST_F(EngineTest, APodDoesNotWaitForABulkOfNewListeners) {
  start_settled();
  want("games/pod", wish_for(29999));
  run_until_applied();
  for (int i = 0; i < 2000; ++i) {
    want(fmt::format("games/{}", i), wish_for(static_cast<model::Port>(30000 + i)));
  }
  ASSERT_TRUE(kernel_.run_until([&] { return provider_.calls(Call::create) == 10; }));
  want("games/pod", wish_for(29999, {target(1)}));
  ASSERT_TRUE(kernel_.run_until([&] { return cluster_.objects["games/pod"].applied; }));
  EXPECT_LE(provider_.calls(Call::create), 12u);
}

TEST_F(EngineTest, AWishThatIsTrueAlreadyIsConfirmedWithoutACall) {
  start_settled();
  want("games/a", wish_for(30000, {target(1)}));
  run_until_applied();
  const auto before = provider_.calls();
  want("games/a", wish_for(30000, {target(1)}));
  run_until_applied();
  EXPECT_EQ(provider_.calls(), before);
}

TEST_F(EngineTest, AForeignListenerIsReportedAndNotTouchedUntilItIsGone) {
  const model::ListenerId id =
      provider_.add_listener(kLb, {.ports = {30000, 30000}, .name = "theirs"});
  start();
  want("games/a", wish_for(30000, {target(1)}));
  run_until_told(1);
  EXPECT_TRUE(cluster_.outcomes[0].foreign);
  EXPECT_EQ(cluster_.outcomes[0].result.error().code, Code::already_exists);
  pass(1h);
  EXPECT_EQ(provider_.find(kLb, Transport::tcp, 30000)->spec.name, "theirs");
  EXPECT_THAT(cluster_.outcomes, SizeIs(1)) << "the same thing was told twice";
  provider_.remove_listener(kLb, id);
  run_until_applied();
  EXPECT_THAT(targets_at(30000), testing::ElementsAre(target(1)));
}

TEST_F(EngineTest, AForeignListenerIsLookedAtNowAndThenAlsoWhenCallsAreScarce) {
  provider_.add_listener(kLb, {.ports = {30000, 30000}, .name = "theirs"});
  start_settled();
  want("games/a", wish_for(30000));
  want("games/b", wish_for(30001));
  run_until_told(2);
  for (int i = 0; i < 4; ++i) {
    pass(2s);
    script_error(Call::remove, Code::throttled);
  }
  want("games/b", removal_of(wish_for(30001)));
  ASSERT_TRUE(kernel_.run_until([&] { return cluster_.objects["games/b"].applied; }));
  EXPECT_LE(provider_.calls(Call::list), 4u);
}

TEST_F(EngineTest, ARemovedListenerIsGoneBeforeItIsReported) {
  start();
  want("games/a", wish_for(30000, {target(1)}));
  run_until_applied();
  want("games/a", removal_of(wish_for(30000)));
  run_until_applied();
  EXPECT_THAT(provider_.listeners(kLb), IsEmpty());
  EXPECT_TRUE(cluster_.outcomes.back().listener_id.empty());
}

TEST_F(EngineTest, ALostReplyLeadsToALookAndNoSecondListener) {
  start_settled();
  provider_.script(Call::create, {Scripted::Kind::lost_reply, {}, {}});
  want("games/a", wish_for(30000, {target(1)}));
  run_until_applied();
  EXPECT_EQ(provider_.calls(Call::create), 1u);
  EXPECT_THAT(provider_.listeners(kLb), SizeIs(1));
}

TEST_F(EngineTest, TransientFailuresAreToldWhenTheyLast) {
  start();
  script_error(Call::create, Code::unavailable);
  want("games/a", wish_for(30000));
  run_until_applied();
  EXPECT_THAT(cluster_.outcomes, SizeIs(1)) << "one failure is nobody's business";
  for (int i = 0; i < 4; ++i) script_error(Call::create, Code::unavailable);
  want("games/b", wish_for(30001));
  run_until_applied();
  ASSERT_THAT(cluster_.outcomes, SizeIs(3));
  EXPECT_EQ(cluster_.outcomes[1].result.error().code, Code::unavailable);
  EXPECT_TRUE(cluster_.outcomes[2].result);
}

TEST_F(EngineTest, AFullQuotaIsToldAndWorkGoesOnWhenAListenerWasRemoved) {
  provider_.set_quota(1);
  start();
  want("games/a", wish_for(30000));
  run_until_applied();
  want("games/b", wish_for(30001));
  run_until_told(2);
  EXPECT_EQ(cluster_.outcomes[1].result.error().code, Code::exhausted);
  const Instant before = kernel_.now();
  want("games/a", removal_of(wish_for(30000)));
  run_until_applied();
  EXPECT_LE(kernel_.now() - before, 2s);
}

// A pool that is far larger than what its load balancer takes: the provider's API is for others
// too.
TEST_F(EngineTest, AFullQuotaIsNotTriedForEachListenerThatWaits) {
  provider_.set_quota(100);
  start_settled();
  for (model::Port port = 30000; port < 32000; ++port)
    want(fmt::format("games/{}", port), wish_for(port));
  pass(10min);
  ASSERT_EQ(provider_.listeners(kLb).size(), 100u);
  EXPECT_EQ(cluster_.outcomes.size(), 2000u) << "each is told";
  const auto before = provider_.calls(Call::create);
  pass(1h);
  EXPECT_LE(provider_.calls(Call::create) - before, 30u);

  const auto room = provider_.calls(Call::create);
  const auto first =
      std::ranges::find_if(cluster_.objects, [](const auto& one) { return one.second.applied; });
  want(first->first, removal_of(first->second.wish));
  pass(2s);
  EXPECT_EQ(provider_.listeners(kLb).size(), 100u) << "the next one is made at once";
  EXPECT_LE(provider_.calls(Call::create) - room, 5u);
}

TEST_F(EngineTest, AnInvalidWishIsTriedAgainOnlyWhenSomethingElseIsWanted) {
  start_settled();
  script_error(Call::create, Code::invalid);
  want("games/a", wish_for(30000));
  run_until_told(1);
  pass(5min);
  EXPECT_EQ(provider_.calls(Call::create), 1u);
  want("games/a", wish_for(30000));
  run_until_applied();
}

// A caller that writes down what it heard is woken by what it wrote, and says its wish again.
TEST_F(EngineTest, ACallerThatSaysTheSameAgainIsToldAgainAndCausesNoCalls) {
  start_settled();
  for (const Code code : {Code::invalid, Code::forbidden}) {
    script_error(Call::create, code);
    want("games/a", wish_for(30000));
    cluster_.outcomes.clear();
    run_until_told(1);
    const auto calls = provider_.calls();
    const Wish same = cluster_.objects["games/a"].wish;
    for (int i = 0; i < 10; ++i) {
      running_->engine().want(WishKey("games/a"), same);
      pass(100ms);
    }
    EXPECT_EQ(provider_.calls(), calls);
    ASSERT_THAT(cluster_.outcomes, SizeIs(11));
    EXPECT_EQ(cluster_.outcomes.back().result.error().code, code);
  }
}

// Calls of that kind, for all load balancers of the account in the region; no others.
TEST_F(EngineTest, ThrottlingSlowsWhatTheProviderCountsTogether) {
  start_settled();
  want("games/a", wish_for(30000));
  run_until_applied();
  Error error = error_of(Code::throttled, "slow down");
  error.retry_after = 30s;
  provider_.script(Call::targets, {Scripted::Kind::error, error, {}});
  want("games/a", wish_for(30000, {target(1)}));
  ASSERT_TRUE(kernel_.run_until([&] { return provider_.calls(Call::targets) == 1; }));
  pass(100ms);
  want("games/b", wish_for(30000, {target(1)}, kOtherLb));
  pass(28s);
  EXPECT_TRUE(provider_.find(kOtherLb, Transport::tcp, 30000)) << "it may be created";
  EXPECT_EQ(provider_.calls(Call::targets), 1u);
  model::LoadBalancerRef elsewhere = kOtherLb;
  elsewhere.region = "ap-beijing";
  want("games/c", wish_for(30000, {target(1)}, elsewhere));
  pass(1s);
  EXPECT_TRUE(cluster_.objects["games/c"].applied);
  run_until_applied();
}

TEST_F(EngineTest, NothingIsWrittenWhileWeMayNot) {
  start_settled();
  want("games/a", wish_for(30000));
  run_until_applied();
  may_act_ = false;
  want("games/a", wish_for(30000, {target(1)}));
  pass(10s);
  EXPECT_THAT(targets_at(30000), IsEmpty());
  // Whoever was in charge meanwhile did something: it is seen, not overwritten blindly.
  provider_.remove_listener(kLb, provider_.find(kLb, Transport::tcp, 30000)->id);
  may_act_ = true;
  run_until_applied();
  EXPECT_THAT(targets_at(30000), testing::ElementsAre(target(1)));
}

TEST_F(EngineTest, WhoComesBackInChargeComparesEverything) {
  start_settled();
  want("games/a", wish_for(30000));
  want("games/b", wish_for(30001));
  run_until_applied();
  may_act_ = false;
  want("games/a", wish_for(30000, {target(1)}));
  pass(2s);
  provider_.remove_listener(kLb, provider_.find(kLb, Transport::tcp, 30001)->id);
  may_act_ = true;
  run_until_applied();
  pass(2s);
  EXPECT_TRUE(provider_.find(kLb, Transport::tcp, 30001));
}

TEST_F(EngineTest, DriftIsRepairedAndCountedWithoutASecondReport) {
  start();
  want("games/a", wish_for(30000, {target(1)}));
  run_until_applied();
  pass(5min);
  const model::ListenerId id = provider_.find(kLb, Transport::tcp, 30000)->id;
  const auto driver = std::make_unique<sim::lb::ModelDriver>(provider_);
  const lb::TargetChange change{{id, {}}, {target(9)}, {target(1).target}};
  ASSERT_TRUE(driver->change_targets({.tasks = kernel_.world()}, kLb, {&change, 1})[0]);
  running_->engine().audit(kLb);
  pass(1min);
  EXPECT_THAT(targets_at(30000), testing::ElementsAre(target(1)));
  EXPECT_THAT(cluster_.outcomes, SizeIs(1));
  EXPECT_THAT(registry_.text(),
              testing::HasSubstr("berth_lb_drift_total{lb=\"ap-nanjing:lb-1\"} 1"));
}

TEST_F(EngineTest, AListenerThatSomebodyRemovedComesBackAndItsNewIdIsTold) {
  start();
  want("games/a", wish_for(30000, {target(1)}));
  run_until_applied();
  const model::ListenerId id = provider_.find(kLb, Transport::tcp, 30000)->id;
  provider_.remove_listener(kLb, id);
  pass(20min);  // the audit comes by itself
  ASSERT_TRUE(provider_.find(kLb, Transport::tcp, 30000));
  ASSERT_THAT(cluster_.outcomes, SizeIs(2));
  EXPECT_NE(cluster_.outcomes[1].listener_id, id);
}

TEST_F(EngineTest, TheNewestWishCounts) {
  start();
  for (int i = 1; i <= 20; ++i) {
    want("games/a", wish_for(30000, {target(i)}));
    pass(7ms);
  }
  run_until_applied();
  EXPECT_THAT(targets_at(30000), testing::ElementsAre(target(20)));
}

TEST_F(EngineTest, AForgottenWishIsLeftAlone) {
  may_act_ = false;
  start();
  want("games/a", wish_for(30000));
  pass(1s);
  running_->engine().forget(WishKey("games/a"));
  cluster_.objects.clear();
  may_act_ = true;
  pass(1min);
  EXPECT_THAT(provider_.listeners(kLb), IsEmpty());
  EXPECT_THAT(cluster_.outcomes, IsEmpty());
}

TEST_F(EngineTest, RemovalOnALoadBalancerThatIsGoneSucceeds) {
  start();
  want("games/a", wish_for(30000));
  run_until_applied();
  for (int i = 0; i < 3; ++i) script_error(Call::remove, Code::not_found);
  script_error(Call::look_up, Code::not_found);
  script_error(Call::list, Code::not_found);
  want("games/a", removal_of(wish_for(30000)));
  run_until_applied();
  EXPECT_EQ(provider_.calls(Call::remove), 1u);
}

TEST_F(EngineTest, RemovalFromALoadBalancerThatIsKnownToBeGoneDoesNotWait) {
  start();
  want("games/a", wish_for(30000));
  run_until_applied();
  for (int i = 0; i < 9; ++i) script_error(Call::list, Code::not_found);
  script_error(Call::look_up, Code::not_found);
  script_error(Call::create, Code::not_found);
  want("games/b", wish_for(30001));
  run_until_told(2);
  EXPECT_EQ(cluster_.outcomes[1].result.error().code, Code::not_found);
  pass(16s);  // until it was said twice
  want("games/a", removal_of(wish_for(30000)));
  const Instant before = kernel_.now();
  ASSERT_TRUE(kernel_.run_until([&] { return cluster_.objects["games/a"].applied; }));
  EXPECT_LE(kernel_.now() - before, 1s);
}

TEST_F(EngineTest, AWishForALoadBalancerThatDoesNotExistIsTold) {
  for (int i = 0; i < 2; ++i) script_error(Call::list, Code::not_found);
  start();
  want("games/a", wish_for(30000));
  run_until_told(1);
  EXPECT_EQ(cluster_.outcomes[0].result.error().code, Code::not_found);
  run_until_applied();
}

TEST_F(EngineTest, AStopEndsACallThatWaits) {
  start();
  provider_.script(Call::create, {Scripted::Kind::slow, {}, 50s});
  want("games/a", wish_for(30000));
  ASSERT_TRUE(kernel_.run_until([&] { return provider_.calls(Call::create) == 1; }));
  pass(1s);
  const Instant before = kernel_.now();
  running_.reset();
  EXPECT_LE(kernel_.now() - before, 100ms);
}

TEST_F(EngineTest, ASlowTaskThatOutlivesItsCallIsNotSentTwice) {
  start({.call_limit = 10s, .settle = 1min});
  provider_.script(Call::create, {Scripted::Kind::slow, {}, 25s});
  want("games/a", wish_for(30000, {target(1)}));
  run_until_applied();
  EXPECT_THAT(provider_.listeners(kLb), SizeIs(1));
  EXPECT_THAT(targets_at(30000), testing::ElementsAre(target(1)));
}

TEST_F(EngineTest, AfterTheStartAChangeIsReadBackBeforeItIsCalledDone) {
  start();
  want("games/a", wish_for(30000, {target(1)}));
  run_until_applied();
  EXPECT_EQ(provider_.calls(Call::look_up), 1u);
}

// Whoever hears that a port leads nowhere gives it to somebody else.
TEST_F(EngineTest, ThatAPortLeadsNowhereIsSaidWhenNoCallOfADeadProcessCanLandAnyMore) {
  ModelProvider parallel({.limits = {.serial_writes = false}});
  const auto start_on = [&](sim::Process& process) {
    running_ = std::make_unique<EngineProcess>(
        process, parallel, cluster_, EngineOptions{.name_prefix = std::string(kPrefix)},
        [] { return true; }, 7);
  };
  start_on(process_);
  want("games/a", wish_for(30000, {target(1)}));
  run_until_applied();
  parallel.script(Call::targets, {Scripted::Kind::slow, {}, 25s});
  want("games/a", wish_for(30000, {target(1, 0)}));
  pass(1s);
  kernel_.crash(process_);
  running_.reset();

  start_on(kernel_.start_process("berth-2"));
  want("games/a", wish_for(30000));
  run_until_applied();
  bool led = false;
  parallel.observe([&](const sim::lb::Change& change) {
    led = led || (change.after && !change.after->spec.rules.front().targets.empty());
  });
  EXPECT_THAT(parallel.find(kLb, Transport::tcp, 30000)->spec.rules.front().targets,
              testing::IsEmpty());
  pass(2min);
  parallel.advance(kernel_.now());
  EXPECT_FALSE(led);
}

TEST_F(EngineTest, APortThatWasNotBeingChangedIsSaidToLeadNowhereAtOnceAfterARestart) {
  start();
  want("games/a", wish_for(30000, {target(1)}));
  run_until_applied();
  kernel_.crash(process_);
  running_.reset();
  running_ = std::make_unique<EngineProcess>(
      kernel_.start_process("berth-2"), provider_, cluster_,
      EngineOptions{.name_prefix = std::string(kPrefix)}, [] { return true; }, 7);
  running_->engine().audit(kLb);
  pass(1s);
  const Instant begun = kernel_.now();
  want("games/a", wish_for(30000));
  run_until_applied();
  EXPECT_LT(kernel_.now() - begun, 1s);
}

TEST_F(EngineTest, AProviderThatDoesNotKeepWhatItConfirmsIsToldAndNotHammered) {
  start();
  provider_.observe([&](const sim::lb::Change& change) {
    if (change.after) provider_.remove_listener(kLb, change.after->id);
  });
  want("games/a", wish_for(30000, {target(1)}));
  run_until_told(1);
  EXPECT_EQ(cluster_.outcomes[0].result.error().code, Code::conflict);
  pass(20s);
  EXPECT_LE(provider_.calls(Call::create), 15u);
}

TEST_F(EngineTest, ManyTargetsAreCutAndTheOldOnesGoLast) {
  start_settled();
  std::vector<model::WeightedTarget> old_targets;
  std::vector<model::WeightedTarget> new_targets;
  for (int i = 0; i < 200; ++i) old_targets.push_back({{fmt::format("10.1.0.{:03}", i), 80}, 10});
  for (int i = 0; i < 200; ++i) new_targets.push_back({{fmt::format("10.2.0.{:03}", i), 80}, 10});
  want("games/a", wish_for(30000, old_targets));
  run_until_applied();
  std::size_t fewest = 1000;
  provider_.observe([&](const sim::lb::Change& change) {
    if (change.after) fewest = std::min(fewest, change.after->spec.rules.front().targets.size());
  });
  want("games/a", wish_for(30000, new_targets));
  run_until_applied();
  EXPECT_GE(fewest, 200u) << "for a while there were fewer targets than wished";
  EXPECT_EQ(targets_at(30000), new_targets);
}

TEST_F(EngineTest, CallsAreCountedUnderTheNamesThatDashboardsKnow) {
  start_settled();
  script_error(Call::create, Code::throttled);
  want("games/a", wish_for(30000));
  run_until_applied();
  const std::string text = registry_.text();
  EXPECT_THAT(text, testing::HasSubstr("bcs_network_ingress_controller_cloud_request_total{"
                                       "errcode=\"failed\",rpc=\"create_listeners\"} 1"));
  EXPECT_THAT(text, testing::HasSubstr("bcs_network_ingress_controller_cloud_response_time_count{"
                                       "rpc=\"create_listeners\"} 2"));
  EXPECT_THAT(text, testing::HasSubstr("status=\"exceed_limit\",system=\"tencent\"} 1"));
  EXPECT_THAT(text, testing::HasSubstr("berth_lb_operation_seconds_count{operation="
                                       "\"create_listeners\",status=\"ok\",system="
                                       "\"tencent\"} 1"));
  EXPECT_THAT(text, testing::HasSubstr("berth_lb_queue_depth{lb=\"ap-nanjing:lb-1\"} 0"));
}

// A call to one does not wait for calls to others.
TEST_F(EngineTest, LoadBalancersProceedSideBySide) {
  constexpr int kBalancers = 40;
  sim::lb::ModelProvider slow({.min_latency = 500ms, .max_latency = 500ms});
  EngineProcess running(
      process_, slow, cluster_, {.name_prefix = std::string(kPrefix)}, [] { return true; }, 7);
  const Instant begin = kernel_.now();
  for (int i = 0; i < kBalancers; ++i) {
    const model::LoadBalancerRef lb{model::Provider::tencent, "ap-nanjing",
                                    fmt::format("lb-{}", i)};
    for (model::Port port = 30000; port < 30025; ++port) {
      const std::string key = fmt::format("games/{}-{}", i, port);
      cluster_.objects[key].wish = wish_for(port, {target(1)}, lb);
      running.engine().want(WishKey(key), cluster_.objects[key].wish);
    }
  }
  run_until_applied();
  // A list, creations, targets, and a list that reads back: the calls of one.
  EXPECT_LT(kernel_.now() - begin, 3s);
}

// Layer 7.

Wish web_wish(model::Port port, std::vector<model::Rule> rules, Boxed<model::Tls> tls) {
  Wish wish = wish_for(port);
  wish.protocol = model::Protocol::https;
  wish.spec->protocol = wish.protocol;
  wish.spec->attributes.tls = std::move(tls);
  wish.spec->rules = std::move(rules);
  return wish;
}

model::Rule rule_of(const char* domain, const char* certificate) {
  model::Rule rule{.key = {domain, "/"}, .targets = {target(1)}};
  if (certificate) rule.attributes.tls = model::Tls{.certificates = {{.reference = certificate}}};
  return rule;
}

// What one step needs, another brings: which of them goes first is the provider's business.
TEST_F(EngineTest, AStepThatIsRefusedIsTriedAgainAfterAnotherOne) {
  start_settled();
  Wish before = web_wish(30000, {rule_of("a.com", nullptr)},
                         model::Tls{.certificates = {{.reference = "c-0"}}});
  want("games/a", before);
  run_until_applied();
  Wish by_name = web_wish(30000, {rule_of("a.com", "c-1")}, {});
  by_name.spec->attributes.by_server_name = true;
  want("games/a", by_name);
  run_until_applied();
  EXPECT_TRUE(provider_.find(kLb, Transport::tcp, 30000)->spec.attributes.by_server_name);
  want("games/a", before);
  run_until_applied();
}

TEST_F(EngineTest, ARuleThatIsRefusedTakesNothingFromTheOthers) {
  start_settled();
  Wish wish = web_wish(
      30000, {rule_of("a.com", "c-1"), rule_of("b.com", nullptr), rule_of("c.com", "c-3")}, {});
  wish.spec->attributes.by_server_name = true;
  want("games/a", wish);
  pass(1min);
  const auto there = provider_.find(kLb, Transport::tcp, 30000);
  ASSERT_TRUE(there);
  EXPECT_EQ(model::leads_of(there->spec).size(), 2u);
  EXPECT_FALSE(cluster_.objects["games/a"].applied);
  ASSERT_FALSE(cluster_.outcomes.empty());
  EXPECT_EQ(cluster_.outcomes.back().result.error().code, Code::invalid);
  const auto calls = provider_.calls();
  pass(5min);
  EXPECT_EQ(provider_.calls(), calls) << "the same wish will never succeed";
}

// However many of its steps it concerns, an answer is one attempt.
TEST_F(EngineTest, AFailedCallIsOneAttemptOfItsWish) {
  start_settled();
  script_error(Call::create_rules, Code::unavailable);
  const Boxed<model::Tls> tls = model::Tls{.certificates = {{.reference = "c-0"}}};
  want("games/a",
       web_wish(30000,
                {rule_of("a.com", nullptr), rule_of("b.com", nullptr), rule_of("c.com", nullptr)},
                tls));
  run_until_applied();
  EXPECT_THAT(cluster_.outcomes, SizeIs(1)) << "it was told of a failure that did not last";
}

}  // namespace
}  // namespace berth::engine
