// Ingresses on a real control plane, as the guide of bcs-ingress-controller prints them, on our own
// load balancer and on a simulated Tencent Cloud: kubectl applies them, Kubernetes' own controllers
// make the Pods, `berth controller` the rest, and the cloud has what it should. Where this machine
// allows a network of our own, echo servers stand at the addresses of Pods and nodes, and whoever
// comes to the load balancer is answered by the right one.

#include <boost/json.hpp>

#include "../seeds/seed_page.h"
#include "api/ingress.h"
#include "base/file.h"
#include "base/subprocess.h"
#include "crypto/certificates.h"
#include "edge/address_plan.h"
#include "edge/echo_server.h"
#include "edge/echo_station.h"
#include "edge/haproxy/runner.h"
#include "on_berth_cluster.h"
#include "simulated_clb.h"
#include "support/cloud_dump.h"
#include "support/own_network.h"

namespace berth {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using wire::Array;
using wire::Value;

constexpr auto kPatience = 60s;
constexpr int kAnswerMs = 20'000;

// Before any thread. Pods are in 10.64.0.0/12, nodes in 10.63.0.0/16.
const std::string kNoNetwork = testing::enter_own_network("10.0.0.0", 8);

// What the guide names, and the examples.
const std::vector<std::string> kLoadBalancers{"lb-xxxxxxx", "lb-7hxxxxx", "lb-00001", "lb-harbour"};

class Ingresses : public OnBerthCluster, public ::testing::WithParamInterface<model::Provider> {
 public:
  // Both suites have one control plane.
  struct Ending : ::testing::Environment {
    void TearDown() override {
      cluster_.reset();
      clb_.reset();
    }
  };

 protected:
  static void SetUpTestSuite() {
    if (!cluster_) start_cluster({.replicas = 1});
  }
  static void TearDownTestSuite() {}

  static bool on_cloud() { return GetParam() == model::Provider::tencent; }

  void SetUp() override {
    OnBerthCluster::SetUp();
    if (HasFatalFailure() || IsSkipped()) return;
    ASSERT_NO_FATAL_FAILURE(serve());
    if (!kNoNetwork.empty()) fmt::print("nobody answers: {}\n", kNoNetwork);
    auto station = edge::EchoStation::start();
    ASSERT_TRUE(station) << station.error().to_string();
    station_ = std::move(*station);
    if (const std::string file = find_seed(); !file.empty())
      blocks_ = blocks_of(read_file(file, kMaxPage).value());
  }
  std::string block(std::size_t number) const { return blocks_.at(number - 1).text; }
  // By a replica for which load balancers without a provider are those of the suite.
  void serve() {
    if (served_ == GetParam()) return;
    BerthClusterOptions how;
    std::vector<std::string> args = how.controller_args;
    if (on_cloud()) {
      if (!clb_) {
        auto started = SimulatedClb::start(BERTH_PROGRAM, kLoadBalancers, kNoNetwork.empty());
        ASSERT_TRUE(started) << started.error().to_string();
        clb_.emplace(std::move(*started));
      }
      const std::vector<std::string> more = clb_->controller_args();
      args.insert(args.end(), more.begin(), more.end());
    }
    cluster_->stop_replica(cluster_->wait_for_leader());
    cluster_->use_controller_args(std::move(args));
    cluster_->start_replica();
    ASSERT_TRUE(eventually(kPatience, [] { return cluster_->serves(); })) << cluster_->logs();
    served_ = GetParam();
  }
  // Others use the same ports and names.
  void TearDown() override {
    OnBerthCluster::TearDown();
    places_.clear();
    if (!cluster_) return;
    for (const std::string& yaml : applied_)
      (void)kubectl({"delete", "--ignore-not-found", "--wait=false", "-f", "-"}, yaml);
    EXPECT_TRUE(eventually(kPatience, [&] {
      return cluster_->list(api::ingress_kind().type, "").empty() &&
             cluster_->list(api::listener_kind().type, "").empty();
    })) << "Ingresses and pools leave nothing";
    if (!clb_) return;
    const Value all = clb_->dump();
    for (const Value& lb : *wire::array_at(all, "/loadBalancers"))
      EXPECT_TRUE(wire::array_at(lb, "/listeners")->empty()) << wire::to_json(lb);
  }

  testing::CommandResult kubectl(std::vector<std::string> args, const std::string& input) {
    return cluster_->plane().kubectl(std::move(args), input);
  }
  void apply(const std::string& yaml) {
    applied_.insert(applied_.begin(), yaml);
    const testing::CommandResult done = kubectl({"apply", "-f", "-"}, yaml);
    ASSERT_TRUE(done.ok()) << done.out << done.err << yaml;
  }
  void make_service(const std::string& ns, const std::string& name, int port, int target,
                    const std::string& node_port = {}) {
    apply(fmt::format(R"(
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {0}, namespace: {1}}}
spec:
  replicas: 1
  selector: {{matchLabels: {{run: {0}}}}}
  template:
    metadata: {{labels: {{run: {0}, app: {0}, version: v2-1}}}}
    spec: {{containers: [{{name: main, image: main, ports: [{{containerPort: {3}}}]}}]}}
---
apiVersion: v1
kind: Service
metadata: {{name: {0}, namespace: {1}}}
spec:
  type: NodePort
  selector: {{app: {0}}}
  ports: [{{protocol: TCP, port: {2}, targetPort: {3}{4}}}]
)",
                      name, ns, port, target, node_port));
  }
  Value pod_of(const std::string& ns, const std::string& prefix) {
    Value found;
    EXPECT_TRUE(eventually(kPatience, [&] {
      for (const Value& pod : cluster_->list(kube::types::kPod, ns))
        if (wire::string_at(pod, "/metadata/name").starts_with(prefix) &&
            wire::string_at(pod, "/metadata/deletionTimestamp").empty() &&
            !wire::string_at(pod, "/status/podIP").empty())
          found = pod;
      return !found.is_null();
    })) << prefix;
    return found;
  }
  static std::string ip(const Value& pod) {
    return std::string(wire::string_at(pod, "/status/podIP"));
  }
  static std::string node_ip(const Value& pod) {
    return std::string(wire::string_at(pod, "/status/hostIP"));
  }

  // The Listener leads there and the Ingress says that all is done.
  void expect_way(const std::string& ns, const std::string& ingress, const std::string& listener,
                  const std::vector<std::string>& wanted) {
    std::vector<std::string> found;
    EXPECT_TRUE(
        eventually(kPatience,
                   [&] {
                     found.clear();
                     const Value object =
                         cluster_->get(api::listener_kind().type, ns, listener).value_or(Value());
                     for (const char* at :
                          {"/spec/targetGroup/backends", "/spec/rules/0/targetGroup/backends"}) {
                       const Array* list = wire::array_at(object, at);
                       for (const Value& one : list ? *list : Array{})
                         found.push_back(fmt::format("{}:{} {}", wire::string_at(one, "/IP"),
                                                     wire::int_at(one, "/port").value_or(0),
                                                     wire::int_at(one, "/weight").value_or(0)));
                     }
                     std::ranges::sort(found);
                     return found == wanted;
                   }))
        << listener << ": " << ::testing::PrintToString(found);
    Value is;
    EXPECT_TRUE(eventually(kPatience, [&] {
      is = cluster_->get(api::ingress_kind().type, ns, ingress).value_or(Value());
      return wire::string_at(is, "/status/status") == "Ready";
    })) << wire::to_json(is);
    address_ = wire::string_at(is, "/status/loadbalancers/0/ips/0");
  }
  // The cloud has a listener there that leads to these, "domain/path ip:port weight".
  Value expect_in_cloud(const std::string& lb, int port, const std::string& protocol,
                        const std::vector<std::string>& wanted) {
    if (!on_cloud()) return {};
    Value found;
    EXPECT_TRUE(eventually(kPatience,
                           [&] {
                             found = testing::cloud_listener(clb_->dump(), lb, port, protocol);
                             return !found.is_null() && testing::cloud_targets(found) == wanted;
                           }))
        << lb << ":" << port << " is " << wire::to_json(found) << ", wanted "
        << ::testing::PrintToString(wanted);
    return found;
  }
  // Whoever is at `at` says its name there.
  void open(const model::Target& at, model::Transport protocol, const std::string& name,
            bool http = false) {
    if (!kNoNetwork.empty()) return;
    auto place =
        station_->open({.protocol = protocol, .at = at, .greeting = name + "\n", .http = http});
    ASSERT_TRUE(place) << place.error().to_string();
    places_.push_back(std::move(*place));
  }
  void expect_answer(model::Port port, const std::string& name) {
    if (!kNoNetwork.empty()) return;
    const model::Target at{address_, edge::low_ports_of_process().opened_at(port)};
    std::string heard;
    EXPECT_TRUE(eventually(kPatience,
                           [&] {
                             const auto answer = edge::ask_over_tcp(at, "ahoy", kAnswerMs);
                             heard = answer ? *answer : answer.error().to_string();
                             return heard == name + "\nahoy";
                           }))
        << model::to_string(at) << " says " << heard;
  }

  std::unique_ptr<edge::EchoStation> station_;
  std::vector<std::unique_ptr<edge::EchoStation::Place>> places_;
  std::vector<std::string> applied_;  // the last first
  std::string address_;               // of the load balancer
  std::vector<SeedBlock> blocks_;     // of the page, where it lies beside the sources

  inline static model::Provider served_ = model::Provider::edge;
  inline static std::optional<SimulatedClb> clb_;
};

[[maybe_unused]] const ::testing::Environment* const kEnding =
    ::testing::AddGlobalTestEnvironment(new Ingresses::Ending);

constexpr const char* kNoPage = "no ../shared/seeds beside the sources";

TEST_P(Ingresses, Scenario1ToNodePorts) {
  if (blocks_.empty()) GTEST_SKIP() << kNoPage;
  make_service("default", "test-svc", 8080, 8080, ", nodePort: 31003");
  const Value pod = pod_of("default", "test-svc-");
  apply(block(15));
  const std::vector<std::string> wanted{node_ip(pod) + ":31003 10"};
  expect_way("default", "test1", "lb-xxxxxxx-38080", wanted);
  expect_in_cloud("lb-xxxxxxx", 38080, "TCP", wanted);
  open({node_ip(pod), 31003}, model::Transport::tcp, "node");
  expect_answer(38080, "node");
}

TEST_P(Ingresses, Scenario2DirectlyToPods) {
  if (blocks_.empty()) GTEST_SKIP() << kNoPage;
  make_service("default", "test-svc", 28080, 8080);
  const Value pod = pod_of("default", "test-svc-");
  apply(block(17));
  const std::vector<std::string> wanted{ip(pod) + ":8080 10"};
  expect_way("default", "test2", "lb-xxxxxxx-38080", wanted);
  expect_in_cloud("lb-xxxxxxx", 38080, "TCP", wanted);
  open({ip(pod), 8080}, model::Transport::tcp, "pod");
  expect_answer(38080, "pod");
}

TEST_P(Ingresses, Scenario4Https) {
  if (blocks_.empty()) GTEST_SKIP() << kNoPage;
  if (edge::haproxy::find_program().empty()) {
    ASSERT_EQ(std::getenv("CI"), nullptr) << "CI lacks haproxy";
    GTEST_SKIP() << "haproxy is not installed";
  }
  make_service("default", "test-tcp", 8080, 8080, ", nodePort: 31003");
  const Value pod = pod_of("default", "test-tcp-");
  const WallTime since = cluster_->tasks().wall_time() - 1h;
  const crypto::KeyPair authority =
      crypto::make_authority({.common_name = "test", .not_before = since, .lifetime = 24h}).value();
  const crypto::KeyPair own = crypto::issue_certificate(authority, {.common_name = "www.qq.com",
                                                                    .dns_names = {"www.qq.com"},
                                                                    .not_before = since,
                                                                    .lifetime = 24h})
                                  .value();
  apply(wire::to_json(
      wire::Object{{"apiVersion", "v1"},
                   {"kind", "Secret"},
                   {"metadata", wire::Object{{"name", "xxx"}, {"namespace", "default"}}},
                   {"type", "kubernetes.io/tls"},
                   {"stringData", wire::Object{{"tls.crt", own.certificate_pem},
                                               {"tls.key", std::string(own.key_pem.reveal())}}}}));
  apply(block(22));
  expect_way("default", "test3", "lb-xxxxxxx-443", {node_ip(pod) + ":31003 10"});
  const Value there = expect_in_cloud("lb-xxxxxxx", 443, "HTTPS",
                                      {"www.qq.com/path1 " + node_ip(pod) + ":31003 10"});
  if (on_cloud()) {
    EXPECT_EQ(wire::string_at(there, "/certificate/CertId"), "xxx");
    EXPECT_EQ(wire::string_at(there, "/certificate/SSLMode"), "UNIDIRECTIONAL");
  }
  if (!kNoNetwork.empty()) return;
  open({node_ip(pod), 31003}, model::Transport::tcp, "node", true);
  const std::string ca = (cluster_->plane().directory() / "site-ca.pem").string();
  ASSERT_TRUE(write_file(ca, authority.certificate_pem, 0600));
  const model::Port port = edge::low_ports_of_process().opened_at(443);
  const auto said = [&](const std::string& path) {
    Command curl{.program = "curl",
                 .args = {"-sS", "--max-time", "20", "--cacert", ca, "-w", "%{http_code}",
                          "--resolve", fmt::format("www.qq.com:{}:{}", port, address_),
                          fmt::format("https://www.qq.com:{}{}", port, path)}};
    // A simulated cloud knows ids of certificates, and no contents.
    if (on_cloud()) curl.args.emplace_back("-k");
    const auto result = run_command(cluster_->context().within(kPatience), curl);
    return result ? result->out + result->err : result.error().to_string();
  };
  EXPECT_TRUE(eventually(kPatience, [&] { return said("/path1").starts_with("node\n"); }))
      << said("/path1");
  EXPECT_TRUE(said("/other").ends_with("404")) << said("/other");
}

TEST_P(Ingresses, Scenario5SegmentsOfAStatefulSet) {
  if (blocks_.empty()) GTEST_SKIP() << kNoPage;
  (void)cluster_->make_namespace("game");
  apply(R"(
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: gameserver, namespace: game}
spec:
  replicas: 6
  podManagementPolicy: Parallel
  serviceName: gameserver
  selector: {matchLabels: {app: gameserver}}
  template:
    metadata: {labels: {app: gameserver}}
    spec: {containers: [{name: main, image: main}]}
)");
  apply(block(23));
  for (int i = 0; i < 6; ++i) {
    const Value pod = pod_of("game", fmt::format("gameserver-{}", i));
    const int first = 30000 + 5 * i;
    expect_way("default", "test4", fmt::format("lb-xxxxxxx-{}-{}", first, first + 4),
               {fmt::format("{}:{} 10", ip(pod), first)});
    const Value there =
        expect_in_cloud("lb-xxxxxxx", first, "UDP", {fmt::format("{}:{} 10", ip(pod), first)});
    if (on_cloud()) {
      EXPECT_EQ(wire::int_at(there, "/endPort"), first + 4);
    }
    const auto last = static_cast<model::Port>(first + 4);
    open({ip(pod), last}, model::Transport::udp, "");
    if (!kNoNetwork.empty()) continue;
    EXPECT_TRUE(eventually(kPatience, [&] {
      return edge::ask_over_udp({address_, last}, "ahoy", 1'000).value_or("") == "ahoy";
    })) << last;
  }
}

TEST_P(Ingresses, Scenario8WeightsOfSubsets) {
  if (blocks_.empty()) GTEST_SKIP() << kNoPage;
  (void)cluster_->make_namespace("ingress-test");
  make_service("ingress-test", "nginx-v2", 8080, 80);
  apply(R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: second, namespace: ingress-test}
spec:
  replicas: 1
  selector: {matchLabels: {run: second}}
  template:
    metadata: {labels: {run: second, app: nginx-v2, version: v2-2}}
    spec: {containers: [{name: main, image: main, ports: [{containerPort: 80}]}]}
)");
  const Value one = pod_of("ingress-test", "nginx-v2-");
  const Value two = pod_of("ingress-test", "second-");
  apply(block(29));
  std::vector<std::string> wanted{ip(one) + ":80 10", ip(two) + ":80 20"};
  std::ranges::sort(wanted);
  expect_way("ingress-test", "test-tcp", "lb-7hxxxxx-8080", wanted);
  expect_in_cloud("lb-7hxxxxx", 8080, "TCP", wanted);
  if (!kNoNetwork.empty()) return;
  open({ip(one), 80}, model::Transport::tcp, "one");
  open({ip(two), 80}, model::Transport::tcp, "two");
  std::map<std::string, int> heard;
  for (int i = 0; i < 30; ++i)
    ++heard[edge::ask_over_tcp({address_, 8080}, "", kAnswerMs).value_or("nobody")];
  EXPECT_EQ(heard, (std::map<std::string, int>{{"one\n", 10}, {"two\n", 20}}));
}

TEST_P(Ingresses, Scenario10APortOfAPool) {
  if (blocks_.empty()) GTEST_SKIP() << kNoPage;
  (void)cluster_->make_namespace("test");
  apply(block(31));
  EXPECT_TRUE(eventually(kPatience, [&] {
    return wire::string_at(
               cluster_->get(api::port_pool_kind().type, "test", "test-pool1").value_or(Value()),
               "/status/status") == "Ready";
  }));
  apply(block(34));
  EXPECT_EQ(settle(*cluster_, "test", 1), "");
  const std::vector<Room> found = rooms(*cluster_, "test");
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found.front().ports.size(), 1u);
  EXPECT_EQ(found.front().ports.front().start_port, 31000);
  address_ = found.front().ports.front().pool_item_load_balancers.at(0).ips.at(0);
  expect_in_cloud("lb-00001", 31000, "TCP", {found.front().ip + ":80 10"});
  open({found.front().ip, 80}, model::Transport::tcp, "room");
  expect_answer(31000, "room");
  // A pool that is in use cannot go: its workload goes first, as the page says.
  const auto refused = kubectl({"delete", "-f", "-"}, block(31));
  EXPECT_NE(refused.err.find("the pool is in use"), std::string::npos)
      << refused.out << refused.err;
  ASSERT_TRUE(kubectl({"delete", "-f", "-"}, block(34)).ok());
  EXPECT_TRUE(eventually(kPatience, [&] {
    return kubectl({"delete", "--ignore-not-found", "--timeout=60s", "-f", "-"}, block(31)).ok();
  }));
}

// The same ways in, without the page.
TEST_P(Ingresses, EveryExampleIsTakenAndLeadsSomewhere) {
  const char* const source = std::getenv("BERTH_SOURCE_DIR");
  const std::filesystem::path folder =
      std::filesystem::path(source ? source : ".") / "examples/ingress";
  (void)cluster_->make_namespace("harbour");
  const auto apply_file = [&](const std::string& name) {
    apply(read_file((folder / name).string(), kMaxPage).value());
  };
  apply_file("workloads.yaml");
  for (const char* file : {"node-ports.yaml", "direct.yaml", "segments.yaml", "subsets.yaml",
                           "weights.yaml", "host-ports.yaml"})
    apply_file(file);
  for (const char* ingress :
       {"over-nodes", "direct", "segments", "subsets", "weights", "over-host-ports"}) {
    Value is;
    EXPECT_TRUE(eventually(kPatience, [&] {
      is = cluster_->get(api::ingress_kind().type, "harbour", ingress).value_or(Value());
      return wire::string_at(is, "/status/status") == "Ready";
    })) << wire::to_json(is);
  }
}

std::string name_of_provider(const ::testing::TestParamInfo<model::Provider>&) { return "All"; }
INSTANTIATE_TEST_SUITE_P(OnEdge, Ingresses, ::testing::Values(model::Provider::edge),
                         name_of_provider);
INSTANTIATE_TEST_SUITE_P(OnTencent, Ingresses, ::testing::Values(model::Provider::tencent),
                         name_of_provider);

}  // namespace
}  // namespace berth
