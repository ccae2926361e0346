// The way of a request: signature, time, region, permission, rate, parameters.
#include "sim/cloud/tencent/cloud.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/cloud/tencent/test_client.h"

namespace berth::sim::tencent {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;
using wire::Array;
using wire::Object;

const Object kListeners{{"LoadBalancerId", kLb}};

TEST(Signature, OfTheRightKeyIsTaken) {
  TestClient client;
  const wire::Value answer = client.call("DescribeListeners", kListeners);
  EXPECT_EQ(wire::int_at(answer, "/TotalCount"), 0) << wire::to_json(answer);
  EXPECT_EQ(wire::string_at(answer, "/RequestId").size(), 36u);
}

TEST(Signature, OfAnotherKeyOrBodyIsRefused) {
  TestClient client;
  net::Request request = client.signed_request("DescribeListeners", R"({"LoadBalancerId":"x"})");
  request.body = R"({"LoadBalancerId":"y"})";
  EXPECT_THAT(client.cloud.handle(request, client.now).body,
              HasSubstr("AuthFailure.SignatureFailure"));
  client.key = "another";
  EXPECT_EQ(client.refused("DescribeListeners", kListeners), "AuthFailure.SignatureFailure");
  client.id = "AKIDNOBODY";
  EXPECT_EQ(client.refused("DescribeListeners", kListeners), "AuthFailure.SecretIdNotFound");
}

TEST(Signature, OfAnotherServiceIsRefused) {
  TestClient client;
  client.service = "vpc";
  EXPECT_EQ(client.refused("DescribeListeners", kListeners), "AuthFailure.SignatureFailure");
}

TEST(Signature, NeedsTheTokenOfATemporaryKey) {
  TestClient client;
  client.cloud.add_key({.secret_id = client.id,
                        .secret_key = Secret(client.key),
                        .token = Secret("hour"),
                        .account = kUin});
  EXPECT_EQ(client.refused("DescribeListeners", kListeners), "AuthFailure.TokenFailure");
  client.token = "hour";
  EXPECT_EQ(client.refused("DescribeListeners", kListeners), "");
}

TEST(Signature, ExpiresAfterFiveMinutesEitherWay) {
  TestClient client;
  for (const int late : {300, -300}) {
    client.skew = seconds{late};
    EXPECT_EQ(client.refused("DescribeListeners", kListeners), "") << late;
  }
  for (const int late : {301, -301}) {
    client.skew = seconds{late};
    EXPECT_EQ(client.refused("DescribeListeners", kListeners), "AuthFailure.SignatureExpire")
        << late;
  }
}

TEST(Signature, HeadersMustBeThereAndWhole) {
  TestClient client;
  const auto code_with = [&](auto change) {
    net::Request request = client.signed_request("DescribeListeners", "{}");
    change(request.headers);
    return client.cloud.handle(request, client.now).body;
  };
  EXPECT_THAT(code_with([](auto& h) { h.set("Authorization", ""); }),
              HasSubstr("MissingParameter"));
  EXPECT_THAT(code_with([](auto& h) { h.set("Authorization", "Bearer x"); }),
              HasSubstr("AuthFailure.InvalidAuthorization"));
  EXPECT_THAT(code_with([](auto& h) { h.set("X-TC-Timestamp", ""); }),
              HasSubstr("MissingParameter"));
  EXPECT_THAT(code_with([](auto& h) { h.set("X-TC-Timestamp", "soon"); }),
              HasSubstr("InvalidParameterValue"));
  EXPECT_THAT(code_with([](auto& h) { h.set("Content-Type", "application/json; charset=utf-8"); }),
              HasSubstr("AuthFailure.SignatureFailure"));
}

TEST(Gateway, AnswersWithTheTimeOfItsClock) {
  TestClient client;
  const net::Reply reply =
      client.cloud.handle(client.signed_request("DescribeQuota", "{}"), client.now);
  EXPECT_EQ(reply.headers.get("Date"), "Thu, 28 May 2026 20:26:40 GMT");
}

TEST(Gateway, KnowsServicesVersionsActionsAndRegions) {
  TestClient client;
  EXPECT_EQ(client.refused("DescribeEverything"), "InvalidAction");
  client.version = "2017-03-12";
  EXPECT_EQ(client.refused("DescribeListeners", kListeners), "NoSuchVersion");
  client.version = "2018-03-17";
  client.region = "";
  EXPECT_EQ(client.refused("DescribeListeners", kListeners), "MissingParameter");
  client.region = "mars-1";
  EXPECT_EQ(client.refused("DescribeListeners", kListeners), "UnsupportedRegion");
  client.region = "ap-shanghai";
  EXPECT_EQ(client.refused("DescribeListeners", kListeners), "InvalidParameter.LBIdNotFound");
  client.host = client.service = "billing";
  EXPECT_EQ(client.refused("DescribeListeners", kListeners), "NoSuchProduct");
}

TEST(Gateway, ChecksParametersAgainstTheTable) {
  TestClient client;
  const auto code = [&](Object body) {
    client.now += seconds{1};
    return client.refused("CreateListener", body);
  };
  EXPECT_EQ(code({{"Ports", Array{80}}, {"Protocol", "TCP"}}), "MissingParameter");
  EXPECT_EQ(code({{"LoadBalancerId", kLb}, {"Ports", Array{}}, {"Protocol", "TCP"}}),
            "MissingParameter");
  EXPECT_EQ(code({{"LoadBalancerId", kLb}, {"Ports", Array{"80"}}, {"Protocol", "TCP"}}),
            "InvalidParameter");
  EXPECT_EQ(code({{"LoadBalancerId", kLb}, {"Ports", Array{70000}}, {"Protocol", "TCP"}}),
            "InvalidParameterValue.Range");
  EXPECT_EQ(code({{"LoadBalancerId", kLb}, {"Ports", Array{80}}, {"Protocol", "SCTP"}}),
            "InvalidParameterValue");
  EXPECT_EQ(code({{"LoadBalancerId", kLb},
                  {"Ports", Array{80}},
                  {"Protocol", "TCP"},
                  {"HealthCheck", Object{{"TimeOut", 61}}}}),
            "InvalidParameterValue.Range");
  EXPECT_EQ(code({{"LoadBalancerId", kLb}, {"Ports", Array{80}}, {"Protokoll", "TCP"}}),
            "UnknownParameter");
  net::Request broken = client.signed_request("CreateListener", "[]");
  EXPECT_THAT(client.cloud.handle(broken, client.now).body, HasSubstr("InvalidParameter"));
}

TEST(RateLimit, IsTwentyInASecondForEachAction) {
  TestClient client;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(client.refused("DescribeListeners", kListeners), "") << i;
    client.now += std::chrono::milliseconds{10};
  }
  EXPECT_THAT(client.message("DescribeListeners", kListeners),
              HasSubstr("equals to `21` in a second, which exceeds the frequency limit `20`"));
  EXPECT_EQ(client.refused("DescribeQuota"), "");
  client.now += std::chrono::milliseconds{800};
  EXPECT_EQ(client.refused("DescribeListeners", kListeners), "");
  EXPECT_EQ(client.refused("DescribeListeners", kListeners), "RequestLimitExceeded");
  EXPECT_EQ(client.cloud.calls().at("DescribeListeners"),
            (CallCount{.answered = 21, .refused = 2, .throttled = 2}));
}

TEST(Cloud, CountsNamesThatNobodyServesAsOne) {
  TestClient client;
  client.id = "AKIDNOBODY";
  for (const char* name : {"A", "B", "C"}) client.call(name);
  EXPECT_EQ(client.cloud.calls().size(), 1u);
  EXPECT_EQ(client.cloud.calls().at("(other)").refused, 3u);
}

TEST(Policies, GiveNoMoreThanTheyName) {
  TestClient client;
  client.cloud.add_key({.secret_id = client.id,
                        .secret_key = Secret(client.key),
                        .account = kUin,
                        .policy = guide_policy()});
  EXPECT_EQ(client.refused("DescribeListeners", kListeners), "");
  EXPECT_THAT(client.message("ModifyDomainAttributes", kListeners),
              testing::AllOf(HasSubstr("(clb:ModifyDomainAttributes)"),
                             HasSubstr("has no permission"), HasSubstr(kLb)));
  EXPECT_EQ(client.refused("CreateLoadBalancer"), "UnauthorizedOperation");
}

TEST(Page, ShowsTheStateAndNoSecret) {
  TestClient client;
  client.listeners({31000});
  const net::Reply page = client.cloud.handle(
      {.method = "GET", .url = "/", .headers = {{"Accept", "text/html"}}}, client.now);
  EXPECT_THAT(page.body, testing::AllOf(HasSubstr("lb-room0001"), HasSubstr("<table")));
  const net::Reply json = client.cloud.handle({.method = "GET", .url = "/dump"}, client.now);
  const auto parsed = wire::parse_json(json.body);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(wire::int_at(*parsed, "/loadBalancers/0/listeners/0/port"), 31000);
  for (const char* field : {"sni", "keepalive", "sessionType", "maxCps"})
    EXPECT_NE(wire::find(*parsed, std::string("/loadBalancers/0/listeners/0/") + field), nullptr)
        << field;
  EXPECT_NE(wire::array_at(*parsed, "/loadBalancers/0/snatIps"), nullptr);
  EXPECT_EQ(wire::int_at(*parsed, "/calls/CreateListener/answered"), 1);
  for (const std::string& text : {page.body, json.body}) EXPECT_THAT(text, Not(HasSubstr("Gu5t9")));
}

TEST(Page, ShowsHowRulesAreReached) {
  TestClient client;
  client.cloud.add_listener(kLb, {.protocol = "HTTPS",
                                  .port = 443,
                                  .sni = 1,
                                  .keepalive = 1,
                                  .rules = {{.id = "loc-1",
                                             .domains = {"a.example.com"},
                                             .url = "/",
                                             .forward_type = "GRPC",
                                             .http2 = true,
                                             .quic = true}}});
  const wire::Value dump = client.cloud.dump();
  const std::string at = "/loadBalancers/0/listeners/0";
  EXPECT_EQ(wire::int_at(dump, at + "/sni"), 1);
  EXPECT_EQ(wire::int_at(dump, at + "/keepalive"), 1);
  EXPECT_EQ(wire::string_at(dump, at + "/rules/0/forwardType"), "GRPC");
  EXPECT_EQ(wire::bool_at(dump, at + "/rules/0/http2"), true);
  EXPECT_EQ(wire::bool_at(dump, at + "/rules/0/quic"), true);
}

TEST(Page, WritesNamesAsText) {
  TestClient client;
  client.listeners({31000}, {{"ListenerNames", Array{"<script>"}}});
  const net::Reply page = client.cloud.handle(
      {.method = "GET", .url = "/", .headers = {{"Accept", "text/html"}}}, client.now);
  EXPECT_THAT(page.body, Not(HasSubstr("<script>")));
}

TEST(Cloud, GivesTheSameAnswersForTheSameCalls) {
  const auto run = [] {
    TestClient client;
    client.listeners({31000, 31001});
    return wire::to_json(client.cloud.dump());
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace berth::sim::tencent
