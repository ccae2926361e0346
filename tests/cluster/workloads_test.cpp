// The playground's workload controllers and its node on a real kube-apiserver that has no
// controller manager: what they write must pass its validation, and kubectl must be content with
// them.

#include <gtest/gtest.h>

#include "playground_on_cluster.h"
#include "support/eventually.h"

namespace berth {
namespace {

using namespace std::chrono_literals;

class WorkloadsOnCluster : public PlaygroundOnCluster {
 protected:
  WorkloadsOnCluster() : PlaygroundOnCluster(true) {}

  void SetUp() override {
    PlaygroundOnCluster::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    for (const char* file : {"first-room.yaml", "lobby.yaml", "arena.yaml"}) {
      run({"apply", "-f", example(file)});
    }
  }

  std::string games(std::vector<std::string> args) {
    args.insert(args.begin(), {"-n", "games"});
    return run(std::move(args));
  }
  void roll_out(const std::string& what) { games({"rollout", "status", what, "--timeout=60s"}); }
  std::string field(const std::string& what, const std::string& path) {
    return games({"get", what, "-o", "jsonpath={" + path + "}"});
  }
};

TEST_F(WorkloadsOnCluster, RolloutsScaleAndGoBack) {
  roll_out("deployment/lobby");
  roll_out("statefulset/arena");
  games({"scale", "deployment/lobby", "--replicas=4"});
  roll_out("deployment/lobby");
  games({"set", "image", "deployment/lobby", "room=registry.example/room:2"});
  roll_out("deployment/lobby");
  EXPECT_EQ(field("deployment/lobby", ".status.readyReplicas"), "4");
  games({"rollout", "undo", "deployment/lobby"});
  roll_out("deployment/lobby");
  EXPECT_EQ(field("deployment/lobby", ".spec.template.spec.containers[0].image"),
            "registry.example/room:1");
  EXPECT_EQ(
      field("deployment/lobby", ".metadata.annotations.deployment\\.kubernetes\\.io/revision"),
      "3");
  games({"set", "image", "statefulset/arena", "arena=registry.example/arena:2"});
  roll_out("statefulset/arena");
  EXPECT_EQ(field("pod/arena-0", ".spec.containers[0].image"), "registry.example/arena:2");
  games({"rollout", "undo", "statefulset/arena"});
  roll_out("statefulset/arena");
  EXPECT_EQ(field("pod/arena-1", ".spec.containers[0].image"), "registry.example/arena:1");
}

// A real server takes no loopback addresses as endpoints, so this Pod has another one, and runs on
// no node of ours.
TEST_F(WorkloadsOnCluster, EndpointsPassValidation) {
  const auto made = cluster_->kubectl(
      {"create", "-f", "-"},
      "{apiVersion: v1, kind: Service, metadata: {name: far, namespace: games},"
      " spec: {selector: {app: far}, ports: [{port: 80, targetPort: game}]}}\n"
      "---\n"
      "{apiVersion: v1, kind: Pod, metadata: {name: far, namespace: games, labels: {app: far}},"
      " spec: {nodeName: elsewhere, containers: [{name: a, image: 'x:1',"
      " ports: [{name: game, containerPort: 8000}]}]}}\n");
  ASSERT_TRUE(made.ok()) << made.err;
  games({"patch", "pod", "far", "--subresource=status", "--type=merge", "-p",
         R"({"status":{"phase":"Running","podIP":"10.1.2.3","podIPs":[{"ip":"10.1.2.3"}],)"
         R"("conditions":[{"type":"Ready","status":"True"}]}})"});
  const auto shown = [&](const std::string& what, const std::string& path) {
    return games({"get", what, "-l", "app!=none", "-o", "jsonpath={.items[*]" + path + "}"});
  };
  EXPECT_TRUE(testing::eventually(120s, [&] {
    return shown("endpointslices", ".endpoints[*].addresses[0]") == "10.1.2.3" &&
           shown("endpoints", ".subsets[*].addresses[*].ip") == "10.1.2.3";
  })) << games({"get", "endpointslices", "-o", "yaml"});
  EXPECT_EQ(shown("endpointslices", ".ports[*].port"), "8000");
}

TEST_F(WorkloadsOnCluster, AFullPoolIsTheDeploymentsTroubleToo) {
  roll_out("deployment/lobby");
  games({"scale", "deployment/lobby", "--replicas=20"});
  games({"wait", "--for=condition=ReplicaFailure", "deployment/lobby", "--timeout=30s"});
  EXPECT_NE(field("deployment/lobby", ".status.conditions[?(@.type==\"ReplicaFailure\")].message")
                .find("no free TCP port: 10 of 10 in use"),
            std::string::npos);
  EXPECT_NE(games({"get", "events", "-o", "jsonpath={.items[*].reason}"}).find("FailedCreate"),
            std::string::npos);
}

TEST_F(WorkloadsOnCluster, WhatIsDeletedTakesItsOwnAlong) {
  roll_out("deployment/lobby");
  games({"delete", "deployment/lobby", "--cascade=foreground", "--timeout=60s"});
  EXPECT_EQ(games({"get", "replicasets,pods", "-l", "app=lobby", "-o", "name"}), "");
  games({"delete", "statefulset/arena", "--cascade=orphan"});
  EXPECT_EQ(games({"get", "pods", "-l", "app=arena", "-o", "name"}), "pod/arena-0\npod/arena-1\n");
  run({"delete", "namespace", "games", "--timeout=60s"});
  EXPECT_EQ(run({"get", "pods,portpools,listeners", "-A", "-o", "name"}), "");
}

}  // namespace
}  // namespace berth
