// `berth status` and `berth explain` on a playground: each thing that can keep a Pod from its ports
// is named, with what to do.

#include <gmock/gmock.h>

#include "api/host_ports.h"
#include "api/load_balancer.h"
#include "edge/echo_server.h"
#include "edge/knock.h"
#include "playground/table.h"
#include "report/probe.h"
#include "report_world.h"

namespace berth {
namespace {

using report::ExplainView;
using report::Explanation;
using ::testing::HasSubstr;

TEST_F(Report, AllIsWellWhenRoomsHaveTheirAddresses) {
  create(example("rooms.yaml"));
  room_is_ready("play/room-0");
  room_is_ready("play/room-1");
  EXPECT_TRUE(eventually([&] {
    const report::Status now = status();
    return now.well() && wire::array_at(to_json(now), "/bindingsNotReady")->empty();
  }));
  const report::Status now = status();
  const wire::Value json = to_json(now);
  ASSERT_EQ(wire::array_at(json, "/items")->size(), 1u);
  EXPECT_EQ(wire::int_at(json, "/items/0/ports"), 40);
  EXPECT_EQ(wire::int_at(json, "/items/0/ready"), 40);
  EXPECT_EQ(wire::int_at(json, "/items/0/used"), 4);
  EXPECT_EQ(wire::int_at(json, "/claims/bound"), 4);
  EXPECT_TRUE(now.leader.alive);
  EXPECT_THAT(to_text(now), HasSubstr("all is well"));
  EXPECT_TRUE(wire::bool_at(json, "/well").value_or(false));

  const Explanation told = report::explain(view_of("pod/room-0", "play"));
  EXPECT_TRUE(told.ready()) << to_text(told);
  EXPECT_THAT(to_text(told), HasSubstr("leads to the Pod"));
  EXPECT_TRUE(report::explain(view_of("statefulset/room", "play")).ready());
}

TEST_F(Report, WhatIsBrokenIsNamed) {
  create(example("rooms.yaml"));
  room_is_ready("play/room-0");
  const ExplainView sound = view_of("pod/room-0", "play");

  ExplainView stale = sound;
  stale.cluster.now += 10min;
  EXPECT_THAT(last(report::explain(stale)), HasSubstr("the controller is gone"));
  EXPECT_THAT(to_text(report::make_status(stale.cluster)), HasSubstr("no controller runs"));

  ExplainView no_ip = sound;
  wire::find(no_ip.pod, "/status")->get_object().erase("podIP");
  EXPECT_THAT(last(report::explain(no_ip)), HasSubstr("waits for the Pod's IP"));

  ExplainView unsynced = sound;
  ExplainView lost = sound;
  for (std::size_t i = 0; i < sound.cluster.listeners.size(); ++i) {
    if (claims::claim_text(*sound.cluster.listeners[i]).empty()) continue;
    api::Listener listener = *sound.cluster.listeners[i];
    listener.status.status = api::kNotSynced;
    listener.status.message = "the provider says no";
    unsynced.cluster.listeners[i] = std::make_shared<const api::Listener>(listener);
    auto claim = claims::claim_of(listener).value();
    claim.pod_uid = "another";
    claim.token = "another";
    claim.pod_name = "room-9";
    for (auto& [key, value] : listener.meta.annotations)
      if (key == ledger::kClaimAnnotation) value = ledger::encode(claim);
    lost.cluster.listeners[i] = std::make_shared<const api::Listener>(listener);
  }
  EXPECT_THAT(last(report::explain(unsynced)), HasSubstr("the provider says no"));
  EXPECT_THAT(to_text(report::make_status(unsynced.cluster)), HasSubstr("the provider says no"));
  EXPECT_THAT(last(report::explain(lost)), HasSubstr("ClaimLost"));
  EXPECT_THAT(last(report::explain(lost)), HasSubstr("play/room-9"));
}

TEST_F(Report, WhatIsForgottenIsNamed) {
  create(example("first-room.yaml"));
  create(workload("Deployment", "default", "", asking_for("rooms.games TCP 8000")));
  EXPECT_TRUE(comes_to_say("deployment/lobby", "default",
                           "kubectl label namespace default bcs-ingress-controller-inject=true"))
      << explained("deployment/lobby", "default");

  create(workload("StatefulSet", "games", asking_for("rooms TCP 8000"), ""));
  EXPECT_TRUE(comes_to_say("statefulset/lobby", "games", "not on its template"))
      << explained("statefulset/lobby", "games");
  create(workload("Deployment", "games", "",
                  R"(portpools.networkextension.bkbcs.tencent.com: "false")"));
  EXPECT_TRUE(comes_to_say("deployment/lobby", "games", "is \"false\""))
      << explained("deployment/lobby", "games");
}

TEST_F(Report, WhyAWorkloadHasNoPodsIsNamed) {
  create(example("first-room.yaml"));
  room_is_ready("games/room-0");
  create(workload("StatefulSet", "games", "", asking_for("rooms TCP 9999")));
  EXPECT_TRUE(comes_to_say("statefulset/lobby", "games", "no container declares port 9999"))
      << explained("statefulset/lobby", "games");
  // Of a Pod that never came to be, too.
  EXPECT_THAT(explained("pod/lobby-0", "games"), HasSubstr("no container declares port 9999"));

  create(workload("Deployment", "games", "", asking_for("rooms TCP 8000"), 12));
  EXPECT_TRUE(comes_to_say("deployment/lobby", "games", "is full: 10 of 10 in use"))
      << explained("deployment/lobby", "games");
  EXPECT_THAT(explained("deployment/lobby", "games"), HasSubstr("by games/lobby-"));

  create(workload("ReplicaSet", "games", "", asking_for("rooms/item9 TCP 8000")));
  EXPECT_TRUE(comes_to_say("replicaset/lobby", "games",
                           "PortPool games/rooms has no item 'item9'; its items are: item1 (TCP)"))
      << explained("replicaset/lobby", "games");

  ExplainView view = view_of("deployment/lobby", "games");
  view.cluster.webhooks = nullptr;
  EXPECT_THAT(last(report::explain(view)), HasSubstr("webhook configuration is missing"));
  view = view_of("deployment/lobby", "games");
  view.cluster.ca_bundle = "another";
  EXPECT_THAT(last(report::explain(view)), HasSubstr("caBundle"));
  view = view_of("deployment/lobby", "games");
  view.cluster.objects.clear();
  EXPECT_THAT(last(report::explain(view)), HasSubstr("there is no PortPool games/rooms"));
}

constexpr std::string_view kSite = R"(
apiVersion: v1
kind: Pod
metadata:
  name: site
  namespace: web
  annotations:
    portpools.networkextension.bkbcs.tencent.com: "true"
    ports.portpools.networkextension.bkbcs.tencent.com: "low TCP_UDP 8000"
spec:
  containers:
  - {name: a, image: i, ports: [{containerPort: 8000}, {containerPort: 8000, protocol: UDP}]}
)";

// As in a process without the right to open ports below 1024.
TEST_F(Report, ALowPortIsReachedWhereEverybodyIsToldThatItIsOpen) {
  start({.low_ports = edge::LowPorts{.limit = 1024, .offset = 61'000}});
  make_namespace("web");
  create(pool_yaml("web", "low", R"({poolItems: [
      {itemName: item1, loadBalancerIDs: ["edge:web"], startPort: 80, endPort: 81}]})"));
  create(kSite);
  const auto room = play_->wait_for_room(context_.within(60s), "web/site");
  ASSERT_TRUE(room) << room.error().to_string();

  // The Pod and its players speak of port 80.
  EXPECT_TRUE(room->address.ends_with(":80")) << room->address;
  const wire::Value pod = get(kube::types::kPod, "web", "site");
  EXPECT_TRUE(wire::string_at(pod, "/spec/containers/0/env/0/value").ends_with(":80"));
  // Where it is open is said by the table, by both reports and by the LoadBalancer.
  const auto overview = play_->overview(context_.within(120s));
  ASSERT_TRUE(overview);
  EXPECT_THAT(playground::to_table(*overview), HasSubstr(":80 (open at 61080) TCP,UDP"));
  EXPECT_THAT(to_text(status()),
              HasSubstr("edge:web: ports below 1024 are open 61000 higher: connect to 61080 for "
                        "80"));
  EXPECT_THAT(to_text(report::explain(view_of("pod/site", "web"))),
              HasSubstr(":80 (open at 61080)"));
  const wire::Value balancer = get(api::load_balancer_kind().type, "", "edge.web");
  EXPECT_EQ(wire::int_at(balancer, "/status/lowPortLimit"), 1024);
  EXPECT_EQ(wire::int_at(balancer, "/status/lowPortOffset"), 61'000);
  // And that is true.
  const model::Target open{std::string(wire::string_at(balancer, "/status/vips/0")), 61'080};
  EXPECT_EQ(edge::ask_over_tcp(open, "ahoy\n", 10'000).value_or(""), "this is web/site\nahoy\n");
  EXPECT_EQ(edge::ask_over_udp(open, "ahoy\n", 10'000).value_or(""), "ahoy\n");
}

constexpr std::string_view kWebOfRooms = R"(
apiVersion: v1
kind: Service
metadata: {name: room, namespace: play}
spec: {selector: {app: room}, ports: [{protocol: TCP, port: 80, targetPort: 8000}]}
---
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: Ingress
metadata: {name: web, namespace: play, annotations: {networkextension.bkbcs.tencent.com/lbids: "edge:play"}}
spec: {rules: [{port: 8080, protocol: TCP, services: [{serviceName: room, servicePort: 80, isDirectConnect: true}]}]}
)";

// On real sockets: what answers is told from what does not.
TEST_F(Report, AddressesAreTriedWhereSomebodyAsksForIt) {
  create(example("rooms.yaml"));
  create(kWebOfRooms);
  room_is_ready("play/room-0");
  ASSERT_TRUE(eventually([&] { return report::explain(view_of("ingress/web", "play")).ready(); }))
      << to_text(report::explain(view_of("ingress/web", "play")));
  const auto probed = [&](const std::string& target, const report::Knock& knock) {
    const ExplainView view = view_of(target, "play");
    Explanation told = report::explain(view);
    report::probe(view, knock, told);
    return told;
  };
  const report::Knock knock = [](const model::Target& at) { return edge::knock(at, 10s); };
  for (const char* const target : {"pod/room-0", "ingress/web", "listener/play-8080"}) {
    const Explanation told = probed(target, knock);
    EXPECT_TRUE(told.ready()) << to_text(told);
    EXPECT_THAT(to_text(told), HasSubstr(" answers, and so does ")) << target;
  }
  // Somebody is between: the load balancer's address is not reached.
  const wire::Value balancer = get(api::load_balancer_kind().type, "", "edge.play");
  const std::string vip(wire::string_at(balancer, "/status/vips/0"));
  const Explanation blocked = probed("pod/room-0", [&](const model::Target& at) -> Result<> {
    if (at.ip == vip) return fail(Code::timeout, "no answer in 3 s");
    return knock(at);
  });
  EXPECT_THAT(to_text(blocked), HasSubstr("security group"));
}

std::string asking_for_host_ports(const std::string& ports, const std::string& value = "true") {
  return fmt::format(R"(randhostport.webhook.bkbcs.tencent.com: "{}", )"
                     R"(ports.randhostport.webhook.bkbcs.tencent.com: "{}")",
                     value, ports);
}

TEST_F(Report, HostPortsAreExplainedStepByStep) {
  create(example("host-ports.yaml"));
  ASSERT_TRUE(eventually([&] {
    return report::explain(view_of("deployment/relay", "default")).ready();
  })) << to_text(report::explain(view_of("deployment/relay", "default")));
  const ExplainView sound = view_of("deployment/relay", "default");
  ASSERT_TRUE(sound.pod.is_object());
  const std::string told = to_text(report::explain(sound));
  EXPECT_THAT(told, HasSubstr("was given host ports when it was created"));
  EXPECT_THAT(told, HasSubstr("of container port 8080: variable, label and anti-affinity"));
  EXPECT_THAT(told, HasSubstr("of container port 8081: variable, label and anti-affinity"));
  EXPECT_THAT(told, HasSubstr("is reached at 127."));
  EXPECT_THAT(told, ::testing::Not(HasSubstr("pool")));

  ExplainView unlabelled = sound;
  wire::Object& labels = wire::find(unlabelled.pod, "/metadata/labels")->get_object();
  std::string port_label;
  for (const auto& label : labels)
    if (std::isdigit(static_cast<unsigned char>(label.key()[0]))) port_label = label.key();
  labels.erase(port_label);
  EXPECT_THAT(last(report::explain(unlabelled)), HasSubstr("label " + port_label + " is gone"));
  EXPECT_THAT(last(report::explain(unlabelled)), HasSubstr("kubectl label pod relay-"));

  ExplainView apart = sound;
  wire::find(apart.pod, "/spec")->get_object().erase("affinity");
  EXPECT_THAT(last(report::explain(apart)), HasSubstr("anti-affinity to others"));

  ExplainView elsewhere = sound;
  wire::find(elsewhere.cluster.webhooks, "/metadata/annotations/berth.dev~1host-ports")
      ->emplace_string() = "40000-40001";
  EXPECT_THAT(to_text(report::explain(elsewhere)), HasSubstr("the range is 40000-40001 by now"));

  ExplainView crowded = sound;
  wire::find(crowded.pod, "/spec")->get_object().erase("nodeName");
  wire::find(crowded.pod, "/status")->get_object()["conditions"] = wire::Array{
      wire::Object{{"type", "PodScheduled"},
                   {"status", "False"},
                   {"message",
                    "0/1 nodes are available: 1 node(s) didn't have free ports for the requested "
                    "pod ports."}}};
  EXPECT_THAT(last(report::explain(crowded)), HasSubstr("no node has all of its ports free"));
  EXPECT_THAT(last(report::explain(crowded)), HasSubstr("gets other ports"));
}

TEST_F(Report, WhyThereAreNoHostPortsIsNamed) {
  create(workload("StatefulSet", "default", asking_for_host_ports("8000"), ""));
  EXPECT_TRUE(comes_to_say("statefulset/lobby", "default", "not on its template"))
      << explained("statefulset/lobby", "default");
  create(workload("Deployment", "default", "", asking_for_host_ports("8000", "yes")));
  EXPECT_TRUE(comes_to_say("deployment/lobby", "default", "is \"yes\": only \"true\" asks"))
      << explained("deployment/lobby", "default");

  create(workload("ReplicaSet", "default", "", asking_for_host_ports("http")));
  EXPECT_TRUE(comes_to_say("replicaset/lobby", "default",
                           "'http' is neither name nor number of a container's port"))
      << explained("replicaset/lobby", "default");
  EXPECT_THAT(explained("replicaset/lobby", "default"),
              HasSubstr("add it to spec.containers[].ports"));

  // A range that is too small for one Pod.
  ExplainView view = view_of("replicaset/lobby", "default");
  wire::Object& annotations =
      wire::find(view.workload, "/spec/template/metadata/annotations")->get_object();
  annotations[api::kHostPortPortsAnnotation] = "8000";
  EXPECT_THAT(to_text(report::explain(view)), HasSubstr("the range 20000-29999 has enough ports"));
  wire::find(view.cluster.webhooks, "/metadata/annotations/berth.dev~1host-ports")
      ->emplace_string() = "20000-20000";
  *wire::find(view.workload, "/spec/template/spec/containers/0/ports") =
      wire::Array{wire::Object{{"containerPort", 8000}}, wire::Object{{"containerPort", 8001}}};
  annotations[api::kHostPortPortsAnnotation] = "8000,8001";
  EXPECT_THAT(last(report::explain(view)),
              HasSubstr("asks for 2 host ports, the range 20000-20000 has 1"));
  EXPECT_THAT(last(report::explain(view)), HasSubstr("--host-ports"));

  wire::find(view.workload, "/spec/template/spec")->get_object()["hostNetwork"] = true;
  EXPECT_THAT(last(report::explain(view)), HasSubstr("spec.hostNetwork: is true"));
}

TEST_F(Report, APodMayAskForBothKindsOfPorts) {
  create(example("first-room.yaml"));
  create(workload("Deployment", "games", "",
                  asking_for("rooms TCP 8000/hostport") + ", " + asking_for_host_ports("8000")));
  EXPECT_TRUE(eventually([&] {
    return report::explain(view_of("deployment/lobby", "games")).ready();
  })) << to_text(report::explain(view_of("deployment/lobby", "games")));
  const std::string told = to_text(report::explain(view_of("deployment/lobby", "games")));
  EXPECT_THAT(told, HasSubstr("leads to the Pod"));
  EXPECT_THAT(told, HasSubstr("is reached at 127."));
}

TEST_F(Report, WhoIsNotThereIsSaidToBeMissing) {
  EXPECT_FALSE(report::parse_target("service/x"));
  const auto view =
      report::read_for_explain(context_.within(120s), play_->client(), app::all_report_parts(),
                               "default", "Deployment", {"default", "nobody"});
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code, Code::not_found);
}

}  // namespace
}  // namespace berth
