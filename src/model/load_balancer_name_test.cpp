#include "model/load_balancer_name.h"

#include <gtest/gtest.h>

namespace berth::model {
namespace {

constexpr std::string_view kArn =
    "arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/net/rooms/50dc6c495c0c9188";
const LoadBalancerDefaults kNanjing{Provider::tencent, "ap-nanjing"};
const LoadBalancerRef kFirst{Provider::tencent, "ap-nanjing", "lb-1"};
const LoadBalancerRef kSecond{Provider::tencent, "ap-nanjing", "lb-2"};

bool is_name(std::string_view text, const LoadBalancerDefaults& defaults) {
  return is_name(parse_load_balancer(text, defaults).value());
}

// The names of a provider that has two load balancers.
Result<LoadBalancerRef> look_up(const LoadBalancerRef& named) {
  if (named.provider == Provider::tencent && named.region == "ap-nanjing" && named.id == "my-clb")
    return kFirst;
  return fail(Code::not_found, "no '{}'", named.id);
}
const LookUp kNobody = [](const LoadBalancerRef& named) -> Result<LoadBalancerRef> {
  ADD_FAILURE() << "asked for " << named.id;
  return fail(Code::internal, "asked");
};

using Texts = std::vector<std::string>;
using Stands = std::vector<Standing>;

TEST(LoadBalancerName, WhatIsAnIdIsForItsProviderToSay) {
  for (const std::string_view id : {"lb-1", "lb-00001", "lb-xxx", "lb-7hxxxxx", "lb-test1",
                                    "ap-nanjing:lb-carrier1", "edge:AnyThing"})
    EXPECT_FALSE(is_name(id, kNanjing)) << id;
  for (const std::string_view name :
       {"my-clb", "ap-nanjing:my-clb", "lb-", "lb-My", "lb-a-b", "LB-1"})
    EXPECT_TRUE(is_name(name, kNanjing)) << name;
  const LoadBalancerDefaults aws{Provider::aws, "eu-west-1"};
  EXPECT_FALSE(is_name(kArn, aws));
  EXPECT_TRUE(is_name("rooms", aws));
  EXPECT_TRUE(is_name("eu-west-1:rooms", aws));
  EXPECT_FALSE(is_name("rooms", {}));
  EXPECT_FALSE(is_name("edge:rooms", kNanjing));
  EXPECT_FALSE(is_name("rooms", {Provider::gcp, "us-east1", "play"}));
}

TEST(LoadBalancerName, OtherDefaultsMoveNobodyWhoStands) {
  const Texts texts{"lb-1", "ap-y:lb-2", "edge:demo", "my-clb"};
  const Stands stands_on{{{Provider::tencent, "ap-x", "lb-1"}},
                         {{Provider::tencent, "ap-y", "lb-2"}},
                         {{Provider::edge, "", "demo"}},
                         {{Provider::tencent, "ap-x", "lb-9"}, "my-clb"}};
  for (const LoadBalancerDefaults& later :
       {LoadBalancerDefaults{Provider::tencent, "ap-x"},
        LoadBalancerDefaults{Provider::tencent, "ap-z"}, LoadBalancerDefaults{Provider::edge, ""},
        LoadBalancerDefaults{Provider::aws, "eu-west-1"},
        LoadBalancerDefaults{Provider::gcp, "ap-y", "play"}}) {
    const auto refs = resolve(texts, {later, stands_on}, kNobody);
    ASSERT_TRUE(refs);
    for (std::size_t i = 0; i < refs->size(); ++i) EXPECT_EQ((*refs)[i], stands_on[i].lb);
  }
}

TEST(LoadBalancerName, WhatATextSaysItselfMovesItsOwner) {
  const Stands stands_on{{{Provider::tencent, "ap-x", "lb-1"}}};
  EXPECT_EQ(resolve(Texts{"ap-y:lb-1"}, {kNanjing, stands_on}, kNobody)->front(),
            (LoadBalancerRef{Provider::tencent, "ap-y", "lb-1"}));
  EXPECT_EQ(resolve(Texts{"lb-2"}, {kNanjing, stands_on}, kNobody)->front(), kSecond);
}

TEST(LoadBalancerName, ANameIsAskedForBeforeAnythingStands) {
  EXPECT_EQ(resolve(Texts{"my-clb"}, {kNanjing}, look_up)->front(), kFirst);
  EXPECT_EQ(resolve(Texts{"ap-nanjing:my-clb"}, {kNanjing}, look_up)->front(), kFirst);
  const auto none = resolve(Texts{"lb-2", "ap-x:my-clb"}, {kNanjing}, look_up);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::not_found);
}

TEST(LoadBalancerName, WhoHasTheNameLaterMovesNobody) {
  const Stands stands_on{{kSecond, "my-clb"}};
  EXPECT_EQ(resolve(Texts{"my-clb"}, {kNanjing, stands_on}, kNobody)->front(), kSecond);
  EXPECT_EQ(resolve(Texts{"ap-nanjing:my-clb"}, {kNanjing, stands_on}, kNobody)->front(), kSecond);
}

TEST(LoadBalancerName, AnIdIsNoNameOfAnother) {
  EXPECT_EQ(
      resolve(Texts{"lb-1"}, {kNanjing, Stands{{kSecond, "lb-1"}, {kFirst}}}, kNobody)->front(),
      kFirst);
  EXPECT_TRUE(may_mean("my-clb", Standing{kFirst, "my-clb"}));
  EXPECT_FALSE(may_mean("ap-x:my-clb", Standing{kFirst, "my-clb"}));
  EXPECT_FALSE(may_mean("my-clb", Standing{kFirst}));
}

TEST(LoadBalancerName, ANameAndTheIdOfOneLoadBalancerAreNamedTwice) {
  const auto twice = resolve(Texts{"lb-1", "my-clb"}, {kNanjing}, look_up);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().to_string(),
            "invalid: 'lb-1' and 'my-clb' are one load balancer, ap-nanjing:lb-1 "
            "(hint: name it once)");
}

TEST(LoadBalancerName, IdsStayAsTheyWereWritten) {
  EXPECT_EQ(name_in("lb-1", kFirst), "");
  EXPECT_EQ(name_in("ap-nanjing:my-clb", kFirst), "my-clb");
  EXPECT_EQ(text_of_id("lb-1", kFirst), "lb-1");
  EXPECT_EQ(text_of_id("my-clb", kFirst), "ap-nanjing:lb-1");
  EXPECT_EQ(text_of_id("rooms", {Provider::aws, "eu-west-1", std::string(kArn)}), kArn);
}

}  // namespace
}  // namespace berth::model
