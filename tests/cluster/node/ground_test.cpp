// Proves the ground that tests on real nodes stand on: nodes are Ready and run containers as a
// cluster does, each part of them can be taken away and comes back, and nothing is left behind.

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "real_nodes.h"
#include "support/eventually.h"

namespace berth::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr seconds kPatience{90};
const std::string kWait = fmt::format("--timeout={}s", kPatience.count());

// A Pod that serves its own name over HTTP at port 8000, and is Ready when it does.
std::string web_pod(const std::string& name, const std::string& spec = "",
                    const std::string& container = "") {
  return fmt::format(R"(apiVersion: v1
kind: Pod
metadata: {{ name: {0}, labels: {{ app: {0} }} }}
spec:
  terminationGracePeriodSeconds: 1
  {1}
  containers:
  - name: web
    image: busybox:1
    command: ["sh", "-c", "mkdir /www && hostname > /www/index.html && echo serving && exec httpd -f -p 8000 -h /www"]
    readinessProbe: {{ httpGet: {{ port: 8000 }}, periodSeconds: 1 }}
    {2}
)",
                     name, spec, container);
}

std::string on(int node) { return "nodeName: " + RealNodes::name(node); }

Fd connected(int type, const std::string& address, std::uint16_t port) {
  Fd socket(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
  sockaddr_in target{};
  target.sin_family = AF_INET;
  target.sin_port = htons(port);
  ::inet_pton(AF_INET, address.c_str(), &target.sin_addr);
  const timeval patience{2, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const bool done = eventually(kPatience, [&] {
    return ::connect(socket.get(), reinterpret_cast<sockaddr*>(&target), sizeof target) == 0;
  });
  return done ? std::move(socket) : Fd();
}

bool echoes(const Fd& socket, std::string_view text) {
  std::array<char, 64> buffer{};
  if (::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL) < 0) return false;
  const auto got = ::recv(socket.get(), buffer.data(), buffer.size(), 0);
  return got > 0 && std::string_view(buffer.data(), static_cast<std::size_t>(got)) == text;
}

std::string own_address(const Fd& socket) {
  sockaddr_in own{};
  socklen_t size = sizeof own;
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size);
  std::array<char, INET_ADDRSTRLEN> text{};
  return ::inet_ntop(AF_INET, &own.sin_addr, text.data(), text.size());
}

class RealNodesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    skip_ = RealNodes::unavailable();
    if (skip_) return;
    auto started = RealNodes::start({.nodes = 2});
    if (!started) {
      start_error_ = started.error();
      return;
    }
    cluster_ = std::move(*started);
    std::cout << "started in " << cluster_->start_duration().count() << " ms\n";
    const auto player = cluster_->add_player();
    if (player) player_ = *player;
    if (!player) start_error_ = player.error();
  }
  static void TearDownTestSuite() { cluster_.reset(); }

  void SetUp() override {
    if (skip_) GTEST_SKIP() << *skip_;
    ASSERT_NE(cluster_, nullptr) << start_error_;
    ASSERT_NE(player_, nullptr) << start_error_;
  }
  void TearDown() override {
    if (!HasFailure() || !cluster_) return;
    std::cout << cluster_->kubectl({"get", "pods,nodes", "-o", "wide"}).out
              << cluster_->kubectl({"get", "events"}).out;
    for (int node = 1; node <= cluster_->count(); ++node) std::cout << cluster_->logs(node);
  }

  static std::string must(std::vector<std::string> args, std::string_view input = {}) {
    const auto result = cluster_->kubectl(std::move(args), input);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }
  static std::string field(const std::string& object, const std::string& path) {
    return must({"get", object, "--ignore-not-found", "-o", "jsonpath=" + path});
  }
  static void wait_ready(const std::string& pod) {
    must({"wait", "--for=condition=Ready", "pod/" + pod, kWait});
  }
  // A Pod that is Ready; returns its address.
  static std::string run_web(const std::string& name, const std::string& spec = "",
                             const std::string& container = "") {
    must({"create", "-f", "-"}, web_pod(name, spec, container));
    wait_ready(name);
    return field("pod/" + name, "{.status.podIP}");
  }
  static std::string fetch(const std::string& address, int port = 8000) {
    const auto got = player_->run(
        {"curl", "-sS", "--max-time", "10", fmt::format("http://{}:{}/", address, port)});
    return got.ok() ? got.out : got.err;
  }
  static bool answers(const std::string& address, const std::string& name, int port = 8000) {
    return eventually(kPatience, [&] { return fetch(address, port) == name + "\n"; });
  }
  static std::string node_ready(int node) {
    return field("node/" + RealNodes::name(node),
                 "{.status.conditions[?(@.type=='Ready')].status}");
  }
  static std::string error_of(const RealNodes::Outcome& outcome) {
    return outcome ? "" : outcome.error();
  }

  static inline std::optional<std::string> skip_;
  static inline std::string start_error_;
  static inline std::unique_ptr<RealNodes> cluster_;
  static inline Player* player_ = nullptr;
};

TEST_F(RealNodesTest, NodesAreReadyAtAddressesOfTheirOwn) {
  EXPECT_EQ(must({"get", "nodes", "-o",
                  "jsonpath={range .items[*]}{.metadata.name} "
                  "{.status.conditions[?(@.type=='Ready')].status} "
                  "{.status.addresses[?(@.type=='InternalIP')].address}\n{end}"}),
            "node-1 True 10.62.0.11\nnode-2 True 10.62.0.12\n");
  EXPECT_THAT(field("node/node-1", "{.status.nodeInfo.containerRuntimeVersion}"),
              StartsWith("containerd://"));
}

// A kubelet may speak for its own node alone.
TEST_F(RealNodesTest, NodesHaveRightsOfNodes) {
  const auto as_node = [](std::vector<std::string> args) {
    args.insert(args.begin(), {"--as=system:node:node-1", "--as-group=system:nodes"});
    return cluster_->kubectl(std::move(args));
  };
  EXPECT_TRUE(as_node({"label", "node/node-1", "example.com/mine=yes"}).ok());
  EXPECT_THAT(as_node({"label", "node/node-2", "example.com/mine=yes"}).err,
              HasSubstr("User \"system:node:node-1\" cannot"));
}

TEST_F(RealNodesTest, APodAnswersPlayersAndPodsOfTheOtherNode) {
  const std::string address = run_web("near", on(1));
  run_web("far", on(2));
  EXPECT_THAT(address, StartsWith("10.64.1."));
  EXPECT_EQ(fetch(address), "near\n");
  EXPECT_EQ(must({"exec", "far", "--", "wget", "-qO-", "http://" + address + ":8000/"}), "near\n");
}

// Sockets that a test makes in the player's network, and the room of examples/.
TEST_F(RealNodesTest, APlayerTalksToARoomFromItsOwnAddress) {
  must({"run", "room", "--image=registry.example/room:1", "--overrides",
        R"({"spec":{"nodeName":"node-2"}})"});
  wait_ready("room");
  const std::string address = field("pod/room", "{.status.podIP}");
  for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
    const Fd socket = player_->inside([&] { return connected(type, address, 8000); });
    ASSERT_TRUE(socket.valid()) << std::strerror(errno);
    EXPECT_EQ(own_address(socket), player_->address());
    // The room may still be on its way to its ports.
    EXPECT_TRUE(eventually(kPatience, [&] { return echoes(socket, "ahoy"); }));
  }
}

TEST_F(RealNodesTest, ServicesAndHostPortsLeadToAPod) {
  run_web("served", on(1), "ports: [{ containerPort: 8000, hostPort: 31234 }]");
  must({"expose", "pod", "served", "--type=NodePort", "--port=80", "--target-port=8000"});
  const int port = std::stoi(field("service/served", "{.spec.ports[0].nodePort}"));
  EXPECT_TRUE(answers(RealNodes::address(1), "served", port)) << fetch(RealNodes::address(1), port);
  EXPECT_TRUE(answers(RealNodes::address(2), "served", port)) << fetch(RealNodes::address(2), port);
  EXPECT_TRUE(answers(RealNodes::address(1), "served", 31234));

  run_web("asks", on(1));
  const std::string url = "http://" + field("service/served", "{.spec.clusterIP}") + "/";
  EXPECT_EQ(must({"exec", "asks", "--", "wget", "-qO-", url}), "served\n") << "on the same node";
}

// Pods reach the API server at the address that every client library uses.
TEST_F(RealNodesTest, PodsReachTheApiServer) {
  run_web("client", on(2));
  EXPECT_TRUE(eventually(kPatience, [] {
    return cluster_->kubectl({"exec", "client", "--", "nc", "-w", "5", "10.96.0.1", "443"}).ok();
  }));
}

TEST_F(RealNodesTest, LogsAndExecWork) {
  run_web("talks", on(2));
  EXPECT_EQ(must({"logs", "talks"}), "serving\n");
  EXPECT_EQ(must({"exec", "-i", "talks", "--", "cat"}, "ahoy"), "ahoy");
  EXPECT_EQ(cluster_->kubectl({"exec", "talks", "--", "sh", "-c", "exit 7"}).exit_code, 7);
}

TEST_F(RealNodesTest, AContainerThatEatsTooMuchIsKilledAndStartsAgain) {
  must({"create", "-f", "-"}, R"(apiVersion: v1
kind: Pod
metadata: { name: hungry }
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: busybox:1
    # Grows once; the next container finds the mark and stays.
    command: ["sh", "-c", "[ -e /mark/eaten ] || { touch /mark/eaten; x=aaaaaaaa; while :; do x=$x$x; done; }; sleep 3600"]
    resources: { limits: { memory: 16Mi } }
    volumeMounts: [{ name: mark, mountPath: /mark }]
  volumes: [{ name: mark, emptyDir: {} }]
)");
  const std::string status = "{.status.containerStatuses[0].";
  must({"wait", "pod/hungry", kWait, "--for=jsonpath=" + status + "restartCount}=1"});
  EXPECT_EQ(field("pod/hungry", status + "lastState.terminated.reason}"), "OOMKilled");
  wait_ready("hungry");
}

TEST_F(RealNodesTest, APodIsReadyWhenItsGateIs) {
  must({"create", "-f", "-"},
       web_pod("gated", "readinessGates: [{ conditionType: berth.dev/bound }]"));
  must({"wait", "pod/gated", kWait, "--for=condition=ContainersReady"});
  EXPECT_EQ(field("pod/gated", "{.status.conditions[?(@.type=='Ready')].status}"), "False");
  must({"patch", "pod", "gated", "--subresource=status", "--type=strategic", "-p",
        R"({"status":{"conditions":[{"type":"berth.dev/bound","status":"True"}]}})"});
  wait_ready("gated");
}

// What is written into an annotation reaches the container as a file.
TEST_F(RealNodesTest, APodSeesItsAnnotationsChange) {
  must({"create", "-f", "-"},
       web_pod("told",
               "volumes: [{ name: about, downwardAPI: { items: [{ path: annotations, fieldRef: { "
               "fieldPath: metadata.annotations } }] } }]",
               "volumeMounts: [{ name: about, mountPath: /about }]"));
  wait_ready("told");
  must({"annotate", "pod/told", "example.com/port=31000"});
  EXPECT_TRUE(eventually(kPatience, [] {
    return must({"exec", "told", "--", "cat", "/about/annotations"}).find("31000") !=
           std::string::npos;
  }));
}

TEST_F(RealNodesTest, PodsRunOnWhileKubeletIsAway) {
  const std::string address = run_web("steady", on(1));
  const std::string container = field("pod/steady", "{.status.containerStatuses[0].containerID}");
  ASSERT_EQ(error_of(cluster_->stop_kubelet(1)), "");
  EXPECT_FALSE(cluster_->kubectl({"get", "--raw", "/api/v1/nodes/node-1/proxy/healthz"}).ok());
  EXPECT_EQ(fetch(address), "steady\n");
  ASSERT_EQ(error_of(cluster_->start_kubelet(1)), "");
  // It is kubelet that answers this, as soon as it has heard of its Pods again.
  EXPECT_TRUE(eventually(kPatience, [] {
    return cluster_->kubectl({"exec", "steady", "--", "hostname"}).out == "steady\n";
  }));
  EXPECT_EQ(field("pod/steady", "{.status.containerStatuses[0].containerID}"), container);
  EXPECT_EQ(fetch(address), "steady\n");
  run_web("newcomer", on(1));
}

TEST_F(RealNodesTest, PodsRunOnWhileTheApiServerIsAway) {
  const std::string address = run_web("alone", on(1));
  ASSERT_EQ(error_of(cluster_->plane().stop_api_server()), "");
  EXPECT_FALSE(cluster_->kubectl({"get", "--raw", "/readyz", "--request-timeout=5s"}).ok());
  EXPECT_EQ(fetch(address), "alone\n");
  ASSERT_EQ(error_of(cluster_->plane().restart_api_server()), "");
  EXPECT_EQ(field("pod/alone", "{.status.podIP}"), address);
  run_web("afterwards", on(1));

  cluster_->plane().hold_api_server();
  EXPECT_FALSE(cluster_->kubectl({"get", "--raw", "/readyz", "--request-timeout=2s"}).ok());
  cluster_->plane().resume_api_server();
  EXPECT_TRUE(eventually(kPatience, [] { return cluster_->kubectl({"get", "nodes"}).ok(); }));
}

TEST_F(RealNodesTest, AnAddressThatANodeIsGivenIsReached) {
  const std::string address = "10.62.2.1";
  ASSERT_EQ(error_of(cluster_->add_address(2, address)), "");
  run_web("edge", on(2) + "\n  hostNetwork: true");
  EXPECT_EQ(fetch(address), "node-2\n") << "the name of the host that it shares";
}

TEST_F(RealNodesTest, PodsOfADeadNodeMoveAndTheNodeComesBack) {
  must({"create", "-f", "-"}, R"(apiVersion: apps/v1
kind: Deployment
metadata: { name: mover }
spec:
  replicas: 1
  selector: { matchLabels: { app: mover } }
  template:
    metadata: { labels: { app: mover } }
    spec:
      affinity:
        nodeAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - { weight: 100, preference: { matchExpressions: [{ key: kubernetes.io/hostname, operator: In, values: [node-2] }] } }
      tolerations:
      - { key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 1 }
      containers: [{ name: web, image: "busybox:1", command: ["httpd", "-f", "-p", "8000"] }]
)");
  must({"rollout", "status", "deployment/mover", kWait});
  const std::string homes = "{.items[*].spec.nodeName}";
  EXPECT_EQ(must({"get", "pods", "-l", "app=mover", "-o", "jsonpath=" + homes}), "node-2");

  cluster_->kill_node(2);
  must({"wait", "node/node-2", kWait, "--for=condition=Ready=Unknown"});
  EXPECT_TRUE(eventually(kPatience, [] {
    return must({"get", "pods", "-l", "app=mover", "--field-selector=spec.nodeName=node-1", "-o",
                 "jsonpath={.items[*].status.conditions[?(@.type=='Ready')].status}"}) == "True";
  }));

  ASSERT_EQ(error_of(cluster_->start_node(2)), "");
  must({"wait", "node/node-2", kWait, "--for=condition=Ready"});
  EXPECT_EQ(fetch(run_web("returned", on(2))), "returned\n");
}

// ---- nothing is left behind

// A cluster of its own in another process, which can be ended in any way.
class LeftoversTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = RealNodes::unavailable()) GTEST_SKIP() << *reason;
  }

  static std::string read(const fs::path& path) {
    std::ifstream in(path);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }

  // Starts the program of `make cluster`; `id` is how the cluster is called.
  void start_cluster(ScratchDir& dir) {
    log_ = dir.path() / "log";
    std::vector<std::string> environment;
    for (const char* name : {"BERTH_NODE_DIR", "BERTH_CONTROLPLANE_DIR", "PATH", "HOME"}) {
      if (const char* value = std::getenv(name))
        environment.push_back(fmt::format("{}={}", name, value));
    }
    auto started = Process::spawn({BERTH_CLUSTER_PROGRAM, {"--nodes", "1"}, environment}, log_);
    ASSERT_TRUE(started) << started.error();
    process_.emplace(std::move(*started));
    ASSERT_TRUE(eventually(seconds(180), [&] {
      return !process_->running() || read(log_).find("Ctrl-C") != std::string::npos;
    }));
    // "source FOLDER/env"
    const std::string text = read(log_);
    const auto from = text.find("source /");
    const auto to = text.find("/env", from);
    ASSERT_NE(to, std::string::npos) << text;
    folder_ = text.substr(from + 7, to - from - 7);
    id_ = folder_.filename().string();
    network_ = network_of(fmt::format("/proc/{}", process_->pid()));
    ASSERT_NE(network_, "");
    ASSERT_TRUE(fs::exists(folder_)) << folder_;
  }

  // The kernel's name of it.
  static std::string network_of(const fs::path& process) {
    std::error_code error;
    return fs::read_symlink(process / "ns/net", error).string();
  }

  CommandResult shell(const std::string& script) const {
    return run({"/bin/bash",
                {"-c", fmt::format("source {}/env && {}", folder_.string(), script)},
                {"HOME=/root"}},
               {}, kPatience);
  }

  // Whatever the machine shows of the cluster: folders, cgroups, mounts, and processes that name it
  // or are in its network, with which that would go.
  std::string leftovers() const {
    std::string found;
    std::error_code error;
    if (fs::exists(folder_, error)) found += folder_.string() + '\n';
    for (const char* root :
         {"/sys/fs/cgroup", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids",
          "/sys/fs/cgroup/cpuset", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified"}) {
      if (fs::exists(fs::path(root) / id_, error)) found += fmt::format("{}/{}\n", root, id_);
    }
    if (read("/proc/self/mountinfo").find(id_) != std::string::npos) found += "a mount\n";
    for (const auto& entry : fs::directory_iterator("/proc", error)) {
      if (read(entry.path() / "cmdline").find(id_) != std::string::npos ||
          network_of(entry.path()) == network_)
        found += "process " + entry.path().string() + '\n';
    }
    return found;
  }

  std::optional<Process> process_;
  fs::path log_;
  fs::path folder_;
  std::string id_;
  std::string network_;
};

TEST_F(LeftoversTest, AClusterForPeopleIsUsedFromTheMachineAndLeavesNothing) {
  auto dir = ScratchDir::create("berth-ground");
  ASSERT_TRUE(dir) << dir.error();
  ASSERT_NO_FATAL_FAILURE(start_cluster(*dir));
  EXPECT_THAT(leftovers(), HasSubstr("process")) << "so that the search finds what is there";
  EXPECT_THAT(shell("kubectl get nodes").out, HasSubstr("node-1   Ready"));
  const auto pod = shell(
      "kubectl run web --image=busybox:1 --command -- httpd -f -p 8000 && "
      "kubectl wait --for=condition=Ready pod/web --timeout=60s");
  EXPECT_TRUE(pod.ok()) << pod.err;
  CommandResult seen;
  EXPECT_TRUE(eventually(
      kPatience,
      [&] {
        seen =
            shell("player curl -sS http://$(kubectl get pod web -o jsonpath={.status.podIP}):8000");
        return seen.out.find("404") != std::string::npos;
      }))
      << seen.out << seen.err;
  process_->terminate();
  EXPECT_TRUE(process_->wait(kPatience));
  EXPECT_EQ(process_->exit_code(), 0) << read(log_);
  EXPECT_EQ(leftovers(), "") << read(log_);
}

// What a cluster leaves whose helpers were killed with it, the next one takes away.
TEST_F(LeftoversTest, AKilledClusterLeavesNothing) {
  const fs::path hierarchy =
      fs::exists("/sys/fs/cgroup/pids") ? "/sys/fs/cgroup/pids" : "/sys/fs/cgroup";
  const fs::path forgotten = hierarchy / "berth-nodes.forgotten";
  fs::create_directories(forgotten / "node-1" / "kubepods");
  auto dir = ScratchDir::create("berth-ground");
  ASSERT_TRUE(dir) << dir.error();
  ASSERT_NO_FATAL_FAILURE(start_cluster(*dir));
  EXPECT_TRUE(shell("kubectl run web --image=busybox:1 --command -- sleep 3600 && "
                    "kubectl wait --for=condition=Ready pod/web --timeout=60s")
                  .ok());
  EXPECT_FALSE(fs::exists(forgotten));
  ::kill(process_->pid(), SIGKILL);
  EXPECT_TRUE(process_->wait(kPatience));
  EXPECT_TRUE(eventually(kPatience, [&] { return leftovers().empty(); })) << leftovers();
}

// ---- machines that are not made for it

// What the script that judges machines says to one that lacks something.
class PreconditionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = RealNodes::unavailable()) GTEST_SKIP() << *reason;
    ASSERT_TRUE(scratch_) << scratch_.error();
  }

  // Calls it in a mount namespace of its own, after `loss` took something away there.
  std::string check(const std::string& loss, const std::string& how = "") const {
    const std::string script = fmt::format("{}\n{} {} check", loss, how, BERTH_NODE_SCRIPT);
    const auto result = run({"/usr/bin/unshare",
                             {"--mount", "--propagation", "private", "/bin/bash", "-c", script},
                             {"PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                              fmt::format("BERTH_NODE_DIR={}", std::getenv("BERTH_NODE_DIR"))}},
                            {}, kPatience);
    EXPECT_EQ(result.exit_code, 77) << loss << result.out << result.err;
    EXPECT_EQ(std::ranges::count(result.out, '\n'), 1) << result.out;
    EXPECT_EQ(result.err, "");
    return result.out;
  }

  // Puts a program in another's place that fails when its arguments hold `word`.
  std::string without(const std::string& program, const std::string& word) const {
    const std::string stand_in = (scratch_->path() / "stand-in").string();
    const std::string original = (scratch_->path() / "original").string();
    return fmt::format(R"sh(
at=$(readlink -f "$(command -v {0})")
cp "$at" {1}
printf '#!/bin/bash\n[[ "$*" != *{2}* ]] && exec {1} "$@"\n' >{3}
chmod 755 {3}
mount --bind {3} "$at")sh",
                       program, original, word, stand_in);
  }

  std::expected<ScratchDir, std::string> scratch_ = ScratchDir::create("berth-ground");
};

TEST_F(PreconditionsTest, EachIsSaidInOneLineWithWhatToDo) {
  // Nobody's namespace: whoever is in it is not root.
  EXPECT_THAT(check("", "unshare --user"), HasSubstr("run as root"));
  EXPECT_THAT(check("unset BERTH_NODE_DIR"), HasSubstr("tests/cluster/node/build prints"));
  EXPECT_THAT(check("export BERTH_NODE_DIR=/nowhere"), HasSubstr("tests/cluster/node/build makes"));
  const std::string few = (scratch_->path() / "few").string();
  EXPECT_THAT(check(fmt::format("mkdir {0} && ln -s /usr/bin/* {0} && rm {0}/ip; PATH={0}", few)),
              HasSubstr("install the packages iproute2"));
  EXPECT_THAT(check("mount -t tmpfs tmpfs /sys/fs/cgroup"), HasSubstr("no cgroup controller"));
  EXPECT_THAT(check(without("ip", "veth")), HasSubstr("load the module veth"));
  EXPECT_THAT(check(without("ip", "bridge")), HasSubstr("load the module bridge"));
  EXPECT_THAT(check(without("$BERTH_NODE_DIR/root/usr/sbin/nft", "probe")),
              HasSubstr("load the module nf_tables"));
  EXPECT_THAT(check(without("mount", "lowerdir")), HasSubstr("load the module overlay"));
  EXPECT_THAT(check(without("unshare", "--net")), HasSubstr("CAP_SYS_ADMIN"));
}

}  // namespace
}  // namespace berth::testing
