#include "cloud/tencent/followed_credentials.h"

#include <gmock/gmock.h>

#include <unistd.h>

#include <filesystem>
#include <memory>

#include "base/file.h"
#include "sim/kernel/kernel.h"
#include "sim/kernel/run_for.h"

namespace berth::cloud::tencent {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

class TencentFollowedCredentials : public ::testing::Test {
 protected:
  void follow(Duration grace) {
    followed_ = std::make_unique<FollowedCredentials>(
        [this](const Context&) {
          ++reads_;
          return next_;
        },
        FollowedCredentials::Options{.period = seconds{10}, .grace = grace, .name = "test"});
  }
  Result<crypto::CloudCredentials> get() { return followed_->get({process_}); }
  std::string id() {
    const auto got = get();
    return got ? got->id : got.error().to_string();
  }
  void pass(Duration span) { ASSERT_TRUE(sim::run_for(kernel_, span)); }
  static crypto::CloudCredentials keys(const std::string& id) {
    return {.id = id, .key = Secret("key")};
  }

  sim::Kernel kernel_{1};
  sim::Process& process_ = kernel_.start_process("test");
  Result<crypto::CloudCredentials> next_ = keys("a");
  int reads_ = 0;
  std::unique_ptr<FollowedCredentials> followed_;
};

TEST_F(TencentFollowedCredentials, AreReadAgainWhenTheyAreOld) {
  follow({});
  EXPECT_EQ(id(), "a");
  next_ = keys("b");
  EXPECT_EQ(id(), "a");
  EXPECT_EQ(reads_, 1) << "a storm of calls reads once";
  pass(seconds{10});
  EXPECT_EQ(id(), "b");
}

TEST_F(TencentFollowedCredentials, StayWhileNobodyAnswers) {
  follow({});
  EXPECT_EQ(id(), "a");
  for (const Code code : {Code::unavailable, Code::timeout, Code::throttled, Code::internal}) {
    next_ = fail(code, "not now");
    pass(seconds{100});
    EXPECT_EQ(id(), "a");
  }
}

TEST_F(TencentFollowedCredentials, ThatNobodyAnswersForAtTheStartAreNotKnown) {
  follow({});
  next_ = fail(Code::timeout, "not now");
  EXPECT_EQ(get().error().code, Code::unavailable);
  next_ = keys("a");
  pass(seconds{1});
  EXPECT_EQ(id(), "a");
}

TEST_F(TencentFollowedCredentials, ThatAreGoneAreToldAtOnceAndComeBackSoon) {
  follow({});
  EXPECT_EQ(id(), "a");
  next_ = fail(Code::not_found, "no such Secret");
  pass(seconds{10});
  EXPECT_EQ(get().error().code, Code::forbidden);
  next_ = fail(Code::unavailable, "not now");
  pass(seconds{2});
  EXPECT_FALSE(get()) << "what was withdrawn is not used again";
  next_ = keys("b");
  pass(seconds{2});
  EXPECT_EQ(id(), "b");
}

TEST_F(TencentFollowedCredentials, OfAFileThatIsBeingWrittenStayForAMoment) {
  follow(seconds{10});
  EXPECT_EQ(id(), "a");
  next_ = fail(Code::forbidden, "half a file");
  pass(seconds{10});
  EXPECT_EQ(id(), "a");
  next_ = keys("b");
  pass(seconds{1});
  EXPECT_EQ(id(), "b");
  next_ = fail(Code::forbidden, "half a file");
  pass(seconds{10});
  EXPECT_EQ(id(), "b");
  pass(seconds{11});
  EXPECT_EQ(get().error().code, Code::forbidden) << "that is no moment";
}

TEST_F(TencentFollowedCredentials, AreReadFromAFile) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("berth-credentials-" + std::to_string(getpid()));
  const auto read = credentials_in_file(path);
  const Context context{process_};
  const auto none = read(context);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().to_string(), HasSubstr(path));
  ASSERT_TRUE(write_file(path, "secret_id=AKIDa\nsecret_key=hid den\n", 0600));
  const auto wrong = read(context);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().object, path);
  EXPECT_THAT(wrong.error().to_string(), Not(HasSubstr("hid")));
  ASSERT_TRUE(write_file(path, "secret_id=AKIDa\nsecret_key=key\n", 0600));
  const auto good = read(context);
  ASSERT_TRUE(good) << good.error().to_string();
  EXPECT_EQ(good->id, "AKIDa");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace berth::cloud::tencent
