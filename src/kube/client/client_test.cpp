#include "kube/client/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/client/retry.h"
#include "kube/client/test_fake_transport.h"

namespace berth::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using testing::FakeTransport;
using ::testing::HasSubstr;
using testing::JumpingTasks;

const ObjectKey kRoom{"games", "room-0"};
constexpr std::string_view kPods = "https://api:6443/api/v1/namespaces/games/pods";

// Hands out "token-1" and, after each rejection, the next number.
class CountingCredentials final : public Credentials {
 public:
  Result<Identity> identity(const Context&) override {
    if (broken) return fail(Code::not_found, "no such file");
    return Identity{.tls = {}, .bearer_token = Secret(fmt::format("token-{}", 1 + rejections))};
  }
  void rejected(const Identity&) override { ++rejections; }
  int rejections = 0;
  bool broken = false;
};

class ClientTest : public ::testing::Test {
 protected:
  Client client(ClientOptions options = {}) {
    auto config = std::make_shared<ClusterConfig>();
    config->server = "https://api:6443";
    config->credentials = credentials_;
    return Client(transport_, config, std::move(options));
  }
  const net::Request& last() const { return transport_.requests.back(); }
  std::size_t sent() const { return transport_.requests.size(); }

  FakeTransport transport_;
  JumpingTasks tasks_;
  Context context_{.tasks = tasks_};
  std::shared_ptr<CountingCredentials> credentials_ = std::make_shared<CountingCredentials>();
};

wire::Value object(std::string_view text) { return wire::parse_json(text).value(); }

TEST_F(ClientTest, GetAsksForOneObject) {
  transport_.answer(200, R"({"metadata":{"name":"room-0"}})").answer(200);
  const auto pod = client({.user_agent = "berth/1.2"}).get(context_, types::kPod, kRoom);
  ASSERT_TRUE(pod) << pod.error().to_string();
  EXPECT_EQ(wire::string_at(*pod, "/metadata/name"), "room-0");
  EXPECT_EQ(last().method, "GET");
  EXPECT_EQ(last().url, std::string(kPods) + "/room-0");
  EXPECT_EQ(last().headers.get("accept"), "application/json");
  EXPECT_EQ(last().headers.get("user-agent"), "berth/1.2");
  EXPECT_EQ(last().headers.get("authorization"), "Bearer token-1");
  EXPECT_EQ(last().headers.get("content-type"), "");

  ASSERT_TRUE(client().get(context_, types::kPod, kRoom, {.resource_version = "0"}));
  EXPECT_EQ(last().url, std::string(kPods) + "/room-0?resourceVersion=0");
}

TEST_F(ClientTest, BasicAuthenticationIsSent) {
  transport_.answer(200);
  Client basic(transport_, fixed_config("http://h/prefix/", {.tls = {},
                                                             .bearer_token = {},
                                                             .basic_user = "ann",
                                                             .basic_password = Secret("pw")}));
  ASSERT_TRUE(basic.get(context_, types::kNode, {"", "n"}));
  EXPECT_EQ(last().headers.get("authorization"), "Basic YW5uOnB3");
  EXPECT_EQ(last().url, "http://h/prefix/api/v1/nodes/n");
}

TEST_F(ClientTest, ListTakesEverySelector) {
  transport_.answer(200, R"({"metadata":{"resourceVersion":"77","continue":"c"},
                             "items":[{"a":1},{"a":2}]})");
  const auto page = client().list(context_, types::kPod,
                                  {.ns = "games",
                                   .label_selector = "app=room,tier in (a,b)",
                                   .field_selector = "spec.nodeName=n1",
                                   .resource_version = "5",
                                   .resource_version_match = "NotOlderThan",
                                   .limit = 2});
  ASSERT_TRUE(page) << page.error().to_string();
  EXPECT_EQ(page->items.size(), 2u);
  EXPECT_EQ(page->resource_version, 77u);
  EXPECT_EQ(page->continue_token, "c");
  EXPECT_EQ(last().url, std::string(kPods) +
                            "?labelSelector=app%3Droom%2Ctier%20in%20%28a%2Cb%29"
                            "&fieldSelector=spec.nodeName%3Dn1&resourceVersion=5"
                            "&resourceVersionMatch=NotOlderThan&limit=2");
}

TEST_F(ClientTest, ListAcceptsNullAndRefusesNonsense) {
  transport_.answer(200, R"({"metadata":{"resourceVersion":"7"},"items":null})");
  EXPECT_TRUE(client().list(context_, types::kPod).value().items.empty());
  for (const std::string_view bad :
       {R"({"items":[]})", R"({"metadata":{"resourceVersion":"x"},"items":[]})",
        R"({"metadata":{"resourceVersion":"7"},"items":{}})", "[]", "<html>", ""}) {
    transport_.answer(200, std::string(bad));
    const auto page = client().list(context_, types::kPod);
    ASSERT_FALSE(page) << bad;
    EXPECT_EQ(page.error().code, Code::internal) << bad;
  }
}

TEST_F(ClientTest, ListAllFollowsTheTokens) {
  transport_.answer(200, R"({"metadata":{"resourceVersion":"9","continue":"c1"},"items":[1]})")
      .answer(200, R"({"metadata":{"resourceVersion":"9","continue":"c2"},"items":[2]})")
      .answer(200, R"({"metadata":{"resourceVersion":"9"},"items":[3]})");
  const auto all = client().list_all(context_, types::kPod, {.resource_version = "0"});
  ASSERT_TRUE(all) << all.error().to_string();
  EXPECT_EQ(all->items.size(), 3u);
  EXPECT_EQ(all->resource_version, 9u);
  EXPECT_EQ(all->continue_token, "");
  EXPECT_THAT(transport_.requests[0].url, HasSubstr("?resourceVersion=0&limit=500"));
  EXPECT_THAT(transport_.requests[1].url, HasSubstr("?limit=500&continue=c1"));
  EXPECT_THAT(transport_.requests[2].url, HasSubstr("?limit=500&continue=c2"));
}

TEST_F(ClientTest, ListAllStartsOneFullListWhenTheTokenExpires) {
  transport_.answer(200, R"({"metadata":{"resourceVersion":"9","continue":"c1"},"items":[1]})")
      .answer(410, R"({"kind":"Status","reason":"Expired","code":410})")
      .answer(200, R"({"metadata":{"resourceVersion":"12"},"items":[5,6]})");
  const auto all = client().list_all(context_, types::kPod, {.label_selector = "a"});
  ASSERT_TRUE(all) << all.error().to_string();
  EXPECT_EQ(all->items.size(), 2u);
  EXPECT_EQ(all->resource_version, 12u);
  EXPECT_EQ(last().url, "https://api:6443/api/v1/pods?labelSelector=a");
}

TEST_F(ClientTest, ListAllDoesNotPageAtAVersion) {
  transport_.answer(200, R"({"metadata":{"resourceVersion":"9"},"items":[]})");
  ASSERT_TRUE(client().list_all(context_, types::kPod, {.resource_version = "5"}));
  EXPECT_EQ(last().url, "https://api:6443/api/v1/pods?resourceVersion=5");
}

TEST_F(ClientTest, ListAllGivesUpOnATokenThatStays) {
  for (int i = 0; i < 3; ++i)
    transport_.answer(200, R"({"metadata":{"resourceVersion":"9","continue":"c"},"items":[]})");
  const auto all = client().list_all(context_, types::kPod);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, Code::internal);
}

TEST_F(ClientTest, WritesGoToTheirPaths) {
  const auto pod = object(R"({"metadata":{"namespace":"games","name":"room-0"}})");
  const auto generated = object(R"({"metadata":{"namespace":"games","generateName":"room-"}})");
  for (int i = 0; i < 5; ++i) transport_.answer(201);
  Client c = client();
  ASSERT_TRUE(c.create(context_, types::kPod, pod));
  EXPECT_EQ(last().method, "POST");
  EXPECT_EQ(last().url, std::string(kPods) + "?fieldManager=berth");
  EXPECT_EQ(last().headers.get("content-type"), "application/json");
  EXPECT_EQ(object(last().body), pod);
  ASSERT_TRUE(c.create(context_, types::kPod, generated, {.field_manager = "", .dry_run = true}));
  EXPECT_EQ(last().url, std::string(kPods) + "?dryRun=All");
  ASSERT_TRUE(c.create(context_, types::kPod, pod, {.subresource = "eviction"}));
  EXPECT_EQ(last().url, std::string(kPods) + "/room-0/eviction?fieldManager=berth");
  ASSERT_TRUE(c.update(context_, types::kPod, pod, {.strict = true}));
  EXPECT_EQ(last().method, "PUT");
  EXPECT_EQ(last().url, std::string(kPods) + "/room-0?fieldManager=berth&fieldValidation=Strict");
  ASSERT_TRUE(c.update(context_, types::kPod, pod, {.subresource = "status"}));
  EXPECT_EQ(last().url, std::string(kPods) + "/room-0/status?fieldManager=berth");
}

TEST_F(ClientTest, PatchesCarryTheirContentType) {
  struct Case {
    PatchType type;
    std::string_view content_type, query;
  };
  const Case cases[] = {
      {PatchType::json, "application/json-patch+json", "?fieldManager=berth"},
      {PatchType::merge, "application/merge-patch+json", "?fieldManager=berth"},
      {PatchType::strategic, "application/strategic-merge-patch+json", "?fieldManager=berth"},
      {PatchType::apply, "application/apply-patch+yaml", "?fieldManager=berth&force=true"},
  };
  for (const Case& c : cases) {
    transport_.answer(200);
    ASSERT_TRUE(
        client().patch(context_, types::kPod, kRoom, c.type, object("{}"), {.force = true}));
    EXPECT_EQ(last().method, "PATCH");
    EXPECT_EQ(last().url, fmt::format("{}/room-0{}", kPods, c.query));
    EXPECT_EQ(last().headers.get("content-type"), c.content_type);
  }
}

TEST_F(ClientTest, AFailedTestIsAPrecondition) {
  constexpr std::string_view kNoCauses =
      R"({"kind":"Status","message":"the server rejected our request due to an error in our request","reason":"Invalid","details":{},"code":422})";
  constexpr std::string_view kCauses =
      R"({"kind":"Status","message":"bad","reason":"Invalid","details":{"causes":[{"message":"m","field":"spec.x"}]},"code":422})";
  constexpr std::string_view kWithTest =
      R"([{"op":"test","path":"/a","value":""},{"op":"remove","path":"/a"}])";
  constexpr std::string_view kWithoutTest = R"([{"op":"remove","path":"/a"}])";
  struct Case {
    std::string_view answer, patch;
    PatchType type;
    Code want;
  };
  const Case cases[] = {
      {kNoCauses, kWithTest, PatchType::json, Code::precondition},
      {kCauses, kWithTest, PatchType::json, Code::invalid},
      {kNoCauses, kWithoutTest, PatchType::json, Code::invalid},
      {kNoCauses, "{}", PatchType::merge, Code::invalid},
  };
  for (const Case& c : cases) {
    transport_.answer(422, std::string(c.answer));
    const auto patched = client().patch(context_, types::kPod, kRoom, c.type, object(c.patch));
    ASSERT_FALSE(patched);
    EXPECT_EQ(traits_of(patched.error().code).name, traits_of(c.want).name) << c.patch;
    EXPECT_EQ(patched.error().object, "pods \"room-0\"");
  }
}

TEST_F(ClientTest, RemoveSendsItsOptions) {
  transport_.answer(200, R"({"kind":"Status","status":"Success"})")
      .answer(202, R"({"kind":"Pod"})");
  ASSERT_TRUE(client().remove(context_, types::kPod, kRoom));
  EXPECT_EQ(last().method, "DELETE");
  EXPECT_EQ(last().url, std::string(kPods) + "/room-0");
  EXPECT_EQ(
      object(last().body),
      object(R"({"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Background"})"));
  ASSERT_TRUE(client().remove(context_, types::kPod, kRoom,
                              {.uid = "u1",
                               .resource_version = "7",
                               .propagation = "Orphan",
                               .grace_seconds = 0,
                               .dry_run = true}));
  EXPECT_EQ(object(last().body),
            object(R"({"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Orphan",
                       "gracePeriodSeconds":0,"dryRun":["All"],
                       "preconditions":{"uid":"u1","resourceVersion":"7"}})"));
}

TEST_F(ClientTest, APreconditionOfADeleteThatDoesNotHold) {
  const std::string conflict = R"({"kind":"Status","reason":"Conflict","code":409})";
  transport_.answer(409, conflict).answer(409, conflict);
  EXPECT_EQ(client().remove(context_, types::kPod, kRoom, {.uid = "u"}).error().code,
            Code::precondition);
  EXPECT_EQ(client().remove(context_, types::kPod, kRoom).error().code, Code::conflict);
}

// An empty name would address the whole collection.
TEST_F(ClientTest, NamesThatLeaveThePathAreRefused) {
  Client c = client();
  for (const ObjectKey& key :
       {ObjectKey{"games", ""}, ObjectKey{"", "room-0"}, ObjectKey{"games", ".."},
        ObjectKey{"games", "a/b"}, ObjectKey{".", "room-0"}, ObjectKey{"games", "a%2fb"}}) {
    SCOPED_TRACE(key.to_string());
    const wire::Value body =
        wire::parse_json(
            fmt::format(R"({{"metadata":{{"namespace":"{}","name":"{}"}}}})", key.ns, key.name))
            .value();
    EXPECT_EQ(c.get(context_, types::kPod, key).error().code, Code::invalid);
    EXPECT_EQ(c.remove(context_, types::kPod, key).error().code, Code::invalid);
    EXPECT_EQ(c.update(context_, types::kPod, body).error().code, Code::invalid);
    EXPECT_EQ(c.patch(context_, types::kPod, key, PatchType::merge, body).error().code,
              Code::invalid);
  }
  EXPECT_EQ(c.create(context_, types::kPod, object("{}")).error().to_string(),
            "invalid: pods: metadata.namespace: must be set");
  EXPECT_EQ(sent(), 0u);
}

TEST_F(ClientTest, RetryAfterIsObeyed) {
  transport_.answer(429, "", {{"Retry-After", "2"}})
      .answer(503, "", {{"Retry-After", "3"}})
      .answer(200);
  ASSERT_TRUE(client().get(context_, types::kPod, kRoom));
  EXPECT_THAT(tasks_.pauses, ElementsAre(2s, 3s));
}

TEST_F(ClientTest, RetriesEnd) {
  for (int i = 0; i < 5; ++i) transport_.answer(429, "", {{"Retry-After", "1"}});
  const auto got = client({.max_retries = 3}).get(context_, types::kPod, kRoom);
  EXPECT_EQ(got.error().code, Code::throttled);
  EXPECT_EQ(got.error().retry_after, 1s);
  EXPECT_EQ(sent(), 4u);
}

TEST_F(ClientTest, NoPauseGoesPastTheDeadline) {
  for (int i = 0; i < 5; ++i) transport_.answer(429, "", {{"Retry-After", "10"}});
  const auto got = client().get(context_.within(25s), types::kPod, kRoom);
  EXPECT_EQ(got.error().code, Code::throttled);
  EXPECT_THAT(tasks_.pauses, ElementsAre(10s, 10s));
}

TEST_F(ClientTest, AStopEndsThePause) {
  std::stop_source source;
  context_.stop = source.get_token();
  tasks_.on_pause = [&] { source.request_stop(); };
  transport_.answer(429, "", {{"Retry-After", "1"}}).answer(200);
  EXPECT_EQ(client().get(context_, types::kPod, kRoom).error().code, Code::stopped);
  EXPECT_EQ(sent(), 1u);
}

TEST_F(ClientTest, ALostReadIsRepeatedAndALostWriteIsNot) {
  transport_.fail_with(Code::unavailable).answer(200);
  ASSERT_TRUE(client().get(context_, types::kPod, kRoom));
  EXPECT_THAT(tasks_.pauses, ElementsAre(kReconnectPause));

  transport_.fail_with(Code::unavailable).answer(200);
  const auto patched = client().patch(context_, types::kPod, kRoom, PatchType::merge, object("{}"));
  EXPECT_EQ(patched.error().code, Code::unavailable);
  EXPECT_EQ(patched.error().object, "pods \"room-0\"");
  EXPECT_FALSE(transport_.done());
}

TEST_F(ClientTest, AWriteThatWasTurnedAwayIsRepeated) {
  transport_.answer(429, "", {{"Retry-After", "1"}}).answer(201);
  ASSERT_TRUE(client().create(context_, types::kNode, object(R"({"metadata":{"name":"n"}})")));
  transport_.answer(500, "", {{"Retry-After", "1"}}).answer(201);
  EXPECT_EQ(
      client().create(context_, types::kNode, object(R"({"metadata":{"name":"n"}})")).error().code,
      Code::unavailable);
}

TEST_F(ClientTest, A401IsTriedOnceWithNewCredentials) {
  transport_.answer(401).answer(200);
  ASSERT_TRUE(client().get(context_, types::kPod, kRoom));
  EXPECT_EQ(last().headers.get("authorization"), "Bearer token-2");
  EXPECT_EQ(credentials_->rejections, 1);

  transport_.answer(401).answer(401).answer(200);
  EXPECT_EQ(client().get(context_, types::kPod, kRoom).error().code, Code::unauthorized);
  EXPECT_EQ(credentials_->rejections, 3);
  EXPECT_FALSE(transport_.done());
}

TEST_F(ClientTest, MissingCredentialsNeverReadAsAMissingObject) {
  credentials_->broken = true;
  const auto got = client().get(context_, types::kPod, kRoom);
  EXPECT_EQ(got.error().to_string(),
            "unauthorized: pods \"room-0\": no credentials for api:6443: caused by not_found: no "
            "such file");
  EXPECT_EQ(sent(), 0u);
}

TEST_F(ClientTest, ACallHasATimeoutOfItsOwn) {
  transport_.answer(200).answer(200);
  ASSERT_TRUE(client({.call_timeout = 7s}).get(context_, types::kPod, kRoom));
  EXPECT_EQ(transport_.deadlines.back(), tasks_.now() + 7s);
  ASSERT_TRUE(client({.call_timeout = 7s}).get(context_.within(2s), types::kPod, kRoom));
  EXPECT_EQ(transport_.deadlines.back(), tasks_.now() + 2s);
}

TEST_F(ClientTest, RawGetGivesTheBody) {
  transport_.answer(200, "ok").answer(404, "404 page not found\n");
  EXPECT_EQ(client().raw_get(context_, "/readyz?verbose").value(), "ok");
  EXPECT_EQ(last().url, "https://api:6443/readyz?verbose");
  const auto missing = client().raw_get(context_, "/apis/none/v1");
  EXPECT_EQ(missing.error().code, Code::unsupported);
  EXPECT_EQ(missing.error().object, "/apis/none/v1");
}

TEST_F(ClientTest, OpenGivesTheStreamOrTheErrorInIt) {
  transport_.answer(200, "event").answer(401).answer(200, "event");
  auto stream = client().open(context_, "/api/v1/pods?watch=1", "application/x");
  ASSERT_TRUE(stream) << stream.error().to_string();
  EXPECT_EQ((*stream)->read(context_).value(), "event");
  EXPECT_EQ(last().headers.get("accept"), "application/x");
  ASSERT_TRUE(client().open(context_, "/api/v1/pods?watch=1", "application/x"));
  EXPECT_EQ(last().headers.get("authorization"), "Bearer token-2");

  transport_.answer(410, R"({"kind":"Status","reason":"Expired","code":410})")
      .answer(429, "", {{"Retry-After", "4"}});
  const auto expired = client().open(context_, "/api/v1/pods?watch=1", "application/x");
  EXPECT_EQ(expired.error().code, Code::expired);
  EXPECT_EQ(expired.error().object, "/api/v1/pods");
  const auto throttled = client().open(context_, "/api/v1/pods?watch=1", "application/x");
  EXPECT_EQ(throttled.error().retry_after, 4s);
  EXPECT_TRUE(tasks_.pauses.empty());
}

TEST_F(ClientTest, RequestsAreCounted) {
  metrics::Registry registry;
  transport_.answer(404).answer(200).fail_with(Code::timeout);
  Client c = client({.registry = &registry});
  (void)c.get(context_, types::kPod, kRoom);
  (void)c.get(context_, types::kPod, kRoom);
  (void)c.get(context_, types::kPod, kRoom);
  const std::string text = registry.text();
  for (const std::string_view code : {"404", "200", "<error>"}) {
    EXPECT_EQ(registry
                  .counter("rest_client_requests_total", "Requests to the API server by status.",
                           {{"code", std::string(code)}, {"method", "GET"}, {"host", "api:6443"}})
                  .value(),
              1)
        << code;
  }
  EXPECT_THAT(text, HasSubstr("rest_client_request_duration_seconds_count{host=\"api:6443\","
                              "verb=\"GET\"} 3"));
}

}  // namespace
}  // namespace berth::kube
