// The node with real sockets, on the embedded API server behind HTTPS.
#include "sim/workloads/loopback_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json.hpp>

#include "base/threads.h"
#include "edge/echo_server.h"
#include "kube/client/config.h"
#include "net/curl_transport.h"
#include "sim/kube/https_frontend.h"
#include "sim/workloads/any_object.h"
#include "wire/yaml.h"

namespace berth::workloads {
namespace {

using namespace std::chrono_literals;
using kube::types::kPod;
using ::testing::HasSubstr;
using wire::Object;
using wire::Value;

constexpr int kTimeoutMs = 20'000;
constexpr Duration kPatience = 20s;

class LoopbackNodeTest : public testing::Test {
 protected:
  void SetUp() override {
    auto api = sim::kube::HttpsFrontend::start(tasks_, {});
    ASSERT_TRUE(api) << api.error().to_string();
    api_ = std::move(*api);
    const auto tls = std::make_shared<net::TlsSettings>();
    tls->ca_pem = api_->ca_pem();
    client_ =
        std::make_unique<kube::Client>(transport_, kube::fixed_config(api_->url(), {.tls = tls}));
    node_ = std::make_unique<LoopbackNode>(tasks_, *client_, Random(7), options());
    node_->add_to(manager_);
    node_->report_to(events_.emplace(tasks_, *client_, "loopback", registry_));
    reporting_ = tasks_.spawn("events", [this](std::stop_token stop) {
      events_->write_all({.tasks = tasks_, .stop = std::move(stop)});
    });
    running_ = tasks_.spawn("node", [this](std::stop_token stop) {
      const Result<> ran = manager_.run({.tasks = tasks_, .stop = std::move(stop)});
      EXPECT_TRUE(ran) << ran.error().to_string();
    });
  }
  void TearDown() override {
    running_.reset();
    reporting_.reset();
    node_.reset();
  }
  virtual NodeOptions options() { return {}; }

  Value create(const std::string& name, const std::string& spec,
               const std::string& annotations = "{}") {
    const Value object =
        wire::parse_yaml(fmt::format("apiVersion: v1\nkind: Pod\nmetadata: {{name: {}, namespace: "
                                     "default, annotations: {}}}\nspec: {}\n",
                                     name, annotations, spec))
            .value();
    const Result<Value> made = client_->create(context_, kPod, object);
    EXPECT_TRUE(made) << made.error().to_string();
    return made.value_or(Value());
  }
  // The Pod, once it is so.
  template <class Condition>
  Value wait_for(const std::string& name, Condition condition) {
    const Context patience = context_.within(kPatience);
    Value last;
    while (!patience.expired()) {
      Result<Value> pod = client_->get(patience, kPod, {"default", name});
      if (pod && condition(*pod)) return *pod;
      if (pod) last = *pod;
      (void)sleep_for(tasks_, 10ms, {});
    }
    ADD_FAILURE() << name << " stays " << wire::to_json(last);
    return last;
  }
  // The message of the event, once it is there.
  std::string event_of(const std::string& pod, std::string_view reason) {
    const Context patience = context_.within(kPatience);
    while (!patience.expired()) {
      const auto page = client_->list_all(patience, kube::types::kEvent, {.ns = "default"});
      for (const Value& event : page ? page->items : std::vector<Value>{}) {
        if (wire::string_at(event, "/reason") == reason &&
            wire::string_at(event, "/involvedObject/name") == pod)
          return std::string(wire::string_at(event, "/message"));
      }
      (void)sleep_for(tasks_, 10ms, {});
    }
    return "no such event";
  }
  static bool is_ready(const Value& pod) {
    const Value* ready = find_condition(array_or_empty(pod, "/status/conditions"), "Ready");
    return ready && wire::string_at(*ready, "/status") == "True";
  }
  bool wait_gone(const std::string& name) {
    const Context patience = context_.within(kPatience);
    while (!patience.expired()) {
      const auto pod = client_->get(patience, kPod, {"default", name});
      if (!pod && pod.error().code == Code::not_found) return true;
      (void)sleep_for(tasks_, 10ms, {});
    }
    return false;
  }
  static model::Target at(const Value& pod, model::Port port) {
    return {std::string(wire::string_at(pod, "/status/podIP")), port};
  }

  ThreadTasks tasks_;
  const Context context_{.tasks = tasks_};
  net::CurlTransport transport_;
  std::unique_ptr<sim::kube::HttpsFrontend> api_;
  std::unique_ptr<kube::Client> client_;
  metrics::Registry registry_;
  std::optional<kube::EventRecorder> events_;
  kube::Manager manager_;
  std::unique_ptr<LoopbackNode> node_;
  std::unique_ptr<Task> reporting_;
  std::unique_ptr<Task> running_;
};

const char* const kBothProtocols =
    "{containers: [{name: room, image: 'x:1', ports: [{containerPort: 8000}, {containerPort: 8000, "
    "protocol: UDP}]}]}";

const char* const kNoPorts = "{containers: [{name: room, image: 'x:1'}]}";

TEST_F(LoopbackNodeTest, PodsAnswerOnAddressesOfTheirOwn) {
  create("a", kBothProtocols);
  create("b", kBothProtocols);
  const Value a = wait_for("a", is_ready);
  const Value b = wait_for("b", is_ready);
  EXPECT_NE(at(a, 1).ip, at(b, 1).ip);
  EXPECT_EQ(wire::string_at(a, "/spec/nodeName"), "loopback");
  EXPECT_EQ(edge::ask_over_tcp(at(a, 8000), "ahoy", kTimeoutMs).value(), "this is default/a\nahoy");
  EXPECT_EQ(edge::ask_over_tcp(at(b, 8000), "ahoy", kTimeoutMs).value(), "this is default/b\nahoy");
  EXPECT_EQ(edge::ask_over_udp(at(b, 8000), "ahoy", kTimeoutMs).value(), "ahoy");
  const Value node = client_->get(context_, kube::types::kNode, {"", "loopback"}).value();
  EXPECT_EQ(wire::string_at(node, "/status/addresses/0/address"), "127.0.0.1");
}

TEST_F(LoopbackNodeTest, GatesHoldReadyBack) {
  create("gated",
         "{containers: [{name: room, image: 'x:1'}], readinessGates: [{conditionType: lb}]}");
  const Value waiting = wait_for(
      "gated", [](const Value& pod) { return wire::string_at(pod, "/status/phase") == "Running"; });
  EXPECT_FALSE(is_ready(waiting));
  const Result<Value> opened =
      client_->patch(context_, kPod, {"default", "gated"}, kube::PatchType::json,
                     wire::Array{Object{{"op", "add"},
                                        {"path", "/status/conditions/-"},
                                        {"value", Object{{"type", "lb"}, {"status", "True"}}}}},
                     {.subresource = "status"});
  ASSERT_TRUE(opened) << opened.error().to_string();
  wait_for("gated", is_ready);
}

TEST_F(LoopbackNodeTest, ADeletedPodEndsAndItsSocketsClose) {
  create("a", kBothProtocols);
  const Value a = wait_for("a", is_ready);
  ASSERT_TRUE(client_->remove(context_, kPod, {"default", "a"}));
  EXPECT_TRUE(wait_gone("a"));
  EXPECT_FALSE(edge::ask_over_tcp(at(a, 8000), "ahoy", kTimeoutMs));
}

TEST_F(LoopbackNodeTest, AHostPortIsGivenOnceAndWaitedFor) {
  const auto port = static_cast<model::Port>(23000 + ::getpid() % 2000);
  const std::string spec = fmt::format(
      "{{containers: [{{name: room, image: 'x:1', ports: [{{containerPort: 8000, hostPort: "
      "{}}}]}}]}}",
      port);
  create("first", spec);
  wait_for("first", is_ready);
  EXPECT_EQ(edge::ask_over_tcp({"127.0.0.1", port}, "ahoy", kTimeoutMs).value(),
            "this is default/first\nahoy");
  create("second", spec);
  const Value second = wait_for("second", [](const Value& pod) {
    return find_condition(array_or_empty(pod, "/status/conditions"), "PodScheduled") != nullptr;
  });
  EXPECT_EQ(wire::string_at(second, "/status/phase"), "Pending");
  EXPECT_THAT(wire::to_json(*wire::find(second, "/status/conditions")),
              HasSubstr("didn't have free ports for the requested pod ports"));
  EXPECT_EQ(event_of("second", "FailedScheduling"),
            "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod "
            "ports.");
  ASSERT_TRUE(client_->remove(context_, kPod, {"default", "first"}));
  wait_for("second", is_ready);
  EXPECT_EQ(edge::ask_over_tcp({"127.0.0.1", port}, "ahoy", kTimeoutMs).value(),
            "this is default/second\nahoy");
}

TEST_F(LoopbackNodeTest, FilesFollowThePodAndLogsTellOfConnections) {
  create(
      "a",
      "{containers: [{name: room, image: 'x:1', ports: [{containerPort: 8000}], env: [{name: IP, "
      "valueFrom: {fieldRef: {fieldPath: status.podIP}}}], volumeMounts: [{name: info, mountPath: "
      "/info}]}], volumes: [{name: info, downwardAPI: {items: [{path: notes, fieldRef: "
      "{fieldPath: metadata.annotations}}]}}]}",
      "{note: before}");
  const Value a = wait_for("a", is_ready);
  EXPECT_EQ(node_->exec(a, "room", {"cat", "/info/notes"}).value().out, "note=\"before\"");
  const Value changed =
      client_
          ->patch(context_, kPod, {"default", "a"}, kube::PatchType::merge,
                  Object{{"metadata", Object{{"annotations", Object{{"note", "after"}}}}}})
          .value();
  EXPECT_EQ(node_->exec(changed, "room", {"cat", "/info/notes"}).value().out, "note=\"after\"");
  EXPECT_EQ(node_->exec(a, "room", {"printenv", "IP"}).value().out, at(a, 1).ip + "\n");
  ASSERT_TRUE(edge::ask_over_tcp(at(a, 8000), "ahoy", kTimeoutMs));
  const std::string log = node_->log(a, "room").value();
  EXPECT_THAT(log, HasSubstr("echo server on tcp 8000\n"));
  EXPECT_THAT(log, HasSubstr("tcp 8000: 127."));
  EXPECT_EQ(node_->log(a, "nobody").error().code, Code::invalid);
  ASSERT_TRUE(client_->remove(context_, kPod, {"default", "a"}));
  ASSERT_TRUE(wait_gone("a"));
  EXPECT_EQ(node_->exec(a, "room", {"true"}).error().code, Code::not_found);
}

TEST_F(LoopbackNodeTest, APortThatIsCalledHttpAnswersRequests) {
  create("web",
         "{containers: [{name: room, image: 'x:1', ports: [{name: http, containerPort: "
         "8000}, {name: httpd, containerPort: 8001}]}]}");
  const Value web = wait_for("web", is_ready);
  const auto heard = edge::ask_over_tcp(at(web, 8000), "GET /a HTTP/1.0\r\n\r\n", kTimeoutMs);
  EXPECT_THAT(heard.value(), HasSubstr("\r\n\r\nthis is default/web\nGET /a HTTP/1.0\n"));
  EXPECT_EQ(edge::ask_over_tcp(at(web, 8001), "ahoy", kTimeoutMs).value(),
            "this is default/web\nahoy");
}

class NodePortTest : public LoopbackNodeTest {
 protected:
  static std::string labelled(const std::string& name) {
    return fmt::format(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {}, namespace: default, labels: {{app: "
        "web}}}}\nspec: {}\n",
        name, kBothProtocols);
  }
  void make(const kube::ResourceType& type, const std::string& yaml) {
    const auto made = client_->create(context_, type, wire::parse_yaml(yaml).value());
    ASSERT_TRUE(made) << made.error().to_string();
  }
  // Who answers so many connections, in order.
  std::vector<std::string> who(int times) {
    std::vector<std::string> out;
    for (int i = 0; i < times; ++i)
      out.push_back(edge::ask_over_tcp(door(), "", kTimeoutMs).value_or("nobody"));
    return out;
  }
  template <class Condition>
  bool soon(Condition condition) {
    const Context patience = context_.within(kPatience);
    while (!condition()) {
      if (patience.expired() || !sleep_for(tasks_, 10ms, {})) return false;
    }
    return true;
  }
  NodeOptions options() override { return {.address = door().ip}; }
  // Of this process alone.
  static model::Target door() {
    return {fmt::format("127.15.{}.{}", ::getpid() / 250 % 250, 1 + ::getpid() % 250), 30080};
  }
  const std::string a_ = "this is default/a\n", b_ = "this is default/b\n";
};

TEST_F(NodePortTest, LeadsInTurnToThePodsThatAreReady) {
  make(kPod, labelled("a"));
  make(kPod, labelled("b"));
  wait_for("a", is_ready);
  wait_for("b", is_ready);
  make(kube::types::kService,
       "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: default}\nspec: {type: "
       "NodePort, selector: {app: web}, ports: [{name: t, protocol: TCP, port: 80, targetPort: "
       "8000, nodePort: 30080}, {name: u, protocol: UDP, port: 80, targetPort: 8000, nodePort: "
       "30080}]}\n");
  ASSERT_TRUE(soon([&] { return who(1) != std::vector<std::string>{"nobody"}; }));
  EXPECT_THAT(who(4), testing::UnorderedElementsAre(a_, a_, b_, b_));
  EXPECT_EQ(edge::ask_over_udp(door(), "ahoy", kTimeoutMs).value(), "ahoy");
  ASSERT_TRUE(client_->remove(context_, kPod, {"default", "a"}));
  EXPECT_TRUE(soon([&] { return who(3) == std::vector{b_, b_, b_}; }));
  ASSERT_TRUE(client_->remove(context_, kube::types::kService, {"default", "web"}));
  EXPECT_TRUE(soon([&] { return who(1) == std::vector<std::string>{"nobody"}; }));
}

class SmallNodeTest : public LoopbackNodeTest {
 protected:
  NodeOptions options() override { return {.max_sockets = 2}; }
};

TEST_F(SmallNodeTest, PastItsSocketsAPodSaysWhyItDoesNotRun) {
  create("a", kBothProtocols);
  wait_for("a", is_ready);
  create("b", kBothProtocols);
  const Value b = wait_for("b", [](const Value& pod) {
    return !array_or_empty(pod, "/status/containerStatuses").empty();
  });
  EXPECT_EQ(wire::string_at(b, "/status/phase"), "Pending");
  EXPECT_THAT(wire::to_json(*wire::find(b, "/status/containerStatuses")),
              HasSubstr("all 2 sockets of echo servers are in use"));
  EXPECT_EQ(wire::find(b, "/status/podIP"), nullptr);
  // A whole life of another Pod passes meanwhile.
  create("c", kNoPorts);
  wait_for("c", is_ready);
  ASSERT_TRUE(client_->remove(context_, kPod, {"default", "c"}));
  ASSERT_TRUE(wait_gone("c"));
  const Value later = client_->get(context_, kPod, {"default", "b"}).value();
  EXPECT_EQ(wire::string_at(later, "/metadata/resourceVersion"),
            wire::string_at(b, "/metadata/resourceVersion"))
      << "it writes again though it has nothing new to say";
  ASSERT_TRUE(client_->remove(context_, kPod, {"default", "a"}));
  wait_for("b", is_ready);
}

}  // namespace
}  // namespace berth::workloads
