// The controllers on the embedded API server in simulation: late watches, slow answers and crashes,
// by the seed.
#include "sim/workloads/controllers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "sim/kernel/sweep.h"
#include "sim/workloads/any_object.h"
#include "sim/world/cluster.h"
#include "sim/world/kubelet.h"

namespace berth::workloads {
namespace {

using namespace std::chrono_literals;
using wire::Array;
using wire::Object;
using wire::Value;
using world::Cluster;

const std::string kPods = "/api/v1/namespaces/default/pods";
const std::string kSets = "/apis/apps/v1/namespaces/default/replicasets";
const std::string kDeployments = "/apis/apps/v1/namespaces/default/deployments";
const std::string kStatefulSets = "/apis/apps/v1/namespaces/default/statefulsets";

world::ClusterOptions network(std::uint64_t seed) {
  Random random(seed);
  world::ClusterOptions options;
  options.kernel.min_latency = 1ms;
  options.kernel.max_latency = std::chrono::milliseconds{1 + random.below(100)};
  options.link.max_watch_delay = std::chrono::milliseconds{random.below(500)};
  return options;
}

// A process with the controllers in it. It crashes and is built anew as the test likes.
class ManagerProcess {
 public:
  ManagerProcess(Cluster& cluster, const std::string& name)
      : process_(cluster.kernel().start_process(name, sim::Crashable::yes)),
        network_(cluster.connect(process_)),
        client_(*network_, kube::fixed_config(Cluster::kServerUrl, {})),
        controllers_(process_, client_, cluster.kernel().fork_random()) {
    main_ = process_.spawn("main", [this](std::stop_token stop) {
      (void)controllers_.run({.tasks = process_, .stop = std::move(stop)});
    });
  }
  ~ManagerProcess() { process_.kernel().crash(process_); }

 private:
  sim::Process& process_;
  std::unique_ptr<net::Transport> network_;
  kube::Client client_;
  Controllers controllers_;
  std::unique_ptr<Task> main_;
};

bool is_ready(const Value& pod) {
  const Value* ready = find_condition(array_or_empty(pod, "/status/conditions"), "Ready");
  return ready && wire::string_at(*ready, "/status") == "True";
}
bool is_ending(const Value& object) {
  return !wire::string_at(object, "/metadata/deletionTimestamp").empty();
}

bool is_observed(const Value& workload) {
  return int_or(workload, "/status/observedGeneration", 0) ==
         int_or(workload, "/metadata/generation", -1);
}

// A cluster whose Pods become ready a moment after they run, with an eye on every change.
class Stage {
 public:
  explicit Stage(std::uint64_t seed)
      : cluster_(seed, network(seed)),
        kubelet_(cluster_, {.max_start = 1s, .max_end = 1s}),
        manager_(std::make_unique<ManagerProcess>(cluster_, "manager-0")) {
    observing_ = cluster_.gateway().observe(
        [this](const net::Request& request, const world::SeenReply& reply) {
          if (request.method == "GET" || reply.status() >= 300) return;
          if (request.method == "PATCH" && request.url.find("/pods/") != std::string::npos)
            make_ready(reply);
          if (check_) check_();
        });
  }

  ~Stage() { cluster_.end_players(); }

  Cluster& cluster() { return cluster_; }
  void check_always(std::function<void()> check) { check_ = std::move(check); }
  void restart_manager() {
    manager_.reset();
    manager_ = std::make_unique<ManagerProcess>(cluster_, fmt::format("manager-{}", ++restarts_));
  }

  std::vector<Value> list(const std::string& path) { return cluster_.list(path).value(); }
  Value get(const std::string& path) {
    const Result<Value> found = cluster_.ask("GET", path);
    return found ? *found : Value();
  }
  void create(const std::string& yaml) {
    const Result<> made = cluster_.create_all(yaml);
    ASSERT_TRUE(made) << made.error().to_string();
  }
  void patch(const std::string& path, const std::string& yaml) {
    const Result<Value> done = cluster_.ask("PATCH", path, wire::parse_json(yaml).value());
    ASSERT_TRUE(done) << done.error().to_string();
  }
  void until(const char* what, const std::function<bool()>& done) {
    const Result<> ran = cluster_.run_until(done, {.max_virtual_time = 1h});
    EXPECT_TRUE(ran) << what << ": " << ran.error().to_string();
  }
  std::size_t ready_pods() {
    const std::vector<Value> pods = list(kPods);
    return static_cast<std::size_t>(std::ranges::count_if(
        pods, [](const Value& pod) { return is_ready(pod) && !is_ending(pod); }));
  }

 private:
  void make_ready(const world::SeenReply& reply) {
    const Value* const pod = reply.object();
    if (!pod || wire::string_at(*pod, "/status/phase") != "Running" || is_ready(*pod)) return;
    const std::string name(wire::string_at(*pod, "/metadata/name"));
    cluster_.play("ready " + name, [this, name](std::stop_token) {
      net::Request request{.method = "PATCH", .url = kPods + "/" + name + "/status"};
      request.headers.set("Content-Type", "application/json-patch+json");
      request.body =
          wire::to_json(Array{Object{{"op", "add"},
                                     {"path", "/status/conditions/-"},
                                     {"value", Object{{"type", "Ready"}, {"status", "True"}}}}});
      (void)cluster_.gateway().handle(request);
    });
  }

  Cluster cluster_;
  world::Kubelet kubelet_;
  std::function<void()> check_;
  std::shared_ptr<const world::ServerGateway::Observer> observing_;
  std::unique_ptr<ManagerProcess> manager_;
  int restarts_ = 0;
};

std::string workload(const char* kind, const char* more, int replicas = 4) {
  return fmt::format(
      "apiVersion: apps/v1\nkind: {}\nmetadata: {{name: room, namespace: default}}\n"
      "spec:\n  replicas: {}\n{}  selector: {{matchLabels: {{app: room}}}}\n"
      "  template:\n    metadata: {{labels: {{app: room}}}}\n"
      "    spec: {{containers: [{{name: room, image: 'room:1', ports: [{{containerPort: "
      "8000}}]}}]}}\n",
      kind, replicas, more);
}
const char* const kNewImage =
    R"({"spec":{"template":{"spec":{"containers":[{"name":"room","image":"room:2"}]}}}})";

// Of four, one more may be there and none may be missing: at every moment of a rollout in the
// middle of which the controllers crash.
void roll_out(std::uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Stage stage(seed);
  stage.create(
      workload("Deployment", "  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}\n"));
  stage.until("four are ready", [&] { return stage.ready_pods() == 4; });
  stage.check_always([&] {
    std::int64_t sized = 0;
    for (const Value& set : stage.list(kSets)) sized += int_or(set, "/spec/replicas", 0);
    EXPECT_LE(sized, 5);
    EXPECT_GE(stage.ready_pods(), 4u);
  });
  stage.patch(kDeployments + "/room", kNewImage);
  ASSERT_TRUE(stage.cluster().run_for(std::chrono::milliseconds{Random(seed).below(3000)}));
  stage.restart_manager();
  stage.until("rolled out", [&] {
    const Value deployment = stage.list(kDeployments).front();
    return is_observed(deployment) && int_or(deployment, "/status/updatedReplicas", 0) == 4 &&
           int_or(deployment, "/status/replicas", 0) == 4 &&
           int_or(deployment, "/status/availableReplicas", 0) == 4;
  });
  ASSERT_TRUE(stage.cluster().settle(20s));
  stage.check_always({});
  for (const Value& pod : stage.list(kPods)) {
    EXPECT_EQ(wire::string_at(pod, "/spec/containers/0/image"), "room:2");
  }
  EXPECT_EQ(stage.list(kPods).size(), 4u);
  const Value deployment = stage.list(kDeployments).front();
  EXPECT_TRUE(is_observed(deployment));
  EXPECT_EQ(wire::string_at(deployment, "/metadata/annotations/deployment.kubernetes.io~1revision"),
            "2");
}

TEST(WorkloadControllers, ARolloutKeepsItsBoundsWhateverHappens) {
  for (std::uint64_t seed = 1; seed <= 12 && !testing::Test::HasFailure(); ++seed) roll_out(seed);
}

void keep_order(std::uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Stage stage(seed);
  std::size_t most = 0;
  stage.check_always([&] {
    const std::vector<Value> pods = stage.list(kPods);
    most = std::max(most, pods.size());
    const auto starting = std::ranges::count_if(
        pods, [](const Value& pod) { return !is_ready(pod) || is_ending(pod); });
    EXPECT_LE(starting, 1) << "more than one at a time";
  });
  stage.create(workload("StatefulSet", "  serviceName: rooms\n", 3));
  stage.until("three are ready", [&] { return stage.ready_pods() == 3; });
  stage.patch(kStatefulSets + "/room", kNewImage);
  stage.restart_manager();
  stage.until("updated", [&] {
    const Value set = stage.list(kStatefulSets).front();
    return is_observed(set) && int_or(set, "/status/updatedReplicas", 0) == 3 &&
           stage.ready_pods() == 3 &&
           wire::string_at(set, "/status/currentRevision") ==
               wire::string_at(set, "/status/updateRevision");
  });
  for (const Value& pod : stage.list(kPods)) {
    EXPECT_EQ(wire::string_at(pod, "/spec/containers/0/image"), "room:2");
  }
  stage.patch(kStatefulSets + "/room", R"({"spec":{"replicas":1}})");
  stage.until("one is left", [&] { return stage.list(kPods).size() == 1; });
  EXPECT_EQ(wire::string_at(stage.list(kPods).front(), "/metadata/name"), "room-0");
  EXPECT_EQ(most, 3u);
}

TEST(WorkloadControllers, AStatefulSetGoesOneByOne) {
  for (std::uint64_t seed = 1; seed <= 12 && !testing::Test::HasFailure(); ++seed) keep_order(seed);
}

TEST(WorkloadControllers, RefusedPodsAreReportedAndComeLater) {
  Stage stage(1);
  sim::kube::ApiError denied =
      sim::kube::forbidden({"", "pods"}, "room-x", "admission webhook denied: the pool is full");
  stage.cluster().server().faults().refuse_next({"create", "pods"}, denied, 6);
  stage.create(workload("Deployment", ""));
  stage.until("the trouble is told", [&] {
    for (const Value& set : stage.list(kSets)) {
      if (find_condition(array_or_empty(set, "/status/conditions"), "ReplicaFailure")) return true;
    }
    return false;
  });
  stage.until("four are ready", [&] { return stage.ready_pods() == 4; });
  ASSERT_TRUE(stage.cluster().settle(20s));
  EXPECT_EQ(find_condition(array_or_empty(stage.list(kSets).front(), "/status/conditions"),
                           "ReplicaFailure"),
            nullptr);
  const std::vector<Value> events = stage.list("/api/v1/namespaces/default/events");
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(wire::string_at(events.front(), "/reason"), "FailedCreate");
  EXPECT_THAT(std::string(wire::string_at(events.front(), "/message")),
              testing::HasSubstr("the pool is full"));
}

TEST(WorkloadControllers, EndpointsFollowThePods) {
  Stage stage(2);
  stage.create(workload("Deployment", "", 2));
  stage.create(
      "apiVersion: v1\nkind: Service\nmetadata: {name: room, namespace: default}\n"
      "spec: {type: NodePort, selector: {app: room}, ports: [{port: 80, targetPort: 8000}]}\n");
  const std::string slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
  const auto ready_endpoints = [&] {
    std::int64_t ready = 0;
    for (const Value& slice : stage.list(slices)) {
      for (const Value& one : array_or_empty(slice, "/endpoints")) {
        ready += wire::bool_at(one, "/conditions/ready").value_or(false) ? 1 : 0;
      }
    }
    return ready;
  };
  stage.until("two endpoints", [&] { return ready_endpoints() == 2; });
  const Value service = stage.list("/api/v1/namespaces/default/services").front();
  EXPECT_FALSE(wire::string_at(service, "/spec/clusterIP").empty());
  EXPECT_GE(int_or(service, "/spec/ports/0/nodePort", 0), 30000);
  stage.patch(kDeployments + "/room", R"({"spec":{"replicas":0}})");
  stage.until("no endpoint", [&] {
    const std::vector<Value> endpoints = stage.list("/api/v1/namespaces/default/endpoints");
    return ready_endpoints() == 0 && array_or_empty(endpoints.front(), "/subsets").empty();
  });
  ASSERT_TRUE(stage.cluster().ask("DELETE", "/api/v1/namespaces/default/services/room"));
  stage.until("the Service takes them with it", [&] {
    return stage.list("/api/v1/namespaces/default/endpoints").empty() && stage.list(slices).empty();
  });
}

TEST(WorkloadControllers, DeletionFollowsItsPolicy) {
  for (const char* policy : {"Background", "Foreground", "Orphan"}) {
    SCOPED_TRACE(policy);
    Stage stage(3);
    stage.create(workload("Deployment", "", 2));
    stage.until("two are ready", [&] { return stage.ready_pods() == 2; });
    bool in_order = true;
    stage.check_always([&] {
      if (stage.list(kDeployments).empty() && !stage.list(kPods).empty()) in_order = false;
    });
    ASSERT_TRUE(stage.cluster().ask(
        "DELETE", kDeployments + "/room",
        Object{{"kind", "DeleteOptions"}, {"apiVersion", "v1"}, {"propagationPolicy", policy}}));
    stage.until("it is gone", [&] { return stage.list(kDeployments).empty(); });
    ASSERT_TRUE(stage.cluster().settle(20s));
    stage.check_always({});
    if (std::string_view(policy) == "Orphan") {
      ASSERT_EQ(stage.list(kSets).size(), 1u);
      EXPECT_TRUE(array_or_empty(stage.list(kSets).front(), "/metadata/ownerReferences").empty());
      EXPECT_EQ(stage.ready_pods(), 2u);
      stage.create(workload("Deployment", "", 2));
      stage.until("a new one adopts it", [&] {
        return !array_or_empty(stage.list(kSets).front(), "/metadata/ownerReferences").empty();
      });
      EXPECT_EQ(stage.list(kSets).size(), 1u);
    } else {
      EXPECT_TRUE(stage.list(kSets).empty());
      EXPECT_TRUE(stage.list(kPods).empty());
      EXPECT_TRUE(in_order || std::string_view(policy) != "Foreground");
    }
  }
}

TEST(WorkloadControllers, ANamespaceIsEmptiedBeforeItGoes) {
  Stage stage(4);
  stage.create(
      "apiVersion: v1\nkind: Namespace\nmetadata: {name: games}\n---\n"
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: held, namespace: games, finalizers: "
      "[example.com/hold]}\n---\n"
      "apiVersion: v1\nkind: Pod\nmetadata: {name: room, namespace: games}\n"
      "spec: {containers: [{name: room, image: 'room:1'}]}\n");
  ASSERT_TRUE(stage.cluster().ask("DELETE", "/api/v1/namespaces/games"));
  ASSERT_TRUE(stage.cluster().run_for(30s));
  EXPECT_TRUE(stage.list("/api/v1/namespaces/games/pods").empty());
  EXPECT_EQ(wire::string_at(stage.get("/api/v1/namespaces/games"), "/status/phase"), "Terminating")
      << "what holds an object holds its namespace";
  stage.patch("/api/v1/namespaces/games/configmaps/held", R"({"metadata":{"finalizers":[]}})");
  stage.until("it is gone", [&] { return stage.get("/api/v1/namespaces/games").is_null(); });
}

}  // namespace
}  // namespace berth::workloads
