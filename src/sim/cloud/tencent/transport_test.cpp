// The cloud as a transport, on fibers under a virtual clock; and behind HTTPS, with real ones.
#include "sim/cloud/tencent/transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/threads.h"
#include "net/curl_transport.h"
#include "sim/cloud/tencent/https_frontend.h"
#include "sim/cloud/tencent/page.h"
#include "sim/cloud/tencent/test_client.h"
#include "sim/kernel/kernel.h"

namespace berth::sim::tencent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

// A call of the client, signed for that time and place.
net::Request call_at(TestClient& client, WallTime at, const std::string& url,
                     const std::string& host) {
  client.now = at;
  client.host = host;
  net::Request out = client.signed_request("DescribeQuota", "{}");
  out.url = url;
  return out;
}

class OnFibers : public testing::Test {
 protected:
  // Runs the body as a task, to its end.
  void run(const std::function<void(const Context&)>& body) {
    bool done = false;
    const auto task = kernel.world().spawn("caller", [&](std::stop_token stop) {
      body({.tasks = kernel.world(), .stop = stop});
      done = true;
    });
    const Result<> ran = kernel.run_until([&] { return done; });
    ASSERT_TRUE(ran) << ran.error().to_string();
  }
  net::Request request(const Context& context) {
    return call_at(client, context.tasks.wall_time(), "https://clb.tencentcloudapi.com",
                   "clb.tencentcloudapi.com");
  }

  Kernel kernel{1};
  TestClient client;
};

TEST_F(OnFibers, ACallTakesItsRoundTrip) {
  CloudTransport transport(client.cloud, {.round_trip = milliseconds{50}});
  run([&](const Context& context) {
    const Instant from = context.tasks.now();
    const auto response = transport.call(context, request(context));
    ASSERT_TRUE(response) << response.error().to_string();
    EXPECT_THAT(response->body, HasSubstr("TOTAL_LISTENER_QUOTA"));
    EXPECT_EQ(context.tasks.now() - from, milliseconds{50});
  });
}

TEST_F(OnFibers, ALostAnswerIsATimeoutAndNotLongerThanTheDeadline) {
  CloudTransport transport(client.cloud);
  client.cloud.inject({.kind = FaultKind::lose_reply, .count = 2});
  run([&](const Context& context) {
    const Instant from = context.tasks.now();
    const auto lost = transport.call(context, request(context));
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code, Code::timeout);
    EXPECT_EQ(context.tasks.now() - from, seconds{5});
    const auto sooner = transport.call(context.within(seconds{1}), request(context));
    ASSERT_FALSE(sooner);
    EXPECT_EQ(sooner.error().code, Code::timeout);
    EXPECT_EQ(context.tasks.now() - from, seconds{6});
  });
  EXPECT_EQ(client.cloud.calls().at("DescribeQuota").answered, 2u);
}

TEST_F(OnFibers, TheCloudMayHaveAClockOfItsOwn) {
  CloudTransport transport(client.cloud, {.clock = &kernel.world()});
  run([&](const Context& context) {
    client.skew = seconds{400};  // of the caller
    const auto refused = transport.call(context, request(context));
    ASSERT_TRUE(refused) << refused.error().to_string();
    EXPECT_THAT(refused->body, HasSubstr("AuthFailure.SignatureExpire"));
    EXPECT_EQ(refused->headers.get("Date"), http_date(kernel.world().wall_time()));
  });
}

TEST(OverHttps, AnswersWhoTrustsItsAuthority) {
  TestClient client;
  ThreadTasks tasks;
  const auto frontend = HttpsFrontend::start(tasks, client.cloud, {});
  ASSERT_TRUE(frontend) << frontend.error().to_string();
  net::CurlTransport transport;
  const Context context{.tasks = tasks};
  net::Request request =
      call_at(client, tasks.wall_time(), (*frontend)->url() + "/", (*frontend)->host());
  EXPECT_FALSE(transport.call(context.within(seconds{30}), request)) << "an unknown authority";
  auto tls = std::make_shared<net::TlsSettings>();
  tls->ca_pem = (*frontend)->ca_pem();
  request.tls = tls;
  const auto response = transport.call(context.within(seconds{30}), request);
  ASSERT_TRUE(response) << response.error().to_string();
  EXPECT_EQ(response->status, 200);
  EXPECT_THAT(response->body, HasSubstr("TOTAL_LISTENER_QUOTA"));
}

}  // namespace
}  // namespace berth::sim::tencent
