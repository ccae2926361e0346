// kubectl shows what was forgotten: an annotation that is not in the template, a namespace without
// the label.

#include <gmock/gmock.h>

#include "support/control_plane.h"
#include "support/subprocess.h"
#include "world.h"

namespace berth {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kTemplate = R"(
spec:
  replicas: 1
  selector: {matchLabels: {app: lobby}}
  template:
    metadata: {labels: {app: lobby}}
    spec:
      containers: [{name: a, image: i, ports: [{containerPort: 8000}]}]
)";

class Hints : public World {
 protected:
  void SetUp() override {
    if (const auto why = testing::ControlPlane::unavailable())
      GTEST_SKIP() << "no kubectl: " << *why;
    World::SetUp();
  }
  // What `kubectl apply` says on its error stream.
  std::string apply(const std::string& yaml) {
    const auto done = testing::run(
        {.program = std::filesystem::path(std::getenv("BERTH_CONTROLPLANE_DIR")) / "kubectl",
         .args = {"--kubeconfig", play_->kubeconfig_path(), "apply", "-f", "-"},
         .env = {"HOME=" + dir_->path().string()}},
        yaml, 20s);
    EXPECT_TRUE(done.ok()) << done.out << done.err;
    return done.err;
  }
};

TEST_F(Hints, AnAnnotationThatIsNotInTheTemplate) {
  for (const std::string kind : {"Deployment", "StatefulSet", "ReplicaSet"}) {
    const std::string said = apply(fmt::format(
        "apiVersion: apps/v1\nkind: {}\nmetadata:\n  name: lobby\n  namespace: default\n"
        "  annotations: {{portpools.networkextension.bkbcs.tencent.com: \"true\"}}\n{}",
        kind, kTemplate.substr(1)));
    EXPECT_THAT(said, HasSubstr("Warning: ")) << kind;
    EXPECT_THAT(said, HasSubstr("is not in its template: its Pods get no ports")) << kind;
  }
}

TEST_F(Hints, ANamespaceWithoutTheLabel) {
  const std::string pod = R"(
apiVersion: v1
kind: Pod
metadata:
  name: room-0
  namespace: NS
  annotations:
    portpools.networkextension.bkbcs.tencent.com: "true"
    ports.portpools.networkextension.bkbcs.tencent.com: "rooms.games TCP 8000"
spec:
  containers: [{name: a, image: i, ports: [{containerPort: 8000}]}]
)";
  const auto in = [&](const std::string& ns) {
    std::string yaml = pod;
    return yaml.replace(yaml.find("NS"), 2, ns);
  };
  EXPECT_THAT(apply(in("default")),
              HasSubstr("kubectl label namespace default bcs-ingress-controller-inject=true"));
  create(example("first-room.yaml"));
  std::string labelled = in("games");
  labelled.replace(labelled.find("room-0"), 6, "room-1");
  const std::string said = apply(labelled);
  EXPECT_THAT(said, HasSubstr("is reached at"));
  EXPECT_THAT(said, Not(HasSubstr("kubectl label namespace")));
}

TEST_F(Hints, ATemplateThatAsksInANamespaceWithoutTheLabel) {
  std::string yaml = example("lobby.yaml");
  for (std::size_t at = 0; (at = yaml.find("namespace: games", at)) != std::string::npos;)
    yaml.replace(at, 16, "namespace: default");
  EXPECT_THAT(apply(yaml), HasSubstr("Deployment default/lobby asks for ports of a pool"));
}

TEST_F(Hints, APoolThatAsksForWhatNobodyDoes) {
  const std::string said = apply(R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {name: rooms, namespace: default}
spec:
  allocatePolicy: avg
  poolItems:
  - itemName: item1
    loadBalancerIDs: [lb-1]
    startPort: 31000
    endPort: 31010
    uptimeCheck: {enabled: true, nodes: [a]}
)");
  EXPECT_THAT(said, HasSubstr("Warning: PortPool default/rooms: spec.poolItems[0].uptimeCheck: is "
                              "kept and not acted on: no dial test is made"));
  EXPECT_THAT(said, HasSubstr("Warning: PortPool default/rooms: spec.allocatePolicy: 'avg'"));
}

TEST_F(Hints, APodThatAsksForWhatItHardlyMeans) {
  create(example("first-room.yaml"));
  const std::string said = apply(R"(
apiVersion: v1
kind: Pod
metadata:
  name: odd
  namespace: games
  annotations:
    portpools.networkextension.bkbcs.tencent.com: "true"
    ports.portpools.networkextension.bkbcs.tencent.com: "rooms TCP 8000;rooms TCP 8000;rooms TCP 9000"
spec:
  containers: [{name: a, image: i, ports: [{containerPort: 8000}, {containerPort: 9000, protocol: UDP}]}]
)");
  EXPECT_THAT(said, HasSubstr("Warning: TCP port 8000 is asked for more than once"));
  EXPECT_THAT(said, HasSubstr("Warning: TCP is asked for at port 9000, which containers declare "
                              "for another protocol"));
}

}  // namespace
}  // namespace berth
