// Installing and uninstalling on a real kube-apiserver, as users do it: `kubectl apply` of what
// `berth manifests` prints, a controller that has the printed service account and nothing else, and
// `berth uninstall`.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include <fmt/format.h>

#include "base/encoding.h"
#include "base/file.h"
#include "support/control_plane.h"
#include "support/eventually.h"

namespace berth {
namespace {

using namespace std::chrono_literals;
using testing::CommandResult;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::size_t kMaxFile = 4u << 20;
constexpr auto kPatience = 60s;
constexpr auto kCommandTimeout = 180s;
const std::string kServiceAccount = "system:serviceaccount:berth-system:berth";
const std::string kFinalizerPatch =
    R"({"metadata":{"finalizers":["ingresscontroller.bkbcs.tencent.com"]}})";

class InstallOnCluster : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = testing::ControlPlane::unavailable()) GTEST_SKIP() << *why;
    auto started = testing::ControlPlane::start({.with_workloads = true});
    ASSERT_TRUE(started) << started.error();
    cluster_ = std::move(*started);
  }

  std::string path(const std::string& name) const {
    return (cluster_->directory() / name).string();
  }
  testing::Command command(std::vector<std::string> args) const {
    return {BERTH_PROGRAM, std::move(args), {"HOME=" + cluster_->directory().string()}};
  }
  CommandResult berth(std::vector<std::string> args) const {
    return testing::run(command(std::move(args)), "", kCommandTimeout);
  }
  CommandResult uninstall(std::vector<std::string> args) const {
    args.insert(args.begin(), {"uninstall", "--kubeconfig", cluster_->kubeconfig_path().string()});
    return berth(std::move(args));
  }
  CommandResult kubectl(std::vector<std::string> args, std::string_view input = {}) const {
    return cluster_->kubectl(std::move(args), input);
  }
  void must(const CommandResult& result) { ASSERT_TRUE(result.ok()) << result.out << result.err; }

  // The controller, outside of the cluster, with the service account's rights.
  testing::Process start_controller() {
    const auto token = kubectl({"create", "token", "berth", "-n", "berth-system"});
    EXPECT_TRUE(token.ok()) << token.err;
    const std::string kubeconfig = path("service-account.kubeconfig");
    std::ofstream(kubeconfig) << fmt::format(
        R"(apiVersion: v1
kind: Config
current-context: here
contexts: [{{name: here, context: {{cluster: here, user: berth}}}}]
clusters: [{{name: here, cluster: {{server: "{}", certificate-authority-data: {}}}}}]
users: [{{name: berth, user: {{token: {}}}}}]
)",
        cluster_->url(), base64_encode(cluster_->ca_pem()),
        token.out.substr(0, token.out.find_last_not_of('\n') + 1));
    auto process = testing::Process::spawn(command({"controller", "--edge-loopback", "--kubeconfig",
                                                    kubeconfig, "--namespace", "berth-system"}),
                                           path("controller.log"));
    EXPECT_TRUE(process) << process.error();
    return std::move(*process);
  }
  std::string controller_log() const { return read_file(path("controller.log"), kMaxFile).value(); }

  void create_room() {
    const char* source = std::getenv("BERTH_SOURCE_DIR");
    const auto yaml =
        read_file(std::string(source ? source : ".") + "/examples/first-room.yaml", kMaxFile);
    ASSERT_TRUE(yaml) << yaml.error().to_string();
    // The service account of a new namespace is made by a controller, and Pods need it.
    must(kubectl({"create", "namespace", "games"}));
    must(kubectl({"wait", "--for=create", "serviceaccount/default", "-n", "games"}));
    must(kubectl({"apply", "-f", "-"}, *yaml));
    const bool ready = testing::eventually(kPatience, [&] {
      return kubectl({"get", "pod", "room-0", "-n", "games", "-o", "yaml"})
                 .out.find("status.portpools.networkextension.bkbcs.tencent.com: Ready") !=
             std::string::npos;
    });
    ASSERT_TRUE(ready) << controller_log();
  }

  // What the schema of a real server says to users' YAML.
  void check_schema() {
    const auto pool = [](std::string_view item) {
      return fmt::format(R"(apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {{name: halls, namespace: games}}
spec:
  poolItems:
  - {{itemName: item2, {}}}
)",
                         item);
    };
    const auto apply = [&](std::string_view item) {
      return kubectl({"apply", "-f", "-"}, pool(item)).err;
    };
    EXPECT_EQ(apply("loadBalancerID: [lb-test3], startPort: 31000, endPort: 31002"), "")
        << "the other spelling of loadBalancerIDs";
    EXPECT_THAT(apply("loadBalancerID: [lb-test4], startPort: 31000, endPort: 31002"),
                HasSubstr("loadBalancerID cannot change"));
    EXPECT_THAT(apply("loadBalancerID: [lb-test3], startPort: 30999, endPort: 31002"),
                HasSubstr("startPort cannot change"));
    EXPECT_THAT(apply("loadBalancerIDs: [lb-test4], startPort: 31000, endPort: 31002"),
                HasSubstr("cannot change"))
        << "not by the back door of the other spelling either";
    EXPECT_THAT(apply("loadBalancerID: [lb-test3], startPort: 31000, endPort: 31001"),
                HasSubstr("a range may only grow"));
    EXPECT_THAT(apply("startPort: 31000, endPort: 31002"),
                HasSubstr("loadBalancerIDs: is required"));
    EXPECT_THAT(
        apply("loadBalancerID: [lb-test3], startPort: 31000, endPort: 31004, external: room, "
              "uptimeCheck: {enabled: true, nodes: [a]}"),
        HasSubstr("uptimeCheck: is kept and not acted on"))
        << "a warning, and no refusal";
    EXPECT_THAT(kubectl({"get", "portpool", "halls", "-n", "games", "-o", "yaml"}).out,
                HasSubstr("uptimeCheck:\n      enabled: true\n      nodes:\n      - a"));
    must(kubectl({"delete", "portpool", "halls", "-n", "games", "--wait=false"}));
  }

  // A write to the status alone makes the cluster's own controllers look: they put it right.
  void check_touch_wakes(const std::string& workload) {
    must(kubectl({"patch", workload, "-n", "games", "--subresource=status", "--type=merge", "-p",
                  R"({"metadata":{"annotations":{"test":"touched"}},"status":{"replicas":7}})"}));
    EXPECT_TRUE(testing::eventually(kPatience, [&] {
      const auto seen = kubectl({"get", workload, "-n", "games", "-o",
                                 "jsonpath={.metadata.annotations.test} {.status.replicas}"});
      return seen.ok() && seen.out.starts_with("touched ") && seen.out != "touched 7";
    })) << workload;
  }

  std::string workload(const std::string& kind) {
    return fmt::format(R"(apiVersion: apps/v1
kind: {0}
metadata: {{name: late, namespace: games}}
spec:
  {1}
  selector: {{matchLabels: {{app: late-{0}}}}}
  template:
    metadata:
      labels: {{app: late-{0}}}
      annotations:
        portpools.networkextension.bkbcs.tencent.com: "true"
        ports.portpools.networkextension.bkbcs.tencent.com: late TCP 8000
    spec: {{containers: [{{name: room, image: "room:1", ports: [{{containerPort: 8000}}]}}]}}
)",
                       kind, kind == "StatefulSet" ? "serviceName: late" : "replicas: 1");
  }
  bool is_told(const std::string& object, const std::string& what) {
    return testing::eventually(kPatience, [&] {
      return kubectl({"get", object, "-n", "games", "-o", "yaml"}).out.find(what) !=
             std::string::npos;
    });
  }

  // A controller that did not see the refusal finds who waits, and touches them.
  void check_refused_workloads(std::optional<testing::Process>& controller) {
    for (const char* kind : {"ReplicaSet", "StatefulSet"}) {
      must(kubectl({"apply", "-f", "-"}, workload(kind)));
      ASSERT_TRUE(testing::eventually(kPatience, [&] {
        return kubectl({"get", "events", "-n", "games", "--field-selector",
                        fmt::format("involvedObject.kind={}", kind)})
                   .out.find("there is no PortPool games/late") != std::string::npos;
      })) << controller_log();
    }
    controller->stop(30s);
    controller = start_controller();
    const std::string pool = R"(apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {name: late, namespace: games}
spec: {poolItems: [{itemName: item1, loadBalancerIDs: [lb-late], startPort: 32000, endPort: 32002}]}
)";
    ASSERT_TRUE(testing::eventually(kPatience, [&] {
      return kubectl({"apply", "-f", "-"}, pool).ok();
    })) << controller_log();
    for (const char* name : {"replicaset/late", "statefulset/late"}) {
      EXPECT_TRUE(is_told(name, "berth.dev/retry")) << name << controller_log();
      check_touch_wakes(name);
      must(kubectl({"delete", name, "-n", "games"}));
    }
    ASSERT_TRUE(testing::eventually(kPatience, [&] {
      return kubectl({"delete", "portpool", "late", "-n", "games"}).ok();
    })) << controller_log();
  }

  // It is not for the controller, whose room is served behind it, and it comes back.
  void check_guard() {
    const std::vector<std::string> guard{
        "validatingadmissionpolicies,validatingadmissionpolicybindings", "-l",
        "app.kubernetes.io/managed-by=berth"};
    const auto with = [&](std::string verb, std::vector<std::string> rest) {
      rest.insert(rest.begin(), guard.begin(), guard.end());
      rest.insert(rest.begin(), std::move(verb));
      return kubectl(rest);
    };
    const std::string all = with("get", {"-o", "name"}).out;
    EXPECT_THAT(all, HasSubstr("validatingadmissionpolicybinding.admissionregistration.k8s.io/"
                               "berth-portbindings\n"));
    must(with("delete", {}));
    EXPECT_TRUE(testing::eventually(kPatience, [&] {
      return with("get", {"-o", "name"}).out == all;
    })) << controller_log();
  }

  // Everything of ours that is left, as kubectl names it.
  std::string left_behind() const {
    std::string out;
    for (const char* kinds :
         {"namespaces,customresourcedefinitions,clusterroles,clusterrolebindings",
          "validatingwebhookconfigurations,mutatingwebhookconfigurations",
          "validatingadmissionpolicies,validatingadmissionpolicybindings",
          "prioritylevelconfigurations,flowschemas"}) {
      out += kubectl({"get", kinds, "-o", "name", "-l", "app.kubernetes.io/managed-by=berth"}).out;
    }
    out += kubectl({"get",
                    "roles,rolebindings,serviceaccounts,deployments,services,leases,secrets,"
                    "poddisruptionbudgets",
                    "-n", "berth-system", "-o", "name"})
               .out;
    return out;
  }

  std::unique_ptr<testing::ControlPlane> cluster_;
};

TEST_F(InstallOnCluster, TheControllerLivesOnItsRolesAndLeavesNothingBehind) {
  const auto printed = berth({"manifests", "--image", "example/berth:test"});
  must(printed);
  must(kubectl({"apply", "-f", "-"}, printed.out));

  // Deny by default: what it does not need, it may not do.
  const auto may = [&](std::vector<std::string> args) {
    args.insert(args.begin(), {"auth", "can-i", "--as", kServiceAccount});
    return kubectl(args).out;
  };
  EXPECT_EQ(may({"patch", "pods", "--subresource=status", "-n", "games"}), "yes\n");
  EXPECT_EQ(may({"get", "secrets/berth-webhook-certificate", "-n", "berth-system"}), "yes\n");
  EXPECT_EQ(may({"update", "secrets/berth-keys", "-n", "berth-system"}), "yes\n");
  EXPECT_EQ(may({"patch", "pods", "-n", "games"}), "no\n");
  for (const char* kind : {"replicasets.apps", "statefulsets.apps"}) {
    EXPECT_EQ(may({"patch", kind, "--subresource=status", "-n", "games"}), "yes\n") << kind;
    EXPECT_EQ(may({"patch", kind, "-n", "games"}), "no\n") << "that would be any Pod";
  }
  EXPECT_EQ(may({"create", "pods", "-n", "games"}), "no\n");
  EXPECT_EQ(may({"get", "secrets", "-n", "games"}), "no\n");
  EXPECT_EQ(may({"list", "secrets", "-n", "berth-system"}), "no\n");
  EXPECT_EQ(may({"patch", "customresourcedefinitions/others.example.com"}), "no\n");
  EXPECT_EQ(may({"delete", "customresourcedefinitions"}), "no\n");

  std::optional<testing::Process> controller = start_controller();
  ASSERT_TRUE(testing::eventually(kPatience, [&] {
    return kubectl({"get", "mutatingwebhookconfiguration", "berth"}).ok();
  })) << controller_log();
  create_room();
  check_guard();
  check_schema();
  check_refused_workloads(controller);
  EXPECT_THAT(controller_log(), Not(HasSubstr("forbidden")));
  // As a controller that dies at the wrong moment leaves them.
  must(kubectl(
      {"patch", "portpool", "rooms", "-n", "games", "--type=merge", "-p", kFinalizerPatch}));
  must(kubectl({"patch", "listener", "demo-tcp-30001", "-n", "games", "--type=merge", "-p",
                kFinalizerPatch}));

  const auto shown = uninstall({"--dry-run"});
  EXPECT_TRUE(shown.ok()) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr(" of kind Listener\n"));
  EXPECT_THAT(shown.out, HasSubstr("would remove Deployment berth-system/berth\n"));
  EXPECT_THAT(shown.out, HasSubstr("would remove Namespace berth-system\n"));
  EXPECT_THAT(shown.out, HasSubstr("holds ports: Pod games/room-0\n"));
  const auto unconfirmed = uninstall({});
  EXPECT_FALSE(unconfirmed.ok());
  EXPECT_THAT(unconfirmed.err, HasSubstr("--yes"));
  const auto in_use = uninstall({"--yes"});
  EXPECT_FALSE(in_use.ok());
  EXPECT_THAT(in_use.err, HasSubstr("1 Pod still holds ports: games/room-0"));
  EXPECT_TRUE(kubectl({"get", "mutatingwebhookconfiguration", "berth"}).ok()) << "nothing was done";

  // It runs on, outside of the cluster, and puts back whatever is deleted.
  must(kubectl({"delete", "mutatingwebhookconfiguration", "berth"}));
  ASSERT_TRUE(testing::eventually(kPatience, [&] {
    return kubectl({"get", "mutatingwebhookconfiguration", "berth"}).ok();
  })) << controller_log();
  const auto done = uninstall({"--yes", "--force", "--grace-seconds=5", "-o", "json"});
  EXPECT_TRUE(done.ok()) << done.out << done.err << controller_log();
  EXPECT_TRUE(controller->wait(kPatience)) << "it has nothing to do here any more";
  EXPECT_EQ(controller->exit_code(), 0) << controller_log();
  EXPECT_THAT(done.out, HasSubstr(R"("Listener":)"));
  EXPECT_EQ(left_behind(), "");
  EXPECT_TRUE(kubectl({"get", "pod", "room-0", "-n", "games"}).ok()) << "Pods are not ours";
  const auto again = uninstall({"--yes"});
  EXPECT_TRUE(again.ok()) << again.out << again.err;
  EXPECT_THAT(again.out, HasSubstr("nothing of Berth is installed"));
}

// Somebody began to uninstall, did not finish, and thinks better of it.
TEST_F(InstallOnCluster, ARemovalThatWasNotFinishedIsSaidAndCanBeTakenBack) {
  const auto printed = berth({"manifests", "--image", "example/berth:test"});
  must(printed);
  must(kubectl({"apply", "-f", "-"}, printed.out));
  must(kubectl(
      {"annotate", "crd", "loadbalancers.berth.dev", "berth.dev/removal=draining", "--overwrite"}));
  std::optional<testing::Process> controller = start_controller();
  ASSERT_TRUE(controller->wait(kPatience));
  EXPECT_NE(controller->exit_code(), 0);
  EXPECT_THAT(controller_log(), HasSubstr("Berth is being removed from this cluster"));
  EXPECT_THAT(controller_log(), HasSubstr("berth uninstall --yes"));
  EXPECT_FALSE(kubectl({"get", "mutatingwebhookconfiguration", "berth"}).ok());

  must(kubectl({"apply", "-f", "-"}, printed.out));
  controller = start_controller();
  const auto is_hooked = [&] {
    return kubectl({"get", "mutatingwebhookconfiguration", "berth"}).ok();
  };
  EXPECT_TRUE(testing::eventually(kPatience, is_hooked)) << controller_log();
}

}  // namespace
}  // namespace berth
