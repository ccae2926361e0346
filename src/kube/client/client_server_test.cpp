// The client, a kubeconfig and our own HTTPS server together, over loopback.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "base/file.h"
#include "base/threads.h"
#include "crypto/certificates.h"
#include "kube/client/client.h"
#include "net/curl_transport.h"
#include "net/server.h"

namespace berth::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

const ObjectKey kRoom{"games", "room-0"};

class ClientServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "/berth-client-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    const WallTime start = tasks_.wall_time() - 1h;
    authority_ =
        crypto::make_authority({.common_name = "ca", .not_before = start, .lifetime = 24h}).value();
    client_pair_ = crypto::issue_certificate(authority_, {.common_name = "ann",
                                                          .organizations = {"admins"},
                                                          .not_before = start,
                                                          .lifetime = 24h,
                                                          .client = true})
                       .value();
    server_pair_ = crypto::issue_certificate(authority_, {.common_name = "api",
                                                          .ip_addresses = {"127.0.0.1"},
                                                          .not_before = start,
                                                          .lifetime = 24h})
                       .value();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void serve(net::Handler handler) {
    auto started = net::Server::start(
        {.certificate = std::make_shared<const net::ServerCertificate>(net::ServerCertificate{
             .chain_pem = server_pair_.certificate_pem, .key_pem = server_pair_.key_pem}),
         .client_ca_pem = authority_.certificate_pem,
         .drain = 1s},
        std::move(handler));
    ASSERT_TRUE(started) << started.error().to_string();
    server_ = *std::move(started);
  }

  void write(const std::string& name, std::string_view content) {
    ASSERT_TRUE(write_file(folder_ + "/" + name, content, 0600));
  }

  Client client(std::string_view user, std::string_view cluster_extra = "",
                ClientOptions options = {}) {
    write("ca.crt", authority_.certificate_pem);
    write("config", fmt::format("current-context: x\n"
                                "clusters:\n- name: c\n  cluster: {{server: "
                                "'https://127.0.0.1:{}', certificate-authority: ca.crt{}}}\n"
                                "users: [{{name: u, user: {{{}}}}}]\n"
                                "contexts: [{{name: x, context: {{cluster: c, user: u}}}}]\n",
                                server_->port(), cluster_extra, user));
    auto config = load_kubeconfig({folder_ + "/config"}, "");
    EXPECT_TRUE(config) << config.error().to_string();
    return Client(transport_, config.value(), std::move(options));
  }

  std::string folder_;
  ThreadTasks tasks_;
  Context context_{.tasks = tasks_};
  crypto::KeyPair authority_, client_pair_, server_pair_;
  net::CurlTransport transport_;
  std::unique_ptr<net::Server> server_;
};

TEST_F(ClientServerTest, AClientCertificateSaysWhoWeAre) {
  serve([](const net::Request& request, const net::Peer& peer, std::stop_token) {
    return net::Reply{.body = fmt::format(R"({{"who":"{}","path":"{}","method":"{}","body":{}}})",
                                          peer.certificate_common_name, request.url, request.method,
                                          request.body.empty() ? "null" : request.body)};
  });
  write("u.crt", client_pair_.certificate_pem);
  write("u.key", client_pair_.key_pem.reveal());
  Client c = client("client-certificate: u.crt, client-key: u.key");
  const auto got = c.get(context_, types::kPod, kRoom);
  ASSERT_TRUE(got) << got.error().to_string();
  EXPECT_EQ(wire::string_at(*got, "/who"), "ann");
  EXPECT_EQ(wire::string_at(*got, "/path"), "/api/v1/namespaces/games/pods/room-0");

  const auto patched = c.patch(context_, types::kPod, kRoom, PatchType::merge,
                               wire::parse_json(R"({"a":"é"})").value());
  ASSERT_TRUE(patched) << patched.error().to_string();
  EXPECT_EQ(wire::string_at(*patched, "/method"), "PATCH");
  EXPECT_EQ(wire::string_at(*patched, "/body/a"), "é");
}

TEST_F(ClientServerTest, ARotatedTokenIsPickedUpAfterA401) {
  std::atomic<bool> rotated = false;
  serve([&](const net::Request& request, const net::Peer&, std::stop_token) {
    const std::string_view good = rotated ? "Bearer new" : "Bearer old";
    if (request.headers.get("authorization") != good) return net::Reply{.status = 401};
    return net::Reply{.body = "{}"};
  });
  write("token", "old");
  Client c = client("tokenFile: token");
  ASSERT_TRUE(c.get(context_, types::kPod, kRoom));
  rotated = true;
  EXPECT_EQ(c.get(context_, types::kPod, kRoom).error().code, Code::unauthorized);
  write("token", "new");
  const auto got = c.get(context_, types::kPod, kRoom);
  EXPECT_TRUE(got) << got.error().to_string();
}

TEST_F(ClientServerTest, RetryAfterAndStatusCrossTheWire) {
  std::atomic<int> asked = 0;
  serve([&](const net::Request&, const net::Peer&, std::stop_token) {
    if (asked++ == 0) return net::Reply{.status = 429, .headers = {{"Retry-After", "0"}}};
    return net::Reply{
        .status = 404,
        .headers = {{"Audit-Id", "a-1"}},
        .body =
            R"({"kind":"Status","reason":"NotFound","message":"gone","details":{"name":"room-0","kind":"pods"},"code":404})"};
  });
  const auto got = client("").get(context_, types::kPod, kRoom);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().to_string(), "not_found: pods \"room-0\": gone (request a-1)");
  EXPECT_EQ(asked, 2);
}

TEST_F(ClientServerTest, AStreamIsReadAsItArrives) {
  const auto pipe = std::make_shared<net::BytePipe>(1 << 20);
  serve([&](const net::Request&, const net::Peer&, std::stop_token) {
    return net::Reply{.stream = pipe};
  });
  auto stream = client("").open(context_, "/api/v1/pods?watch=1", "application/json");
  ASSERT_TRUE(stream) << stream.error().to_string();
  for (const std::string event : {"one\n", "two\n"}) {
    ASSERT_TRUE(pipe->write(event));
    EXPECT_EQ((*stream)->read(context_.within(30s)).value(), event);
  }
  pipe->close();
  EXPECT_EQ((*stream)->read(context_.within(30s)).value(), std::nullopt);
}

TEST_F(ClientServerTest, AServerThatIsNotTrustedIsRefused) {
  serve([](const net::Request&, const net::Peer&, std::stop_token) { return net::Reply{}; });
  const auto got =
      client("", ", tls-server-name: other.example").get(context_.within(10s), types::kPod, kRoom);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::unavailable);
  EXPECT_THAT(got.error().to_string(), HasSubstr("certificate"));
}

}  // namespace
}  // namespace berth::kube
