#include "cloud/tencent/options.h"

#include <gtest/gtest.h>

#include <map>

#include "cloud/tencent/credentials.h"

namespace berth::cloud::tencent {
namespace {

using Environment = std::map<std::string, std::string, std::less<>>;

Result<Settings> from(const Environment& environment) {
  return settings_from([&](std::string_view name) {
    const auto it = environment.find(name);
    return it == environment.end() ? std::string{} : it->second;
  });
}

TEST(TencentSettings, ComeFromTheNamesOfBcsIngressController) {
  const auto settings = from({{"TENCENTCLOUD_CLB_DOMAIN", "clb.internal.tencentcloudapi.com"},
                              {"TENCENTCLOUD_REGION", "ap-nanjing"},
                              {"TENCENTCLOUD_ACCESS_KEY_ID", "id"},
                              {"TENCENTCLOUD_ACESS_KEY", "key\n"}});
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->options.endpoint, "clb.internal.tencentcloudapi.com");
  EXPECT_EQ(settings->options.scheme, "https");
  EXPECT_EQ(settings->options.region, "ap-nanjing");
  EXPECT_EQ(settings->credentials.id, "id");
  EXPECT_EQ(settings->credentials.key.reveal(), "key") << "without the line break of `echo`";
}

TEST(TencentSettings, ComeFromTheNamesOfTheSdkToo) {
  const auto settings = from({{"TENCENTCLOUD_SECRET_ID", "id"},
                              {"TENCENTCLOUD_SECRET_KEY", "key"},
                              {"TENCENTCLOUD_TOKEN", "token"}});
  ASSERT_TRUE(settings);
  EXPECT_TRUE(settings->has_credentials());
  EXPECT_EQ(settings->credentials.key.reveal(), "key");
  EXPECT_EQ(settings->credentials.token.reveal(), "token");
  EXPECT_EQ(settings->options.endpoint, "clb.tencentcloudapi.com");
  EXPECT_FALSE(from({})->has_credentials());
}

TEST(TencentSettings, AnEndpointMayNameItsSchemeAndPort) {
  Options options;
  ASSERT_TRUE(set_endpoint(options, "http://127.0.0.1:8080"));
  EXPECT_EQ(options.scheme, "http");
  EXPECT_EQ(options.endpoint, "127.0.0.1:8080");
  for (const char* wrong : {"", "ftp://x", "https://clb.example.com/path"}) {
    EXPECT_FALSE(set_endpoint(options, wrong)) << wrong;
  }
  const auto settings = from({{"TENCENTCLOUD_CLB_DOMAIN", "https://clb.example.com/path"}});
  ASSERT_FALSE(settings);
  EXPECT_EQ(settings.error().object, "TENCENTCLOUD_CLB_DOMAIN");
}

TEST(TencentSettings, TheRateIsThatOfTheDocumentationOrOnesOwn) {
  EXPECT_EQ(from({})->options.calls_per_second, 20u);
  EXPECT_EQ(from({{"TENCENTCLOUD_RATELIMIT_QPS", "100"}})->options.calls_per_second, 100u);
  const auto wrong = from({{"TENCENTCLOUD_RATELIMIT_QPS", "fast"}});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().object, "TENCENTCLOUD_RATELIMIT_QPS");
}

TEST(TencentSettings, ThatAreWrongStopOnlyWhoAsksForThem) {
  const auto used = [](const Environment& environment, bool is_asked_for) {
    return settings_if_used(
        [&](std::string_view name) {
          const auto it = environment.find(name);
          return it == environment.end() ? std::string{} : it->second;
        },
        is_asked_for);
  };
  const Environment wrong{{"TENCENTCLOUD_CLB_DOMAIN", "https://clb.example.com/path"},
                          {"TENCENTCLOUD_SECRET_ID", "id"}};
  EXPECT_FALSE(used(wrong, true));
  ASSERT_TRUE(used(wrong, false)) << "a controller of the edge";
  EXPECT_FALSE(*used(wrong, false));
  EXPECT_FALSE(*used({}, false));
  EXPECT_TRUE(*used({}, true)) << "keys may come from elsewhere";
  EXPECT_TRUE(*used({{"TENCENTCLOUD_SECRET_ID", "id"}}, false));
}

TEST(TencentCredentials, ThatNoHeaderCanCarryAreNotSent) {
  EXPECT_TRUE(check_credentials({.id = "AKID", .key = Secret("key")}));
  for (const crypto::CloudCredentials& wrong :
       {crypto::CloudCredentials{}, crypto::CloudCredentials{.id = "AKID"},
        crypto::CloudCredentials{.id = "AK\nID", .key = Secret("key")},
        crypto::CloudCredentials{.id = "\x01\xfe", .key = Secret("key")},
        crypto::CloudCredentials{.id = "AKID", .key = Secret("hidden\x07")}}) {
    const auto checked = check_credentials(wrong);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, Code::forbidden);
    EXPECT_FALSE(checked.error().hint.empty());
    EXPECT_EQ(checked.error().to_string().find("hidden"), std::string::npos);
  }
}

}  // namespace
}  // namespace berth::cloud::tencent
