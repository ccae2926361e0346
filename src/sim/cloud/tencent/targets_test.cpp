// Targets: where they may lie, how many, their weights and health.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/cloud/tencent/places.h"
#include "sim/cloud/tencent/test_client.h"

namespace berth::sim::tencent {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using wire::Array;
using wire::Object;

class Targets : public testing::Test {
 protected:
  Targets() { listener = client.listeners({8000}).front(); }

  Object one(const char* ip, std::int64_t port = 80) {
    return {{"ListenerId", listener}, {"EniIp", ip}, {"Port", port}};
  }
  Object batch(Array targets) { return {{"LoadBalancerId", kLb}, {"Targets", std::move(targets)}}; }
  Object on_listener(Array targets, Object more = {}) {
    more["LoadBalancerId"] = kLb;
    more["ListenerId"] = listener;
    for (wire::Value& target : targets) target.as_object().erase("ListenerId");
    more["Targets"] = std::move(targets);
    return more;
  }
  wire::Value backends() {
    client.now += seconds{1};
    return client.call("DescribeTargets", {{"LoadBalancerId", kLb}});
  }
  std::string health() {
    client.now += std::chrono::milliseconds{50};
    const wire::Value answer =
        client.call("DescribeTargetHealth", {{"LoadBalancerIds", Array{kLb}}});
    return std::string(wire::string_at(
        answer, "/LoadBalancers/0/Listeners/0/Rules/0/Targets/0/HealthStatusDetail"));
  }

  TestClient client;
  std::string listener;
};

TEST_F(Targets, RegisterWeighDeregister) {
  client.done("BatchRegisterTargets", batch({one("10.0.0.1"), one("10.0.0.2")}));
  EXPECT_EQ(wire::array_at(backends(), "/Listeners/0/Targets")->size(), 2u);
  EXPECT_EQ(wire::int_at(backends(), "/Listeners/0/Targets/0/Weight"), 10);
  EXPECT_EQ(wire::string_at(backends(), "/Listeners/0/Targets/0/PrivateIpAddresses/0"), "10.0.0.1");
  client.done("BatchModifyTargetWeight",
              {{"LoadBalancerId", kLb},
               {"ModifyList",
                Array{Object{{"ListenerId", listener},
                             {"Weight", 7},
                             {"Targets", Array{Object{{"EniIp", "10.0.0.1"}, {"Port", 80}}}}}}}});
  client.done("ModifyTargetWeight", on_listener({one("10.0.0.2")}, {{"Weight", 0}}));
  EXPECT_EQ(wire::int_at(backends(), "/Listeners/0/Targets/0/Weight"), 7);
  EXPECT_EQ(wire::int_at(backends(), "/Listeners/0/Targets/1/Weight"), 0);
  client.done("BatchDeregisterTargets", batch({one("10.0.0.1")}));
  client.done("DeregisterTargets", on_listener({one("10.0.0.2")}));
  EXPECT_EQ(wire::array_at(backends(), "/Listeners/0/Targets")->size(), 0u);
  EXPECT_EQ(client.refused("ModifyTargetWeight", on_listener({one("10.0.0.2")})),
            "InvalidParameterValue");
}

TEST_F(Targets, AreNamedByExactlyOneThing) {
  EXPECT_EQ(client.refused("BatchRegisterTargets",
                           batch({Object{{"ListenerId", listener}, {"Port", 1}}})),
            "InvalidParameterValue");
  Object both = one("10.0.0.1");
  both["InstanceId"] = "ins-11111111";
  EXPECT_EQ(client.refused("BatchRegisterTargets", batch({both})), "InvalidParameterValue");
  EXPECT_EQ(client.refused("BatchRegisterTargets", batch({one("10.0.0.300")})),
            "InvalidParameter.FormatError");
}

TEST_F(Targets, SizesOfCalls) {
  Array many;
  for (int i = 0; i < 501; ++i) many.push_back(one("10.0.0.1", 1000 + i));
  EXPECT_EQ(client.refused("BatchRegisterTargets", batch(many)), "InvalidParameterValue.Length");
  many.resize(21);
  EXPECT_EQ(client.refused("RegisterTargets", on_listener(many)), "InvalidParameterValue.Length");
}

TEST_F(Targets, QuotaOfARuleConcernsItsListenerAlone) {
  client.cloud.change_settings([](Settings& s) { s.limits.targets_per_rule = 1; });
  const std::string other = client.listeners({8001}).front();
  Object elsewhere = one("10.0.0.3");
  elsewhere["ListenerId"] = other;
  const wire::Value answer =
      client.done("BatchRegisterTargets", batch({one("10.0.0.1"), one("10.0.0.2"), elsewhere}));
  EXPECT_EQ(*wire::array_at(answer, "/FailListenerIdSet"), Array{wire::Value(listener)});
  EXPECT_THAT(wire::string_at(answer, "/Message"), HasSubstr("quota"));
  EXPECT_EQ(client.cloud.load_balancer(kLb)->listeners.at(other).rules[0].targets.size(), 1u);
}

TEST_F(Targets, UnknownListenerOfABatch) {
  Object gone = one("10.0.0.1");
  gone["ListenerId"] = "lbl-nothere1";
  const wire::Value answer = client.done("BatchRegisterTargets", batch({gone, one("10.0.0.1")}));
  EXPECT_EQ(*wire::array_at(answer, "/FailListenerIdSet"), Array{"lbl-nothere1"});
  client.cloud.change_settings(
      [](Settings& s) { s.unsure.batch_fails_whole_on_unknown_listener = true; });
  EXPECT_EQ(client.refused("BatchRegisterTargets", batch({gone})),
            "InvalidParameter.ListenerIdNotFound");
}

TEST_F(Targets, TwiceAndMissing) {
  client.done("BatchRegisterTargets", batch({one("10.0.0.1")}));
  client.done("BatchRegisterTargets", batch({one("10.0.0.1")}));
  EXPECT_EQ(wire::array_at(backends(), "/Listeners/0/Targets")->size(), 1u);
  client.done("DeregisterTargets", on_listener({one("10.0.0.9")}));
  client.cloud.change_settings([](Settings& s) {
    s.unsure.registering_again_is_refused = true;
    s.unsure.deregistering_missing_is_refused = true;
  });
  EXPECT_EQ(client.refused("RegisterTargets", on_listener({one("10.0.0.1")})),
            "InvalidParameterValue.Duplicate");
  EXPECT_EQ(client.refused("DeregisterTargets", on_listener({one("10.0.0.9")})),
            "InvalidParameterValue");
}

TEST_F(Targets, BatchMayBeDoneWhenAnswered) {
  client.cloud.change_settings([](Settings& s) { s.unsure.batch_targets_are_tasks = false; });
  const wire::Value answer = client.call("BatchRegisterTargets", batch({one("10.0.0.1")}));
  EXPECT_EQ(client.cloud.load_balancer(kLb)->listeners.at(listener).rules[0].targets.size(), 1u);
  EXPECT_EQ(client.status(std::string(wire::string_at(answer, "/RequestId"))), 0);
}

TEST_F(Targets, ARangeMustFit) {
  listener = client.listeners({9000}, {{"EndPort", 9100}}).front();
  EXPECT_EQ(client.refused("RegisterTargets", on_listener({one("10.0.0.1", 65436)})),
            "InvalidParameterValue");
  EXPECT_EQ(client.refused("RegisterTargets", on_listener({one("10.0.0.1", 65435)})), "");
}

TEST_F(Targets, OfLayer7NeedTheirRule) {
  listener = client.listeners({80}, {{"Protocol", "HTTP"}}).front();
  EXPECT_EQ(client.refused("RegisterTargets", on_listener({one("10.0.0.1")})), "MissingParameter");
  client.done("CreateRule", {{"LoadBalancerId", kLb},
                             {"ListenerId", listener},
                             {"Rules", Array{Object{{"Domain", "a.b"}, {"Url", "/"}}}}});
  client.done("RegisterTargets", on_listener({one("10.0.0.1")}, {{"Domain", "a.b"}, {"Url", "/"}}));
  EXPECT_EQ(client.cloud.load_balancer(kLb)->listeners.at(listener).rules[0].targets.size(), 1u);
  EXPECT_EQ(client.refused("RegisterTargets",
                           on_listener({one("10.0.0.1")}, {{"LocationId", "loc-nothere1"}})),
            "InvalidParameter.LocationNotFound");
}

TEST_F(Targets, LieWhereTheLoadBalancerReaches) {
  client.cloud.edit_account(kUin, [](Account& account) {
    account.networks = {{kRegion, "vpc-12345678", "10.0.0.0/16"},
                        {kRegion, "vpc-12345678", "172.16.0.0/16", true},
                        {kRegion, "vpc-other001", "10.1.0.0/16"},
                        {"ap-chongqing", "vpc-far00001", "10.2.0.0/16"}};
    account.instances = {{"ins-near0001", kRegion, "vpc-12345678", "10.0.0.9"},
                         {"ins-far00001", "ap-chongqing", "vpc-far00001", "10.2.0.9"}};
    account.network_shift_up = false;
  });
  const auto why = [&](const char* ip) {
    return client.message("BatchRegisterTargets", batch({one(ip)}));
  };
  EXPECT_THAT(why("172.16.0.1"), HasSubstr("Account 100000000001 is not network shift up, do not "
                                           "support to register other ip"));
  EXPECT_THAT(why("10.1.0.1"), HasSubstr("is not add to global route"));
  EXPECT_THAT(why("10.2.0.1"),
              HasSubstr("Not support to register other ip ['10.2.0.1'] before enable SnatPro"));
  client.cloud.edit(kLb, [](LoadBalancer& lb) { lb.snat_pro = true; });
  EXPECT_THAT(why("10.2.0.1"), HasSubstr("no snat ip"));
  client.cloud.edit(kLb, [](LoadBalancer& lb) { lb.snat_ips = {"10.0.0.200"}; });
  client.done("BatchRegisterTargets", batch({one("10.2.0.1"), one("10.0.0.1")}));
  const wire::Value there = backends();
  EXPECT_EQ(wire::string_at(there, "/Listeners/0/Targets/0/Type"), "CCN");
  EXPECT_EQ(wire::string_at(there, "/Listeners/0/Targets/1/Type"), "ENI");

  Object machine{{"ListenerId", listener}, {"InstanceId", "ins-near0001"}, {"Port", 80}};
  client.done("BatchRegisterTargets", batch({machine}));
  EXPECT_EQ(wire::string_at(backends(), "/Listeners/0/Targets/2/Type"), "CVM");
  const auto count = [&] {
    const wire::Value now = backends();
    return wire::array_at(now, "/Listeners/0/Targets")->size();
  };
  client.done("BatchDeregisterTargets", batch({one("10.0.0.9")}));
  EXPECT_EQ(count(), 3u) << "it was bound by another name";
  client.done("BatchDeregisterTargets", batch({machine}));
  EXPECT_EQ(count(), 2u);
  machine["InstanceId"] = "ins-far00001";
  EXPECT_EQ(client.refused("BatchRegisterTargets", batch({machine})), "InvalidParameterValue");
}

TEST(Places, NetworksByBits) {
  EXPECT_TRUE(lies_in("10.1.2.3", "10.0.0.0/8"));
  EXPECT_FALSE(lies_in("11.1.2.3", "10.0.0.0/8"));
  EXPECT_TRUE(lies_in("10.1.2.3", "10.1.2.2/31"));
  EXPECT_FALSE(lies_in("10.1.2.4", "10.1.2.2/31"));
  EXPECT_TRUE(lies_in("fd00::1", "fd00::/64"));
  EXPECT_FALSE(lies_in("10.0.0.1", "fd00::/64"));
}

TEST_F(Targets, BecomeHealthyAfterAWhile) {
  client.done("BatchRegisterTargets", batch({one("10.0.0.1")}));
  EXPECT_EQ(health(), "Unknown");
  client.now += seconds{4};
  EXPECT_EQ(health(), "Alive");
  client.cloud.set_health("10.0.0.1", 80, Health::dead);
  EXPECT_EQ(health(), "Dead");
  client.cloud.set_health("10.0.0.1", 80, std::nullopt);
  EXPECT_EQ(health(), "Alive");
  client.done("ModifyListener", {{"LoadBalancerId", kLb},
                                 {"ListenerId", listener},
                                 {"HealthCheck", Object{{"HealthSwitch", 0}}}});
  EXPECT_EQ(health(), "Close");
}

TEST_F(Targets, WhatHasNoneMayBeLeftOut) {
  EXPECT_EQ(wire::array_at(backends(), "/Listeners")->size(), 1u);
  client.cloud.change_settings(
      [](Settings& settings) { settings.unsure.untargeted_are_left_out = true; });
  EXPECT_EQ(wire::array_at(backends(), "/Listeners")->size(), 0u);
  client.done("BatchRegisterTargets", batch({one("10.0.0.1")}));
  EXPECT_EQ(wire::array_at(backends(), "/Listeners")->size(), 1u);
}

TEST_F(Targets, AreFoundByFilters) {
  client.done("BatchRegisterTargets", batch({one("10.0.0.1"), one("10.0.0.2")}));
  const Object by_ip{
      {"LoadBalancerId", kLb},
      {"Filters", Array{Object{{"Name", "private-ip-address"}, {"Values", Array{"10.0.0.2"}}}}}};
  EXPECT_EQ(wire::array_at(client.call("DescribeTargets", by_ip), "/Listeners/0/Targets")->size(),
            1u);
  const Object strange{{"LoadBalancerId", kLb},
                       {"Filters", Array{Object{{"Name", "colour"}, {"Values", Array{"red"}}}}}};
  EXPECT_EQ(client.refused("DescribeTargets", strange), "InvalidParameterValue.InvalidFilter");
}

}  // namespace
}  // namespace berth::sim::tencent
