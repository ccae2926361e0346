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

TEST(LoadBalancerRef, ArnsOfEveryPartitionAreOnes) {
  const LoadBalancerRef china = parsed(
      "arn:aws-cn:elasticloadbalancing:cn-north-1:1:loadbalancer/net/rooms/50dc6c495c0c9188");
  EXPECT_EQ(china.provider, Provider::aws);
  EXPECT_EQ(china.region, "cn-north-1");
  EXPECT_EQ(listener_base_name(china), "cn-north-1-rooms");
  EXPECT_EQ(
      parsed("arn:aws-us-gov:elasticloadbalancing:us-gov-west-1:1:loadbalancer/app/r/5").region,
      "us-gov-west-1");
}

TEST(LoadBalancerRef, AnAddressOfGoogleIsOneOfItsProject) {
  const LoadBalancerRef ref = parsed("projects/play/regions/us-east1/addresses/rooms");
  EXPECT_EQ(ref, (LoadBalancerRef{Provider::gcp, "us-east1", "rooms", "play"}));
  EXPECT_EQ(to_string(ref), "projects/play/regions/us-east1/addresses/rooms");
  EXPECT_EQ(parsed("us-east1:rooms", {Provider::gcp, "", "play"}), ref);
  EXPECT_EQ(parsed("rooms", {Provider::gcp, "us-east1", "play"}), ref);
  EXPECT_NE(parsed("projects/other/regions/us-east1/addresses/rooms"), ref);
  const LoadBalancerRef global = parsed("projects/play/global/addresses/rooms");
  EXPECT_EQ(global.region, "global");
  EXPECT_EQ(to_string(global), "projects/play/global/addresses/rooms");
  EXPECT_FALSE(parse_load_balancer("rooms", {Provider::gcp, "us-east1"})) << "no project";
}

TEST(LoadBalancerRef, TheReferenceDecidesAboutTheProvider) {
  EXPECT_EQ(parsed("edge:demo"), (LoadBalancerRef{Provider::edge, "", "demo"}));
  EXPECT_EQ(parsed(kArn).provider, Provider::aws);
  EXPECT_EQ(parsed(kArn).region, "eu-west-1");
  EXPECT_EQ(parsed("lb-1").provider, Provider::tencent);
  EXPECT_EQ(parsed("lb-1", {}), parsed("edge:lb-1"));
}

TEST(LoadBalancerRef, WhatIsNoReferenceIsQuoted) {
  for (const std::string_view bad :
       {"", "edge:", ":lb-1", "a:", "a:b:c", "lb-1,lb-2", "lb 1", "azure:lb-1",
        "arn:aws:elasticloadbalancing:x", "arn:aws-cn:s3:::bucket", "projects/p/addresses/n",
        "projects/p/regions/r/addresses/", "projects//global/x/n"}) {
    const auto ref = parse_load_balancer(bad, kNanjing);
    ASSERT_FALSE(ref) << bad;
    EXPECT_EQ(ref.error().code, Code::invalid);
    EXPECT_NE(ref.error().message.find("'" + std::string(bad) + "'"), std::string::npos);
    EXPECT_FALSE(ref.error().hint.empty());
  }
}

// Objects of clusters that run have these names: they stay byte for byte.
TEST(LoadBalancerRef, ObjectNamesOfRunningClustersStay) {
  EXPECT_EQ(object_name(parsed("lb-1")), "tencent.ap-nanjing.lb-1");
  EXPECT_EQ(object_name(parsed("lb-1", {Provider::tencent, ""})), "tencent.lb-1");
  EXPECT_EQ(object_name(parsed("edge:demo")), "edge.demo");
  EXPECT_EQ(object_name(parsed("edge:Demo_1")), "edge.demo-1-7e790cd9");
  EXPECT_EQ(object_name(parsed(kArn)),
            "aws.eu-west-1.arn-aws-elasticloadbalancing-eu-west-1-123456789012-loadbalancer-net-"
            "rooms-50dc6c495c0c9188-cca10b93");
  EXPECT_EQ(object_name(parsed("edge:" + std::string(300, 'x'))),
            "edge." + std::string(195, 'x') + "-9be2bc56");
}

TEST(LoadBalancerRef, TheAccountIsInANameWhereIdsAreNotUniqueWithoutIt) {
  EXPECT_EQ(object_name(parsed("projects/play/regions/us-east1/addresses/rooms")),
            "gcp.play.us-east1.rooms");
  EXPECT_EQ(canonical(parsed("projects/play/regions/us-east1/addresses/rooms")),
            "gcp/play/us-east1/rooms");
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
  for (const LoadBalancerRef& ref :
       {parsed("lb-1"), parsed("edge:demo"), parsed(kArn), parsed("projects/p/global/addresses/n")})
    EXPECT_EQ(parse_canonical(canonical(ref)), ref);
  for (const std::string_view bad : {"", "lb-1", "tencent/lb-1", "tencent//ap-nanjing/",
                                     "azure//x/y", "tencent/123/x/y", "gcp//us-east1/rooms"})
    EXPECT_EQ(parse_canonical(bad), std::nullopt) << bad;
}

TEST(LoadBalancerRef, AnAddressOfAGatewayIsAPlaceOfItsOwn) {
  const LoadBalancerDefaults tencent{.provider = Provider::tencent, .region = "ap-x"};
  const auto one = parse_load_balancer("nat-1@1.2.3.4", tencent);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->id, "nat-1");
  EXPECT_EQ(one->address, "1.2.3.4");
  EXPECT_EQ(*one, *parse_load_balancer("ap-x:nat-1@1.2.3.4", {.provider = Provider::tencent}));
  EXPECT_EQ(canonical(*one), "tencent//ap-x/nat-1@1.2.3.4");
  EXPECT_EQ(parse_canonical(canonical(*one)), *one);
  EXPECT_EQ(to_string(*one), "ap-x:nat-1@1.2.3.4");
  EXPECT_EQ(with_id_text({Provider::tencent, "ap-x"}, id_text(*one)), *one);
  EXPECT_TRUE(may_mean("nat-1@1.2.3.4", *one));
  EXPECT_FALSE(may_mean("nat-1", *one));
  EXPECT_FALSE(may_mean("nat-1@1.2.3.5", *one));

  const auto whole = parse_load_balancer("nat-1", tencent);
  EXPECT_EQ(parent(*one), *whole);
  EXPECT_NE(object_name(*one), object_name(*whole));
  EXPECT_NE(listener_base_name(*one), listener_base_name(*whole));
  for (const char* text : {"nat-1@", "@1.2.3.4", "nat-1@somewhere", "nat-1@1.2.3.4/x"})
    EXPECT_FALSE(parse_load_balancer(text, tencent)) << text;
  EXPECT_EQ(parse_canonical("tencent//ap-x/nat-1@"), std::nullopt);
}

// Elsewhere there are none, and a name is what it always was.
TEST(LoadBalancerRef, WhoHasNoGatewaysHasNoAddresses) {
  const auto edge = parse_load_balancer("edge:a@1.2.3.4", {});
  ASSERT_TRUE(edge);
  EXPECT_EQ(edge->id, "a@1.2.3.4");
  EXPECT_EQ(parse_canonical(canonical(*edge)), *edge);
}

TEST(LoadBalancerRef, ListenersAreNamedAsUpstreamNamesThem) {
  EXPECT_EQ(listener_base_name(parsed("lb-1")), "lb-1");
  EXPECT_EQ(listener_base_name(parsed("ap-shanghai:lb-1")), "lb-1");
  EXPECT_EQ(listener_base_name(parsed(kArn)), "eu-west-1-rooms");
  EXPECT_EQ(listener_base_name(parsed("edge:demo")), "demo");
}

}  // namespace
}  // namespace berth::model
