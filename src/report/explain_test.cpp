// What a person reads who types `berth explain`, word by word.
#include "report/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admission/host_port_injection.h"
#include "admission/pod_patch.h"
#include "api/host_ports.h"
#include "api/pod_ports.h"
#include "report/test_support.h"
#include "wire/yaml.h"

namespace berth::report {
namespace {

using namespace std::chrono_literals;
using ledger::SlotState;
using testing::claim_of;
using testing::cluster;
using ::testing::HasSubstr;
using testing::hold;
using testing::kNow;
using testing::lease;
using testing::listener_at;
using testing::put;
using wire::Object;
using wire::Value;

constexpr std::string_view kPod = R"(
kind: Pod
metadata:
  namespace: games
  name: room-0
  uid: uid-of-room-0
  annotations:
    portpools.networkextension.bkbcs.tencent.com: "true"
    ports.portpools.networkextension.bkbcs.tencent.com: rooms TCP 8000
spec:
  containers:
  - {name: room, ports: [{containerPort: 8000}]}
status: {phase: Running, podIP: 10.0.0.1}
)";

// A Pod that asks for a port of pool "rooms" and has none.
ExplainView asking() {
  return {
      .cluster = cluster(),
      .kind = "Pod",
      .key = {"games", "room-0"},
      .ns =
          wire::parse_yaml("metadata: {labels: {bcs-ingress-controller-inject: \"true\"}}").value(),
      .pod = wire::parse_yaml(kPod).value()};
}

// It was given 30000, and the load balancer leads there.
ExplainView served() {
  ExplainView view = asking();
  const api::PortBindingItem told{
      .pool_name = "rooms",
      .pool_namespace = "games",
      .load_balancer_ids = {"edge:demo"},
      .pool_item_load_balancers = {{.id = "edge:demo", .ips = {"1.1.1.1"}}},
      .pool_item_name = "item1",
      .protocol = "TCP",
      .start_port = 30000,
      .rs_start_port = 8000};
  admission::set_annotation(view.pod, api::kPoolBindingsAnnotation,
                            api::encode_pool_bindings({told}));
  admission::set_annotation(view.pod, api::kBindStatusAnnotation, api::kReady);
  put(view.cluster,
      claims::testing::leading_to(
          claims::testing::with_claim(listener_at(30000), claim_of("room-0")), "10.0.0.1"));
  return view;
}

// A workload whose Pods ask for ports.
Value workload(std::string_view kind, std::string_view name, int replicas) {
  return Object{
      {"kind", kind},
      {"metadata", Object{{"name", name}}},
      {"spec", Object{{"replicas", replicas}, {"template", wire::parse_yaml(kPod).value()}}}};
}

std::string text(const ExplainView& view) { return to_text(explain(view)); }
// The last step and what to do about it, each in a line.
std::string verdict(const ExplainView& view) {
  const Explanation said = explain(view);
  if (said.steps.empty()) return "";
  const Step& last = said.steps.back();
  return last.fix.empty() ? last.what : last.what + "\n" + last.fix;
}

TEST(Explain, APodThatIsReached) {
  EXPECT_EQ(text(served()), R"(Pod games/room-0
  ok    was given ports when it was created
  ok    the controller runs: berth-1
  ok    TCP 1.1.1.1:30000 leads to the Pod
  ok    Ready: the Pod knows it
)");
  EXPECT_TRUE(explain(served()).ready());
}

TEST(Explain, AsJsonHasTheSameSteps) {
  ExplainView view = served();
  view.cluster.lease = lease("berth-1", 10min);
  EXPECT_EQ(to_json(explain(view)), wire::parse_json(R"({
    "object": "Pod games/room-0",
    "ready": false,
    "steps": [
      {"verdict": "ok", "what": "was given ports when it was created", "fix": ""},
      {"verdict": "no", "what": "the controller is gone: berth-1 was last seen 10 min ago",
       "fix": "see the Pods of the controller and their logs"}]
  })")
                                        .value());
}

TEST(Explain, AFullPool) {
  ExplainView view = asking();
  for (model::Port port = 30000; port < 30003; ++port)
    hold(view.cluster, port, claim_of(fmt::format("room-{}", port)));
  EXPECT_EQ(text(view), R"(Pod games/room-0
  ok    asks for ports of a pool
  ok    namespace games lets its Pods use port pools
  ok    the ports annotation asks for 1 port
  ok    the webhook is installed
  ok    the controller runs: berth-1
  no    PortPool games/rooms is full: 3 of 3 in use by games/room-30000, games/room-30001, games/room-30002
        to do: raise endPort of an item, or add an item, or delete Pods that need no port
)");
}

TEST(Explain, APoolWhosePortsAreKeptForPodsThatAreGone) {
  ExplainView view = asking();
  for (model::Port port = 30000; port < 30003; ++port) {
    ledger::Claim kept = claim_of(fmt::format("room-{}", port), SlotState::kept);
    kept.until = kNow + 1h;
    hold(view.cluster, port, kept);
  }
  EXPECT_THAT(verdict(view), HasSubstr("raise endPort of an item, or add an item; kubectl delete "
                                       "portbinding room-30000 -n games gives up what is kept"));
}

TEST(Explain, APoolThatIsNotReady) {
  ExplainView view = asking();
  for (model::Port port = 30000; port < 30003; ++port) {
    api::Listener unmade = listener_at(port);
    unmade.status.listener_id.clear();
    put(view.cluster, unmade);
  }
  testing::item_status(view.cluster)["status"] = api::kNotReady;
  testing::item_status(view.cluster)["message"] = "no route to the load balancer";
  EXPECT_EQ(verdict(view),
            "PortPool games/rooms is not ready: item1: no route to the load balancer\n"
            "see kubectl describe portpool, and berth status for its load balancers");
}

TEST(Explain, WhatNobodyAskedFor) {
  ExplainView view = asking();
  wire::remove_at(view.pod, "/metadata/annotations");
  EXPECT_EQ(verdict(view),
            "annotation portpools.networkextension.bkbcs.tencent.com is missing: nobody asked for "
            "ports\ncreate the Pod with it");
  view.workload = workload("Deployment", "lobby", 1);
  EXPECT_EQ(verdict(view),
            "the Pod is older than the annotation in the template of Deployment "
            "lobby\ndelete the Pod: the one that comes in its place has it");
}

TEST(Explain, AnAnnotationThatNobodyReads) {
  ExplainView view = asking();
  admission::set_annotation(view.pod, api::kPortPoolsAnnotation, "false");
  EXPECT_THAT(verdict(view), HasSubstr("is \"false\": no ports are given\nset it to \"true\""));
  Object& annotations = view.pod.at("metadata").at("annotations").as_object();
  annotations.erase(api::kPortPoolsAnnotation);
  annotations["portpool.networkextension.bkbcs.tencent.com"] = "true";
  EXPECT_EQ(verdict(view),
            "annotation portpool.networkextension.bkbcs.tencent.com is there, and nobody reads it: "
            "portpools.networkextension.bkbcs.tencent.com was meant\n"
            "spell it portpools.networkextension.bkbcs.tencent.com");
}

TEST(Explain, WhatStandsInTheWay) {
  ExplainView view = asking();
  view.ns = Object{};
  EXPECT_EQ(verdict(view),
            "namespace games has no label bcs-ingress-controller-inject=true\nkubectl label "
            "namespace games bcs-ingress-controller-inject=true, and create the Pod again");
  view = asking();
  admission::set_annotation(view.pod, api::kPortsAnnotation, "rooms TCP 9000");
  EXPECT_THAT(verdict(view), HasSubstr("no container declares port 9000; declared are: 8000"));
  admission::set_annotation(view.pod, api::kPortsAnnotation, "halls TCP 8000");
  EXPECT_THAT(verdict(view), HasSubstr("there is no PortPool games/halls"));
  view = asking();
  view.cluster.webhooks = nullptr;
  EXPECT_EQ(verdict(view),
            "the webhook configuration is missing: Pods are created without their "
            "ports\nstart the controller: it installs it");
  view.cluster.webhooks = testing::webhooks("another");
  EXPECT_THAT(verdict(view), HasSubstr("has another caBundle than the controller's certificate"));
}

TEST(Explain, APodThatCameTooEarly) {
  EXPECT_EQ(verdict(asking()),
            "the Pod has no ports: it was created before all of this was so\n"
            "delete the Pod: the one that comes in its place gets them");
}

TEST(Explain, AWorkloadWhosePodWasRefused) {
  ExplainView view = asking();
  view.kind = "Deployment";
  view.key.name = "lobby";
  view.pod = nullptr;
  view.workload = workload("Deployment", "lobby", 1);
  EXPECT_EQ(verdict(view), "no Pod has been created yet");
  EXPECT_FALSE(explain(view).ready());
  view.failures = {"an older one", "admission webhook denied the request: full"};
  EXPECT_EQ(verdict(view),
            "the last Pod was refused: admission webhook denied the request: full\n"
            "if the reason is gone, its next try succeeds by itself");
}

TEST(Explain, APortOnItsWay) {
  ExplainView view = served();
  wire::remove_at(view.pod, "/status/podIP");
  EXPECT_EQ(verdict(view), "TCP 1.1.1.1:30000: waits for the Pod's IP; its phase is Running");
  view = served();
  hold(view.cluster, 30000, claim_of("room-0", SlotState::claimed));
  EXPECT_EQ(verdict(view), "TCP 1.1.1.1:30000: claimed, not yet bound to the Pod");
  hold(view.cluster, 30000, claim_of("room-0"));
  EXPECT_EQ(verdict(view),
            "TCP 1.1.1.1:30000: Listener demo-tcp-30000 on edge:demo is being synced");
  view = served();
  admission::set_annotation(view.pod, api::kBindStatusAnnotation, api::kNotReady);
  EXPECT_EQ(verdict(view), "every port leads to the Pod; its status annotation follows");
}

TEST(Explain, APortThatIsLost) {
  ExplainView view = served();
  hold(view.cluster, 30000, claim_of("room-7"));
  EXPECT_EQ(verdict(view),
            "ClaimLost: TCP 1.1.1.1:30000 is held by games/room-7\n"
            "delete the Pod: the one that comes in its place gets a port of its own");
  put(view.cluster, listener_at(30000));
  EXPECT_THAT(verdict(view), HasSubstr("is held by nobody"));
  view.cluster.listeners.clear();
  EXPECT_EQ(verdict(view),
            "TCP 1.1.1.1:30000: its Listener is gone\nsee whether the pool was "
            "deleted; then delete the Pod");
}

TEST(Explain, WhatTheLoadBalancerComplainsAbout) {
  ExplainView view = served();
  api::Listener failing = *view.cluster.listeners[0];
  failing.status.status = std::string(api::kNotSynced);
  failing.status.message = "forbidden: no permission";
  put(view.cluster, failing);
  EXPECT_EQ(verdict(view),
            "TCP 1.1.1.1:30000: Listener demo-tcp-30000 on edge:demo is not synced: forbidden: no "
            "permission\nrepair what the load balancer complains about; it is tried again by "
            "itself");
}

TEST(Explain, APodThatHasEnded) {
  ExplainView view = served();
  ASSERT_TRUE(wire::set_at(view.pod, "/status/phase", "Failed"));
  EXPECT_EQ(verdict(view),
            "the Pod has ended (Failed): its ports were given back\ndelete it, or look why it "
            "ended");
}

TEST(Explain, ALowPortThatIsOpenElsewhere) {
  ExplainView view = served();
  view.cluster.balancers[0].status.low_port_limit = 30001;
  view.cluster.balancers[0].status.low_port_offset = 20000;
  EXPECT_THAT(text(view), HasSubstr("TCP 1.1.1.1:30000 (open at 50000) leads to the Pod"));
}

// Pods that do not exist.

ExplainView absent(std::string name) {
  ExplainView view = asking();
  view.key.name = std::move(name);
  view.pod = nullptr;
  return view;
}

TEST(ExplainAbsent, APodBeyondTheReplicasOfItsWorkload) {
  ExplainView view = absent("room-5");
  view.workload = workload("StatefulSet", "room", 2);
  EXPECT_EQ(text(view), R"(Pod games/room-5
  no    there is no Pod games/room-5: StatefulSet room has 2 replicas, room-0 to room-1
        to do: kubectl scale StatefulSet/room --replicas=6 -n games makes it, if it is wanted
)");
}

TEST(ExplainAbsent, APodWhosePortIsKept) {
  ExplainView view = absent("room-5");
  ledger::Claim kept = claim_of("room-5", SlotState::kept);
  kept.until = kNow + 1h;
  hold(view.cluster, 30001, kept);
  EXPECT_EQ(text(view), R"(Pod games/room-5
  no    there is no Pod games/room-5
        to do: create it again: it gets what is kept for it
  ok    TCP port 30001 of PortPool games/rooms kept for a Pod of this name until 2026-01-02T01:00:00Z
)");
}

TEST(ExplainAbsent, APodThatItsWorkloadCannotMake) {
  ExplainView view = absent("room-1");
  view.workload = workload("StatefulSet", "room", 2);
  view.failures = {"admission webhook denied the request: full"};
  EXPECT_THAT(verdict(view), HasSubstr("the last Pod was refused: admission webhook denied"));
}

// Random host ports.

constexpr std::string_view kHostPod = R"(
kind: Pod
metadata:
  namespace: games
  name: room-0
  annotations:
    randhostport.webhook.bkbcs.tencent.com: "true"
    ports.randhostport.webhook.bkbcs.tencent.com: "8080"
spec:
  nodeName: node-1
  containers:
  - {name: room, ports: [{containerPort: 8080}]}
status: {phase: Running, hostIP: 192.168.0.9}
)";

ExplainView host_room(bool given) {
  ExplainView view = asking();
  view.pod = wire::parse_yaml(kHostPod).value();
  if (!given) return view;
  admission::put_host_ports(
      view.pod,
      {{.wanted = admission::wanted_host_ports(view.pod).value().front(), .host_port = 20001}},
      false);
  return view;
}

TEST(ExplainHostPorts, APodThatIsReached) {
  EXPECT_EQ(text(host_room(true)), R"(Pod games/room-0
  ok    was given host ports when it was created
  ok    host port 20001 of container port 8080: variable, label and anti-affinity are there
  ok    is reached at 192.168.0.9:20001 (container port 8080)
)");
}

TEST(ExplainHostPorts, APodThatCameTooEarly) {
  EXPECT_EQ(text(host_room(false)), R"(Pod games/room-0
  ok    asks for random host ports
  ok    for container ports 8080
  ok    the webhook is installed
  ok    the controller runs: berth-1
  ok    the range 20000-20009 has enough ports
  no    the Pod has no host ports: it was created before all of this was so
        to do: delete the Pod: the one that comes in its place gets them
)");
}

TEST(ExplainHostPorts, WhatSomebodyTookAway) {
  ExplainView view = host_room(true);
  view.pod.at("metadata").at("labels").as_object().erase(api::host_port_label(20001));
  EXPECT_THAT(verdict(view), HasSubstr("is gone: others with this port may come to its node\n"
                                       "kubectl label pod room-0 "));
  view = host_room(true);
  wire::remove_at(view.pod, "/spec/affinity");
  EXPECT_THAT(verdict(view), HasSubstr("the anti-affinity to others with this port is gone"));
  view = host_room(true);
  wire::remove_at(view.pod, "/spec/containers/0/ports");
  EXPECT_THAT(verdict(view), HasSubstr("no container has hostPort 20001"));
  view = host_room(true);
  wire::remove_at(view.pod, "/spec/containers/0/env");
  EXPECT_THAT(verdict(view), HasSubstr("somebody changed the Pod"));
}

TEST(ExplainHostPorts, ClustersThatAreTooSmall) {
  ExplainView view = host_room(true);
  wire::remove_at(view.pod, "/spec/nodeName");
  EXPECT_EQ(verdict(view), "waits for a node");
  ASSERT_TRUE(
      wire::set_at(view.pod, "/status/conditions",
                   wire::Array{Object{
                       {"type", "PodScheduled"},
                       {"status", "False"},
                       {"message", "0/3 nodes are available: 3 node(s) didn't have free ports"}}}));
  EXPECT_EQ(verdict(view),
            "no node has all of its ports free: 0/3 nodes are available: 3 node(s) didn't have "
            "free ports\nmore nodes, or delete the Pod: the one that comes in its place gets other "
            "ports");
}

TEST(ExplainTarget, IsWrittenAsKubectlHasIt) {
  EXPECT_EQ(parse_target("room-0").value(), std::pair(std::string("Pod"), std::string("room-0")));
  EXPECT_EQ(parse_target("deploy/lobby")->first, "Deployment");
  EXPECT_EQ(parse_target("statefulsets/room")->first, "StatefulSet");
  EXPECT_EQ(parse_target("GameStatefulSet/room")->first, "GameStatefulSet");
  EXPECT_EQ(parse_target("rs/lobby-5f")->second, "lobby-5f");
  for (const std::string_view text : {"daemonset/x", "pod/", "/x", ""})
    EXPECT_FALSE(parse_target(text)) << text;
}

}  // namespace
}  // namespace berth::report
