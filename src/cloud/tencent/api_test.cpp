#include "cloud/tencent/api.h"

#include <gmock/gmock.h>

#include "cloud/tencent/test_scripted_cloud.h"

namespace berth::cloud::tencent {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

class TencentApi : public testing::DriverTest {
 protected:
  Result<Answer> read(const Context& context) {
    return api_.read(context, caller_, "DescribeQuota", {});
  }
  Result<Answer> write(const Context& context) {
    return api_.write(context, caller_, "CreateListener", {});
  }
  Duration since_start() { return process_.now() - start_; }

  const Caller caller_{{}, "ap-nanjing"};
  Api api_{cloud_, credentials_, {}};
  const Instant start_ = process_.now();
};

TEST_F(TencentApi, EveryErrorHasTheRequestIdOfTheCloud) {
  cloud_.refuse("DescribeQuota", "UnauthorizedOperation", "you has no permission");
  const auto answer = read(context());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::forbidden);
  EXPECT_EQ(answer.error().request_id, "request-1");
  EXPECT_FALSE(answer.error().hint.empty());
  EXPECT_EQ(answer.error().to_string().find("EXAMPLE"), std::string::npos) << "a key in a message";
}

TEST_F(TencentApi, AWriteIsOverWithItsTask) {
  cloud_.answer("CreateListener");
  cloud_.answer("DescribeTaskStatus", R"({"Status":2})");
  cloud_.answer("DescribeTaskStatus", R"({"Status":2})");
  cloud_.answer("DescribeTaskStatus", R"({"Status":0})");
  ASSERT_TRUE(write(context()));
  EXPECT_THAT(cloud_.actions(), ElementsAre("CreateListener", "DescribeTaskStatus",
                                            "DescribeTaskStatus", "DescribeTaskStatus"));
  EXPECT_EQ(wire::string_at(cloud_.calls[1].body, "/TaskId"), "request-1");
  EXPECT_LE(cloud_.calls[1].at - start_, 250ms) << "the first question comes early";
  EXPECT_GT(cloud_.calls[3].at - cloud_.calls[2].at, 0s);
}

// What goes over the wire, and no more: not what is answered without a call, nor what a call waits.
TEST_F(TencentApi, EveryRequestIsTold) {
  using enum SentRequest::End;
  std::vector<SentRequest> sent;
  std::vector<std::string> actions;
  Api api(cloud_, credentials_, {.calls_per_second = 1}, [&](const SentRequest& request) {
    actions.emplace_back(request.action);
    sent.push_back(request);
  });
  EXPECT_TRUE(api.is_observed());
  EXPECT_FALSE(api_.is_observed());
  cloud_.refuse("CreateListener", "FailedOperation.ResourceInOperating", "another one");
  cloud_.refuse("CreateListener", "RequestLimitExceeded", "too many");
  cloud_.answer("CreateListener");
  cloud_.lose("DescribeTaskStatus", Code::unavailable);
  ASSERT_TRUE(api.write(context(), caller_, "CreateListener", {}));
  cloud_.refuse("DescribeQuota", "UnauthorizedOperation", "you has no permission");
  ASSERT_FALSE(api.read(context(), caller_, "DescribeQuota", {}));
  cloud_.lose("DescribeQuota", Code::timeout);
  ASSERT_FALSE(api.read(context(), caller_, "DescribeQuota", {}));
  EXPECT_EQ(actions, cloud_.actions());
  std::vector<SentRequest::End> ends;
  for (const SentRequest& one : sent) ends.push_back(one.end);
  EXPECT_THAT(ends, ElementsAre(locked, limited, answered, lost, answered, refused, timed_out));
  for (const SentRequest& one : sent) EXPECT_EQ(one.took, 0s) << "the cloud answers at once";
  EXPECT_GE(since_start(), 1s) << "they waited for their turn all the same";
}

TEST_F(TencentApi, ATaskThatFailsSaysWhy) {
  cloud_.answer("CreateListener");
  cloud_.answer("DescribeTaskStatus", R"({"Status":1,"Message":"LB not exist"})");
  const auto answer = write(context());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::not_found);
  EXPECT_EQ(answer.error().request_id, "request-1") << "of the write, for the support desk";
}

TEST_F(TencentApi, NobodyKnowsTheEffectOfATaskThatLastsTooLong) {
  cloud_.answer("CreateListener");
  for (int i = 0; i < 200; ++i) cloud_.answer("DescribeTaskStatus", R"({"Status":2})");
  const auto answer = write(context().within(20s));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::timeout);
  EXPECT_EQ(answer.error().request_id, "request-1");
  EXPECT_EQ(since_start(), 20s);
  EXPECT_LE(cloud_.calls.size(), 25u) << "it is asked about more and more seldom";
}

// What was accepted may land, whoever may ask about it.
TEST_F(TencentApi, NobodyKnowsTheEffectOfATaskThatMayNotBeAskedFor) {
  for (const char* code : {"UnauthorizedOperation", "AuthFailure.SecretIdNotFound"}) {
    cloud_.calls.clear();
    cloud_.answer("CreateListener");
    cloud_.refuse("DescribeTaskStatus", code, "no");
    const auto answer = write(context());
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Code::timeout) << code;
    EXPECT_FALSE(answer.error().hint.empty());
    EXPECT_FALSE(answer.error().request_id.empty());
    EXPECT_EQ(cloud_.calls.size(), 2u);
  }
}

TEST_F(TencentApi, APollThatFailsIsMadeAgain) {
  cloud_.answer("CreateListener");
  cloud_.lose("DescribeTaskStatus", Code::unavailable);
  cloud_.refuse("DescribeTaskStatus", "InternalError", "");
  ASSERT_TRUE(write(context()));
}

TEST_F(TencentApi, BatchesThatAreNoTasksAreDoneWhenTheyAreAnswered) {
  cloud_.answer("BatchRegisterTargets");
  for (int i = 0; i < 2; ++i)
    cloud_.refuse("DescribeTaskStatus", "InvalidParameter", "no such task");
  EXPECT_TRUE(api_.write(context(), caller_, "BatchRegisterTargets", {}));
  ASSERT_EQ(cloud_.calls.size(), 3u) << "it is asked twice";
  EXPECT_GT(cloud_.calls[2].at, cloud_.calls[1].at);
}

TEST_F(TencentApi, ATaskThatIsNotKnownYetIsAskedForAgain) {
  cloud_.answer("BatchRegisterTargets");
  cloud_.refuse("DescribeTaskStatus", "InvalidParameter", "no such task");
  cloud_.answer("DescribeTaskStatus", R"({"Status":1,"Message":"LB not exist"})");
  const auto answer = api_.write(context(), caller_, "BatchRegisterTargets", {});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::not_found);
}

TEST_F(TencentApi, ABatchWithoutARequestIdIsNotDone) {
  cloud_.answer("BatchRegisterTargets", R"({"RequestId":""})");
  for (int i = 0; i < 2; ++i)
    cloud_.refuse("DescribeTaskStatus", "InvalidParameter", "no such task");
  const auto answer = api_.write(context(), caller_, "BatchRegisterTargets", {});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::conflict);
}

// The credentials went while a task was under way: the cloud said nothing of it.
TEST_F(TencentApi, WhoCannotAskForATaskDoesNotKnowItsEffect) {
  int asked = 0;
  GivenCredentials credentials(
      testing::example_credentials(),
      [&](const Context&, const model::CredentialId&) -> Result<crypto::CloudCredentials> {
        if (++asked > 1) return fail(Code::not_found, "the Secret is gone");
        return testing::example_credentials();
      });
  Api api(cloud_, credentials, {});
  cloud_.answer("BatchRegisterTargets");
  const auto answer = api.write(context(), {model::CredentialId("games"), "ap-nanjing"},
                                "BatchRegisterTargets", {});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::timeout);
}

TEST_F(TencentApi, NobodyKnowsTheEffectOfAWriteWithoutAnAnswer) {
  for (const Code lost : {Code::unavailable, Code::timeout}) {
    cloud_.lose("CreateListener", lost);
    const auto answer = write(context());
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Code::timeout);
  }
  cloud_.lose("DescribeQuota", Code::unavailable);
  EXPECT_EQ(read(context()).error().code, Code::unavailable) << "a read has no effect";
  EXPECT_EQ(cloud_.calls.size(), 3u) << "no write is sent twice by itself";
}

TEST_F(TencentApi, KeepsToTheDocumentedRateUntilTheCloudTellsAnother) {
  const auto room = [&](std::size_t calls, const Caller& caller, const char* action) {
    return api_.free_at(caller, action, calls, process_.now()) <= process_.now();
  };
  EXPECT_TRUE(room(20, caller_, "DescribeQuota"));
  EXPECT_FALSE(room(21, caller_, "DescribeQuota"));
  for (int i = 0; i < 20; ++i) {
    cloud_.answer("DescribeQuota");
    ASSERT_TRUE(read(context()));
  }
  EXPECT_EQ(since_start(), 0s);
  EXPECT_FALSE(room(1, caller_, "DescribeQuota"));
  EXPECT_TRUE(room(20, caller_, "DescribeListeners")) << "each action has its own";
  EXPECT_TRUE(room(20, {{}, "ap-guangzhou"}, "DescribeQuota")) << "and each region";
  cloud_.refuse("DescribeQuota", "RequestLimitExceeded",
                "Your current request times equals to `6` in a second, which exceeds the frequency "
                "limit `5` for a second. Please reduce the frequency of calls.");
  cloud_.answer("DescribeQuota");
  ASSERT_TRUE(read(context())) << "it is made again when there is room";
  EXPECT_GE(since_start(), 2s);
  (void)sleep_for(process_, 1min, {});
  EXPECT_FALSE(room(6, caller_, "DescribeQuota"));
}

TEST_F(TencentApi, WaitsForAnotherWriteOnTheLoadBalancer) {
  for (int i = 0; i < 3; ++i)
    cloud_.refuse("CreateListener", "FailedOperation.ResourceInOperating", "Your task is working");
  cloud_.answer("CreateListener");
  EXPECT_TRUE(write(context()));
  for (int i = 0; i < 20; ++i)
    cloud_.refuse("CreateListener", "FailedOperation.ResourceInOperating", "Your task is working");
  const auto answer = write(context());
  ASSERT_FALSE(answer) << "not for ever";
  EXPECT_EQ(answer.error().code, Code::unavailable) << "nothing happened";
}

TEST_F(TencentApi, SignsByTheCloudsClockWhenOursIsWrong) {
  process_.skew_clock(-20min);
  cloud_.set_date("Thu, 01 Jan 2026 00:00:00 GMT");
  cloud_.refuse("DescribeQuota", "AuthFailure.SignatureExpire", "expired");
  cloud_.answer("DescribeQuota");
  ASSERT_TRUE(read(context()));
  ASSERT_EQ(cloud_.calls.size(), 2u);
  EXPECT_EQ(cloud_.calls[0].request.headers.get("X-TC-Timestamp"), "1767224400");
  EXPECT_EQ(cloud_.calls[1].request.headers.get("X-TC-Timestamp"), "1767225600");
}

TEST_F(TencentApi, WhatWasSignedBeforeAnotherCorrectedTheClockIsSignedAgain) {
  process_.skew_clock(-20min);
  cloud_.set_date("Thu, 01 Jan 2026 00:00:00 GMT");
  for (int i = 0; i < 2; ++i)
    cloud_.refuse("DescribeQuota", "AuthFailure.SignatureExpire", "expired");
  for (int i = 0; i < 2; ++i) cloud_.answer("DescribeQuota");
  bool other = false;
  cloud_.meanwhile([&] { other = read(context()).has_value(); });
  const auto answer = read(context());
  EXPECT_TRUE(other);
  ASSERT_TRUE(answer) << answer.error().to_string();
  EXPECT_EQ(cloud_.calls.size(), 4u);
}

TEST_F(TencentApi, AClockThatCannotBeCorrectedIsToldToTheUser) {
  cloud_.refuse("DescribeQuota", "AuthFailure.SignatureExpire", "expired");
  const auto answer = read(context());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::forbidden);
  EXPECT_NE(answer.error().hint.find("clock"), std::string::npos);
  EXPECT_EQ(cloud_.calls.size(), 1u);
}

TEST_F(TencentApi, NothingIsSentWithoutGoodCredentials) {
  const auto answer =
      api_.read(context(), {model::CredentialId("games"), "ap-nanjing"}, "DescribeQuota", {});
  ASSERT_FALSE(answer) << "another namespace's are not tried";
  EXPECT_EQ(answer.error().code, Code::forbidden);
  EXPECT_TRUE(cloud_.calls.empty());
}

TEST_F(TencentApi, EachNamespaceSignsWithItsOwnCredentials) {
  GivenCredentials credentials(
      testing::example_credentials(), [](const Context&, const model::CredentialId& id) {
        return Result<crypto::CloudCredentials>(
            crypto::CloudCredentials{.id = "AKID-" + id.value, .key = Secret("other")});
      });
  Api api(cloud_, credentials, {});
  cloud_.answer("DescribeQuota");
  ASSERT_TRUE(api.read(context(), {model::CredentialId("games"), ""}, "DescribeQuota", {}));
  EXPECT_NE(cloud_.calls[0].request.headers.get("Authorization").find("Credential=AKID-games/"),
            std::string_view::npos);
}

TEST_F(TencentApi, SendsNothingWhenTheTimeIsOver) {
  EXPECT_FALSE(read(context().within(0s)));
  EXPECT_EQ(write(context().within(0s)).error().code, Code::unavailable) << "nothing happened";
  EXPECT_TRUE(cloud_.calls.empty());
}

TEST_F(TencentApi, AWriteWhoseCredentialsComeTooLateWasNotSent) {
  GivenCredentials credentials(
      testing::example_credentials(),
      [](const Context&, const model::CredentialId&) -> Result<crypto::CloudCredentials> {
        return fail(Code::timeout, "the Secret could not be read");
      });
  Api api(cloud_, credentials, {});
  const Caller caller{model::CredentialId("games"), "ap-nanjing"};
  EXPECT_EQ(api.write(context(), caller, "CreateListener", {}).error().code, Code::unavailable);
  EXPECT_EQ(api.read(context(), caller, "DescribeQuota", {}).error().code, Code::timeout);
  EXPECT_TRUE(cloud_.calls.empty());
}

TEST_F(TencentApi, WaitsForAnotherWriteNoLongerThanItMay) {
  for (int i = 0; i < 20; ++i)
    cloud_.refuse("CreateListener", "FailedOperation.ResourceInOperating", "Your task is working");
  const auto answer = write(context().within(250ms));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::unavailable);
  EXPECT_EQ(since_start(), 250ms);
}

}  // namespace
}  // namespace berth::cloud::tencent
