// Writes are tasks: what they do happens when they end, and they lock their load balancer. Faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/cloud/tencent/test_client.h"

namespace berth::sim::tencent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using wire::Array;
using wire::Object;

Object create(std::int64_t port) {
  return {{"LoadBalancerId", kLb}, {"Ports", Array{port}}, {"Protocol", "TCP"}};
}
Object target(const std::string& listener, const char* ip, std::int64_t port) {
  return {{"ListenerId", listener}, {"EniIp", ip}, {"Port", port}};
}
std::string id_of(const wire::Value& answer) {
  return std::string(wire::string_at(answer, "/RequestId"));
}
std::size_t listener_count(const TestClient& client) {
  return client.cloud.load_balancer(kLb)->listeners.size();
}

TEST(Task, TakesEffectWhenItEnds) {
  TestClient client;
  const wire::Value answer = client.call("CreateListener", create(31000));
  EXPECT_EQ(wire::array_at(answer, "/ListenerIds")->size(), 1u);
  EXPECT_EQ(client.status(id_of(answer)), 2);
  EXPECT_EQ(listener_count(client), 0u);
  client.now += milliseconds{500};
  EXPECT_EQ(client.status(id_of(answer)), 0);
  EXPECT_EQ(listener_count(client), 1u);
}

TEST(Task, LocksItsLoadBalancerAndNoOther) {
  TestClient client;
  client.cloud.add_load_balancer({.id = "lb-other001", .account = kUin, .region = kRegion},
                                 client.now);
  client.call("CreateListener", create(31000));
  EXPECT_THAT(client.message("CreateListener", create(31001)), HasSubstr("not in normal desState"));
  EXPECT_EQ(client.refused("CreateListener", create(31001)), "FailedOperation.ResourceInOperating");
  Object other = create(31001);
  other["LoadBalancerId"] = "lb-other001";
  EXPECT_EQ(client.refused("CreateListener", other), "");
  client.now += milliseconds{500};
  EXPECT_EQ(client.refused("CreateListener", create(31001)), "");
}

TEST(Task, LockMayOutliveIt) {
  Settings settings;
  settings.unsure.lock_outlives_task = seconds{2};
  settings.unsure.busy_names_the_task = true;
  TestClient client(settings);
  client.done("CreateListener", create(31000));
  EXPECT_THAT(client.message("CreateListener", create(31001)),
              HasSubstr("Your task is working (CreateListener)"));
  client.now += seconds{2};
  EXPECT_EQ(client.refused("CreateListener", create(31001)), "");
}

TEST(Task, OfOthersIsNotShown) {
  TestClient client;
  const wire::Value answer = client.call("CreateListener", create(31000));
  client.cloud.add_key(
      {.secret_id = "AKIDOTHER", .secret_key = Secret(client.key), .account = "2"});
  client.id = "AKIDOTHER";
  EXPECT_EQ(client.refused("DescribeTaskStatus", {{"TaskId", id_of(answer)}}), "InvalidParameter");
  EXPECT_EQ(client.refused("DescribeTaskStatus"), "MissingParameter");
}

TEST(Faults, RefuseTheNextCallsThatFit) {
  TestClient client;
  client.cloud.inject({.kind = FaultKind::refuse,
                       .action = "CreateListener",
                       .error = {"RequestLimitExceeded", "slow down"},
                       .count = 2});
  EXPECT_EQ(client.refused("DescribeQuota"), "");
  EXPECT_EQ(client.refused("CreateListener", create(1)), "RequestLimitExceeded");
  EXPECT_EQ(client.refused("CreateListener", create(1)), "RequestLimitExceeded");
  EXPECT_EQ(client.refused("CreateListener", create(1)), "");
  client.cloud.inject({.kind = FaultKind::gateway});
  EXPECT_TRUE(client.call("DescribeQuota").is_null());
  EXPECT_EQ(client.last_status, 502);
}

TEST(Faults, AGatewayMayFailAfterTheEffect) {
  TestClient client;
  client.cloud.inject({.kind = FaultKind::gateway_after});
  EXPECT_TRUE(client.call("CreateListener", create(31000)).is_null());
  EXPECT_EQ(client.last_status, 502);
  client.cloud.advance(client.now + seconds{1});
  EXPECT_EQ(listener_count(client), 1u);
}

TEST(Faults, ListsOfAnswersMayBeTooShortOrTooLong) {
  TestClient client;
  client.done("CreateListener", create(31000));
  const auto told = [&](FaultKind kind) {
    client.now += seconds{1};
    client.cloud.inject({.kind = kind, .action = "DescribeListeners"});
    const wire::Value answer = client.call("DescribeListeners", {{"LoadBalancerId", kLb}});
    return wire::array_at(answer, "/Listeners")->size();
  };
  EXPECT_EQ(told(FaultKind::short_answer), 0u);
  EXPECT_EQ(told(FaultKind::long_answer), 2u);
  EXPECT_EQ(listener_count(client), 1u);
}

TEST(Faults, LostReplyHasItsEffect) {
  TestClient client;
  client.cloud.inject({.kind = FaultKind::lose_reply, .load_balancer = kLb});
  EXPECT_TRUE(client.call("CreateListener", create(31000)).is_null());
  EXPECT_EQ(client.last_status, kLostReply);
  client.cloud.advance(client.now + seconds{1});
  EXPECT_EQ(listener_count(client), 1u);
}

TEST(Faults, FailedTaskSaysWhyAndDoesNothing) {
  TestClient client;
  client.cloud.inject({.kind = FaultKind::fail_task,
                       .action = "CreateListener",
                       .error = {"", "no room in the cluster"}});
  const wire::Value answer = client.call("CreateListener", create(31000));
  client.now += seconds{1};
  const wire::Value status = client.call("DescribeTaskStatus", {{"TaskId", id_of(answer)}});
  EXPECT_EQ(wire::int_at(status, "/Status"), 1);
  EXPECT_EQ(wire::string_at(status, "/Message"), "no room in the cluster");
  EXPECT_EQ(listener_count(client), 0u);
}

TEST(Faults, SlowTaskTakesAsLongAsItIsTold) {
  TestClient client;
  client.cloud.inject({.kind = FaultKind::slow_task, .duration = seconds{60}});
  const wire::Value answer = client.call("CreateListener", create(31000));
  client.now += seconds{59};
  EXPECT_EQ(client.status(id_of(answer)), 2);
  client.now += seconds{1};
  EXPECT_EQ(client.status(id_of(answer)), 0);
}

TEST(Faults, ListenersOfABatchFailAlone) {
  TestClient client;
  const auto ids = client.listeners({31000, 31001});
  client.cloud.inject({.kind = FaultKind::fail_listeners, .listeners = {ids[0]}});
  const wire::Value answer = client.done(
      "BatchRegisterTargets",
      {{"LoadBalancerId", kLb},
       {"Targets", Array{target(ids[0], "10.0.0.1", 80), target(ids[1], "10.0.0.2", 80)}}});
  EXPECT_EQ(*wire::array_at(answer, "/FailListenerIdSet"), Array{wire::Value(ids[0])});
  const auto lb = client.cloud.load_balancer(kLb);
  EXPECT_TRUE(lb->listeners.at(ids[0]).rules[0].targets.empty());
  EXPECT_EQ(lb->listeners.at(ids[1]).rules[0].targets.size(), 1u);
}

TEST(Hands, ChangeWhatTheyLikeWhileATaskRuns) {
  TestClient client;
  const auto ids = client.listeners({31000});
  client.call("BatchRegisterTargets",
              {{"LoadBalancerId", kLb}, {"Targets", Array{target(ids[0], "10.0.0.1", 80)}}});
  EXPECT_TRUE(client.cloud.edit(kLb, [](LoadBalancer& lb) { lb.listeners.clear(); }));
  client.cloud.add_listener(kLb, {.name = "theirs", .port = 99});
  client.cloud.advance(client.now + seconds{1});
  EXPECT_EQ(listener_count(client), 1u);
  EXPECT_TRUE(client.cloud.remove_load_balancer(kLb));
  EXPECT_FALSE(client.cloud.edit(kLb, [](LoadBalancer&) {}));
}

}  // namespace
}  // namespace berth::sim::tencent
