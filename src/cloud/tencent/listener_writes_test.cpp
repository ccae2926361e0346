#include "cloud/tencent/listener_writes.h"

#include <gmock/gmock.h>

#include "cloud/tencent/requests.h"
#include "cloud/tencent/test_scripted_cloud.h"

namespace berth::cloud::tencent {
namespace {

using model::ListenerId;
using model::ListenerSpec;
using model::Protocol;
using ::testing::Each;
using ::testing::ElementsAre;

class TencentListenerWrites : public testing::DriverTest {
 protected:
  static std::string ids(std::size_t count, int from = 0) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i)
      out += fmt::format("{}\"lbl-{}\"", i ? "," : "", from + static_cast<int>(i));
    return fmt::format(R"({{"ListenerIds":[{}]}})", out);
  }
  std::size_t ports_of(std::size_t call) {
    return wire::array_at(cloud_.bodies("CreateListener").at(call), "/Ports")->size();
  }
};

TEST_F(TencentListenerWrites, FullBatchIsOneCall) {
  std::vector<ListenerSpec> specs;
  for (model::Port i = 0; i < listeners().abilities().create_batch; ++i)
    specs.push_back(tcp(static_cast<model::Port>(30000 + i)));
  EXPECT_LT(specs.size(), 50u) << "the API takes less than fifty";
  cloud_.answer("CreateListener", ids(specs.size()));
  const auto results = listeners().create(context(), place_, specs);
  ASSERT_EQ(results.size(), specs.size());
  for (const auto& result : results) EXPECT_TRUE(result);
  EXPECT_EQ(*results[7], ListenerId("lbl-7"));
  EXPECT_THAT(cloud_.actions(), ElementsAre("CreateListener", "DescribeTaskStatus"));
}

TEST_F(TencentListenerWrites, WhatDiffersGoesInCallsOfItsOwn) {
  ListenerSpec udp = tcp(30001);
  udp.protocol = Protocol::udp;
  ListenerSpec range = tcp(31000);
  range.ports.last = 31009;
  ListenerSpec other_range = tcp(32000);
  other_range.ports.last = 32009;
  for (int i = 0; i < 4; ++i) cloud_.answer("CreateListener", ids(i == 0 ? 2 : 1, i * 10));
  const std::vector specs{tcp(30000), udp, range, tcp(30002), other_range};
  const auto results = listeners().create(context(), place_, specs);
  for (const auto& result : results) ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(*results[3], ListenerId("lbl-1")) << "beside the first, which is alike";
  EXPECT_EQ(cloud_.bodies("CreateListener").size(), 4u);
}

TEST_F(TencentListenerWrites, TakenPortsKeepNoOthersFromBeingMade) {
  cloud_.refuse("CreateListener", "InvalidParameter.PortCheckFailed", "port 30001 is taken");
  cloud_.answer("DescribeListeners",
                R"({"Listeners":[{"ListenerId":"lbl-9","Protocol":"TCP","Port":30001},)"
                R"({"ListenerId":"lbl-8","Protocol":"UDP","Port":30000}]})");
  cloud_.answer("CreateListener", ids(2));
  const std::vector specs{tcp(30000), tcp(30001), tcp(30002)};
  const auto results = listeners().create(context(), place_, specs);
  EXPECT_TRUE(results[0]);
  ASSERT_FALSE(results[1]);
  EXPECT_EQ(results[1].error().code, Code::already_exists);
  EXPECT_EQ(results[1].error().request_id, "request-1");
  EXPECT_TRUE(results[2]);
}

TEST_F(TencentListenerWrites, OneThatIsRefusedKeepsNoOthersFromBeingMade) {
  cloud_.refuse("CreateListener", "InvalidParameterValue", "a name is wrong");
  cloud_.answer("CreateListener", ids(1));
  cloud_.refuse("CreateListener", "InvalidParameterValue", "a name is wrong");
  cloud_.refuse("CreateListener", "InvalidParameterValue", "a name is wrong");
  cloud_.answer("CreateListener", ids(1, 2));
  const std::vector specs{tcp(30000), tcp(30001), tcp(30002)};
  const auto results = listeners().create(context(), place_, specs);
  EXPECT_TRUE(results[0]);
  EXPECT_EQ(results[1].error().code, Code::invalid);
  EXPECT_TRUE(results[2]);
}

// Whoever was only refused together with others must not be given up.
TEST_F(TencentListenerWrites, WhatWasNotTriedAloneIsTriedAgain) {
  for (int i = 0; i < 100; ++i)
    cloud_.refuse("CreateListener", "InvalidParameterValue", "a name is wrong");
  std::vector<ListenerSpec> specs;
  for (model::Port i = 0; i < 40; ++i) specs.push_back(tcp(static_cast<model::Port>(30000 + i)));
  const auto results = listeners().create(context(), place_, specs);
  EXPECT_EQ(results.front().error().code, Code::invalid) << "it was alone";
  EXPECT_EQ(results.back().error().code, Code::unavailable);
  EXPECT_NE(results.back().error().message.find("a name is wrong"), std::string::npos);
  EXPECT_FALSE(results.back().error().request_id.empty());
  EXPECT_LE(cloud_.calls.size(), 30u);
}

TEST_F(TencentListenerWrites, WhatATaskMayHaveMadeIsLookedAt) {
  for (int i = 0; i < 100; ++i) {
    cloud_.answer("CreateListener");
    cloud_.answer("DescribeTaskStatus",
                  R"({"Status":1,"Message":"not allow to create port range listener"})");
  }
  std::vector<ListenerSpec> specs;
  for (model::Port i = 0; i < 40; ++i) specs.push_back(tcp(static_cast<model::Port>(30000 + i)));
  const auto results = listeners().create(context(), place_, specs);
  EXPECT_EQ(results.front().error().code, Code::forbidden);
  EXPECT_EQ(results.back().error().code, Code::conflict);
}

TEST_F(TencentListenerWrites, AQuotaIsFilledToTheLast) {
  const auto refuse = [&] { cloud_.refuse("CreateListener", "LimitExceeded", "50 listeners"); };
  refuse();                                 // all eight
  cloud_.answer("CreateListener", ids(4));  // the first half
  refuse();                                 // the second
  refuse();                                 // the first half of that
  cloud_.answer("CreateListener", ids(1, 4));
  refuse();
  std::vector<ListenerSpec> specs;
  for (model::Port i = 0; i < 8; ++i) specs.push_back(tcp(static_cast<model::Port>(30000 + i)));
  const auto results = listeners().create(context(), place_, specs);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_TRUE(results[i]) << i;
  for (std::size_t i = 5; i < 8; ++i) {
    ASSERT_FALSE(results[i]) << i;
    EXPECT_EQ(results[i].error().code, Code::exhausted);
    EXPECT_FALSE(results[i].error().hint.empty());
  }
  EXPECT_EQ(cloud_.bodies("CreateListener").size(), 6u) << "when one found no room, none is tried";
}

TEST_F(TencentListenerWrites, WhatConcernsAllIsAskedOnce) {
  cloud_.refuse("CreateListener", "UnauthorizedOperation", "you has no permission");
  const std::vector specs{tcp(30000), tcp(30001), tcp(30002), tcp(30003)};
  for (const auto& result : listeners().create(context(), place_, specs)) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::forbidden);
  }
  EXPECT_EQ(cloud_.calls.size(), 1u);
}

TEST_F(TencentListenerWrites, LostReplyLeavesTheEffectUnknown) {
  cloud_.lose("CreateListener", Code::unavailable);
  const std::vector specs{tcp(30000), tcp(30001)};
  for (const auto& result : listeners().create(context(), place_, specs)) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::timeout);
  }
}

TEST_F(TencentListenerWrites, RemovalNamesItsListenersAndNeverNone) {
  EXPECT_TRUE(listeners().remove(context(), place_, {}).empty());
  EXPECT_TRUE(cloud_.calls.empty()) << "no ids would be all";
  std::vector<ListenerId> ids;
  for (int i = 0; i < 25; ++i) ids.emplace_back(fmt::format("lbl-{}", i));
  cloud_.answer("DeleteLoadBalancerListeners");
  cloud_.answer("DeleteLoadBalancerListeners");
  for (const auto& result : listeners().remove(context(), place_, ids)) EXPECT_TRUE(result);
  for (const wire::Value& body : cloud_.bodies("DeleteLoadBalancerListeners")) {
    const wire::Array* const named = wire::array_at(body, "/ListenerIds");
    ASSERT_NE(named, nullptr);
    EXPECT_FALSE(named->empty());
    EXPECT_LE(named->size(), 20u);
  }
}

TEST_F(TencentListenerWrites, OneThatIsGoneKeepsNoOthersFromBeingRemoved) {
  cloud_.refuse("DeleteLoadBalancerListeners", "InvalidParameter",
                "some ListenerId lbl-1 not found");
  cloud_.answer("DescribeListeners",
                R"({"Listeners":[{"ListenerId":"lbl-2","Protocol":"TCP","Port":30002}]})");
  cloud_.answer("DeleteLoadBalancerListeners");
  const std::vector ids{ListenerId("lbl-1"), ListenerId("lbl-2")};
  for (const auto& result : listeners().remove(context(), place_, ids)) EXPECT_TRUE(result);
  const auto bodies = cloud_.bodies("DeleteLoadBalancerListeners");
  ASSERT_EQ(bodies.size(), 2u);
  EXPECT_EQ(decode_texts(bodies[1], "/ListenerIds"), std::vector<std::string>{"lbl-2"});
}

// An answer that has more than was asked for must not become a removal of it.
TEST_F(TencentListenerWrites, RemovalTouchesNothingThatItWasNotAskedFor) {
  cloud_.refuse("DeleteLoadBalancerListeners", "InvalidParameter",
                "some ListenerId lbl-1 not found");
  cloud_.answer("DescribeListeners",
                R"({"Listeners":[{"ListenerId":"lbl-2","Protocol":"TCP","Port":30002},)"
                R"({"ListenerId":"lbl-9","Protocol":"TCP","Port":30009},)"
                R"({"Protocol":"TCP","Port":30010}]})");
  cloud_.answer("DeleteLoadBalancerListeners");
  const std::vector ids{ListenerId("lbl-1"), ListenerId("lbl-2")};
  for (const auto& result : listeners().remove(context(), place_, ids)) EXPECT_TRUE(result);
  EXPECT_EQ(decode_texts(cloud_.bodies("DeleteLoadBalancerListeners").at(1), "/ListenerIds"),
            std::vector<std::string>{"lbl-2"});
}

TEST_F(TencentListenerWrites, AListenerWithoutAnIdIsNotRemoved) {
  cloud_.answer("DeleteLoadBalancerListeners");
  const std::vector ids{ListenerId(), ListenerId("lbl-1")};
  const auto results = listeners().remove(context(), place_, ids);
  ASSERT_FALSE(results[0]);
  EXPECT_EQ(results[0].error().code, Code::invalid);
  EXPECT_TRUE(results[1]);
  EXPECT_EQ(decode_texts(cloud_.bodies("DeleteLoadBalancerListeners").at(0), "/ListenerIds"),
            std::vector<std::string>{"lbl-1"});
}

TEST_F(TencentListenerWrites, OneThatIsRefusedKeepsNoOthersFromBeingRemoved) {
  const auto refuse = [&] {
    cloud_.refuse("DeleteLoadBalancerListeners", "InvalidParameterValue", "lbl-2 is protected");
  };
  refuse();  // 1 2 3
  cloud_.answer("DescribeListeners", R"({"Listeners":[{"ListenerId":"lbl-1"},)"
                                     R"({"ListenerId":"lbl-2"},{"ListenerId":"lbl-3"}]})");
  cloud_.answer("DeleteLoadBalancerListeners");  // 1
  refuse();                                      // 2 3
  refuse();                                      // 2
  cloud_.answer("DeleteLoadBalancerListeners");  // 3
  const std::vector ids{ListenerId("lbl-1"), ListenerId("lbl-2"), ListenerId("lbl-3")};
  const auto results = listeners().remove(context(), place_, ids);
  EXPECT_TRUE(results[0]);
  ASSERT_FALSE(results[1]);
  EXPECT_EQ(results[1].error().code, Code::invalid);
  EXPECT_TRUE(results[2]);
}

TEST_F(TencentListenerWrites, LookingForWhoCannotBeRemovedIsBounded) {
  std::vector<ListenerId> ids;
  std::string there;
  for (int i = 0; i < 20; ++i) {
    ids.emplace_back(fmt::format("lbl-{}", i));
    there += fmt::format(R"({}{{"ListenerId":"lbl-{}"}})", i ? "," : "", i);
  }
  for (int i = 0; i < 100; ++i)
    cloud_.refuse("DeleteLoadBalancerListeners", "InvalidParameterValue", "one is protected");
  cloud_.answer("DescribeListeners", fmt::format(R"({{"Listeners":[{}]}})", there));
  const auto results = listeners().remove(context(), place_, ids);
  ASSERT_FALSE(results.front());
  EXPECT_EQ(results.front().error().code, Code::invalid) << "it was alone";
  ASSERT_FALSE(results.back());
  EXPECT_EQ(results.back().error().code, Code::unavailable) << "it was not";
  EXPECT_LE(cloud_.calls.size(), 30u);
}

TEST_F(TencentListenerWrites, RemovalOfWhatIsAllGoneNeedsNoSecondCall) {
  cloud_.refuse("DeleteLoadBalancerListeners", "InvalidParameter",
                "some ListenerId lbl-1 not found");
  cloud_.answer("DescribeListeners", R"({"Listeners":[]})");
  const std::vector ids{ListenerId("lbl-1")};
  EXPECT_TRUE(listeners().remove(context(), place_, ids).at(0));
}

TEST_F(TencentListenerWrites, AMissingLoadBalancerIsNotFound) {
  cloud_.refuse("DeleteLoadBalancerListeners", "InvalidParameter.LBIdNotFound", "lb-1");
  const std::vector ids{ListenerId("lbl-1")};
  const auto results = listeners().remove(context(), place_, ids);
  ASSERT_FALSE(results[0]);
  EXPECT_EQ(results[0].error().code, Code::not_found);
}

TEST_F(TencentListenerWrites, CertificatesByServerNameCannotBeSwitchedOff) {
  cloud_.answer("DescribeListeners", R"({"Listeners":[{"ListenerId":"lbl-1","Protocol":"HTTPS",)"
                                     R"("Port":443,"SniSwitch":1}]})");
  const lb::ListenerChange change{ListenerId("lbl-1"),
                                  {.tls = model::Tls{.certificates = {{"cert-1"}}}}};
  EXPECT_FALSE(listeners().can_change({.by_server_name = true}, change.attributes));
  const auto results = listeners().change(context(), place_, {&change, 1});
  ASSERT_FALSE(results[0]);
  EXPECT_EQ(results[0].error().code, Code::unsupported);
  EXPECT_TRUE(listeners().can_change(change.attributes, {.by_server_name = true}));
}

TEST_F(TencentListenerWrites, QuestionsByIdReadNothingElse) {
  cloud_.answer("DescribeListeners", R"({"Listeners":[{"ListenerId":"lbl-1","Protocol":"TCP",)"
                                     R"("Port":30000,"ListenerName":"b-30000"}]})");
  cloud_.answer("DescribeTargets",
                R"({"Listeners":[{"ListenerId":"lbl-1","Protocol":"TCP","Targets":[)"
                R"({"Port":80,"Weight":10,"PrivateIpAddresses":["10.0.0.1"]}]}]})");
  const std::vector<lb::Question> questions{{.id = ListenerId("lbl-1")},
                                            {.id = ListenerId("lbl-2")}};
  const auto found = listeners().look_up(context(), place_, questions);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1u);
  EXPECT_TRUE(model::leads_somewhere(found->front().spec));
  EXPECT_EQ(decode_texts(cloud_.bodies("DescribeListeners")[0], "/ListenerIds"),
            (std::vector<std::string>{"lbl-1", "lbl-2"}));
}

// A name is found among all, but nobody else's targets are read.
TEST_F(TencentListenerWrites, QuestionsByNameReadOnlyTheTargetsOfWhoAnswers) {
  std::string all;
  for (int i = 0; i < 300; ++i) {
    all += fmt::format(R"({}{{"ListenerId":"lbl-{}","Protocol":"TCP","Port":{},)"
                       R"("ListenerName":"b-{}"}})",
                       i ? "," : "", i, 30000 + i, 30000 + i);
  }
  cloud_.answer("DescribeListeners", fmt::format(R"({{"Listeners":[{}]}})", all));
  cloud_.answer("DescribeTargets", R"({"Listeners":[{"ListenerId":"lbl-7","Protocol":"TCP"}]})");
  const std::vector<lb::Question> questions{{.name = "b-30007"}};
  const auto found = listeners().look_up(context(), place_, questions);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->size(), 1u);
  EXPECT_EQ(decode_texts(cloud_.bodies("DescribeTargets")[0], "/ListenerIds"),
            std::vector<std::string>{"lbl-7"});
}

TEST_F(TencentListenerWrites, ALargeListIsTwoCalls) {
  std::string all;
  std::string targets;
  for (int i = 0; i < 300; ++i) {
    const std::string comma = i ? "," : "";
    all += comma +
           fmt::format(R"({{"ListenerId":"lbl-{}","Protocol":"TCP","Port":{}}})", i, 30000 + i);
    targets += comma + fmt::format(R"({{"ListenerId":"lbl-{}","Protocol":"TCP","Targets":[)"
                                   R"({{"Port":80,"PrivateIpAddresses":["10.0.0.1"]}}]}})",
                                   i);
  }
  cloud_.answer("DescribeListeners", fmt::format(R"({{"Listeners":[{}]}})", all));
  cloud_.answer("DescribeTargets", fmt::format(R"({{"Listeners":[{}]}})", targets));
  const auto listed = listeners().list(context(), place_);
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->size(), 300u);
  for (const lb::ObservedListener& one : *listed)
    EXPECT_TRUE(model::leads_somewhere(one.spec)) << one.id;
  EXPECT_EQ(cloud_.calls.size(), 2u);
}

// Listeners "lbl-0" and so on, as DescribeListeners shows them.
std::string described(int count) {
  std::string all;
  for (int i = 0; i < count; ++i)
    all += fmt::format(R"({}{{"ListenerId":"lbl-{}","Protocol":"TCP","Port":{}}})", i ? "," : "", i,
                       30000 + i);
  return fmt::format(R"({{"Listeners":[{}]}})", all);
}

// The cloud may leave out what has no targets. It is there all the same: whoever took it for gone
// would make it again, on a port that is taken.
TEST_F(TencentListenerWrites, WhatNoAnswerHasTargetsOfIsAskedForByNameAndLeadsNowhere) {
  cloud_.answer("DescribeListeners", described(150));
  for (int i = 0; i < 9; ++i) cloud_.answer("DescribeTargets", R"({"Listeners":[]})");
  cloud_.answer("DescribeListeners", described(100));
  cloud_.answer("DescribeListeners", R"({"Listeners":[]})");
  const auto listed = listeners().list(context(), place_);
  ASSERT_TRUE(listed) << listed.error().to_string();
  EXPECT_EQ(cloud_.bodies("DescribeTargets").size(), 9u) << "once for all, then twenty each";
  EXPECT_EQ(listed->size(), 100u) << "the others are gone meanwhile";
  for (const lb::ObservedListener& one : *listed)
    EXPECT_FALSE(model::leads_somewhere(one.spec)) << one.id;
}

TEST_F(TencentListenerWrites, AnAnswerThatWasCutIsNotBelieved) {
  cloud_.answer("DescribeListeners", described(1));
  cloud_.answer("DescribeTargets", R"({"Listeners":[]})");
  cloud_.answer("DescribeTargets",
                R"({"Listeners":[{"ListenerId":"lbl-0","Protocol":"TCP","Targets":[)"
                R"({"Port":80,"Weight":10,"PrivateIpAddresses":["10.0.0.1"]}]}]})");
  const auto listed = listeners().list(context(), place_);
  ASSERT_TRUE(listed) << listed.error().to_string();
  ASSERT_EQ(listed->size(), 1u);
  EXPECT_TRUE(model::leads_somewhere(listed->front().spec));
}

TEST_F(TencentListenerWrites, AListThatLacksSomeIsNone) {
  for (const char* answer :
       {"{}", R"({"TotalCount":2,"Listeners":[{"ListenerId":"lbl-1","Protocol":"TCP"}]})"}) {
    cloud_.answer("DescribeListeners", answer);
    const auto listed = listeners().list(context(), place_);
    ASSERT_FALSE(listed) << answer;
    EXPECT_EQ(listed.error().code, Code::internal);
    EXPECT_FALSE(listed.error().request_id.empty());
  }
}

}  // namespace
}  // namespace berth::cloud::tencent
