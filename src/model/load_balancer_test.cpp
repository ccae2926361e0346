#include "model/load_balancer.h"

#include <gtest/gtest.h>

namespace berth::model {
namespace {

constexpr std::string_view kArn =
    "arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/net/rooms/50dc6c495c0c9188";
const LoadBalancerDefaults kNanjing{Provider::tencent, "ap-nanjing"};

LoadBalancerRef parsed(std::string_view text, const LoadBalancerDefaults& defaults = kNanjing) {
  const auto ref = parse_load_balancer(text, defaults);
  EXPECT_TRUE(ref) << text;
  return ref.value_or(LoadBalancerRef{});
}

TEST(LoadBalancerRef, TwoSpellingsOfOneLoadBalancerAreEqual) {
  EXPECT_EQ(parsed("lb-1"), parsed("ap-nanjing:lb-1"));
  EXPECT_NE(parsed("lb-1"), parsed("ap-shanghai:lb-1"));
  EXPECT_EQ(to_string(parsed("lb-1")), "ap-nanjing:lb-1");
}

TEST(LoadBalancerRef, TheReferenceDecidesAboutTheProvider) {
  EXPECT_EQ(parsed("edge:demo"), (LoadBalancerRef{Provider::edge, "", "demo"}));
  EXPECT_EQ(parsed(kArn).provider, Provider::aws);
  EXPECT_EQ(parsed(kArn).region, "eu-west-1");
  EXPECT_EQ(parsed("lb-1").provider, Provider::tencent);
  EXPECT_EQ(parsed("lb-1", {}), parsed("edge:lb-1"));
}

TEST(LoadBalancerRef, WhatIsNoReferenceIsQuoted) {
  for (const std::string_view bad : {"", "edge:", ":lb-1", "a:", "a:b:c", "lb-1,lb-2", "lb 1",
                                     "azure:lb-1", "arn:aws:elasticloadbalancing:x"}) {
    const auto ref = parse_load_balancer(bad, kNanjing);
    ASSERT_FALSE(ref) << bad;
    EXPECT_EQ(ref.error().code, Code::invalid);
    EXPECT_NE(ref.error().message.find("'" + std::string(bad) + "'"), std::string::npos);
    EXPECT_FALSE(ref.error().hint.empty());
  }
}

TEST(LoadBalancerRef, ObjectNamesAreUniqueAndFitKubernetes) {
  EXPECT_EQ(object_name(parsed("lb-1")), "tencent.ap-nanjing.lb-1");
  EXPECT_EQ(object_name(parsed("edge:demo")), "edge.demo");
  const std::string upper = object_name(parsed("edge:Demo"));
  EXPECT_NE(upper, "edge.demo");
  EXPECT_EQ(upper.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-."), std::string::npos);
  EXPECT_LE(object_name(parsed("edge:" + std::string(500, 'x'))).size(), 253u);
}

TEST(LoadBalancerRef, TheCanonicalTextMeansTheSameUnderEveryDefault) {
  EXPECT_EQ(canonical(parsed("lb-1")), "tencent//ap-nanjing/lb-1");
  EXPECT_EQ(canonical(parsed("edge:demo")), "edge///demo");
  for (const LoadBalancerRef& ref : {parsed("lb-1"), parsed("edge:demo"), parsed(kArn)})
    EXPECT_EQ(parse_canonical(canonical(ref)), ref);
  for (const std::string_view bad :
       {"", "lb-1", "tencent/lb-1", "tencent//ap-nanjing/", "azure//x/y", "tencent/123/x/y"})
    EXPECT_EQ(parse_canonical(bad), std::nullopt) << bad;
}

TEST(LoadBalancerRef, ListenersAreNamedAsUpstreamNamesThem) {
  EXPECT_EQ(listener_base_name(parsed("lb-1")), "lb-1");
  EXPECT_EQ(listener_base_name(parsed("ap-shanghai:lb-1")), "lb-1");
  EXPECT_EQ(listener_base_name(parsed(kArn)), "eu-west-1-rooms");
  EXPECT_EQ(listener_base_name(parsed("edge:demo")), "demo");
}

}  // namespace
}  // namespace berth::model
