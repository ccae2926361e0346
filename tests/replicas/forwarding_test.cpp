// What only the leader answers, asked at any replica: two controllers with a server of a module,
// each with its own sockets, on one embedded API server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/json.hpp>

#include "app/serve.h"
#include "base/file.h"
#include "base/threads.h"
#include "kube/client/client.h"
#include "modules/core/module.h"
#include "net/curl_transport.h"
#include "net/url.h"
#include "sim/kube/https_frontend.h"
#include "support/eventually.h"
#include "support/scratch_dir.h"

namespace berth::app {
namespace {

using std::chrono_literals::operator""ms;
using berth::testing::ScratchDir;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr std::chrono::milliseconds kPatience{60'000};
constexpr std::size_t kMaxBody = 4096;
constexpr int kEverything = 1'000'000'000;

template <class Condition>
bool eventually(Condition condition) {
  return berth::testing::eventually(kPatience, std::move(condition));
}

// --- a module that hands out numbers

module::Declaration declare_tickets(const Config&) {
  return {.name = "tickets",
          .about = "hands out numbers",
          .servers = {{.name = "tickets", .leader_only = true, .max_body_bytes = kMaxBody}}};
}

// "slow" waits until who asked has gone.
std::atomic<int> slow_began = 0, slow_ended = 0;

net::Reply answer(const std::string& identity, const net::Request& request, const net::Peer& peer,
                  const std::stop_token& stop) {
  if (request.url == "/slow") {
    ++slow_began;
    (void)eventually([&] { return stop.stop_requested(); });
    ++slow_ended;
  }
  return {
      .status = 201,
      .headers = {{"X-By", identity}},
      .body = fmt::format("{} {} {} {}", request.method, request.url, request.body, peer.address)};
}

std::shared_ptr<void> build_tickets(module::Platform& platform) {
  platform.answers.push_back(
      {"tickets", [identity = platform.config.identity](
                      const net::Request& request, const net::Peer& peer, std::stop_token stop) {
         return answer(identity, request, peer, stop);
       }});
  return nullptr;
}

constexpr module::Module kModules[] = {
    {modules::core::declare, modules::core::build},
    {declare_tickets, build_tickets},
};

// --- replicas

// Its way to the API server can be cut.
class CutTransport final : public net::Transport {
 public:
  Result<net::Response> call(const Context& context, const net::Request& request) override {
    if (cut) return fail(Code::unavailable, "cut");
    return inner_.call(context, request);
  }
  Result<std::unique_ptr<net::Stream>> open(const Context& context,
                                            const net::Request& request) override {
    if (cut) return fail(Code::unavailable, "cut");
    return inner_.open(context, request);
  }

  std::atomic<bool> cut = false;

 private:
  net::CurlTransport inner_;
};

class Replica {
 public:
  Replica(Tasks& tasks, const std::shared_ptr<const kube::ClusterConfig>& cluster,
          const std::string& name) {
    config_.identity = name;
    config_.user.user = "admin";
    config_.lease_duration = 1500ms;
    config_.renew_deadline = 1000ms;
    config_.lease_retry_period = 100ms;
    app_ = std::make_unique<App>(tasks, transport_, cluster, config_, lb::Drivers{},
                                 Random::from_entropy(), kModules);
    main_ = tasks.spawn(name, [this, &tasks](std::stop_token stop) {
      (void)serve(*app_, config_, {.tasks = tasks, .stop = std::move(stop)},
                  [this](const Endpoints& endpoints) {
                    url_ = endpoints.servers.at("tickets");
                    forwarded_ = endpoints.forwarded;
                    listening_ = true;
                  });
      ended_ = true;
    });
  }
  ~Replica() { stop(); }

  void stop() {
    if (!main_) return;
    main_->request_stop();
    main_->join();
    main_.reset();
  }
  bool listening() const { return listening_; }
  bool leading() const { return app_->leading(); }
  bool knows_leader() const { return app_->leader_address().has_value(); }
  const std::string& identity() const { return config_.identity; }
  const std::string& url() const { return url_; }
  const std::string& forwarded() const { return forwarded_; }
  void cut() { transport_.cut = true; }

 private:
  CutTransport transport_;
  Config config_;
  std::unique_ptr<App> app_;
  std::string url_, forwarded_;
  std::atomic<bool> listening_ = false, ended_ = false;
  std::unique_ptr<Task> main_;  // last: joined first
};

class TwoReplicas : public ::testing::Test {
 protected:
  void SetUp() override {
    auto dir = ScratchDir::create("berth-replicas");
    ASSERT_TRUE(dir) << dir.error();
    auto api = sim::kube::HttpsFrontend::start(tasks_, {.transport = &transport_});
    ASSERT_TRUE(api) << api.error().to_string();
    api_ = std::move(*api);
    const auto kubeconfig = api_->kubeconfig("admin", {"system:masters"});
    ASSERT_TRUE(kubeconfig);
    const std::string path = (dir->path() / "kubeconfig").string();
    ASSERT_TRUE(write_file(path, *kubeconfig, 0600));
    auto cluster = kube::load_kubeconfig({path}, "");
    ASSERT_TRUE(cluster) << cluster.error().to_string();
    cluster_ = std::move(*cluster);
    client_ = std::make_unique<kube::Client>(transport_, cluster_);
    first_ = std::make_unique<Replica>(tasks_, cluster_, "first");
    ASSERT_TRUE(eventually([&] { return first_->leading(); }));
    second_ = std::make_unique<Replica>(tasks_, cluster_, "second");
    ASSERT_TRUE(eventually([&] { return second_->listening() && second_->knows_leader(); }));
  }
  void TearDown() override {
    second_.reset();
    first_.reset();
  }

  Context patiently() { return Context{.tasks = tasks_}.within(kPatience); }

  net::Response ask(const Replica& replica, net::Request request) {
    request.url = replica.url() + request.url;
    auto response = transport_.call(patiently(), request);
    EXPECT_TRUE(response) << response.error().to_string();
    return response.value_or(net::Response{});
  }
  net::Response post(const Replica& replica, std::string body = "x") {
    return ask(replica, {.method = "POST", .url = "/next", .body = std::move(body)});
  }

  // Somebody who may write our Lease; the leader is kept from writing over it.
  void forge_notice(const std::string& notice) {
    const wire::Value patch = wire::Object{
        {"metadata",
         wire::Object{{"annotations", wire::Object{{kube::kNoticeAnnotation, notice}}}}}};
    const auto forged = client_->patch(patiently(), kube::types::kLease, {"default", "berth"},
                                       kube::PatchType::merge, patch);
    ASSERT_TRUE(forged) << forged.error().to_string();
  }

  ThreadTasks tasks_;
  net::CurlTransport transport_;
  std::unique_ptr<sim::kube::HttpsFrontend> api_;
  std::shared_ptr<const kube::ClusterConfig> cluster_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<Replica> first_, second_;
};

TEST_F(TwoReplicas, WhoFollowsHandsRequestsOn) {
  for (const Replica* asked : {first_.get(), second_.get()}) {
    const net::Response response =
        ask(*asked, {.method = "PUT", .url = "/next?a=b", .body = "please"});
    EXPECT_EQ(response.status, 201);
    EXPECT_EQ(response.headers.get("X-By"), "first");
    EXPECT_EQ(response.body, "PUT /next?a=b please 127.0.0.1");
  }
  EXPECT_EQ(post(*second_, std::string(kMaxBody, 'x')).status, 201);
  EXPECT_EQ(post(*second_, std::string(kMaxBody + 1, 'x')).status, 413);
}

// The way from replica to replica is for replicas.
TEST_F(TwoReplicas, NobodyElseIsAnsweredWhereRequestsAreHandedOn) {
  net::TlsSettings any;
  any.insecure = true;
  const auto tls = std::make_shared<const net::TlsSettings>(any);
  for (const char* word : {"", "1", "00000000000000000000000000000000"}) {
    const auto response = transport_.call(
        patiently(), {.method = "POST",
                      .url = first_->forwarded() + "/tickets/next",
                      .headers = {{"Berth-Forwarded", word}, {"Berth-Peer-Name", "admin"}},
                      .body = "x",
                      .tls = tls});
    ASSERT_TRUE(response) << response.error().to_string();
    EXPECT_EQ(response->status, 403);
  }
}

// While nobody leads, and while the next one begins: 503 and Retry-After, never anything else.
TEST_F(TwoReplicas, WhoFollowsTheLeaderAnswersNext) {
  first_->stop();
  const auto served = [&] {
    const net::Response response = post(*second_);
    EXPECT_THAT(response.status, AnyOf(201, 503));
    if (response.status == 503) {
      EXPECT_EQ(response.headers.get("Retry-After"), "1");
    }
    return response.status == 201 && response.headers.get("X-By") == "second";
  };
  EXPECT_TRUE(eventually(served));
}

// It is there, and does not know yet that it has lost the lead; or it knows.
TEST_F(TwoReplicas, ALeaderThatIsCutOffHandsNothingOut) {
  first_->cut();
  bool second_leads = false;
  const auto served = [&] {
    second_leads = second_leads || second_->leading();
    const net::Response response = post(*second_);
    EXPECT_THAT(response.status, AnyOf(201, 503));
    if (second_leads && response.status == 201) {
      EXPECT_EQ(response.headers.get("X-By"), "second");
    }
    return response.status == 201 && response.headers.get("X-By") == "second";
  };
  EXPECT_TRUE(eventually(served));
  EXPECT_EQ(post(*first_).status, 503) << "it does not know who leads, and does not itself";
}

// A stranger gets no byte of a request, wherever the Lease says that the leader is.
TEST_F(TwoReplicas, AForgedNoticeLeadsNobodyAway) {
  std::atomic<int> requests = 0;
  const auto stranger = net::Server::start(
      {}, [&](const net::Request&, const net::Peer&, std::stop_token) -> net::Reply {
        ++requests;
        return {.status = 200, .body = "stolen"};
      });
  ASSERT_TRUE(stranger);
  const auto lease = client_->get(patiently(), kube::types::kLease, {"default", "berth"});
  ASSERT_TRUE(lease);
  const std::string sealed(wire::string_at(
      *lease, "/metadata/annotations/" + wire::escape_pointer_step(kube::kNoticeAnnotation)));
  ASSERT_THAT(sealed, HasSubstr("127.0.0.1:"));
  const std::string there = fmt::format("127.0.0.1:{}", (*stranger)->port());
  // The leader renews, and so writes its own over it.
  for (const std::string& notice : {there, there + sealed.substr(sealed.find(' '))}) {
    for (int i = 0; i < 20; ++i) {
      forge_notice(notice);
      const net::Response response = post(*second_);
      EXPECT_THAT(response.status, AnyOf(201, 503)) << response.body;
    }
  }
  EXPECT_EQ(requests, 0);
  EXPECT_EQ((*stranger)->statistics().accepted, 0u) << "nobody even knocks";
  EXPECT_TRUE(eventually([&] { return post(*second_).status == 201; }));
}

// Addresses are given on: what stands where the leader was is not the leader.
TEST_F(TwoReplicas, AStrangerAtTheAddressOfTheLeaderIsNotTalkedTo) {
  const auto parsed = net::split_host_port(first_->forwarded().substr(8));
  ASSERT_TRUE(parsed);
  // It ends without giving the lease back, and its port is taken.
  api_->server().faults().refuse_next(
      {}, {.code = 503, .reason = "ServiceUnavailable", .message = "out of service"}, kEverything);
  first_->stop();
  std::atomic<int> requests = 0;
  const auto authority = crypto::make_authority({.common_name = "strangers",
                                                 .not_before = tasks_.wall_time(),
                                                 .lifetime = std::chrono::hours{1}});
  ASSERT_TRUE(authority);
  const auto pair = crypto::issue_certificate(*authority, {.common_name = "berth",
                                                           .ip_addresses = {"127.0.0.1"},
                                                           .not_before = tasks_.wall_time(),
                                                           .lifetime = std::chrono::hours{1}});
  ASSERT_TRUE(pair);
  const auto stranger =
      net::Server::start({.port = parsed->port,
                          .certificate = std::make_shared<const net::ServerCertificate>(
                              net::ServerCertificate{pair->certificate_pem, pair->key_pem})},
                         [&](const net::Request&, const net::Peer&, std::stop_token) -> net::Reply {
                           ++requests;
                           return {.status = 200, .body = "stolen"};
                         });
  ASSERT_TRUE(stranger) << stranger.error().to_string();
  EXPECT_TRUE(second_->knows_leader()) << "it has heard nothing else";
  const net::Response response = post(*second_, "a secret");
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(response.headers.get("Retry-After"), "1");
  EXPECT_EQ(requests, 0);
  EXPECT_GE((*stranger)->statistics().accepted, 1u) << "it was asked for its certificate";
}

TEST_F(TwoReplicas, WhoGoesAwayIsNotWorkedForAtTheLeader) {
  slow_began = slow_ended = 0;
  std::stop_source impatient;
  const auto caller = tasks_.spawn("caller", [&](std::stop_token) {
    const auto response =
        transport_.call({.tasks = tasks_, .stop = impatient.get_token()},
                        {.method = "POST", .url = second_->url() + "/slow", .body = "x"});
    EXPECT_FALSE(response);
  });
  ASSERT_TRUE(eventually([] { return slow_began == 1; }));
  EXPECT_EQ(slow_ended, 0);
  impatient.request_stop();
  EXPECT_TRUE(eventually([] { return slow_ended == 1; }));
  caller->join();
}

}  // namespace
}  // namespace berth::app
