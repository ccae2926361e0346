// The driver on the simulated cloud when things go wrong, and what it costs when they do not.
#include <gtest/gtest.h>

#include "cloud/tencent/test_simulated_clb.h"

namespace berth::cloud::tencent {
namespace {

using namespace std::chrono_literals;
using lb::TargetChange;
using model::ListenerId;
using model::ListenerSpec;
using model::Protocol;
using sim::tencent::FaultKind;
using testing::SimulatedClb;

ListenerSpec tcp(model::Port port) {
  return model::plain_listener(Protocol::tcp, {port, port}, fmt::format("b-{}", port));
}

ListenerId create(SimulatedClb& clb, const ListenerSpec& spec) {
  const auto made = clb.listeners().create(clb.context(), clb.first, {&spec, 1});
  EXPECT_TRUE(made.at(0)) << made.at(0).error().to_string();
  return made.at(0).value_or(ListenerId{});
}

Result<> bind(SimulatedClb& clb, const ListenerId& id, const char* ip) {
  const TargetChange change{{id, {}}, {{{ip, 9000}}}, {}};
  return clb.listeners().change_targets(clb.context(), clb.first, {&change, 1}).at(0);
}

TEST(SimulatedClb, OnePodCostsOneRoundTripAndItsTask) {
  SimulatedClb clb;
  const ListenerId id = create(clb, tcp(30000));
  // By now it is known how long such tasks take.
  for (int i = 1; i < 8; ++i) ASSERT_TRUE(bind(clb, id, fmt::format("10.0.0.{}", i).c_str()));
  clb.cloud.reset_calls();
  const Instant start = clb.process.now();
  ASSERT_TRUE(bind(clb, id, "10.0.0.9"));
  EXPECT_LE(clb.process.now() - start, 50ms + 500ms + 50ms + 100ms);
  const auto calls = clb.cloud.calls();
  EXPECT_EQ(calls.at("BatchRegisterTargets").answered, 1u);
  EXPECT_LE(calls.at("DescribeTaskStatus").answered, 2u);
  EXPECT_EQ(calls.size(), 2u) << "nothing is looked at before";
}

// The cloud says of what is another account's that it does not exist. Who believed it would let go
// of what he has there.
TEST(SimulatedClb, ALoadBalancerThatNewKeysDoNotShowIsNotGone) {
  SimulatedClb clb;
  clb.cloud.add_account({.uin = "2"});
  clb.cloud.add_key({.secret_id = "AKIDOTHER", .secret_key = Secret("key"), .account = "2"});
  crypto::CloudCredentials now{.id = "AKIDEXAMPLE", .key = Secret("example-key")};
  GivenCredentials keys({}, [&](const Context&, const model::CredentialId&) {
    return Result<crypto::CloudCredentials>(now);
  });
  ClbDriver driver(clb.process, clb.transport, keys, {.region = clb.first.lb.region});
  const lb::Place place(clb.first.lb, model::CredentialId("games"));
  const auto look = [&] {
    const auto seen = driver.seams().listeners->list(clb.context(), place);
    return seen ? std::string("seen") : seen.error().to_string();
  };
  EXPECT_EQ(look(), "seen");
  now = {.id = "AKIDOTHER", .key = Secret("key")};
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(look().starts_with("forbidden")) << look();
    EXPECT_NE(look().find("it was seen with other keys"), std::string::npos);
  }
  now = {.id = "AKIDEXAMPLE", .key = Secret("example-key")};
  EXPECT_EQ(look(), "seen");
  clb.cloud.remove_load_balancer("lb-first");
  EXPECT_TRUE(look().starts_with("not_found")) << look();
}

TEST(SimulatedClb, ACreationWhoseReplyIsLostIsFoundByItsName) {
  SimulatedClb clb;
  clb.cloud.inject({.kind = FaultKind::lose_reply, .action = "CreateListener"});
  const ListenerSpec spec = tcp(30000);
  const auto lost = clb.listeners().create(clb.context(), clb.first, {&spec, 1});
  ASSERT_FALSE(lost[0]);
  EXPECT_EQ(lost[0].error().code, Code::timeout);
  (void)sleep_for(clb.process, 1s, {});
  const lb::Question question{.name = spec.name};
  const auto found = clb.listeners().look_up(clb.context(), clb.first, {&question, 1});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->size(), 1u);
}

TEST(SimulatedClb, ACreationThatAGatewayLostIsFoundByItsName) {
  SimulatedClb clb;
  clb.cloud.inject({.kind = FaultKind::gateway_after, .action = "CreateListener"});
  const ListenerSpec spec = tcp(30000);
  const auto lost = clb.listeners().create(clb.context(), clb.first, {&spec, 1});
  ASSERT_FALSE(lost[0]);
  EXPECT_EQ(lost[0].error().code, Code::timeout) << "nobody knows what became of it";
  (void)sleep_for(clb.process, 1s, {});
  const lb::Question question{.name = spec.name};
  EXPECT_EQ(clb.listeners().look_up(clb.context(), clb.first, {&question, 1})->size(), 1u);
}

TEST(SimulatedClb, AnAnswerWithTooFewOrTooManyIdsIsNotBelieved) {
  for (const FaultKind kind : {FaultKind::short_answer, FaultKind::long_answer}) {
    SimulatedClb clb;
    clb.cloud.inject({.kind = kind, .action = "CreateListener"});
    const std::vector<ListenerSpec> specs{tcp(30000), tcp(30001)};
    for (const auto& made : clb.listeners().create(clb.context(), clb.first, specs)) {
      ASSERT_FALSE(made) << "whose id it is nobody knows";
      EXPECT_EQ(made.error().code, Code::conflict);
    }
  }
}

TEST(SimulatedClb, ATcpListenerMayBeCheckedByHttp) {
  SimulatedClb clb;
  ListenerSpec spec = tcp(30000);
  spec.rules.front().attributes.health_check = model::HealthCheck{.http_path = "/healthy"};
  const ListenerId id = create(clb, spec);
  const auto seen = clb.listeners().list(clb.context(), clb.first);
  ASSERT_TRUE(seen);
  ASSERT_EQ(seen->size(), 1u);
  EXPECT_EQ(seen->front().spec.rules.front().attributes.health_check->http_path, "/healthy");
  const lb::RuleChange back{{id, {}}, {}};
  EXPECT_TRUE(clb.listeners().change_rules(clb.context(), clb.first, {&back, 1})[0]);
}

TEST(SimulatedClb, ATaskThatFailsIsLookedAt) {
  SimulatedClb clb;
  clb.cloud.inject({.kind = FaultKind::fail_task, .action = "CreateListener"});
  const ListenerSpec spec = tcp(30000);
  const auto failed = clb.listeners().create(clb.context(), clb.first, {&spec, 1});
  ASSERT_FALSE(failed[0]);
  EXPECT_EQ(failed[0].error().code, Code::conflict);
  EXPECT_FALSE(failed[0].error().request_id.empty());
}

TEST(SimulatedClb, ATaskThatOutlivesTheCallLeavesItsEffectUnknown) {
  SimulatedClb clb;
  clb.cloud.inject({.kind = FaultKind::slow_task, .action = "CreateListener", .duration = 1min});
  const ListenerSpec spec = tcp(30000);
  const auto slow = clb.listeners().create(clb.context().within(20s), clb.first, {&spec, 1});
  ASSERT_FALSE(slow[0]);
  EXPECT_EQ(slow[0].error().code, Code::timeout);
  const ListenerSpec other = tcp(30001);
  const auto busy = clb.listeners().create(clb.context().within(20s), clb.first, {&other, 1});
  ASSERT_FALSE(busy[0]) << "the load balancer is locked as long as the task runs";
  EXPECT_EQ(busy[0].error().code, Code::unavailable);
}

TEST(SimulatedClb, PartialFailureConcernsItsListenerAlone) {
  SimulatedClb clb;
  const ListenerId one = create(clb, tcp(30000));
  const ListenerId two = create(clb, tcp(30001));
  clb.cloud.inject({.kind = FaultKind::fail_listeners,
                    .action = "BatchRegisterTargets",
                    .listeners = {two.value}});
  const std::vector<TargetChange> changes{{{one, {}}, {{{"10.0.0.1", 80}}}, {}},
                                          {{two, {}}, {{{"10.0.0.2", 80}}}, {}}};
  const auto results = clb.listeners().change_targets(clb.context(), clb.first, changes);
  EXPECT_TRUE(results[0]);
  EXPECT_FALSE(results[1]);
  const auto again = clb.listeners().change_targets(clb.context(), clb.first, changes);
  EXPECT_TRUE(again[0]);
  EXPECT_TRUE(again[1]) << again[1].error().to_string();
}

TEST(SimulatedClb, ManyCallsKeepWithinTheRate) {
  SimulatedClb clb;
  const ListenerId id = create(clb, tcp(30000));
  const lb::Question question{.id = id};
  for (int i = 0; i < 200; ++i) {
    const auto found = clb.listeners().look_up(clb.context(), clb.first, {&question, 1});
    ASSERT_TRUE(found) << found.error().to_string();
  }
  EXPECT_LE(clb.cloud.calls()["DescribeListeners"].throttled, 20u);
}

// Twenty questions a second are one for each: who asks in vain takes it from another.
TEST(SimulatedClb, TasksOfManyLoadBalancersCostOneQuestionEach) {
  constexpr int kBalancers = 20;
  SimulatedClb clb;
  std::vector<lb::Place> places;
  for (int i = 0; i < kBalancers; ++i) {
    places.emplace_back(testing::ref(fmt::format("lb-{}", i)));
    clb.cloud.add_load_balancer({.id = places.back().lb.id,
                                 .account = std::string(testing::kAccount),
                                 .region = std::string(testing::kRegion),
                                 .name = places.back().lb.id},
                                clb.process.wall_time());
  }
  const auto write_to_all = [&](int round) {
    const ListenerSpec spec = tcp(static_cast<model::Port>(30000 + round));
    const Instant start = clb.process.now();
    std::vector<std::unique_ptr<Task>> writes;
    for (const lb::Place& place : places) {
      writes.push_back(clb.process.spawn("write", [&](std::stop_token) {
        EXPECT_TRUE(clb.listeners().create(clb.context(), place, {&spec, 1}).at(0));
      }));
    }
    for (auto& write : writes) write->join();
    return clb.process.now() - start;
  };
  EXPECT_LE(write_to_all(0), 2s) << "nothing is known, and one finds it out for all";
  for (int round = 1; round <= 10; ++round) {
    (void)sleep_for(clb.process, 10s, {});
    clb.cloud.reset_calls();
    EXPECT_LE(write_to_all(round), 50ms + 500ms + 100ms) << "round " << round;
    EXPECT_EQ(clb.cloud.calls().at("DescribeTaskStatus").answered, 20u) << "round " << round;
  }
}

TEST(SimulatedClb, AWrongClockIsCorrected) {
  SimulatedClb clb;
  clb.process.skew_clock(-1h);
  EXPECT_FALSE(create(clb, tcp(30000)).empty());
}

// The words of the quick start's list of questions, as the cloud says them.
TEST(SimulatedClb, TellsTheRemedyOfWhatUsersMeet) {
  SimulatedClb clb;
  clb.cloud.edit_account(std::string(testing::kAccount),
                         [](sim::tencent::Account& account) { account.port_ranges = false; });
  ListenerSpec range = tcp(31000);
  range.ports.last = 31009;
  const auto refused = clb.listeners().create(clb.context(), clb.first, {&range, 1});
  ASSERT_FALSE(refused[0]);
  EXPECT_EQ(refused[0].error().code, Code::forbidden);
  EXPECT_NE(refused[0].error().hint.find("whitelist"), std::string::npos)
      << refused[0].error().to_string();
  clb.cloud.edit_account(std::string(testing::kAccount),
                         [](sim::tencent::Account& account) { account.port_ranges = true; });
  EXPECT_FALSE(create(clb, range).empty()) << "it clears by itself";
}

TEST(SimulatedClb, AddressesOfAnotherNetworkFailAlone) {
  SimulatedClb clb;
  clb.cloud.edit("lb-first", [](sim::tencent::LoadBalancer& lb) { lb.vpc_id = "vpc-1"; });
  clb.cloud.edit_account(std::string(testing::kAccount), [](sim::tencent::Account& account) {
    account.networks = {{std::string(testing::kRegion), "vpc-1", "10.0.0.0/16", false}};
  });
  std::vector<TargetChange> changes;
  for (int i = 0; i < 6; ++i) {
    const ListenerId id = create(clb, tcp(static_cast<model::Port>(30000 + i)));
    changes.push_back({{id, {}}, {{{i == 4 ? "192.168.0.1" : "10.0.0.1", 80}}}, {}});
  }
  const auto results = clb.listeners().change_targets(clb.context(), clb.first, changes);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (i != 4) {
      EXPECT_TRUE(results[i]) << i << ": " << results[i].error().to_string();
      continue;
    }
    ASSERT_FALSE(results[i]);
    EXPECT_FALSE(results[i].error().hint.empty()) << results[i].error().to_string();
  }
}

TEST(SimulatedClb, AMissingPermissionIsNamed) {
  SimulatedClb clb({}, {"clb:Describe*"});
  const ListenerSpec spec = tcp(30000);
  const auto refused = clb.listeners().create(clb.context(), clb.first, {&spec, 1});
  ASSERT_FALSE(refused[0]);
  EXPECT_EQ(refused[0].error().code, Code::forbidden);
  EXPECT_NE(refused[0].error().hint.find("clb:CreateListener"), std::string::npos);
}

TEST(SimulatedClb, AnotherCertificateForADomainNeedsMoreThanTheQuickStartLists) {
  SimulatedClb clb({}, {"clb:Describe*", "clb:CreateListener", "clb:CreateRule", "clb:ModifyRule"});
  ListenerSpec spec = tcp(443);
  spec.protocol = Protocol::https;
  spec.attributes.by_server_name = true;
  const ListenerId id = create(clb, spec);
  const auto with = [](const char* certificate) {
    return model::RuleAttributes{.tls = model::Tls{.certificates = {{certificate}}}};
  };
  const lb::NewRule rule{{id, {"example.com", "/"}}, with("cert-1")};
  ASSERT_TRUE(clb.listeners().create_rules(clb.context(), clb.first, {&rule, 1})[0]);
  const lb::RuleChange change{rule.rule, with("cert-2")};
  const auto changed = clb.listeners().change_rules(clb.context(), clb.first, {&change, 1});
  ASSERT_FALSE(changed[0]);
  EXPECT_NE(changed[0].error().hint.find("clb:ModifyDomainAttributes"), std::string::npos)
      << changed[0].error().to_string();
}

TEST(SimulatedClb, HealthIsHeardOf) {
  SimulatedClb clb;
  const ListenerId id = create(clb, tcp(30000));
  std::vector<lb::Health> heard;
  lb::HealthFeed& feed = *clb.driver.seams().health;
  const auto following = feed.follow(
      clb.first, {id, {}}, [&](const lb::TargetHealth& one) { heard.push_back(one.health); });
  std::stop_source stop;
  Context context = clb.context();
  context.stop = stop.get_token();
  const auto task = clb.process.spawn("health", [&](std::stop_token) {
    feed.run(context, [&] { return std::vector{clb.first}; });
  });
  ASSERT_TRUE(bind(clb, id, "10.0.0.1"));
  EXPECT_TRUE(
      clb.kernel.run_until([&] { return !heard.empty() && heard.back() == lb::Health::healthy; }));
  clb.cloud.set_health("10.0.0.1", 9000, sim::tencent::Health::dead);
  EXPECT_TRUE(clb.kernel.run_until([&] { return heard.back() == lb::Health::unhealthy; }));
  stop.request_stop();
}

}  // namespace
}  // namespace berth::cloud::tencent
