#include "crypto/signers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/encoding.h"
#include "crypto/digest.h"

namespace berth::crypto {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

const WallTime kSuiteTime = parse_rfc3339("2015-08-30T12:36:00Z").value();

std::string header(const SignedRequest& request, std::string_view name) {
  for (const auto& [key, value] : request.headers)
    if (key == name) return value;
  return "(none)";
}

std::string signature(const SignedRequest& request) {
  const std::string text = header(request, "Authorization");
  return text.substr(text.rfind('=') + 1);
}

// The example key of AWS's published signature test suite.
CloudCredentials suite_credentials() {
  return {.id = "AKIDEXAMPLE", .key = Secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")};
}

SignedRequest sign_as_in_suite(RequestParts request) {
  request.host = "example.amazonaws.com";
  return sign_aws(request, suite_credentials(), "us-east-1", "service", kSuiteTime);
}

struct SuiteCase {
  const char* name;
  RequestParts request;
  const char* signature;
};

// From AWS's test suite, under its names.
std::vector<SuiteCase> suite_cases() {
  return {
      {"get-vanilla",
       {.method = "GET"},
       "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
      {"post-vanilla", {}, "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
      {"get-vanilla-query-order-key-case",
       {.method = "GET", .query = "Param2=value2&Param1=value1"},
       "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
      {"get-utf8",
       {.method = "GET", .path = "/\u1234"},
       "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
      {"get-space",
       {.method = "GET", .path = "/example space/"},
       "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"},
      {"get-vanilla-utf8-query",
       {.method = "GET", .query = "\u1234=bar"},
       "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"},
      {"get-header-value-trim",
       {.method = "GET",
        .headers = {{"My-Header1", " value1\t "}, {"My-Header2", " \"a   b   c\""}}},
       "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
      {"get-header-key-duplicate",
       {.method = "GET",
        .headers = {{"My-Header1", "value2"}, {"My-Header1", "value2"}, {"My-Header1", "value1"}}},
       "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"},
      {"post-x-www-form-urlencoded",
       {.headers = {{"Content-Type", "application/x-www-form-urlencoded"}},
        .body = "Param1=value1"},
       "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
  };
}

TEST(SignAws, MatchesThePublishedSuite) {
  for (const auto& test : suite_cases()) {
    const SignedRequest signed_request = sign_as_in_suite(test.request);
    EXPECT_EQ(signature(signed_request), test.signature) << test.name << "\n"
                                                         << signed_request.canonical_request;
  }
}

// The worked example of AWS's documentation: IAM ListUsers.
TEST(SignAws, MatchesTheDocumentedExample) {
  const SignedRequest signed_request =
      sign_aws({.method = "GET",
                .host = "iam.amazonaws.com",
                .query = "Action=ListUsers&Version=2010-05-08",
                .headers = {{"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"}}},
               suite_credentials(), "us-east-1", "iam", kSuiteTime);
  EXPECT_EQ(sha256_hex(signed_request.canonical_request),
            "f536975d06c0309214f805bb90ccff089219ecd68b2577efef23edd43b7e1a59");
  EXPECT_THAT(
      signed_request.headers,
      ElementsAre(
          Pair("X-Amz-Date", "20150830T123600Z"),
          Pair("Authorization",
               "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, "
               "SignedHeaders=content-type;host;x-amz-date, "
               "Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7")));
}

TEST(SignAws, TemporaryCredentialsSignTheirToken) {
  CloudCredentials credentials = suite_credentials();
  credentials.token = Secret("temporary-token");
  const SignedRequest signed_request =
      sign_aws({.host = "example.amazonaws.com"}, credentials, "us-east-1", "service", kSuiteTime);
  EXPECT_EQ(header(signed_request, "X-Amz-Security-Token"), "temporary-token");
  EXPECT_THAT(header(signed_request, "Authorization"),
              HasSubstr("SignedHeaders=host;x-amz-date;x-amz-security-token,"));
  EXPECT_THAT(signed_request.canonical_request,
              HasSubstr("\nx-amz-security-token:temporary-token\n"));
}

std::string canonical_query(std::string query) {
  const std::string text =
      sign_as_in_suite({.method = "GET", .query = std::move(query)}).canonical_request;
  const auto start = text.find('\n', text.find('\n') + 1) + 1;
  return text.substr(start, text.find('\n', start) - start);
}

TEST(SignAws, QueryIsSortedAndEncodedOnce) {
  EXPECT_EQ(canonical_query(""), "");
  EXPECT_EQ(canonical_query("b=2&a=1"), "a=1&b=2");
  EXPECT_EQ(canonical_query("a=2&a=1"), "a=1&a=2");
  EXPECT_EQ(canonical_query("list-type&a=1"), "a=1&list-type=");
  EXPECT_EQ(canonical_query("a=x%2fy&b=x/y"), "a=x%2Fy&b=x%2Fy");
  EXPECT_EQ(canonical_query("a=b=c"), "a=b%3Dc");
  EXPECT_EQ(canonical_query("a=100%"), "a=100%25");
  EXPECT_EQ(canonical_query("&a=1&"), "a=1");
}

// Tencent's documentation shows this request with its signature; the key is the one it uses there.
SignedRequest tencent_example() {
  return sign_tencent({.host = "cvm.tencentcloudapi.com",
                       .headers = {{"Content-Type", "application/json; charset=utf-8"}},
                       .body = R"({"Limit": 1, "Filters": [{"Values": ["\u672a\u547d\u540d"], )"
                               R"("Name": "instance-name"}]})"},
                      {.id = "AKIDEXAMPLE", .key = Secret("Gu5t9xGARNpq86cd98joQYCN3EXAMPLE")},
                      "cvm", WallTime{std::chrono::seconds{1551113065}});
}

TEST(SignTencent, MatchesTheDocumentedExample) {
  const SignedRequest signed_request = tencent_example();
  EXPECT_EQ(signed_request.canonical_request,
            "POST\n/\n\ncontent-type:application/json; charset=utf-8\n"
            "host:cvm.tencentcloudapi.com\n\ncontent-type;host\n"
            "35e9c5b0e3ae67532d3c9f17ead6c90222632e5b1ff7f6e89887f1398934f064");
  EXPECT_EQ(signed_request.string_to_sign,
            "TC3-HMAC-SHA256\n1551113065\n2019-02-25/cvm/tc3_request\n"
            "5ffe6a04c0664d6b969fab9a13bdab201d63ee709638e2749d62a09ca18d7031");
  EXPECT_THAT(
      signed_request.headers,
      ElementsAre(
          Pair("Authorization",
               "TC3-HMAC-SHA256 Credential=AKIDEXAMPLE/2019-02-25/cvm/tc3_request, "
               "SignedHeaders=content-type;host, "
               "Signature=72e494ea809ad7a8c8f7a4507b9bddcbaa8e581f516e8da2f66e2c5a96525168"),
          Pair("X-TC-Timestamp", "1551113065")));
}

// The page prints the key with stars; taken by the letter they give the signature that it prints.
TEST(SignTencent, MatchesTheDocumentedExampleWithItsStars) {
  RequestParts request{.host = "cvm.tencentcloudapi.com",
                       .headers = {{"Content-Type", "application/json; charset=utf-8"}},
                       .body = R"({"Limit": 1, "Filters": [{"Values": ["\u672a\u547d\u540d"], )"
                               R"("Name": "instance-name"}]})"};
  EXPECT_EQ(signature(sign_tencent(
                request, {.id = "AKIDEXAMPLE", .key = Secret("Gu5t9xGARNpq86cd98joQYCN3*******")},
                "cvm", WallTime{std::chrono::seconds{1551113065}})),
            "2230eefd229f582d8b1b891af7107b91597240707d778ab3738f756258d7652c");
}

TEST(SignTencent, SignsALoadBalancerCall) {
  RequestParts request{.host = "clb.tencentcloudapi.com",
                       .headers = {{"Content-Type", "application/json"}},
                       .body = R"({"TaskId":"a6f4c1d0-0001-4a2b-9c3d-000000000001"})"};
  CloudCredentials credentials{.id = "AKIDEXAMPLE",
                               .key = Secret("Gu5t9xGARNpq86cd98joQYCN3EXAMPLE")};
  const WallTime at{std::chrono::seconds{1722598334}};
  EXPECT_EQ(signature(sign_tencent(request, credentials, "clb", at)),
            "37c4924c84d3261fff27433f4cd5c9e39e6223916185198c403b7f403aa1a28c");

  // Values of signed headers are compared without case: computed apart from this code.
  request.headers.emplace_back("X-TC-Action", "DescribeTaskStatus");
  credentials.token = Secret("temporary-token");
  const SignedRequest with_action = sign_tencent(request, credentials, "clb", at);
  EXPECT_EQ(signature(with_action),
            "011f48a89aaee30c2181f68114790d1e94dc999c664c239ea930636b15ce6056");
  EXPECT_EQ(header(with_action, "X-TC-Token"), "temporary-token");
}

TEST(Sign, TheSecretStaysOutOfTheResult) {
  const SignedRequest signed_request = sign_as_in_suite({});
  for (const auto& [name, value] : signed_request.headers)
    EXPECT_EQ(value.find("wJalrXUtnFEMI"), std::string::npos) << name;
  EXPECT_EQ(signed_request.string_to_sign.find("wJalrXUtnFEMI"), std::string::npos);
}

TEST(Sign, EveryPartOfTheRequestCounts) {
  const auto sign = [](auto change) {
    RequestParts request{.headers = {{"Content-Type", "application/json"}}, .body = "{}"};
    change(request);
    return signature(sign_as_in_suite(request));
  };
  const std::string plain = sign([](auto&) {});
  EXPECT_NE(plain, sign([](auto& r) { r.method = "PUT"; }));
  EXPECT_NE(plain, sign([](auto& r) { r.path = "/x"; }));
  EXPECT_NE(plain, sign([](auto& r) { r.query = "a=1"; }));
  EXPECT_NE(plain, sign([](auto& r) { r.body = "{ }"; }));
  EXPECT_NE(plain, sign([](auto& r) { r.headers[0].second = "text/plain"; }));
  EXPECT_EQ(plain, sign([](auto& r) { r.headers[0].first = "CONTENT-TYPE"; }));
}

}  // namespace
}  // namespace berth::crypto
