// /metrics has what dashboards of bcs-ingress-controller ask for, and workloads are told why their
// Pods were refused.

#include <gmock/gmock.h>

#include "edge/echo_server.h"
#include "world.h"

namespace berth {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kFourRooms = R"(
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: crowd, namespace: play}
spec:
  replicas: 30
  selector: {matchLabels: {app: crowd}}
  template:
    metadata:
      labels: {app: crowd}
      annotations:
        portpools.networkextension.bkbcs.tencent.com: "true"
        ports.portpools.networkextension.bkbcs.tencent.com: "room-ports TCP 8000"
    spec:
      containers: [{name: a, image: i, ports: [{containerPort: 8000}]}]
)";

constexpr int kAnswerMs = 10'000;

class Metrics : public World {
 protected:
  // -1: there is no such series.
  double value_of(const std::string& series) {
    const std::string text = "\n" + metrics();
    const std::size_t at = text.find("\n" + series + " ");
    return at == std::string::npos ? -1 : std::atof(text.c_str() + at + series.size() + 2);
  }
};

TEST_F(Metrics, PoolsAreCountedUnderTheNamesThatDashboardsKnow) {
  create(example("rooms.yaml"));
  room_is_ready("play/room-0");
  room_is_ready("play/room-1");
  EXPECT_TRUE(eventually(
      [&] { return value_of(R"(bkbcs_ingressctrl_portbinding_total{status="Ready"})") == 2; }));
  const std::string labels = R"({itemname="item1",poolkey="room-ports/play",protocol=")";
  for (const std::string protocol : {"TCP", "UDP"}) {
    EXPECT_EQ(
        value_of("bkbcs_ingressctrl_cache_poolitem_portitem_total" + labels + protocol + "\"}"),
        20);
    EXPECT_EQ(
        value_of("bkbcs_ingressctrl_cache_poolitem_portitem_used" + labels + protocol + "\"}"), 2);
  }
  EXPECT_GE(value_of("bkbcs_ingressctrl_portpool_bind_latency_seconds_count"), 2);
  EXPECT_EQ(value_of(R"(bkbcs_ingressctrl_webhook_pod_create{allow="true"})"), 2);
  EXPECT_EQ(value_of(R"(bkbcs_ingressctrl_listener_total{lbID="edge:play",protocol="UDP",)"
                     R"(status="Synced",target_group_type="normal"})"),
            2);
  EXPECT_EQ(value_of(R"(bkbcs_ingressctrl_controller_info{cloud="edge",version="dev"})"), 1);
  EXPECT_EQ(value_of(R"(bkbcs_ingressctrl_event_counter{object="portpool",type="add"})"), 1);
  EXPECT_EQ(value_of(R"(bkbcs_ingressctrl_api_request_total{handler="/mutate-pod-ports",)"
                     R"(method="mutate",status="ok"})"),
            2);
}

TEST_F(Metrics, WhatTheEdgeCarriesIsCountedPerLoadBalancer) {
  create(example("rooms.yaml"));
  const auto room = play_->wait_for_room(context_.within(60s), "play/room-0");
  ASSERT_TRUE(room) << room.error().to_string();
  const std::size_t colon = room->address.rfind(':');
  const model::Target at{room->address.substr(0, colon),
                         static_cast<model::Port>(std::stoi(room->address.substr(colon + 1)))};
  ASSERT_THAT(edge::ask_over_tcp(at, "ahoy", kAnswerMs).value_or(""), HasSubstr("ahoy"));
  ASSERT_THAT(edge::ask_over_udp(at, "ahoy", kAnswerMs).value_or(""), HasSubstr("ahoy"));
  for (const std::string protocol : {"TCP", "UDP"}) {
    const std::string labels = R"({lb="edge:play",protocol=")" + protocol + "\"}";
    const std::string out = R"({direction="out",lb="edge:play",protocol=")" + protocol + "\"}";
    EXPECT_TRUE(eventually([&] { return value_of("berth_edge_connections_total" + labels) >= 1; }));
    EXPECT_TRUE(eventually([&] { return value_of("berth_edge_bytes_total" + out) >= 4; }));
  }
  EXPECT_EQ(value_of(R"(berth_edge_connect_failures_total{lb="edge:play",protocol="TCP"})"), 0);
  // Both ports of both rooms; the other may be slower.
  EXPECT_TRUE(eventually([&] { return value_of("berth_edge_open_files") >= 4; }));
}

TEST_F(Metrics, AWorkloadIsToldWhyItsPodsWereRefused) {
  create(example("rooms.yaml"));
  ASSERT_TRUE(pool_is_ready("play", "room-ports"));
  create(kFourRooms);
  wire::Value event;
  const auto lines = [&] {
    std::size_t found = 0;
    for (const wire::Value& one : list(kube::types::kEvent, "play")) {
      if (wire::string_at(one, "/reason") != "AllocatePortFailed") continue;
      event = one;
      ++found;
    }
    return found;
  };
  // Pods come and go, and are refused again and again: that is one line, counted up.
  ASSERT_TRUE(eventually([&] { return lines() > 0; }));
  ASSERT_TRUE(eventually([&] {
    merge(kube::types::kReplicaSet, {"play", "crowd"}, R"({"spec":{"replicas":25}})");
    merge(kube::types::kReplicaSet, {"play", "crowd"}, R"({"spec":{"replicas":30}})");
    for (const wire::Value& pod : list(kube::types::kPod, "play")) {
      if (wire::string_at(pod, "/metadata/labels/app") != "crowd") continue;
      (void)play_->client().remove(context_, kube::types::kPod,
                                   {"play", std::string(wire::string_at(pod, "/metadata/name"))});
      break;
    }
    return lines() > 0 && wire::int_at(event, "/count").value_or(1) >= 5;
  }));
  EXPECT_EQ(lines(), 1u);
  EXPECT_EQ(std::string(wire::string_at(event, "/message")),
            "PortPool play/room-ports: no free TCP port");
  // The table has those that are nowhere to be seen.
  ASSERT_TRUE(eventually([&] {
    const auto overview = play_->overview(context_.within(120s));
    if (!overview || overview->refused.size() != 1) return false;
    const playground::RefusedRow& row = overview->refused.front();
    return row.kind == "ReplicaSet" && row.workload == "play/crowd" && row.wanted == 30 &&
           row.missing >= 12 && row.why == wire::string_at(event, "/message");
  }));
  EXPECT_EQ(wire::string_at(event, "/involvedObject/kind"), "ReplicaSet");
  EXPECT_EQ(value_of("bkbcs_ingressctrl_portpool_allocate_failed_gauge"
                     R"({name="crowd",namespace="play"})"),
            1);
  EXPECT_GE(value_of(R"(bkbcs_ingressctrl_webhook_pod_create{allow="false"})"), 1);
}

constexpr std::string_view kCheckedRooms = R"(
apiVersion: v1
kind: Pod
metadata:
  name: well
  namespace: games
  annotations:
    portpools.networkextension.bkbcs.tencent.com: "true"
    ports.portpools.networkextension.bkbcs.tencent.com: "checked TCP 8000"
spec:
  containers: [{name: a, image: i, ports: [{containerPort: 8000}]}]
---
apiVersion: v1
kind: Pod
metadata:
  name: deaf
  namespace: games
  annotations:
    portpools.networkextension.bkbcs.tencent.com: "true"
    ports.portpools.networkextension.bkbcs.tencent.com: "checked TCP 9000"
spec:
  containers: [{name: a, image: i, ports: [{containerPort: 9000, protocol: UDP}]}]
)";

TEST_F(Metrics, TheHealthOfTargetsIsShownWhileTheyAreThere) {
  make_namespace("games");
  create(pool_yaml("games", "checked", R"({listenerAttribute: {healthCheck:
      {enabled: true, intervalTime: 1, timeout: 1, healthNum: 1, unHealthNum: 1}},
    poolItems: [{itemName: item1, loadBalancerIDs: [lb-7], startPort: 31000, endPort: 31005}]})"));
  create(kCheckedRooms);
  room_is_ready("games/well");
  room_is_ready("games/deaf");
  // Of the Pod, with the labels that dashboards know.
  const auto series_of = [&](const std::string& pod, int port) {
    std::string id;
    int number = 0;
    const auto room = get(kube::types::kPod, "games", pod);
    const std::string ip(wire::string_at(room, "/status/podIP"));
    for (const wire::Value& listener : list(api::listener_kind().type, "games")) {
      if (wire::string_at(listener, "/spec/targetGroup/backends/0/IP") != ip) continue;
      id = wire::string_at(listener, "/status/listenerID");
      number = static_cast<int>(wire::int_at(listener, "/spec/port").value_or(0));
    }
    return fmt::format(
        R"(cloudloadbalance_backendhealth_backend_status{{host="",lbid="lb-7",listenerid="{}",)"
        R"(namespace="games",path="",port="{}",protocol="TCP",rsip="{}",rsport="{}"}})",
        id, number, ip, port);
  };
  const std::string well = series_of("well", 8000);
  const std::string deaf = series_of("deaf", 9000);
  EXPECT_TRUE(eventually([&] { return value_of(well) == 1; })) << well << metrics();
  EXPECT_TRUE(eventually([&] { return value_of(deaf) == 0; })) << deaf << metrics();
  // Gone with its target, not left at a value that would alarm somebody.
  ASSERT_TRUE(play_->client().remove(context_, kube::types::kPod, {"games", "deaf"}));
  EXPECT_TRUE(eventually([&] { return value_of(deaf) == -1; }));
  EXPECT_EQ(value_of(well), 1);
  EXPECT_THAT(metrics(), HasSubstr("# TYPE bkbcs_ingressctrl_portbinding_conflict gauge"));
  EXPECT_THAT(metrics(), ::testing::Not(HasSubstr("bkbcs_ingressctrl_portbinding_conflict{")));
}

TEST_F(Metrics, WithoutAHealthCheckNothingIsKnown) {
  create(example("rooms.yaml"));
  room_is_ready("play/room-0");
  const std::string text = metrics();
  const std::size_t at = text.find("cloudloadbalance_backendhealth_backend_status{");
  ASSERT_NE(at, std::string::npos);
  EXPECT_THAT(text.substr(at, text.find('\n', at) - at), ::testing::EndsWith(" 2"));
}

TEST_F(Metrics, APoolThatIsGoneIsShownWithoutPorts) {
  create(example("first-room.yaml"));
  room_is_ready("games/room-0");
  const std::string name =
      "bkbcs_ingressctrl_cache_poolitem_portitem_total"
      R"({itemname="item1",poolkey="rooms/games",protocol="TCP"})";
  EXPECT_EQ(value_of(name), 10);
  ASSERT_TRUE(play_->client().remove(context_, kube::types::kPod, {"games", "room-0"}));
  ASSERT_TRUE(eventually([&] {
    return play_->client()
        .remove(context_, api::port_pool_kind().type, {"games", "rooms"})
        .has_value();
  }));
  EXPECT_TRUE(eventually([&] { return value_of(name) == 0; }));
}

}  // namespace
}  // namespace berth
