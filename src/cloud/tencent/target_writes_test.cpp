#include "cloud/tencent/target_writes.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "cloud/tencent/requests.h"
#include "cloud/tencent/test_scripted_cloud.h"

namespace berth::cloud::tencent {
namespace {

using lb::TargetChange;
using model::ListenerId;
using ::testing::ElementsAre;

class TencentTargets : public testing::DriverTest {
 protected:
  // Listeners "lbl-1" and so on, made by this driver.
  void make(int count) {
    std::vector<model::ListenerSpec> specs;
    std::string ids;
    for (int i = 1; i <= count; ++i) {
      specs.push_back(tcp(static_cast<model::Port>(30000 + i)));
      ids += fmt::format("{}\"lbl-{}\"", i > 1 ? "," : "", i);
    }
    cloud_.answer("CreateListener", fmt::format(R"({{"ListenerIds":[{}]}})", ids));
    for (const auto& made : listeners().create(context(), place_, specs)) EXPECT_TRUE(made);
    cloud_.calls.clear();
  }
  std::vector<Result<>> change(const std::vector<TargetChange>& changes) {
    return listeners().change_targets(context(), place_, changes);
  }
  static lb::RuleRef listener(int n) { return {ListenerId(fmt::format("lbl-{}", n)), {}}; }
  // "lbl-1 10.0.0.1" of each target of a call.
  static std::vector<std::string> lines(const wire::Value& body) {
    std::vector<std::string> out;
    for (const wire::Value& one : *wire::array_at(body, "/Targets")) {
      out.push_back(fmt::format("{} {}", wire::string_at(one, "/ListenerId"),
                                wire::string_at(one, "/EniIp")));
    }
    return out;
  }
};

TEST_F(TencentTargets, OnePodIsOneCallAndItsTask) {
  make(1);
  cloud_.answer("BatchRegisterTargets");
  const auto results = change({{listener(1), {target(1)}, {}}});
  ASSERT_TRUE(results[0]) << results[0].error().to_string();
  EXPECT_THAT(cloud_.actions(), ElementsAre("BatchRegisterTargets", "DescribeTaskStatus"));
}

TEST_F(TencentTargets, ManyPodsAreOneCall) {
  make(40);
  std::vector<TargetChange> changes;
  for (int i = 1; i <= 40; ++i) changes.push_back({listener(i), {target(i)}, {}});
  cloud_.answer("BatchRegisterTargets");
  for (const auto& result : change(changes)) EXPECT_TRUE(result);
  EXPECT_EQ(cloud_.bodies("BatchRegisterTargets").size(), 1u);
}

TEST_F(TencentTargets, FullReplacementLeavesNoGap) {
  make(1);
  cloud_.answer("BatchRegisterTargets");
  ASSERT_TRUE(change({{listener(1), {target(1)}, {}}})[0]);
  cloud_.calls.clear();
  cloud_.answer("BatchRegisterTargets");
  cloud_.answer("BatchDeregisterTargets");
  ASSERT_TRUE(change({{listener(1), {target(2)}, {target(1).target}}})[0]);
  EXPECT_THAT(cloud_.actions(), ElementsAre("BatchRegisterTargets", "DescribeTaskStatus",
                                            "BatchDeregisterTargets", "DescribeTaskStatus"));
}

TEST_F(TencentTargets, NothingIsTakenAwayWhereTheNewTargetFailed) {
  make(1);
  cloud_.answer("BatchRegisterTargets");
  ASSERT_TRUE(change({{listener(1), {target(1)}, {}}})[0]);
  cloud_.calls.clear();
  cloud_.refuse("BatchRegisterTargets", "InvalidParameterValue",
                "10.0.0.2 is not add to global route");
  const auto results = change({{listener(1), {target(2)}, {target(1).target}}});
  ASSERT_FALSE(results[0]);
  EXPECT_NE(results[0].error().hint.find("VPC"), std::string::npos);
  EXPECT_TRUE(cloud_.bodies("BatchDeregisterTargets").empty());
}

// Whoever believes that nothing happened gives the port on, with the new target behind it.
TEST_F(TencentTargets, WhatIsHalfDoneMustBeLookedAt) {
  make(1);
  cloud_.answer("BatchRegisterTargets");
  ASSERT_TRUE(change({{listener(1), {target(1)}, {}}})[0]);
  cloud_.answer("BatchRegisterTargets");
  for (int i = 0; i < 20; ++i)
    cloud_.refuse("BatchDeregisterTargets", "FailedOperation.ResourceInOperating", "it works");
  const auto busy = change({{listener(1), {target(2)}, {target(1).target}}});
  ASSERT_FALSE(busy[0]);
  EXPECT_EQ(busy[0].error().code, Code::conflict);
  EXPECT_NE(busy[0].error().message.find("ResourceInOperating"), std::string::npos);
  EXPECT_FALSE(busy[0].error().request_id.empty());
}

TEST_F(TencentTargets, WhatIsHalfDoneByALostCallIsATimeout) {
  make(1);
  cloud_.answer("BatchRegisterTargets");
  ASSERT_TRUE(change({{listener(1), {target(1)}, {}}})[0]);
  cloud_.answer("BatchRegisterTargets");
  cloud_.lose("BatchDeregisterTargets", Code::unavailable);
  const auto lost = change({{listener(1), {target(2)}, {target(1).target}}});
  ASSERT_FALSE(lost[0]);
  EXPECT_EQ(lost[0].error().code, Code::timeout);
}

// More targets than one call takes: the first call bound some of them.
TEST_F(TencentTargets, AListenerThatFailedInOneOfSeveralCallsIsInDoubt) {
  make(1);
  std::vector<model::WeightedTarget> many;
  for (std::size_t i = 0; i <= kTargetsPerBatch; ++i)
    many.push_back({{"10.0.0.1", static_cast<model::Port>(9000 + i)}});
  cloud_.answer("BatchRegisterTargets");
  cloud_.answer("BatchRegisterTargets",
                R"({"FailListenerIdSet":["lbl-1"],"Message":"x is not add to global route"})");
  const auto results = change({{listener(1), many, {}}});
  ASSERT_FALSE(results[0]);
  EXPECT_EQ(results[0].error().code, Code::conflict);
  EXPECT_NE(results[0].error().hint.find("VPC"), std::string::npos);
}

TEST_F(TencentTargets, WhatOneOfSeveralCallsDidIsInDoubt) {
  constexpr int kRules = static_cast<int>(kRulesPerWeights) + 1;
  std::string targets;
  std::vector<TargetChange> changes;
  for (int i = 1; i <= kRules; ++i) {
    targets += fmt::format(R"({}{{"ListenerId":"lbl-{}","Protocol":"TCP","Targets":[)"
                           R"({{"Port":9000,"Weight":10,"PrivateIpAddresses":["10.0.0.1"]}}]}})",
                           i > 1 ? "," : "", i);
    changes.push_back({listener(i), {target(1, 0)}, {}});
  }
  cloud_.answer("DescribeTargets", fmt::format(R"({{"Listeners":[{}]}})", targets));
  cloud_.answer("BatchModifyTargetWeight");
  cloud_.refuse("BatchModifyTargetWeight", "UnauthorizedOperation", "you has no permission");
  for (const auto& result : change(changes)) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::conflict);
    EXPECT_FALSE(result.error().hint.empty());
  }
}

// Somebody else took a target away: that is no reason to give the wish up.
TEST_F(TencentTargets, WhatIsNotAsItIsRememberedIsLookedAt) {
  make(1);
  cloud_.answer("BatchRegisterTargets");
  ASSERT_TRUE(change({{listener(1), {target(1)}, {}}})[0]);
  cloud_.refuse("BatchDeregisterTargets", "InvalidParameterValue", "10.0.0.1 is not bound");
  const auto removed = change({{listener(1), {}, {target(1).target}}});
  ASSERT_FALSE(removed[0]);
  EXPECT_EQ(removed[0].error().code, Code::conflict);
  cloud_.answer("DescribeTargets",
                R"({"Listeners":[{"ListenerId":"lbl-1","Protocol":"TCP","Targets":[)"
                R"({"Port":9000,"Weight":10,"PrivateIpAddresses":["10.0.0.1"]}]}]})");
  cloud_.refuse("BatchModifyTargetWeight", "InvalidParameterValue", "10.0.0.1 is not bound");
  const auto weighed = change({{listener(1), {target(1, 0)}, {}}});
  ASSERT_FALSE(weighed[0]);
  EXPECT_EQ(weighed[0].error().code, Code::conflict);
  cloud_.answer("DescribeTargets",
                R"({"Listeners":[{"ListenerId":"lbl-1","Protocol":"TCP","Targets":[]}]})");
  EXPECT_TRUE(change({{listener(1), {}, {target(1).target}}})[0]) << "it is read again";
}

TEST_F(TencentTargets, WeightsOfTargetsThatAreThereAreChanged) {
  make(1);
  cloud_.answer("BatchRegisterTargets");
  ASSERT_TRUE(change({{listener(1), {target(1), target(2)}, {}}})[0]);
  cloud_.calls.clear();
  cloud_.answer("BatchModifyTargetWeight");
  ASSERT_TRUE(change({{listener(1), {target(1, 0), target(2)}, {}}})[0]);
  EXPECT_THAT(cloud_.actions(), ElementsAre("BatchModifyTargetWeight", "DescribeTaskStatus"));
  EXPECT_EQ(wire::to_json(cloud_.bodies("BatchModifyTargetWeight")[0]),
            R"({"LoadBalancerId":"lb-1","ModifyList":[{"ListenerId":"lbl-1","Targets":[)"
            R"({"EniIp":"10.0.0.1","Port":9000,"Weight":0}]}]})");
}

TEST_F(TencentTargets, PartialFailureConcernsItsListenerAlone) {
  make(3);
  cloud_.answer(
      "BatchRegisterTargets",
      R"({"FailListenerIdSet":["lbl-2"],"Message":"9.9.9.9 is not add to global route"})");
  const auto results = change({{listener(1), {target(1)}, {}},
                               {listener(2), {target(2)}, {}},
                               {listener(3), {target(3)}, {}}});
  EXPECT_TRUE(results[0]);
  ASSERT_FALSE(results[1]);
  EXPECT_EQ(results[1].error().code, Code::forbidden);
  EXPECT_EQ(results[1].error().request_id, "request-3");
  EXPECT_NE(results[1].error().hint.find("VPC"), std::string::npos);
  EXPECT_TRUE(results[2]);
}

TEST_F(TencentTargets, OneBadTargetFailsOnlyItsOwnListener) {
  make(4);
  const auto refuse = [&] {
    cloud_.refuse("BatchRegisterTargets", "InvalidParameterValue",
                  "Not support to register other ip ['10.0.0.3'] before enable SnatPro");
  };
  refuse();                               // 1 2 3 4
  cloud_.answer("BatchRegisterTargets");  // 1 2
  refuse();                               // 3 4
  refuse();                               // 3
  cloud_.answer("BatchRegisterTargets");  // 4
  std::vector<TargetChange> changes;
  for (int i = 1; i <= 4; ++i) changes.push_back({listener(i), {target(i)}, {}});
  const auto results = change(changes);
  for (const std::size_t i : {0u, 1u, 3u}) EXPECT_TRUE(results[i]) << i;
  ASSERT_FALSE(results[2]);
  EXPECT_EQ(results[2].error().code, Code::forbidden);
  EXPECT_EQ(lines(cloud_.bodies("BatchRegisterTargets")[3]),
            std::vector<std::string>{"lbl-3 10.0.0.3"});
}

TEST_F(TencentTargets, LookingForTheCulpritIsBounded) {
  make(40);
  std::vector<TargetChange> changes;
  for (int i = 1; i <= 40; ++i) changes.push_back({listener(i), {target(i)}, {}});
  for (int i = 0; i < 100; ++i)
    cloud_.refuse("BatchRegisterTargets", "InvalidParameterValue", "x before enable SnatPro");
  const auto results = change(changes);
  for (const auto& result : results) EXPECT_FALSE(result);
  EXPECT_EQ(results.front().error().code, Code::forbidden) << "it was alone";
  EXPECT_EQ(results.back().error().code, Code::unavailable) << "it was not";
  EXPECT_LE(cloud_.calls.size(), 30u);
}

TEST_F(TencentTargets, WhatIsNotKnownIsReadFirst) {
  // The second one is asked for again, then looked for.
  cloud_.answer("DescribeTargets",
                R"({"Listeners":[{"ListenerId":"lbl-1","Protocol":"TCP","Targets":[)"
                R"({"Port":9000,"Weight":10,"PrivateIpAddresses":["10.0.0.1"]}]}]})");
  cloud_.answer("DescribeTargets", R"({"Listeners":[]})");
  cloud_.answer("DescribeListeners", R"({"Listeners":[]})");
  cloud_.answer("BatchRegisterTargets");
  const auto results = change(
      {{listener(1), {target(1), target(2)}, {target(3).target}}, {listener(2), {target(2)}, {}}});
  EXPECT_TRUE(results[0]);
  EXPECT_EQ(lines(cloud_.bodies("BatchRegisterTargets")[0]),
            std::vector<std::string>{"lbl-1 10.0.0.2"})
      << "one is there already, and one was never there";
  ASSERT_FALSE(results[1]);
  EXPECT_EQ(results[1].error().code, Code::not_found);
}

TEST_F(TencentTargets, AfterALostReplyItIsReadAgain) {
  make(1);
  cloud_.lose("BatchRegisterTargets", Code::timeout);
  const auto lost = change({{listener(1), {target(1)}, {}}});
  ASSERT_FALSE(lost[0]);
  EXPECT_EQ(lost[0].error().code, Code::timeout);
  cloud_.calls.clear();
  cloud_.answer("DescribeTargets",
                R"({"Listeners":[{"ListenerId":"lbl-1","Protocol":"TCP","Targets":[)"
                R"({"Port":9000,"Weight":10,"PrivateIpAddresses":["10.0.0.1"]}]}]})");
  ASSERT_TRUE(change({{listener(1), {target(1)}, {}}})[0]) << "it had arrived";
  EXPECT_THAT(cloud_.actions(), ElementsAre("DescribeTargets"));
}

TEST_F(TencentTargets, RulesAreKnownByTheirLocation) {
  cloud_.answer("DescribeTargets", R"({"Listeners":[{"ListenerId":"lbl-1","Protocol":"HTTP",)"
                                   R"("Rules":[{"LocationId":"loc-7","Domain":"example.com",)"
                                   R"("Url":"/","Targets":[]}]}]})");
  cloud_.answer("DescribeListeners",
                R"({"Listeners":[{"ListenerId":"lbl-1","Protocol":"HTTP","Rules":[)"
                R"({"LocationId":"loc-7","Domain":"example.com","Url":"/"}]}]})");
  cloud_.answer("BatchRegisterTargets");
  const lb::RuleRef rule{ListenerId("lbl-1"), {"example.com", "/"}};
  const lb::RuleRef other{ListenerId("lbl-1"), {"example.com", "/lobby"}};
  const auto results = change({{rule, {target(1)}, {}}, {other, {target(1)}, {}}});
  EXPECT_TRUE(results[0]);
  ASSERT_FALSE(results[1]);
  EXPECT_EQ(results[1].error().code, Code::not_found);
  const auto bodies = cloud_.bodies("BatchRegisterTargets");
  ASSERT_EQ(bodies.size(), 1u);
  EXPECT_EQ(wire::string_at(bodies[0], "/Targets/0/LocationId"), "loc-7");
}

// The cloud may leave out rules and listeners that have no targets.
TEST_F(TencentTargets, ARuleOfWhichNoTargetsAreToldIsFoundAmongTheListeners) {
  const lb::RuleRef rule{ListenerId("lbl-1"), {"example.com", "/"}};
  const lb::RuleRef other{ListenerId("lbl-2"), {"example.com", "/"}};
  cloud_.answer("DescribeTargets", R"({"Listeners":[{"ListenerId":"lbl-1","Protocol":"HTTP",)"
                                   R"("Rules":[]}]})");
  cloud_.answer("DescribeTargets", R"({"Listeners":[]})");
  cloud_.answer("DescribeListeners",
                R"({"Listeners":[{"ListenerId":"lbl-2","Protocol":"HTTP","Rules":[)"
                R"({"LocationId":"loc-8","Domain":"example.com","Url":"/"}]}]})");
  cloud_.answer("DescribeListeners",
                R"({"Listeners":[{"ListenerId":"lbl-1","Protocol":"HTTP","Rules":[)"
                R"({"LocationId":"loc-7","Domain":"example.com","Url":"/"}]}]})");
  cloud_.answer("BatchRegisterTargets");
  for (const auto& result : change({{rule, {target(1)}, {}}, {other, {target(1)}, {}}}))
    EXPECT_TRUE(result) << result.error().to_string();
  const auto bodies = cloud_.bodies("BatchRegisterTargets");
  ASSERT_EQ(bodies.size(), 1u);
  EXPECT_EQ(wire::string_at(bodies[0], "/Targets/0/LocationId"), "loc-7");
  EXPECT_EQ(wire::string_at(bodies[0], "/Targets/1/LocationId"), "loc-8");
}

}  // namespace
}  // namespace berth::cloud::tencent
