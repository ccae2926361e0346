#include "cloud/tencent/rule_writes.h"

#include <gmock/gmock.h>

#include "cloud/tencent/test_scripted_cloud.h"

namespace berth::cloud::tencent {
namespace {

using model::ListenerId;
using ::testing::ElementsAre;

class TencentRules : public testing::DriverTest {
 protected:
  static lb::RuleRef rule(std::string_view domain, std::string_view path = "/") {
    return {ListenerId("lbl-1"), {domain, path}};
  }
  // Rules "a.com/" with location "loc-a", and so on; the first is the default.
  void has_rules(std::initializer_list<char> letters, bool by_server_name = false) {
    std::string rules;
    for (const char c : letters) {
      rules += fmt::format(R"({}{{"LocationId":"loc-{}","Domain":"{}.com","Url":"/",)"
                           R"("DefaultServer":{},"Certificate":{{"CertId":"cert-{}"}}}})",
                           rules.empty() ? "" : ",", c, c, rules.empty(), c);
    }
    cloud_.answer("DescribeListeners",
                  fmt::format(R"({{"Listeners":[{{"ListenerId":"lbl-1","Protocol":"HTTPS",)"
                              R"("Port":443,"SniSwitch":{},"Rules":[{}]}}]}})",
                              by_server_name ? 1 : 0, rules));
  }
};

TEST_F(TencentRules, ManyAreOneCallAndWhatIsThereIsChanged) {
  has_rules({'a'});
  cloud_.answer("ModifyRule");
  cloud_.answer("CreateRule", R"({"LocationIds":["loc-b","loc-c"]})");
  const std::vector<lb::NewRule> wanted{
      {rule("a.com"), {.session_seconds = 30}}, {rule("b.com"), {}}, {rule("c.com"), {}}};
  for (const auto& result : listeners().create_rules(context(), place_, wanted))
    EXPECT_TRUE(result) << result.error().to_string();
  EXPECT_THAT(cloud_.actions(), ElementsAre("DescribeListeners", "ModifyRule", "DescribeTaskStatus",
                                            "CreateRule", "DescribeTaskStatus"));
}

TEST_F(TencentRules, TheLocationOfOneIsKnownFromTheAnswer) {
  has_rules({'a'});
  cloud_.answer("CreateRule", R"({"LocationIds":["loc-c"]})");
  const lb::NewRule wanted{rule("c.com"), {}};
  EXPECT_TRUE(listeners().create_rules(context(), place_, {&wanted, 1})[0]);
  cloud_.calls.clear();
  cloud_.answer("BatchRegisterTargets");
  const lb::TargetChange change{rule("c.com"), {target(1)}, {}};
  EXPECT_TRUE(listeners().change_targets(context(), place_, {&change, 1})[0]);
  EXPECT_EQ(wire::string_at(cloud_.calls[0].body, "/Targets/0/LocationId"), "loc-c");
}

// In which order the ids of several come is not promised: targets must not go to another's rule.
TEST_F(TencentRules, LocationsOfSeveralAreThoseOfTheirDomainAndPath) {
  has_rules({'a'});
  cloud_.answer("CreateRule", R"({"LocationIds":["loc-c","loc-b"]})");
  const std::vector<lb::NewRule> wanted{{rule("b.com"), {}}, {rule("c.com"), {}}};
  for (const auto& result : listeners().create_rules(context(), place_, wanted))
    EXPECT_TRUE(result);
  cloud_.answer("DescribeTargets",
                R"({"Listeners":[{"ListenerId":"lbl-1","Protocol":"HTTPS","Rules":[
    {"LocationId":"loc-c","Domain":"c.com","Url":"/","Targets":[]},
    {"LocationId":"loc-b","Domain":"b.com","Url":"/","Targets":[]}]}]})");
  cloud_.answer("BatchRegisterTargets");
  const lb::TargetChange change{rule("c.com"), {target(1)}, {}};
  EXPECT_TRUE(listeners().change_targets(context(), place_, {&change, 1})[0]);
  EXPECT_EQ(wire::string_at(cloud_.bodies("BatchRegisterTargets")[0], "/Targets/0/LocationId"),
            "loc-c");
}

TEST_F(TencentRules, ARuleNeedsDomainAndPath) {
  has_rules({'a'});
  const lb::NewRule wanted{rule("b.com", ""), {}};
  const auto results = listeners().create_rules(context(), place_, {&wanted, 1});
  ASSERT_FALSE(results[0]);
  EXPECT_EQ(results[0].error().code, Code::invalid);
}

TEST_F(TencentRules, WhatWasNotTriedAloneIsTriedAgain) {
  has_rules({'a'});
  for (int i = 0; i < 100; ++i)
    cloud_.refuse("CreateRule", "InvalidParameterValue", "a domain is wrong");
  std::vector<lb::NewRule> wanted;
  for (int i = 0; i < 40; ++i) wanted.push_back({rule(fmt::format("r{}.com", i)), {}});
  const auto results = listeners().create_rules(context(), place_, wanted);
  EXPECT_EQ(results.front().error().code, Code::invalid) << "it was alone";
  EXPECT_EQ(results.back().error().code, Code::unavailable) << "it was not";
}

TEST_F(TencentRules, CertificatesChangeByDomain) {
  has_rules({'a'}, true);
  cloud_.answer("ModifyDomainAttributes");
  const lb::RuleChange change{rule("a.com"), {.tls = model::Tls{.certificates = {{"cert-new"}}}}};
  const auto results = listeners().change_rules(context(), place_, {&change, 1});
  ASSERT_TRUE(results[0]) << results[0].error().to_string();
  const auto bodies = cloud_.bodies("ModifyDomainAttributes");
  ASSERT_EQ(bodies.size(), 1u);
  EXPECT_EQ(wire::string_at(bodies[0], "/Domain"), "a.com");
  EXPECT_EQ(wire::string_at(bodies[0], "/Certificate/CertId"), "cert-new");
  EXPECT_TRUE(cloud_.bodies("ModifyRule").empty()) << "nothing of the rule itself changes";
}

TEST_F(TencentRules, WhatIsHalfChangedMustBeLookedAt) {
  has_rules({'a'}, true);
  cloud_.answer("ModifyRule");
  cloud_.refuse("ModifyDomainAttributes", "UnauthorizedOperation", "you has no permission");
  const lb::RuleChange change{
      rule("a.com"), {.session_seconds = 30, .tls = model::Tls{.certificates = {{"cert-new"}}}}};
  const auto results = listeners().change_rules(context(), place_, {&change, 1});
  ASSERT_FALSE(results[0]);
  EXPECT_EQ(results[0].error().code, Code::conflict);
  EXPECT_FALSE(results[0].error().hint.empty());
}

TEST_F(TencentRules, TheDefaultDomainGoesToOneThatStays) {
  has_rules({'a', 'b', 'c'});
  cloud_.answer("DeleteRule");
  const std::vector rules{rule("a.com"), rule("gone.com")};
  for (const auto& result : listeners().remove_rules(context(), place_, rules)) EXPECT_TRUE(result);
  const auto bodies = cloud_.bodies("DeleteRule");
  ASSERT_EQ(bodies.size(), 1u);
  EXPECT_EQ(decode_texts(bodies[0], "/LocationIds"), std::vector<std::string>{"loc-a"});
  EXPECT_EQ(wire::string_at(bodies[0], "/NewDefaultServerDomain"), "b.com");
}

TEST_F(TencentRules, OneThatCannotBeRemovedKeepsNoOthers) {
  has_rules({'a', 'b', 'c', 'd'});
  const auto refuse_as = [&](std::string_view code) { cloud_.refuse("DeleteRule", code, "loc-x"); };
  refuse_as("InvalidParameterValue");              // a b c
  cloud_.answer("DeleteRule");                     // a
  refuse_as("InvalidParameterValue");              // b c
  refuse_as("InvalidParameterValue");              // b
  refuse_as("InvalidParameter.LocationNotFound");  // c
  const std::vector rules{rule("a.com"), rule("b.com"), rule("c.com")};
  const auto results = listeners().remove_rules(context(), place_, rules);
  EXPECT_TRUE(results[0]);
  ASSERT_FALSE(results[1]);
  EXPECT_EQ(results[1].error().code, Code::invalid);
  EXPECT_TRUE(results[2]) << "it is gone already";
  const auto bodies = cloud_.bodies("DeleteRule");
  EXPECT_EQ(wire::string_at(bodies[0], "/NewDefaultServerDomain"), "d.com");
  EXPECT_EQ(wire::string_at(bodies[1], "/NewDefaultServerDomain"), "b.com");
}

TEST_F(TencentRules, RemovalOfOthersLeavesTheDefaultAlone) {
  has_rules({'a', 'b'});
  cloud_.answer("DeleteRule");
  const std::vector rules{rule("b.com")};
  EXPECT_TRUE(listeners().remove_rules(context(), place_, rules)[0]);
  EXPECT_EQ(wire::find(cloud_.bodies("DeleteRule")[0], "/NewDefaultServerDomain"), nullptr);
}

}  // namespace
}  // namespace berth::cloud::tencent
