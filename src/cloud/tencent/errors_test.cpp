#include "cloud/tencent/errors.h"

#include <gtest/gtest.h>

namespace berth::cloud::tencent {
namespace {

struct Case {
  std::string_view code;
  std::string_view message;
  Code meaning;
};

TEST(TencentErrors, TellWhatToDoNext) {
  for (const Case& one : {
           Case{"RequestLimitExceeded", "21 in a second", Code::throttled},
           Case{"RequestLimitExceeded.UinLimitExceeded", "", Code::throttled},
           Case{"FailedOperation.ResourceInOperating", "Your task is working", Code::unavailable},
           Case{"InternalError", "", Code::unavailable},
           Case{"FailedOperation", "task failed", Code::conflict},
           Case{"InvalidParameter.LBIdNotFound", "", Code::not_found},
           Case{"InvalidParameter", "LoadBalancer not exist", Code::not_found},
           Case{"InvalidParameter", "LB not exist", Code::not_found},
           Case{"InvalidParameter.ListenerIdNotFound", "", Code::not_found},
           Case{"InvalidParameter", "some ListenerId lbl-1 not found", Code::not_found},
           Case{"InvalidParameter.PortCheckFailed", "", Code::already_exists},
           Case{"InvalidParameterValue.Length", "", Code::invalid},
           Case{"MissingParameter", "", Code::invalid},
           Case{"LimitExceeded", "", Code::exhausted},
           Case{"FailedOperation.InsufficientBalance", "", Code::exhausted},
           Case{"AuthFailure.SecretIdNotFound", "", Code::forbidden},
           Case{"UnauthorizedOperation", "", Code::forbidden},
           Case{"UnsupportedOperation", "", Code::unsupported},
           Case{"Something.New", "", Code::internal},
       }) {
    EXPECT_EQ(error_from({std::string(one.code), std::string(one.message), "r"}, Effect::read,
                         "CreateListener")
                  .code,
              one.meaning)
        << one.code << " " << one.message;
  }
}

TEST(TencentErrors, ACertificateThatIsNotThereIsToldWhereToLook) {
  const Error error = error_from({"InvalidParameterValue", "Certificate abc not exist", "r-1"},
                                 Effect::write, "CreateListener");
  EXPECT_EQ(error.code, Code::invalid);
  EXPECT_NE(error.hint.find("check certID and certCaID"), std::string::npos) << error.hint;
  EXPECT_EQ(error_from({"FailedOperation.ResourceInOperating", "Certificate is changing", "r-1"},
                       Effect::write, "ModifyListener")
                .code,
            Code::unavailable)
      << "it is tried again";
}

// The words of the quick start's list of questions, each with what to do about it.
TEST(TencentErrors, KnownOnesComeWithTheRemedy) {
  struct Known {
    std::string_view message;
    std::string_view remedy;
  };
  for (const Known& one : {
           Known{"1.2.3.4 is not add to global route", "another VPC"},
           Known{"you has no permission", "grant"},
           Known{"uin not allow to create port range listener", "whitelist"},
           Known{"Account 1 is not network shift up, do not support to register other ip",
                 "bandwidth"},
           Known{"Not support to register other ip ['9.9.9.9'] before enable SnatPro", "SnatPro"},
           Known{"LoadBalancer not exist", "ap-xxx:lb-xxx"},
       }) {
    const Error error = error_from({"InvalidParameterValue", std::string(one.message), "r-1"},
                                   Effect::write, "CreateListener");
    EXPECT_NE(error.hint.find(one.remedy), std::string::npos) << error.to_string();
    EXPECT_NE(error.message.find(one.message), std::string::npos) << "the cloud's words stay";
    EXPECT_EQ(error.request_id, "r-1");
    // Somebody mends it at the cloud, and the wish stays the same: it is tried again.
    EXPECT_TRUE(error.code == Code::forbidden || error.code == Code::not_found);
  }
}

TEST(TencentErrors, AnInternalErrorOfAWriteLeavesItsEffectUnknown) {
  EXPECT_EQ(error_from({"InternalError", "", ""}, Effect::write, "CreateListener").code,
            Code::timeout);
}

TEST(TencentErrors, AMissingPermissionIsNamed) {
  const Error error = error_from({"UnauthorizedOperation", "", ""}, Effect::read, "DescribeQuota");
  EXPECT_TRUE(error.hint.starts_with("clb:DescribeQuota: ")) << error.hint;
}

TEST(TencentErrors, AFailureWithoutACodeIsKnownByItsWords) {
  EXPECT_EQ(failure_of("x is not add to global route", "r").code, Code::forbidden);
  EXPECT_EQ(failure_of("whatever", "r").code, Code::conflict);
  EXPECT_FALSE(failure_of("", "r").message.empty());
}

TEST(TencentErrors, TheLimitOfCallsIsTold) {
  EXPECT_EQ(told_limit("Your current request times equals to `101` in a second, which exceeds the "
                       "frequency limit `100` for a second. Please reduce the frequency of calls."),
            100u);
  EXPECT_EQ(told_limit("slow down"), 0u);
  EXPECT_EQ(told_limit("frequency limit `many`"), 0u);
  EXPECT_EQ(told_limit("frequency limit `7"), 0u);
}

TEST(TencentErrors, SayWhetherOthersOfTheBatchCouldSucceed) {
  const auto of = [](std::string code, std::string message) {
    return may_concern_some(
        error_from({std::move(code), std::move(message), ""}, Effect::write, "CreateListener"));
  };
  EXPECT_TRUE(of("InvalidParameter.PortCheckFailed", ""));
  EXPECT_TRUE(of("InvalidParameterValue", "register other ip ['9.9.9.9'] before enable SnatPro"));
  EXPECT_FALSE(of("UnauthorizedOperation", "")) << "each would be refused like all";
  EXPECT_FALSE(of("InvalidParameter.LBIdNotFound", "")) << "no listener is there";
  EXPECT_TRUE(of("LimitExceeded", "")) << "some may have room";
}

}  // namespace
}  // namespace berth::cloud::tencent
