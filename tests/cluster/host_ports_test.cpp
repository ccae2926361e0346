// Random host ports on a real control plane: the real server calls the webhook and validates what
// it put into Pods, the real scheduler obeys it on simulated nodes, and on the playground's node
// traffic reaches the Pod through its host port.

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "api/host_ports.h"
#include "edge/echo_server.h"
#include "playground_on_cluster.h"
#include "support/eventually.h"
#include "wire/value.h"

namespace berth {
namespace {

using namespace std::chrono_literals;
using model::Port;
using wire::Value;

constexpr int kEchoTimeoutMs = 10'000;

std::string example_path(const std::string& name) {
  const char* source = std::getenv("BERTH_SOURCE_DIR");
  return std::string(source ? source : ".") + "/examples/" + name;
}

std::string bare_pod(const std::string& ns, const std::string& name) {
  return fmt::format(R"(
apiVersion: v1
kind: Pod
metadata:
  name: {}
  namespace: {}
  annotations:
    randhostport.webhook.bkbcs.tencent.com: "true"
    ports.randhostport.webhook.bkbcs.tencent.com: "8080"
spec:
  containers:
    - {{name: main, image: example/none, ports: [{{containerPort: 8080}}]}}
)",
                     name, ns);
}

std::vector<Port> host_ports_of(const Value& pod) {
  std::vector<Port> out;
  const wire::Array* ports = wire::array_at(pod, "/spec/containers/0/ports");
  for (std::size_t i = 0; ports && i < ports->size(); ++i) {
    if (const auto port = wire::int_at((*ports)[i], "/hostPort"))
      out.push_back(static_cast<Port>(*port));
  }
  return out;
}

// The value, or the field that it comes from, of a variable of the first container.
std::string variable_of(const Value& pod, const std::string& name) {
  const wire::Array* env = wire::array_at(pod, "/spec/containers/0/env");
  for (std::size_t i = 0; env && i < env->size(); ++i) {
    if (wire::string_at((*env)[i], "/name") != name) continue;
    const std::string_view field = wire::string_at((*env)[i], "/valueFrom/fieldRef/fieldPath");
    return std::string(field.empty() ? wire::string_at((*env)[i], "/value") : field);
  }
  return {};
}

// `berth controller` beside a whole control plane with three simulated nodes.
class HostPortsOnNodes : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (testing::ControlPlane::unavailable()) return;
    auto started = testing::ControlPlane::start({.with_workloads = true, .nodes = 3});
    if (started) plane_ = std::move(*started);
    if (!started) start_error_ = started.error();
  }
  static void TearDownTestSuite() { plane_.reset(); }

  void SetUp() override {
    if (const auto why = testing::ControlPlane::unavailable()) GTEST_SKIP() << *why;
    ASSERT_TRUE(plane_) << start_error_;
  }
  void TearDown() override {
    if (!plane_ || !controller_) return;
    (void)plane_->kubectl({"delete", "deployment,pod", "--all", "--now", "--wait"});
    controller_->terminate();
    EXPECT_TRUE(controller_->wait(20s)) << log();
    (void)plane_->kubectl({"delete", "mutatingwebhookconfiguration", "berth"});
  }

  void start_controller(const std::string& host_ports) {
    const auto log_file = plane_->directory() / "berth.log";
    auto started =
        testing::Process::spawn({.program = BERTH_PROGRAM,
                                 .args = {"controller", "--edge-loopback", "--kubeconfig",
                                          plane_->kubeconfig_path().string(), "--user", "admin",
                                          "--no-leader-elect", "--host-ports", host_ports},
                                 .env = {}},
                                log_file);
    ASSERT_TRUE(started) << started.error();
    controller_.emplace(std::move(*started));
    ASSERT_TRUE(testing::eventually(120s, [&] {
      return plane_->kubectl({"get", "mutatingwebhookconfiguration", "berth"}).ok() ||
             !controller_->running();
    }));
    ASSERT_TRUE(controller_->running()) << log();
    // The server learns of a webhook a moment after it is stored.
    ASSERT_TRUE(testing::eventually(120s, [&] { return dry_run_port() != 0; })) << log();
  }
  std::string log() const {
    std::ifstream file(plane_->directory() / "berth.log");
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  std::string run(const std::vector<std::string>& args) {
    const auto result = plane_->kubectl(args);
    EXPECT_TRUE(result.ok()) << args.front() << " " << args.back() << ": " << result.out
                             << result.err;
    return result.out;
  }
  std::vector<Value> pods(const std::string& selector) {
    const Value list =
        wire::parse_json(run({"get", "pods", "-l", selector, "-o", "json"})).value_or(Value());
    const wire::Array* items = wire::array_at(list, "/items");
    return items ? std::vector<Value>(items->begin(), items->end()) : std::vector<Value>{};
  }
  // What a new Pod would get; 0: it is not given any.
  Port dry_run_port() {
    const auto shown = plane_->kubectl({"create", "--dry-run=server", "-o", "json", "-f", "-"},
                                       bare_pod("default", "dry"));
    const std::vector<Port> ports = host_ports_of(wire::parse_json(shown.out).value_or(Value()));
    return ports.empty() ? Port{0} : ports.front();
  }

  static std::unique_ptr<testing::ControlPlane> plane_;
  static std::string start_error_;
  std::optional<testing::Process> controller_;
};
std::unique_ptr<testing::ControlPlane> HostPortsOnNodes::plane_;
std::string HostPortsOnNodes::start_error_;

TEST_F(HostPortsOnNodes, ADeploymentGetsDifferentPortsAndIsToldOfThem) {
  start_controller("20000-29999");
  if (HasFatalFailure()) return;
  run({"apply", "-f", example_path("host-ports.yaml")});
  run({"rollout", "status", "deployment/relay", "--timeout=120s"});
  const std::vector<Value> relays = pods("randhostport.webhook.bkbcs.tencent.com=true");
  ASSERT_EQ(relays.size(), 3u);
  std::set<Port> given;
  for (const Value& pod : relays) {
    const std::vector<Port> ports = host_ports_of(pod);
    ASSERT_EQ(ports.size(), 2u);
    const wire::Array* terms = wire::array_at(
        pod, "/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution");
    ASSERT_TRUE(terms);
    ASSERT_EQ(terms->size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
      const Port port = ports[i];
      const std::string number = fmt::format("{}", port);
      EXPECT_TRUE(given.insert(port).second) << port << " was given twice";
      EXPECT_TRUE(api::kDefaultHostPorts.contains(port));
      EXPECT_EQ(wire::string_at(pod, "/metadata/labels/" + api::host_port_label(port)), number);
      const auto inside = static_cast<Port>(8080 + i);
      EXPECT_EQ(
          wire::string_at(pod, "/metadata/annotations/" + api::host_port_result_annotation(inside)),
          number);
      EXPECT_EQ(variable_of(pod, api::host_port_variable(inside)), number);
      EXPECT_EQ(wire::string_at((*terms)[i], "/topologyKey"), "kubernetes.io/hostname");
      EXPECT_EQ(
          wire::string_at((*terms)[i], "/labelSelector/matchLabels/" + api::host_port_label(port)),
          number);
    }
    EXPECT_EQ(variable_of(pod, "BCS_RANDHOSTPORT_HOSTIP"), "status.hostIP");
    EXPECT_EQ(variable_of(pod, "BCS_RANDHOSTPORT_POD_NAME"), "metadata.name");
    EXPECT_EQ(variable_of(pod, "BCS_RANDHOSTPORT_POD_NAMESPACE"), "metadata.namespace");
  }

  // The manifest of a Pod that runs, under another name: it gets ports of its own.
  Value copy = relays.front();
  ASSERT_TRUE(
      wire::set_at(copy, "/metadata",
                   wire::Object{{"name", "copy"},
                                {"labels", *wire::find(copy, "/metadata/labels")},
                                {"annotations", *wire::find(copy, "/metadata/annotations")}}));
  ASSERT_TRUE(wire::remove_at(copy, "/spec/nodeName"));
  const auto copied = plane_->kubectl({"create", "-o", "json", "-f", "-"}, wire::to_json(copy));
  ASSERT_TRUE(copied.ok()) << copied.err;
  const Value made = wire::parse_json(copied.out).value();
  ASSERT_EQ(host_ports_of(made).size(), 2u);
  for (const Port port : host_ports_of(made))
    EXPECT_TRUE(given.insert(port).second) << port << " was copied";
  EXPECT_EQ(
      wire::array_at(
          made, "/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution")
          ->size(),
      2u);
}

// Two ports for three Pods that want two each: the scheduler gives each Pod a node of its own.
TEST_F(HostPortsOnNodes, PodsWithTheSamePortsRunOnDifferentNodes) {
  start_controller("20000-20001");
  if (HasFatalFailure()) return;
  run({"apply", "-f", example_path("host-ports.yaml")});
  run({"rollout", "status", "deployment/relay", "--timeout=120s"});
  std::set<std::string> nodes;
  for (const Value& pod : pods("app=relay")) nodes.emplace(wire::string_at(pod, "/spec/nodeName"));
  EXPECT_EQ(nodes.size(), 3u);
}

TEST_F(HostPortsOnNodes, APodThatAQuotaRefusesLeavesNothing) {
  start_controller("20000-20001");
  if (HasFatalFailure()) return;
  run({"create", "namespace", "full"});
  run({"create", "quota", "none", "-n", "full", "--hard=pods=0"});
  ASSERT_TRUE(testing::eventually(120s, [&] {
    return run({"get", "quota", "none", "-n", "full", "-o", "jsonpath={.status.hard.pods}"}) == "0";
  }));
  const auto refused = plane_->kubectl({"create", "-f", "-"}, bare_pod("full", "room"));
  EXPECT_FALSE(refused.ok());
  EXPECT_NE(refused.err.find("exceeded quota"), std::string::npos) << refused.err;
  // While its port counts, only the other one is offered; then both are again.
  std::set<Port> offered;
  EXPECT_TRUE(testing::eventually(120s,
                                  [&] {
                                    offered.insert(dry_run_port());
                                    return offered.size() == 2;
                                  }))
      << *offered.begin() << " alone is offered";
}

TEST_F(HostPortsOnNodes, RefusalsSayWhy) {
  start_controller("20000-20001");
  if (HasFatalFailure()) return;
  std::string pod = bare_pod("default", "room");
  pod.replace(pod.find("\"8080\""), 6, "\"http\"");
  const auto unknown = plane_->kubectl({"create", "-f", "-"}, pod);
  EXPECT_NE(unknown.err.find("Pod default/room: metadata.annotations[ports.randhostport.webhook."
                             "bkbcs.tencent.com]: 'http' is neither name nor number of a "
                             "container's port; declared: 8080"),
            std::string::npos)
      << unknown.err;
  pod = bare_pod("default", "room");
  pod.replace(pod.find("\"8080\""), 6, "\"1,2,3\"");
  pod.replace(pod.find("{containerPort: 8080}"), 21,
              "{containerPort: 1}, {containerPort: 2}, {containerPort: 3}");
  const auto too_many = plane_->kubectl({"create", "-f", "-"}, pod);
  EXPECT_NE(too_many.err.find("asks for 3 host ports, the range 20000-20001 has 2"),
            std::string::npos)
      << too_many.err;
}

class HostPortTraffic : public PlaygroundOnCluster {
 protected:
  HostPortTraffic() : PlaygroundOnCluster(true) {}
};

TEST_F(HostPortTraffic, APodIsReachedAtItsNodesAddressAndHostPort) {
  run({"apply", "-f", example("host-ports.yaml")});
  run({"rollout", "status", "deployment/relay", "--timeout=60s"});
  const Value list =
      wire::parse_json(run({"get", "pods", "-l", "app=relay", "-o", "json"})).value();
  const wire::Array* relays = wire::array_at(list, "/items");
  ASSERT_TRUE(relays);
  ASSERT_EQ(relays->size(), 3u);
  for (const Value& pod : *relays) {
    const std::string greeting =
        fmt::format("this is default/{}\n", wire::string_at(pod, "/metadata/name"));
    for (const Port port : host_ports_of(pod)) {
      const model::Target at{std::string(wire::string_at(pod, "/status/hostIP")), port};
      EXPECT_EQ(edge::ask_over_tcp(at, "ahoy\n", kEchoTimeoutMs).value_or("nothing"),
                greeting + "ahoy\n")
          << model::to_string(at);
    }
  }
}

// Both webhooks change the Pod, so the real server calls ours a second time.
TEST_F(HostPortTraffic, APodCanHaveAPortOfAPoolAndAHostPort) {
  run({"apply", "-f", example("first-room.yaml")});
  std::string pod = bare_pod("games", "both");
  const std::string ports = "    ports.randhostport";
  pod.insert(pod.find(ports),
             "    portpools.networkextension.bkbcs.tencent.com: \"true\"\n"
             "    ports.portpools.networkextension.bkbcs.tencent.com: \"rooms TCP 8080\"\n");
  const auto created = cluster_->kubectl({"create", "-o", "json", "-f", "-"}, pod);
  ASSERT_TRUE(created.ok()) << created.err;
  const Value made = wire::parse_json(created.out).value();
  ASSERT_EQ(host_ports_of(made).size(), 1u);
  const std::string number = fmt::format("{}", host_ports_of(made).front());
  EXPECT_EQ(variable_of(made, "BCS_RANDHOSTPORT_FOR_CONTAINER_PORT_8080"), number);
  EXPECT_NE(variable_of(made, "BCS_PORTPOOL_PORT_VIPLIST_TCP_8080"), "");
  std::size_t labels = 0;
  for (const auto& label : *wire::object_at(made, "/metadata/labels"))
    labels += api::port_of_label(label.key()).has_value();
  EXPECT_EQ(labels, 1u);
  EXPECT_TRUE(play_->wait_for_room(context_.within(30s), "games/both"));
}

}  // namespace
}  // namespace berth
