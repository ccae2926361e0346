// A server whose seats others have taken: webhooks write to the server that waits for them, so what
// they need must find a seat all the same.

#include <atomic>
#include <boost/json.hpp>

#include "base/encoding.h"
#include "on_berth_cluster.h"

namespace berth {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using wire::Object;

constexpr int kNoisyTasks = 48;

class ApiSeats : public OnBerthCluster {
 protected:
  static void SetUpTestSuite() {
    start_cluster(
        {.api_server_args = {"--max-requests-inflight=10", "--max-mutating-requests-inflight=5"},
         .as_plain_user = true});
  }

  // A client of another service account, subject to the server's limits like any workload.
  std::shared_ptr<const kube::ClusterConfig> noisy_config() {
    (void)cluster_->plane().kubectl({"create", "serviceaccount", "noisy"});
    (void)cluster_->plane().kubectl({"create", "clusterrolebinding", "noisy",
                                     "--clusterrole=cluster-admin",
                                     "--serviceaccount=default:noisy"});
    std::string token = cluster_->plane().kubectl({"create", "token", "noisy"}).out;
    token.erase(token.find_last_not_of('\n') + 1);
    net::TlsSettings tls;
    tls.ca_pem = cluster_->plane().ca_pem();
    return kube::fixed_config(cluster_->plane().url(),
                              {.tls = std::make_shared<const net::TlsSettings>(std::move(tls)),
                               .bearer_token = Secret(std::move(token))});
  }
};

TEST_F(ApiSeats, PodsGetTheirPortsWhileOthersFillTheServer) {
  const std::string ns = room_for("crowded", 20);
  net::CurlTransport transport({.max_connections_per_host = kNoisyTasks});
  kube::Client noisy(transport, noisy_config(), {.max_retries = 0});
  std::atomic<int> answered = 0;
  std::atomic<int> turned_away = 0;
  std::vector<std::unique_ptr<Task>> noise;
  for (int i = 0; i < kNoisyTasks; ++i) {
    noise.push_back(cluster_->tasks().spawn("noise", [&, i](std::stop_token stop) {
      const Context context{.tasks = cluster_->tasks(), .stop = stop};
      for (int n = 0; !stop.stop_requested(); ++n) {
        const Object map{{"apiVersion", "v1"},
                         {"kind", "ConfigMap"},
                         {"metadata", Object{{"namespace", "default"},
                                             {"name", fmt::format("noise-{}-{}", i, n)}}},
                         {"data", Object{{"text", std::string(20'000, 'x')}}}};
        const bool ok = i % 2 == 0
                            ? noisy.list(context, kube::types::kConfigMap).has_value()
                            : noisy.create(context, kube::types::kConfigMap, map).has_value();
        ++(ok ? answered : turned_away);
      }
    }));
  }
  ASSERT_TRUE(eventually(120s, [&] { return answered + turned_away > 2 * kNoisyTasks; }));
  double longest = 0;
  for (int i = 0; i < 10; ++i) {
    const Instant began = cluster_->tasks().now();
    make(bare_room(ns, fmt::format("room-{}", i)));  // a webhook that runs out of time fails it
    longest =
        std::max(longest, std::chrono::duration<double>(cluster_->tasks().now() - began).count());
  }
  EXPECT_EQ(settle(*cluster_, ns, 10), "");
  noise.clear();
  fmt::print("{} calls of others answered, {} turned away; longest creation {:.2f} s\n",
             answered.load(), turned_away.load(), longest);
}

// Notes which flow served the last call.
class FlowNoting final : public net::Transport {
 public:
  explicit FlowNoting(net::Transport& inner) : inner_(inner) {}
  Result<net::Response> call(const Context& context, const net::Request& request) override {
    Result<net::Response> answer = inner_.call(context, request);
    if (answer) flow = answer->headers.get("X-Kubernetes-PF-FlowSchema-UID");
    return answer;
  }
  Result<std::unique_ptr<net::Stream>> open(const Context& context,
                                            const net::Request& request) override {
    return inner_.open(context, request);
  }
  std::string flow;

 private:
  net::Transport& inner_;
};

TEST_F(ApiSeats, TheLeaseIsRenewedApartFromBulkWork) {
  const auto uid_of = [&](const char* flow) {
    const auto found =
        cluster_->client().get(cluster_->context(), kube::types::kFlowSchema, {"", flow});
    return found ? std::string(wire::string_at(*found, "/metadata/uid")) : found.error().message;
  };
  auto cluster = kube::load_kubeconfig({cluster_->plane().user_kubeconfig_path().string()}, "");
  ASSERT_TRUE(cluster) << cluster.error().to_string();
  net::CurlTransport network;
  FlowNoting noting(network);
  kube::Client replica(noting, *cluster);
  const auto lease = replica.get(cluster_->context(), kube::types::kLease, {"default", "berth"});
  ASSERT_TRUE(lease) << lease.error().to_string();
  EXPECT_EQ(noting.flow, uid_of("berth-lease"));
  ASSERT_TRUE(replica.list(cluster_->context(), kube::types::kConfigMap));
  EXPECT_EQ(noting.flow, uid_of("berth-bulk")) << "that of everything else";
}

}  // namespace
}  // namespace berth
