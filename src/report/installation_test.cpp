// Berth itself: kinds that are going, Pods that do not run, webhooks without anybody behind them.
#include "report/installation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/client/test_scripted_api.h"
#include "report/explain.h"
#include "report/status.h"
#include "report/test_support.h"

namespace berth::report {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using wire::Array;
using wire::Object;
using wire::Value;
namespace types = kube::types;

constexpr std::string_view kPools = "portpools.networkextension.bkbcs.tencent.com";

Value pod_with(Object container, std::string_view name = "berth-7d9f-x") {
  container["name"] = "berth";
  container["image"] = "registry.example.com/berth:9.9";
  return Object{{"metadata", Object{{"namespace", "berth-system"},
                                    {"name", name},
                                    {"labels", Object{{"app.kubernetes.io/name", "berth"}}}}},
                {"status", Object{{"containerStatuses", Array{std::move(container)}}}}};
}
Value waiting(std::string_view reason, std::string_view message) {
  return pod_with(
      {{"state", Object{{"waiting", Object{{"reason", reason}, {"message", message}}}}}});
}

class InstallationTest : public ::testing::Test {
 protected:
  // A cluster on which all is there.
  void SetUp() override {
    for (const char* const name :
         {"listeners.networkextension.bkbcs.tencent.com", "loadbalancers.berth.dev",
          "portpools.networkextension.bkbcs.tencent.com",
          "portbindings.networkextension.bkbcs.tencent.com",
          "ingresses.networkextension.bkbcs.tencent.com"})
      api_.put(types::kCustomResourceDefinition, Object{{"metadata", Object{{"name", name}}}});
    Value hooks = testing::webhooks();
    wire::find(hooks, "/webhooks/0")->as_object()["clientConfig"] =
        Object{{"service", Object{{"namespace", "berth-system"}, {"name", "berth-webhooks"}}},
               {"caBundle", "CA"}};
    wire::find(hooks, "/metadata")->as_object()["name"] = "berth";
    api_.put(types::kMutatingWebhookConfiguration, std::move(hooks));
    has_endpoints(2);
    Value lease = testing::lease("berth-1", 2s);
    ASSERT_TRUE(wire::set_at(lease, "/spec/renewTime",
                             Value(format_rfc3339_micro(tasks_.wall_time() - 2s))));
    alive_ = lease;
    api_.put(types::kLease, std::move(lease));
  }

  void has_endpoints(int count) {
    Array addresses;
    for (int i = 0; i < count; ++i)
      addresses.push_back(Object{{"ip", fmt::format("10.0.0.{}", i)}});
    api_.put(types::kEndpoints,
             Object{{"metadata", Object{{"namespace", "berth-system"}, {"name", "berth-webhooks"}}},
                    {"subsets", Array{Object{{"addresses", std::move(addresses)}}}}});
  }
  ClusterView view() {
    return read_cluster(context_, client_, app::all_report_parts(), "").value();
  }
  std::vector<std::string> problems() { return make_status(view()).problems; }
  // What somebody who asks why a Pod has no port is told.
  std::string explained() {
    ExplainView about{.cluster = view(), .kind = "Pod", .key = {"games", "room-0"}};
    about.ns =
        Object{{"metadata", Object{{"labels", Object{{"bcs-ingress-controller-inject", "true"}}}}}};
    about.pod =
        wire::parse_json(R"({"metadata": {"namespace": "games", "name": "room-0", "annotations": {
        "portpools.networkextension.bkbcs.tencent.com": "true",
        "ports.portpools.networkextension.bkbcs.tencent.com": "rooms TCP 8000"}},
      "spec": {"containers": [{"ports": [{"containerPort": 8000}]}]}})")
            .value();
    return to_text(explain(about));
  }

  Value alive_;  // the lease of a controller that runs
  kube::testing::JumpingTasks tasks_;
  kube::testing::ScriptedApi api_;
  kube::Client client_{api_, kube::fixed_config("https://api:6443", {})};
  const Context context_{.tasks = tasks_};
};

TEST_F(InstallationTest, AllIsWell) {
  EXPECT_THAT(problems(), IsEmpty());
  EXPECT_THAT(view().unseen, IsEmpty());
}

TEST_F(InstallationTest, AKindThatIsBeingDeletedIsSaidUntilItIsGoneAndBack) {
  api_.edit(types::kCustomResourceDefinition, {"", std::string(kPools)},
            Object{{"metadata",
                    Object{{"deletionTimestamp", "2026-01-01T00:00:00Z"},
                           {"finalizers", Array{"customresourcecleanup.apiextensions.k8s.io"}}}}});
  EXPECT_THAT(problems(), Contains(AllOf(HasSubstr(kPools), HasSubstr("is being deleted"),
                                         HasSubstr("to do: let a controller run"))));
  EXPECT_THAT(explained(), AllOf(HasSubstr("is being deleted"), HasSubstr("berth uninstall")));
  api_.erase(types::kCustomResourceDefinition, {"", std::string(kPools)});
  EXPECT_THAT(problems(), Contains(AllOf(HasSubstr(kPools), HasSubstr("is not there"),
                                         HasSubstr("berth manifests"))));
  api_.put(types::kCustomResourceDefinition, Object{{"metadata", Object{{"name", kPools}}}});
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(InstallationTest, AnImageThatCannotBePulledIsNamed) {
  api_.erase(types::kLease, {"berth-system", "berth"});  // it never led
  api_.put(types::kPod, waiting("ImagePullBackOff", "Back-off pulling image"));
  EXPECT_THAT(problems(),
              Contains(AllOf(HasSubstr("Pod berth-system/berth-7d9f-x cannot pull its image "
                                       "registry.example.com/berth:9.9: ImagePullBackOff"),
                             HasSubstr("berth manifests --image"))));
  EXPECT_THAT(explained(), AllOf(HasSubstr("cannot pull its image"), HasSubstr("--image")));
  api_.put(types::kPod, pod_with({{"state", Object{{"running", Object{}}}}}));
  EXPECT_THAT(problems(), Not(Contains(HasSubstr("cannot pull"))));
}

// The words of the guide.
TEST_F(InstallationTest, ASecretThatIsNotBase64IsKnownByWhatTheRuntimeSays) {
  constexpr std::string_view kSaid =
      "OCI runtime create failed: container_linux.go:380: starting container process caused: "
      "process_linux.go:545: container init caused: setenv: invalid argument: unknown";
  const auto is_told = Contains(AllOf(HasSubstr("setenv: invalid argument"),
                                      HasSubstr("base64 of the text without a line break")));
  api_.put(types::kPod, waiting("RunContainerError", kSaid));
  EXPECT_THAT(problems(), is_told);
  api_.put(
      types::kPod,
      pod_with({{"state", Object{{"waiting", Object{{"reason", "CrashLoopBackOff"}}}}},
                {"lastState",
                 Object{{"terminated", Object{{"reason", "StartError"}, {"message", kSaid}}}}}}));
  EXPECT_THAT(problems(), is_told);
  // Of a Secret that is right.
  api_.put(types::kPod, pod_with({{"ready", true}, {"state", Object{{"running", Object{}}}}}));
  EXPECT_THAT(problems(), IsEmpty());
  EXPECT_THAT(explained(), Not(HasSubstr("setenv")));
}

TEST_F(InstallationTest, PodsThatDoNotKeepRunningOrHaveNoNodeAreNamed) {
  api_.put(types::kPod, waiting("CrashLoopBackOff", "back-off 10s"));
  EXPECT_THAT(problems(),
              Contains(HasSubstr("kubectl logs -n berth-system berth-7d9f-x --previous")));
  api_.put(types::kPod, waiting("ContainerCreating", ""));
  EXPECT_THAT(problems(), IsEmpty()) << "it is about to run";
  Value homeless = pod_with({});
  wire::find(homeless, "/status")->as_object() = {
      {"conditions", Array{Object{{"type", "PodScheduled"},
                                  {"status", "False"},
                                  {"message", "0/3 nodes are available"}}}}};
  api_.put(types::kPod, std::move(homeless));
  EXPECT_THAT(problems(), Contains(HasSubstr("has no node: 0/3 nodes are available")));
}

TEST_F(InstallationTest, AControllerThatDoesNotRunIsSaidWithTheReason) {
  api_.erase(types::kLease, {"berth-system", "berth"});
  api_.put(types::kDeployment,
           Object{{"metadata", Object{{"namespace", "berth-system"}, {"name", "berth"}}},
                  {"spec", Object{{"replicas", 0}}}});
  has_endpoints(0);
  EXPECT_THAT(problems(), Contains(HasSubstr("no controller leads")));
  EXPECT_THAT(problems(), Contains(AllOf(HasSubstr("Deployment berth-system/berth is scaled to 0"),
                                         HasSubstr("kubectl scale"))));
  EXPECT_THAT(problems(), Contains(HasSubstr("Service berth-system/berth-webhooks has no Pod that "
                                             "is ready")));
  EXPECT_THAT(explained(), HasSubstr("nobody answers the webhooks"));
  has_endpoints(1);
  EXPECT_THAT(explained(), HasSubstr("is scaled to 0"));

  api_.put(types::kDeployment,
           Object{{"metadata", Object{{"namespace", "berth-system"}, {"name", "berth"}}},
                  {"spec", Object{{"replicas", 1}}}});
  api_.put(types::kLease, alive_);
  EXPECT_THAT(problems(), IsEmpty());
  EXPECT_THAT(explained(), AllOf(Not(HasSubstr("is scaled to 0")),
                                 Not(HasSubstr("nobody answers the webhooks"))));
}

TEST_F(InstallationTest, WhatWeMayNotReadIsSaidAndHoldsNothingUp) {
  for (const char* const what : {"customresourcedefinitions", "pods", "endpoints"})
    api_.on({"GET", what}, {.refused = 403});
  const ClusterView seen = view();
  EXPECT_THAT(seen.unseen, ::testing::ElementsAre("customresourcedefinitions",
                                                  "pods of the controller", "endpoints"));
  EXPECT_THAT(make_status(seen).problems, IsEmpty());
}

}  // namespace
}  // namespace berth::report
