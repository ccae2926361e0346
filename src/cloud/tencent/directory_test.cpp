#include "cloud/tencent/directory.h"

#include <gmock/gmock.h>

#include "cloud/tencent/answers.h"
#include "cloud/tencent/health.h"
#include "cloud/tencent/test_scripted_cloud.h"

namespace berth::cloud::tencent {
namespace {

using namespace std::chrono_literals;

class TencentDirectory : public testing::DriverTest {
 protected:
  static model::LoadBalancerRef lb(int n, std::string region = "ap-nanjing") {
    return {model::Provider::tencent, std::move(region), fmt::format("lb-{}", n)};
  }
  // `total`: how many the cloud says that there are; it need not say so.
  static std::string set_of(int from, int to, std::string_view name = "rooms", int total = -1) {
    std::string out;
    for (int i = from; i < to; ++i) {
      out += fmt::format(
          R"({}{{"LoadBalancerId":"lb-{}","LoadBalancerName":"{}","LoadBalancerVips":["1.1.1.{}"]}})",
          i > from ? "," : "", i, name, i % 250);
    }
    if (total < 0) return fmt::format(R"({{"LoadBalancerSet":[{}]}})", out);
    return fmt::format(R"({{"TotalCount":{},"LoadBalancerSet":[{}]}})", total, out);
  }
};

TEST_F(TencentDirectory, DescribesTwentyACallAndKnowsTheQuota) {
  std::vector<model::LoadBalancerRef> lbs;
  for (int i = 0; i < 30; ++i) lbs.push_back(lb(i));
  cloud_.answer("DescribeLoadBalancers", set_of(0, 20));
  cloud_.answer("DescribeLoadBalancers", set_of(20, 29));
  cloud_.answer("DescribeQuota",
                R"({"QuotaSet":[{"QuotaId":"TOTAL_LISTENER_QUOTA","QuotaLimit":50}]})");
  const auto infos = directory().describe(context(), {}, lbs);
  ASSERT_EQ(infos.size(), 30u);
  ASSERT_TRUE(infos[7]);
  EXPECT_EQ(infos[7]->vips, std::vector<std::string>{"1.1.1.7"});
  EXPECT_EQ(infos[7]->listener_quota, 50u);
  ASSERT_FALSE(infos[29]);
  EXPECT_EQ(infos[29].error().code, Code::not_found);
  EXPECT_NE(infos[29].error().hint.find("region"), std::string::npos);
  // As people know it, and search for it.
  EXPECT_TRUE(infos[29].error().message.starts_with(
      "loadbalancer not found: there is no load balancer ap-nanjing:"))
      << infos[29].error().message;
  EXPECT_EQ(cloud_.calls.size(), 3u);
}

TEST_F(TencentDirectory, OneThatIsNotThereHidesNoOthers) {
  const auto refuse = [&] {
    cloud_.refuse("DescribeLoadBalancers", "InvalidParameter.LBIdNotFound", "lb-2");
  };
  refuse();                                              // 0 1 2
  cloud_.answer("DescribeLoadBalancers", set_of(0, 1));  // 0
  refuse();                                              // 1 2
  cloud_.answer("DescribeLoadBalancers", set_of(1, 2));  // 1
  refuse();                                              // 2
  cloud_.answer("DescribeQuota");
  const std::vector lbs{lb(0), lb(1), lb(2)};
  const auto infos = directory().describe(context(), {}, lbs);
  EXPECT_TRUE(infos[0]);
  EXPECT_TRUE(infos[1]);
  ASSERT_FALSE(infos[2]);
  EXPECT_EQ(infos[2].error().code, Code::not_found);
  EXPECT_NE(infos[2].error().to_string().find("loadbalancer not found"), std::string::npos);
}

TEST_F(TencentDirectory, AnAnswerWithoutTheListDoesNotSayThatTheyAreGone) {
  cloud_.answer("DescribeLoadBalancers", R"({"LoadBalancerSet":null})");
  const model::LoadBalancerRef one = lb(1);
  const auto infos = directory().describe(context(), {}, {&one, 1});
  ASSERT_FALSE(infos[0]);
  EXPECT_EQ(infos[0].error().code, Code::internal);
  cloud_.answer("DescribeLoadBalancers", "{}");
  EXPECT_FALSE(directory().search(context(), {}, {.name = "rooms"}));
}

TEST_F(TencentDirectory, AsksForTheQuotaNowAndThen) {
  const auto describe = [&] {
    cloud_.answer("DescribeLoadBalancers", set_of(1, 2));
    const model::LoadBalancerRef one = lb(1);
    return directory().describe(context(), {}, {&one, 1});
  };
  cloud_.refuse("DescribeQuota", "UnauthorizedOperation", "you has no permission");
  EXPECT_EQ(describe()[0]->listener_quota, 0u) << "without the permission it is not known";
  (void)describe();
  EXPECT_EQ(cloud_.bodies("DescribeQuota").size(), 1u);
  (void)sleep_for(process_, 11min, {});
  cloud_.answer("DescribeQuota",
                R"({"QuotaSet":[{"QuotaId":"TOTAL_LISTENER_QUOTA","QuotaLimit":80}]})");
  EXPECT_EQ(describe()[0]->listener_quota, 80u);
}

TEST_F(TencentDirectory, EachRegionIsAskedByItself) {
  cloud_.answer("DescribeLoadBalancers", set_of(1, 2));
  cloud_.answer("DescribeQuota");
  cloud_.answer("DescribeLoadBalancers", set_of(2, 3));
  cloud_.answer("DescribeQuota");
  const std::vector lbs{lb(2), lb(1, "ap-guangzhou")};
  const auto infos = directory().describe(context(), {}, lbs);
  EXPECT_TRUE(infos[0]);
  EXPECT_TRUE(infos[1]);
  EXPECT_EQ(cloud_.calls[0].request.headers.get("X-TC-Region"), "ap-guangzhou");
  EXPECT_EQ(cloud_.calls[2].request.headers.get("X-TC-Region"), "ap-nanjing");
}

TEST_F(TencentDirectory, SearchReadsAllPagesAndComparesNames) {
  cloud_.answer("DescribeLoadBalancers", set_of(0, 100));
  cloud_.answer("DescribeLoadBalancers", set_of(99, 110));
  const auto found = directory().search(context(), {}, {.name = "rooms"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->size(), 110u) << "one on two pages counts once";
  EXPECT_EQ(found->front().ref.region, "ap-guangzhou") << "where no other is named";
  cloud_.answer("DescribeLoadBalancers", set_of(0, 3, "rooms-of-others"));
  EXPECT_TRUE(directory().search(context(), {}, {.name = "rooms"})->empty())
      << "the API may answer what only looks like it";
  cloud_.answer("DescribeLoadBalancers", set_of(0, 3));
  EXPECT_TRUE(directory().search(context(), {}, {.tags = {{"team", "rooms"}}})->empty());
}

// Offsets count what is there at that moment: one that goes moves another one to a page that was
// read already.
TEST_F(TencentDirectory, ASearchSkipsNobodyWhenAnotherIsDeletedMeanwhile) {
  cloud_.answer("DescribeLoadBalancers", set_of(0, 100, "rooms", 120));
  cloud_.answer("DescribeLoadBalancers", set_of(101, 120, "rooms", 119));
  cloud_.answer("DescribeLoadBalancers", set_of(1, 101, "rooms", 119));
  cloud_.answer("DescribeLoadBalancers", set_of(101, 120, "rooms", 119));
  const auto found = directory().search(context(), {}, {.name = "rooms"});
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_TRUE(std::ranges::any_of(*found, [](const auto& one) { return one.ref.id == "lb-100"; }));
  EXPECT_TRUE(std::ranges::none_of(*found, [](const auto& one) { return one.ref.id == "lb-0"; }));
  EXPECT_EQ(found->size(), 119u);
}

TEST_F(TencentDirectory, ASearchThatStaysPartialSaysSo) {
  for (int i = 0; i < 10; ++i) cloud_.answer("DescribeLoadBalancers", set_of(0, 60, "rooms", 90));
  const auto found = directory().search(context(), {}, {.name = "rooms"});
  ASSERT_FALSE(found) << "who takes it for all takes a name for free";
  EXPECT_EQ(found.error().code, Code::unavailable);
  EXPECT_NE(found.error().message.find("60 of 90"), std::string::npos) << found.error().to_string();
}

TEST_F(TencentDirectory, HealthOfSomeRulesIsAskedByListener) {
  Api api(cloud_, credentials_, {});
  cloud_.answer("DescribeTargetHealth", R"({"LoadBalancers":[{"Listeners":[
    {"ListenerId":"lbl-1","Protocol":"TCP","Rules":[{"Targets":[
      {"IP":"10.0.0.1","Port":80,"HealthStatusDetail":"Alive"}]}]},
    {"ListenerId":"lbl-2","Protocol":"TCP","Rules":[{"Targets":[
      {"IP":"10.0.0.2","Port":80,"HealthStatusDetail":"Dead"}]}]}]}]})");
  const std::vector<lb::RuleRef> rules{{model::ListenerId("lbl-2"), {}}};
  const auto health = ask_health(api)(context(), place_, rules);
  ASSERT_TRUE(health);
  ASSERT_EQ(health->size(), 1u) << "of what was asked for alone";
  EXPECT_EQ(health->front().health, lb::Health::unhealthy);
  EXPECT_EQ(decode_texts(cloud_.calls[0].body, "/ListenerIds"), std::vector<std::string>{"lbl-2"});
}

}  // namespace
}  // namespace berth::cloud::tencent
