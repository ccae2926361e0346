// Proves the ground that cluster tests stand on: the control plane starts, simulated nodes run
// Pods the way a kubelet would as far as Berth can tell, and nothing is left behind.

#include <gtest/gtest.h>
#include <signal.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "support/control_plane.h"
#include "support/eventually.h"

namespace berth::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kPatience{30};

bool exists(pid_t pid) { return ::kill(pid, 0) == 0 || errno != ESRCH; }

// An orphan that ended stays in the process table until the init process looks, which may take
// long.
bool runs(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  std::getline(in, stat);
  const auto name_end = stat.rfind(") ");
  return name_end != std::string::npos && stat[name_end + 2] != 'Z';
}

std::string pod_manifest(const std::string& name, const std::string& extra_spec,
                         const std::string& extra_metadata = "") {
  return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name + "\n" + extra_metadata +
         "spec:\n  containers:\n  - name: main\n    image: example/none\n" + extra_spec;
}

class ControlPlaneTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (ControlPlane::unavailable()) return;
    auto started = ControlPlane::start({.with_workloads = true, .nodes = 3});
    if (started) {
      plane_ = std::move(*started);
      std::cout << "started in " << plane_->start_duration().count() << " ms\n";
    } else {
      start_error_ = started.error();
    }
  }
  static void TearDownTestSuite() { plane_.reset(); }

  void SetUp() override {
    if (auto reason = ControlPlane::unavailable()) GTEST_SKIP() << *reason;
    ASSERT_NE(plane_, nullptr) << start_error_;
  }

  static std::string must(std::vector<std::string> args, std::string_view input = {}) {
    auto result = plane_->kubectl(std::move(args), input);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }

  static std::string field(const std::string& object, const std::string& path) {
    return must({"get", object, "--ignore-not-found", "-o", "jsonpath=" + path});
  }

  static std::string ready(const std::string& pod) {
    return field("pod/" + pod, "{.status.conditions[?(@.type=='Ready')].status}");
  }

  static void set_gate(const std::string& pod, const std::string& status) {
    must(
        {"patch", "pod", pod, "--subresource=status", "--type=strategic", "-p",
         R"({"status":{"conditions":[{"type":"berth.dev/bound","status":")" + status + R"("}]}})"});
  }

  static void wait_ready(const std::string& pod) {
    must({"wait", "--for=condition=Ready", "pod/" + pod, "--timeout=30s"});
  }

  static inline std::unique_ptr<ControlPlane> plane_;
  static inline std::string start_error_;
};

TEST_F(ControlPlaneTest, AnswersOnLoopbackAsAReleasedKubernetes) {
  EXPECT_EQ(must({"get", "--raw", "/readyz"}), "ok");
  EXPECT_NE(must({"get", "--raw", "/version"}).find("\"gitVersion\": \"v1."), std::string::npos);
  EXPECT_TRUE(plane_->url().starts_with("https://127.0.0.1:")) << plane_->url();
  EXPECT_TRUE(plane_->ca_pem().starts_with("-----BEGIN CERTIFICATE-----"));
}

TEST_F(ControlPlaneTest, SimulatedNodesAreReadyAndHaveAddressesOfTheirOwn) {
  EXPECT_EQ(must({"get", "nodes", "-o",
                  "jsonpath={range .items[*]}{.metadata.name} "
                  "{.status.conditions[?(@.type=='Ready')].status} "
                  "{.status.addresses[?(@.type=='InternalIP')].address}\n{end}"}),
            "node-0 True 10.63.0.1\nnode-1 True 10.63.0.2\nnode-2 True 10.63.0.3\n");
}

TEST_F(ControlPlaneTest, DeploymentOfTwoComesUp) {
  must({"create", "deployment", "web", "--image=example/none", "--replicas=2"});
  must({"rollout", "status", "deployment/web", "--timeout=30s"});
  EXPECT_EQ(field("deployment/web", "{.status.readyReplicas}"), "2");
}

TEST_F(ControlPlaneTest, StatefulSetPodGetsAnAddressAndComesBackUnderItsName) {
  must({"apply", "-f", "-"},
       "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: { name: db }\nspec:\n"
       "  serviceName: db\n  replicas: 1\n  selector: { matchLabels: { app: db } }\n"
       "  template:\n    metadata: { labels: { app: db } }\n"
       "    spec: { containers: [{ name: main, image: example/none }] }\n");
  must({"rollout", "status", "statefulset/db", "--timeout=30s"});
  EXPECT_TRUE(field("pod/db-0", "{.status.podIP}").starts_with("10."));

  const auto first = field("pod/db-0", "{.metadata.uid}");
  must({"delete", "pod", "db-0"});
  EXPECT_TRUE(eventually(kPatience, [&] {
    const auto now = field("pod/db-0", "{.metadata.uid}");
    return !now.empty() && now != first;
  }));
  wait_ready("db-0");
}

TEST_F(ControlPlaneTest, PodWithAReadinessGateIsReadyOnlyWhileTheGateIsTrue) {
  must({"create", "-f", "-"},
       pod_manifest("gated", "  readinessGates: [{ conditionType: berth.dev/bound }]\n"));
  must({"wait", "--for=condition=ContainersReady", "pod/gated", "--timeout=30s"});
  EXPECT_EQ(ready("gated"), "False");

  // Another change, and a later Pod that becomes Ready: kwok had its chance, and left it alone.
  must({"label", "pod", "gated", "touched=yes"});
  must({"create", "-f", "-"}, pod_manifest("ungated", ""));
  wait_ready("ungated");
  EXPECT_EQ(ready("gated"), "False");
  EXPECT_EQ(field("pod/gated", "{.status.conditions[?(@.type=='berth.dev/bound')].status}"), "");

  set_gate("gated", "False");
  set_gate("gated", "True");
  wait_ready("gated");
  set_gate("gated", "False");
  EXPECT_TRUE(eventually(kPatience, [] { return ready("gated") == "False"; }));
}

TEST_F(ControlPlaneTest, GateThatWasTrueBeforeTheStartCounts) {
  must({"create", "-f", "-"},
       pod_manifest("early",
                    "  readinessGates: [{ conditionType: berth.dev/bound }]\n"
                    "  schedulingGates: [{ name: berth.dev/hold }]\n"));
  set_gate("early", "True");
  must({"patch", "pod", "early", "--type=json", "-p",
        R"([{"op":"remove","path":"/spec/schedulingGates"}])"});
  wait_ready("early");
}

TEST_F(ControlPlaneTest, DeletedPodLingersForItsPreStopSleepButNotPastItsGracePeriod) {
  must({"create", "-f", "-"},
       pod_manifest("lingering",
                    "    lifecycle: { preStop: { sleep: { seconds: 300 } } }\n"
                    "  terminationGracePeriodSeconds: 600\n"));
  wait_ready("lingering");
  must({"delete", "pod", "lingering", "--wait=false"});
  EXPECT_NE(field("pod/lingering", "{.metadata.deletionTimestamp}"), "");
  EXPECT_EQ(ready("lingering"), "True");
  must({"delete", "pod", "lingering", "--grace-period=1", "--wait=false"});
  must({"wait", "--for=delete", "pod/lingering", "--timeout=30s"});
}

TEST_F(ControlPlaneTest, DeletedPodWithAFinalizerStopsButStays) {
  must({"create", "-f", "-"}, pod_manifest("kept", "", "  finalizers: [berth.dev/test]\n"));
  wait_ready("kept");
  must({"delete", "pod", "kept", "--wait=false"});
  EXPECT_TRUE(eventually(kPatience, [] {
    return field("pod/kept", "{.status.phase} {.metadata.deletionGracePeriodSeconds}") ==
           "Succeeded 0";
  }));
  must({"patch", "pod", "kept", "--type=merge", "-p", R"({"metadata":{"finalizers":null}})"});
  must({"wait", "--for=delete", "pod/kept", "--timeout=20s"});
}

TEST_F(ControlPlaneTest, SecondUserMayDoOnlyWhatRbacGrants) {
  EXPECT_NE(plane_->kubectl_as_user({"get", "pods"}).err.find("Forbidden"), std::string::npos);
  must({"create", "rolebinding", "reader", "--clusterrole=view",
        "--user=" + std::string(ControlPlane::kUserName)});
  EXPECT_TRUE(eventually(kPatience, [] { return plane_->kubectl_as_user({"get", "pods"}).ok(); }));
  EXPECT_FALSE(plane_->kubectl_as_user({"delete", "pods", "--all"}).ok());
}

class ControlPlaneLifeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (auto reason = ControlPlane::unavailable()) GTEST_SKIP() << *reason;
  }
};

TEST_F(ControlPlaneLifeTest, NothingIsLeftAfterTheDestructor) {
  auto first = ControlPlane::start({.max_mutating_inflight = 20});
  ASSERT_TRUE(first) << first.error();
  auto second = ControlPlane::start();
  ASSERT_TRUE(second) << second.error();
  EXPECT_NE((*first)->url(), (*second)->url());
  // Without controller-manager there is no service account, and none is needed.
  EXPECT_TRUE((*first)->kubectl({"create", "-f", "-"}, pod_manifest("lone", "")).ok());

  const auto ids = (*first)->process_ids();
  const auto dir = (*first)->directory();
  ASSERT_EQ(ids.size(), 2U);
  for (const auto pid : ids) EXPECT_TRUE(exists(pid)) << pid;
  first->reset();
  for (const auto pid : ids) EXPECT_FALSE(exists(pid)) << pid;
  EXPECT_FALSE(fs::exists(dir));
  EXPECT_TRUE((*second)->kubectl({"get", "namespaces"}).ok());
}

TEST_F(ControlPlaneLifeTest, FlagThatTheServerRefusesIsExplainedByItsLog) {
  const auto plane = ControlPlane::start({.api_server_args = {"--no-such-flag"}});
  ASSERT_FALSE(plane);
  EXPECT_NE(plane.error().find("kube-apiserver: ended"), std::string::npos) << plane.error();
  EXPECT_NE(plane.error().find("no-such-flag"), std::string::npos) << plane.error();
}

std::vector<pid_t> children_of(pid_t pid) {
  const auto id = std::to_string(pid);
  std::ifstream in("/proc/" + id + "/task/" + id + "/children");
  std::vector<pid_t> children;
  for (pid_t child = 0; in >> child;) children.push_back(child);
  return children;
}

std::string content(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

TEST_F(ControlPlaneLifeTest, KilledOwnerLeavesNoProcessAndTheNextOneRemovesItsFiles) {
  auto dir = ScratchDir::create("berth-test");
  ASSERT_TRUE(dir) << dir.error();
  const auto log = dir->path() / "log";
  auto owner = Process::spawn({BERTH_CONTROLPLANE_PROGRAM,
                               {"--api-only"},
                               {"BERTH_CONTROLPLANE_DIR=" + variable("BERTH_CONTROLPLANE_DIR"),
                                "PATH=" + variable("PATH")}},
                              log);
  ASSERT_TRUE(owner) << owner.error();
  ASSERT_TRUE(eventually(seconds(60), [&] {
    return content(log).find(".kubeconfig") != std::string::npos || !owner->running();
  }));
  const auto children = children_of(owner->pid());
  ASSERT_EQ(children.size(), 2U) << content(log);
  const auto text = content(log);
  const auto path_at = text.find('/', text.find('\n'));
  const auto left =
      fs::path(text.substr(path_at, text.find('\n', path_at) - path_at)).parent_path();
  ASSERT_TRUE(fs::exists(left)) << left;

  ASSERT_EQ(::kill(owner->pid(), SIGKILL), 0);
  ASSERT_TRUE(owner->wait(kPatience));
  for (const auto child : children) {
    EXPECT_TRUE(eventually(kPatience, [&] { return !runs(child); })) << child;
  }
  const auto next = ScratchDir::create("berth-controlplane");
  ASSERT_TRUE(next) << next.error();
  EXPECT_FALSE(fs::exists(left)) << left;
}

}  // namespace
}  // namespace berth::testing
