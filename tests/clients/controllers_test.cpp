// kube-controller-manager and kwok on the embedded API server. They speak protobuf, elect a leader
// and ask for tokens: what controllers in Go do.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "base/file.h"
#include "base/mutex.h"
#include "base/threads.h"
#include "net/curl_transport.h"
#include "sim/kube/https_frontend.h"
#include "sim/kube/request_info.h"
#include "support/control_plane.h"
#include "support/eventually.h"
#include "wire/value.h"

namespace berth::testing {
namespace {

using std::chrono::minutes;
using wire::Value;

// The default of all controllers: who has not renewed for that long gives up.
constexpr std::chrono::seconds kRenewDeadline{10};
constexpr minutes kPatience{1};
constexpr std::size_t kMaxLog = 64u << 20;
// Those whose kinds the embedded server has.
constexpr const char* kControllers =
    "--controllers=deployment-controller,replicaset-controller,serviceaccount-controller,"
    "namespace-controller,garbage-collector-controller";

const std::string kLease =
    "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager";
const std::string kPods = "/api/v1/namespaces/shop/pods";
const std::string kSets = "/apis/apps/v1/namespaces/shop/replicasets";
const std::string kDeployment = "/apis/apps/v1/namespaces/shop/deployments/web";

// Bound at birth: nobody schedules here.
constexpr std::string_view kManifest = R"(
apiVersion: v1
kind: Node
metadata: { name: node-0 }
---
apiVersion: v1
kind: Namespace
metadata: { name: shop }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, namespace: shop }
spec:
  replicas: 3
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      nodeName: node-0
      containers: [{ name: web, image: "registry.example/web:1" }]
)";

class Controllers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = ControlPlane::unavailable()) GTEST_SKIP() << *why;
    sim::kube::HttpsOptions options{.transport = &transport_};
    options.server.access.authorizer = [this](const sim::kube::User& user,
                                              const sim::kube::RequestInfo& request) {
      MutexLock lock(mu_);
      asked_.emplace(user.name, request.verb + " " + request.resource);
      return true;
    };
    auto server = sim::kube::HttpsFrontend::start(tasks_, std::move(options));
    ASSERT_TRUE(server) << server.error().to_string();
    server_ = std::move(*server);
    const auto kubeconfig = server_->kubeconfig("admin", {});
    ASSERT_TRUE(kubeconfig) << kubeconfig.error().to_string();
    auto folder = ScratchDir::create("berth-controllers");
    ASSERT_TRUE(folder) << folder.error();
    folder_.emplace(std::move(*folder));
    std::ofstream(file("kubeconfig")) << *kubeconfig;
    launch("kube-controller-manager",
           {"--secure-port=0", "--use-service-account-credentials=true", kControllers});
  }

  void TearDown() override {
    if (!HasFailure()) return;
    for (const auto& [name, process] : processes_) {
      ADD_FAILURE() << name << ":\n" << read_file(file(name + ".log"), kMaxLog).value_or("no log");
    }
  }

  void launch(const std::string& name, std::vector<std::string> args) {
    args.insert(args.begin(), "--kubeconfig=" + file("kubeconfig"));
    auto process =
        Process::spawn({program(name), std::move(args), environment()}, file(name + ".log"));
    ASSERT_TRUE(process) << process.error();
    processes_.emplace_back(name, std::move(*process));
  }

  void launch_kwok() {
    std::vector<std::string> args{"--manage-all-nodes=true", "--node-lease-duration-seconds=40"};
    const auto stages = std::filesystem::path(std::getenv("BERTH_SOURCE_DIR")) /
                        "tests/cluster/controlplane/stages";
    for (const auto& stage : std::filesystem::directory_iterator(stages)) {
      args.push_back("--config=" + stage.path().string());
    }
    launch("kwok", std::move(args));
  }

  static std::string program(const std::string& name) {
    return (std::filesystem::path(std::getenv("BERTH_CONTROLPLANE_DIR")) / name).string();
  }
  std::string file(const std::string& name) const { return (folder_->path() / name).string(); }
  std::vector<std::string> environment() const {
    return {"HOME=" + folder_->path().string(), "PATH=/usr/bin:/bin"};
  }

  void kubectl(std::vector<std::string> args, std::string_view input = {}) {
    const std::string what = args.front() + " " + args.back();
    args.insert(args.begin(), "--kubeconfig=" + file("kubeconfig"));
    const CommandResult ran =
        run({program("kubectl"), std::move(args), environment()}, input, kPatience);
    ASSERT_TRUE(ran.ok()) << what << ": " << ran.out << ran.err;
  }
  // What is at that path; null when there is nothing.
  Value get(const std::string& path) {
    const auto answer =
        server_->server().handle({.method = "GET", .url = path}, {}, tasks_.wall_time());
    auto body = wire::parse_json(answer.reply.body);
    return answer.reply.status == 200 && body ? std::move(*body) : Value();
  }
  bool becomes(std::size_t count, const std::string& path) {
    return eventually(kPatience, [&] {
      const Value list = get(path);
      const wire::Array* items = wire::array_at(list, "/items");
      return items != nullptr && items->size() == count;
    });
  }
  bool asked(const std::string& user, const std::string& what) {
    MutexLock lock(mu_);
    return asked_.contains({user, what});
  }

  Mutex mu_;
  std::set<std::pair<std::string, std::string>> asked_ GUARDED_BY(mu_);  // who, "create pods"
  ThreadTasks tasks_;
  net::CurlTransport transport_;
  std::unique_ptr<sim::kube::HttpsFrontend> server_;
  std::optional<ScratchDir> folder_;
  std::vector<std::pair<std::string, Process>> processes_;
};

TEST_F(Controllers, StayLeader) {
  const auto held = [this] {
    const Value lease = get(kLease);
    const auto since = parse_rfc3339(wire::string_at(lease, "/spec/acquireTime"));
    const auto renewed = parse_rfc3339(wire::string_at(lease, "/spec/renewTime"));
    return since && renewed ? *renewed - *since : Duration{};
  };
  ASSERT_TRUE(eventually(kPatience, [&] { return held() > kRenewDeadline; }));
  EXPECT_EQ(wire::int_at(get(kLease), "/spec/leaseTransitions"), 0);
  EXPECT_TRUE(processes_.front().second.running());
  // The leader works.
  kubectl({"create", "-f", "-"}, kManifest);
  EXPECT_TRUE(becomes(3, kPods));
}

TEST_F(Controllers, DoTheirJob) {
  launch_kwok();
  kubectl({"create", "-f", "-"}, kManifest);
  kubectl({"-n", "shop", "rollout", "status", "deployment/web", "--timeout=60s"});
  if (HasFatalFailure()) return;
  EXPECT_EQ(wire::int_at(get(kDeployment), "/status/availableReplicas"), 3);
  // Each controller asks with a token of its own account, which the manager made.
  const std::string account = "system:serviceaccount:kube-system:";
  EXPECT_TRUE(asked(account + "deployment-controller", "create replicasets"));
  EXPECT_TRUE(asked(account + "replicaset-controller", "create pods"));
  kubectl({"-n", "shop", "wait", "--for=create", "serviceaccount/default", "--timeout=60s"});

  kubectl({"-n", "shop", "scale", "deployment/web", "--replicas=1"});
  EXPECT_TRUE(becomes(1, kPods));
  kubectl({"-n", "shop", "delete", "deployment", "web", "--wait=false"});
  EXPECT_TRUE(becomes(0, kSets)) << "what nobody owns any more is collected";
  EXPECT_TRUE(becomes(0, kPods));
  // Returns when the namespace is gone, which the manager must let go.
  kubectl({"delete", "namespace", "shop", "--timeout=60s"});
}

}  // namespace
}  // namespace berth::testing
