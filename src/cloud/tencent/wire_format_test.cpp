#include "cloud/tencent/wire_format.h"

#include <gtest/gtest.h>

namespace berth::cloud::tencent {
namespace {

TEST(TencentRequest, IsSignedAsTheCloudExpects) {
  const net::Request request = signed_request(
      {}, {.id = "AKID", .key = Secret("Gu5t9xGARNpq86cd98joQYCN3EXAMPLE")}, "ap-nanjing",
      "DescribeTaskStatus", R"({"TaskId":"a6f4c1d0-0001-4a2b-9c3d-000000000001"})",
      WallTime{std::chrono::seconds{1722598334}});
  EXPECT_EQ(request.url, "https://clb.tencentcloudapi.com/");
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.headers.get("Authorization"),
            "TC3-HMAC-SHA256 Credential=AKID/2024-08-02/clb/tc3_request, "
            "SignedHeaders=content-type;host, "
            "Signature=37c4924c84d3261fff27433f4cd5c9e39e6223916185198c403b7f403aa1a28c");
  EXPECT_EQ(request.headers.get("Content-Type"), "application/json") << "as it was signed";
  EXPECT_EQ(request.headers.get("Host"), "clb.tencentcloudapi.com");
  EXPECT_EQ(request.headers.get("X-TC-Action"), "DescribeTaskStatus");
  EXPECT_EQ(request.headers.get("X-TC-Version"), "2018-03-17");
  EXPECT_EQ(request.headers.get("X-TC-Timestamp"), "1722598334");
  EXPECT_EQ(request.headers.get("X-TC-Region"), "ap-nanjing");
  EXPECT_EQ(request.headers.get("X-TC-Token"), "");
}

TEST(TencentRequest, GoesToTheEndpointThroughTheProxyWithTheToken) {
  const net::Request request =
      signed_request({.scheme = "http", .endpoint = "127.0.0.1:8080", .proxy = "http://proxy:3128"},
                     {.id = "AKID", .key = Secret("key"), .token = Secret("token")}, "",
                     "DescribeQuota", "{}", WallTime{});
  EXPECT_EQ(request.url, "http://127.0.0.1:8080/");
  EXPECT_EQ(request.proxy, "http://proxy:3128");
  EXPECT_EQ(request.headers.get("X-TC-Token"), "token");
  EXPECT_EQ(request.headers.get("Host"), "127.0.0.1:8080");
}

TEST(TencentAnswer, IsOpened) {
  const auto opened =
      open_envelope({.status = 200, .body = R"({"Response":{"TotalCount":3,"RequestId":"r-1"}})"});
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->request_id, "r-1");
  EXPECT_EQ(wire::int_at(opened->response, "/TotalCount"), 3);
}

TEST(TencentAnswer, RefusalsComeWithStatus200) {
  const auto opened = open_envelope(
      {.status = 200,
       .body =
           R"({"Response":{"Error":{"Code":"LimitExceeded","Message":"no"},"RequestId":"r-1"}})"});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, "LimitExceeded");
  EXPECT_EQ(opened.error().message, "no");
  EXPECT_EQ(opened.error().request_id, "r-1");
}

TEST(TencentAnswer, GatewaysAndOldApisRefuseInOtherWays) {
  EXPECT_EQ(open_envelope({.status = 502, .body = "<html>"}).error().code, "InternalError.Gateway");
  EXPECT_EQ(open_envelope({.status = 200, .body = "[]"}).error().code, "InternalError.Gateway");
  EXPECT_EQ(open_envelope({.status = 429, .body = ""}).error().code, "RequestLimitExceeded");
  EXPECT_EQ(open_envelope(
                {.status = 200, .body = R"({"code":4100,"message":"no","codeDesc":"AuthFailure"})"})
                .error()
                .code,
            "AuthFailure");
}

TEST(TencentTask, HasThreeStates) {
  EXPECT_EQ(decode_task(*wire::parse_json(R"({"Status":0})")).state, TaskState::done);
  EXPECT_EQ(decode_task(*wire::parse_json(R"({"Status":2})")).state, TaskState::under_way);
  EXPECT_EQ(decode_task(*wire::parse_json("{}")).state, TaskState::under_way);
  const TaskStatus failed = decode_task(*wire::parse_json(R"({"Status":1,"Message":"why"})"));
  EXPECT_EQ(failed.state, TaskState::failed);
  EXPECT_EQ(failed.message, "why");
}

}  // namespace
}  // namespace berth::cloud::tencent
