// The server over HTTPS with our own client: certificates, watches, webhooks, many requests at
// once.
#include "sim/kube/https_frontend.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/encoding.h"
#include "base/threads.h"
#include "net/curl_transport.h"
#include "wire/value.h"
#include "wire/yaml.h"

namespace berth::sim::kube {
namespace {

constexpr const char* kConfigMapsUrl = "/api/v1/namespaces/default/configmaps";

// Few, so that requests can use them up.
constexpr int kHandlerThreads = 4;

// An AdmissionReview that answers the one in the request.
std::string review_of(const net::Request& request, wire::Object response) {
  const wire::Value review = wire::parse_json(request.body).value();
  response["uid"] = review.at("request").at("uid");
  return wire::to_json(wire::Object{{"apiVersion", "admission.k8s.io/v1"},
                                    {"kind", "AdmissionReview"},
                                    {"response", std::move(response)}});
}

struct HttpsFrontendTest : testing::Test {
  void SetUp() override {
    HttpsOptions options;
    options.handler_threads = kHandlerThreads;
    options.transport = &transport;
    options.server.access.allow_anonymous = false;
    options.resolve_service = [this](std::string_view, std::string_view name, std::uint16_t) {
      return name == "hook" ? std::optional(hook_url) : std::nullopt;
    };
    front = HttpsFrontend::start(tasks, std::move(options)).value();
    const crypto::KeyPair client = front->issue_client("admin", {"system:masters"}).value();
    tls = std::make_shared<net::TlsSettings>();
    tls->ca_pem = front->ca_pem();
    tls->cert_pem = client.certificate_pem;
    tls->key_pem = client.key_pem;
  }

  net::Request request(std::string method, std::string path, std::string body = {}) const {
    return {.method = std::move(method),
            .url = front->url() + path,
            .headers = {{"Content-Type", "application/json"}},
            .body = std::move(body),
            .tls = tls};
  }
  net::Response call(std::string method, std::string path, std::string body = {}) {
    Result<net::Response> response =
        transport.call(context, request(std::move(method), std::move(path), std::move(body)));
    EXPECT_TRUE(response) << response.error().to_string();
    return response ? std::move(*response) : net::Response{};
  }

  void register_hook() {
    const net::Response made =
        call("POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
             R"({"metadata":{"name":"w"},"webhooks":[{"name":"a.b.c","sideEffects":"None",)"
             R"("admissionReviewVersions":["v1"],)"
             R"("clientConfig":{"service":{"namespace":"x","name":"hook","path":"/check"}},)"
             R"("rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],)"
             R"("resources":["configmaps"]}]}]})");
    ASSERT_EQ(made.status, 201) << made.body;
  }

  ThreadTasks tasks;
  Context context = Context{.tasks = tasks}.within(std::chrono::seconds{60});
  net::CurlTransport transport;
  std::string hook_url;
  std::unique_ptr<HttpsFrontend> front;
  std::shared_ptr<net::TlsSettings> tls;
};

TEST_F(HttpsFrontendTest, KnowsClientsByCertificate) {
  EXPECT_EQ(call("GET", "/readyz").body, "ok");
  net::Request stranger = request("GET", "/readyz");
  auto bare = std::make_shared<net::TlsSettings>();
  bare->ca_pem = front->ca_pem();
  stranger.tls = bare;
  EXPECT_EQ(transport.call(context, stranger).value().status, 401);
}

TEST_F(HttpsFrontendTest, StreamsWatches) {
  auto stream =
      transport.open(context, request("GET", std::string(kConfigMapsUrl) + "?watch=1")).value();
  EXPECT_EQ(stream->status(), 200);
  EXPECT_EQ(call("POST", kConfigMapsUrl, R"({"metadata":{"name":"a"}})").status, 201);
  std::string seen;
  while (seen.find('\n') == std::string::npos) seen += stream->read(context).value().value();
  EXPECT_NE(seen.find(R"({"type":"ADDED")"), std::string::npos);
  front->server().drop_watches();
  EXPECT_FALSE(stream->read(context).value().has_value());
}

TEST_F(HttpsFrontendTest, ServesManyAtOnce) {
  constexpr int kClients = 8;
  constexpr int kEach = 10;
  {
    std::vector<std::unique_ptr<Task>> clients;
    for (int c = 0; c < kClients; ++c) {
      clients.push_back(tasks.spawn("client", [&, c](std::stop_token) {
        for (int i = 0; i < kEach; ++i) {
          const std::string name = fmt::format("x-{}-{}", c, i);
          EXPECT_EQ(
              call("POST", kConfigMapsUrl, R"({"metadata":{"name":")" + name + R"("}})").status,
              201);
          net::Request patch = request("PATCH", std::string(kConfigMapsUrl) + "/x-0-0",
                                       fmt::format(R"({{"data":{{"{}":"1"}}}})", name));
          patch.headers.set("Content-Type", "application/merge-patch+json");
          if (c > 0 || i > 0) (void)transport.call(context, patch);
          EXPECT_EQ(call("GET", kConfigMapsUrl).status, 200);
        }
      }));
    }
    for (const auto& client : clients) client->join();
  }
  const wire::Value list = wire::parse_json(call("GET", kConfigMapsUrl).body).value();
  EXPECT_EQ(wire::array_at(list, "/items")->size(), static_cast<std::size_t>(kClients * kEach));
}

TEST_F(HttpsFrontendTest, CallsWebhooksOfServices) {
  auto hook =
      net::Server::start({}, [](const net::Request& got, const net::Peer&, std::stop_token) {
        return net::Reply{
            .body = review_of(got, {{"allowed", false},
                                    {"status", wire::Object{{"message", "called " + got.url}}}})};
      }).value();
  hook_url = fmt::format("http://127.0.0.1:{}", hook->port());
  register_hook();
  const net::Response refused = call("POST", kConfigMapsUrl, R"({"metadata":{"name":"a"}})");
  EXPECT_NE(refused.body.find("denied the request: called /check?timeout=10s"), std::string::npos)
      << refused.body;
}

// More requests wait for a webhook than there are threads, and the webhook asks the server back.
TEST_F(HttpsFrontendTest, WebhooksThatCallBackDoNotStarve) {
  auto hook =
      net::Server::start({}, [this](const net::Request& got, const net::Peer&, std::stop_token) {
        const bool found = call("GET", "/api/v1/namespaces/default").status == 200;
        return net::Reply{.body = review_of(got, {{"allowed", found}})};
      }).value();
  hook_url = fmt::format("http://127.0.0.1:{}", hook->port());
  register_hook();
  std::vector<std::unique_ptr<Task>> clients;
  for (int c = 0; c < 5 * kHandlerThreads; ++c) {
    clients.push_back(tasks.spawn("client", [&, c](std::stop_token) {
      const std::string body = fmt::format(R"({{"metadata":{{"name":"c-{}"}}}})", c);
      int status = 429;
      while (status == 429 && !context.expired()) {
        status = call("POST", kConfigMapsUrl, body).status;
      }
      EXPECT_EQ(status, 201);
    }));
  }
  for (const auto& client : clients) client->join();
}

TEST_F(HttpsFrontendTest, WritesAKubeconfig) {
  const wire::Value config = wire::parse_yaml(front->kubeconfig("ann", {"dev"}).value()).value();
  EXPECT_EQ(wire::string_at(config, "/clusters/0/cluster/server"), front->url());
  const std::string pem =
      base64_decode(wire::string_at(config, "/users/0/user/client-certificate-data")).value();
  const crypto::CertificateInfo info = crypto::describe_certificate(pem).value();
  EXPECT_EQ(info.common_name, "ann");
  EXPECT_EQ(info.organizations, std::vector<std::string>{"dev"});
}

}  // namespace
}  // namespace berth::sim::kube
