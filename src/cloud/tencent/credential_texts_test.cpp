#include "cloud/tencent/credential_texts.h"

#include <gmock/gmock.h>

#include <map>

namespace berth::cloud::tencent {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using Entries = std::map<std::string, std::string, std::less<>>;

Result<crypto::CloudCredentials> of(const Entries& entries) {
  return credentials_from([&](std::string_view name) -> Result<std::optional<Secret>> {
    const auto it = entries.find(name);
    return it == entries.end() ? std::nullopt : std::optional(Secret(it->second));
  });
}

Result<crypto::CloudCredentials> in(std::string text) {
  return parse_credentials(Secret(std::move(text)));
}

TEST(TencentCredentialTexts, HaveTheNamesOfUpstreamAndOfTheSdk) {
  const auto upstream =
      of({{"TENCENTCLOUD_ACCESS_KEY_ID", "AKIDa"}, {"TENCENTCLOUD_ACESS_KEY", "key"}});
  ASSERT_TRUE(upstream);
  EXPECT_EQ(upstream->id, "AKIDa");
  EXPECT_EQ(upstream->key.reveal(), "key");
  const auto sdk = of({{"TENCENTCLOUD_SECRET_ID", "AKIDb"},
                       {"TENCENTCLOUD_SECRET_KEY", "key"},
                       {"TENCENTCLOUD_TOKEN", "token"}});
  ASSERT_TRUE(sdk);
  EXPECT_EQ(sdk->id, "AKIDb");
  EXPECT_EQ(sdk->token.reveal(), "token");
}

TEST(TencentCredentialTexts, WhatIsMissingIsNamedWithAllItsSpellings) {
  const auto none = of({});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::forbidden);
  EXPECT_THAT(none.error().to_string(), HasSubstr("there is no SecretId"));
  EXPECT_THAT(none.error().to_string(), HasSubstr("TENCENTCLOUD_ACCESS_KEY_ID"));
  const auto half = of({{"TENCENTCLOUD_ACCESS_KEY_ID", "AKIDa"}, {"TENCENTCLOUD_ACESS_KEY", ""}});
  ASSERT_FALSE(half);
  EXPECT_THAT(half.error().to_string(), HasSubstr("there is no SecretKey"));
  EXPECT_THAT(half.error().to_string(), HasSubstr("TENCENTCLOUD_ACESS_KEY"));
}

TEST(TencentCredentialTexts, WhatCannotBeAKeyIsRefusedByItsNameAndNeverShown) {
  for (const std::string wrong :
       {"hidden\n", "hid den", " hidden", "hidden\r", "\x01hidden\xfe", "\"hidden\"", "'hidden'"}) {
    const auto read =
        of({{"TENCENTCLOUD_ACCESS_KEY_ID", "AKIDa"}, {"TENCENTCLOUD_ACESS_KEY", wrong}});
    ASSERT_FALSE(read) << wrong;
    EXPECT_EQ(read.error().code, Code::forbidden);
    EXPECT_EQ(read.error().field, "TENCENTCLOUD_ACESS_KEY");
    EXPECT_THAT(read.error().to_string(), HasSubstr("echo -n"));
    EXPECT_THAT(read.error().to_string(), Not(HasSubstr("hid")));
  }
}

TEST(TencentCredentialTexts, AnIdThatIsBase64OnceTooOftenIsSeen) {
  const auto read =
      of({{"TENCENTCLOUD_ACCESS_KEY_ID", "QUtJREVYQU1QTEU="}, {"TENCENTCLOUD_ACESS_KEY", "key"}});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().field, "TENCENTCLOUD_ACCESS_KEY_ID");
  EXPECT_THAT(read.error().to_string(), HasSubstr("base64"));
  EXPECT_THAT(read.error().to_string(), Not(HasSubstr("QUtJ")));
}

TEST(TencentCredentialTexts, AFileHasLinesAsShellsAndTheCloudsToolsHaveThem) {
  const auto shell =
      in("# of the games\n\nexport TENCENTCLOUD_ACCESS_KEY_ID=AKIDa\r\n"
         "TENCENTCLOUD_ACESS_KEY = a=b\nTENCENTCLOUD_REGION=ap-nanjing");
  ASSERT_TRUE(shell) << shell.error().to_string();
  EXPECT_EQ(shell->id, "AKIDa");
  EXPECT_EQ(shell->key.reveal(), "a=b");
  const auto tools = in("[default]\nsecret_id = AKIDb\nsecret_key = key\n");
  ASSERT_TRUE(tools) << tools.error().to_string();
  EXPECT_EQ(tools->id, "AKIDb");
}

TEST(TencentCredentialTexts, AFileThatIsWrongIsRefusedByTheLine) {
  const auto no_name = in("TENCENTCLOUD_ACCESS_KEY_ID=AKIDa\nhidden\n");
  ASSERT_FALSE(no_name);
  EXPECT_EQ(no_name.error().field, "line 2");
  EXPECT_THAT(no_name.error().to_string(), HasSubstr("NAME=VALUE"));
  EXPECT_THAT(no_name.error().to_string(), Not(HasSubstr("hidden")));
  const auto twice = in("TENCENTCLOUD_ACCESS_KEY_ID=AKIDa\nsecret_id=hidden\n");
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().to_string(), HasSubstr("twice"));
  EXPECT_THAT(twice.error().to_string(), Not(HasSubstr("hidden")));
  EXPECT_FALSE(in(""));
  EXPECT_FALSE(in("TENCENTCLOUD_ACCESS_KEY_ID=AKIDa\nTENCENTCLOUD_ACESS_KEY=a b\n"));
}

}  // namespace
}  // namespace berth::cloud::tencent
