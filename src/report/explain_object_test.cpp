// What a person reads who asks about an Ingress or a Listener.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/keys.h"
#include "report/explain.h"
#include "report/probe.h"
#include "report/test_support.h"
#include "wire/yaml.h"

namespace berth::report {
namespace {

using ::testing::AllOf;
using testing::cluster;
using ::testing::HasSubstr;
using testing::kNow;
using ::testing::Not;
using wire::Object;
using wire::Value;

constexpr std::string_view kIngress = R"(
metadata:
  namespace: games
  name: web
  uid: uid-of-web
  resourceVersion: "1"
  annotations: {networkextension.bkbcs.tencent.com/lbids: "edge:demo"}
spec:
  rules:
  - port: 8080
    protocol: TCP
    services: [{serviceName: web, servicePort: 80, isDirectConnect: true}]
status:
  status: Ready
  loadbalancers: [{loadbalancerID: "edge:demo", ips: [1.1.1.1]}]
)";

api::Listener listener_of_web() {
  api::Listener out = claims::testing::applied(api::Listener{});
  out.meta = {.ns = kube::Interned("games"), .name = "demo-8080", .uid = "uid-of-it"};
  const auto put = [&](auto& map, std::string_view key, std::string_view value) {
    claims::testing::put(map, key, std::string(value));
  };
  put(out.meta.labels, api::kOwnerKindKey, "Ingress");
  put(out.meta.labels, api::kOwnerNameKey, "web");
  put(out.meta.annotations, claims::kItemAnnotation, "rule/TCP/8080");
  out.spec = {.load_balancer_id = "edge:demo",
              .port = 8080,
              .protocol = "TCP",
              .target_group = api::ListenerTargetGroup{
                  .protocol = "TCP", .backends = {{.ip = "10.0.0.1", .port = 8000, .weight = 10}}}};
  out.status.status = std::string(api::kSynced);
  out.meta.created = kNow - std::chrono::hours{1};
  return claims::testing::applied(std::move(out));
}

Value yaml(std::string_view text) { return wire::parse_yaml(text).value(); }

// The Ingress leads to one Pod, and all is well.
ExplainView web() {
  ExplainView view{.cluster = cluster(), .kind = "Ingress", .key = {"games", "web"}};
  view.object = yaml(kIngress);
  view.cluster.listeners = {std::make_shared<const api::Listener>(listener_of_web())};
  view.around["services"] = {yaml(R"(
metadata: {namespace: games, name: web, uid: u, resourceVersion: "1"}
spec: {selector: {app: web}, ports: [{protocol: TCP, port: 80, targetPort: 8000}]})")};
  view.around["pods"] = {yaml(R"(
metadata: {namespace: games, name: web-0, uid: u, resourceVersion: "1", labels: {app: web}}
spec: {containers: [{name: a}]}
status: {phase: Running, podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}], hostIP: 192.168.0.1,
  conditions: [{type: ContainersReady, status: "True"}], containerStatuses: [{name: a, state: {running: {}}}]})")};
  return view;
}
void change(ExplainView& view, const std::function<void(api::Listener&)>& change) {
  api::Listener listener = *view.cluster.listeners.at(0);
  change(listener);
  view.cluster.listeners[0] = std::make_shared<const api::Listener>(std::move(listener));
}
std::string told(const ExplainView& view) { return to_text(explain(view)); }

TEST(ExplainIngress, AllIsWell) {
  EXPECT_TRUE(explain(web()).ready()) << told(web());
  EXPECT_EQ(told(web()), R"(Ingress games/web
  ok    the controller runs: berth-1
  ok    load balancer edge:demo is reached at 1.1.1.1
  ok    1 of 1 Listeners are as written at the load balancer
  ok    Ready: every listener is as written
)");
  EXPECT_EQ(ways_of(web()).size(), 1u) << "and can be tried";
}

TEST(ExplainIngress, WhatTheCloudSaidIsToldWithItsRemedyAndRequest) {
  ExplainView view = web();
  change(view, [](api::Listener& one) {
    one.meta.annotations.clear();
    claims::testing::put(one.meta.annotations, claims::kItemAnnotation, "rule/TCP/8080");
    one.status.status = std::string(api::kNotSynced);
    one.status.message = "forbidden: CreateListener: X: no (request r-1) (hint: ask (them); now)";
  });
  EXPECT_FALSE(explain(view).ready());
  EXPECT_THAT(told(view), AllOf(HasSubstr("no    Listener demo-8080 is not synced: forbidden: "
                                          "CreateListener: X: no (request r-1)\n"),
                                HasSubstr("to do: ask (them); now; it is tried again by itself")));
}

TEST(ExplainIngress, WhoeverHasAPortIsNamed) {
  ExplainView view = web();
  view.cluster.balancers[0].spec.grants = {{.protocol = "TCP",
                                            .start_port = 8080,
                                            .end_port = 8081,
                                            .owner_kind = "PortPool",
                                            .owner_namespace = "games",
                                            .owner_name = "rooms",
                                            .owner_uid = "uid-of-rooms",
                                            .item = "item1"}};
  EXPECT_THAT(told(view), HasSubstr("no    spec.rules[0]: TCP ports 8080-8081 of edge:demo are "
                                    "granted to PortPool games/rooms, item1"));
  view.cluster.balancers[0].spec.grants[0].owner_kind = "Ingress";
  view.cluster.balancers[0].spec.grants[0].owner_name = "web";
  EXPECT_TRUE(explain(view).ready()) << "its own";
}

TEST(ExplainIngress, TargetsThatAreNotThereAreNamed) {
  ExplainView view = web();
  view.around["pods"].clear();
  EXPECT_THAT(told(view), HasSubstr("wait  rule/TCP/8080 leads nowhere: none of its Pods runs"));
  view = web();
  view.around["services"].clear();
  EXPECT_THAT(told(view),
              HasSubstr("no    spec.rules[0].services[0]: Service games/web is not there"));
  view = web();
  ASSERT_TRUE(wire::set_at(view.around["pods"][0], "/status/conditions/0/status", "False"));
  EXPECT_THAT(told(view), HasSubstr("takes no new connections"));
}

TEST(ExplainIngress, AMappingMayWaitForItsPods) {
  ExplainView view = web();
  view.object.as_object()["spec"] = yaml(R"({portMappings: [{workloadKind: StatefulSet,
      workloadName: room, workloadNamespace: games, protocol: TCP, startPort: 9000, startIndex: 0,
      endIndex: 3}]})");
  EXPECT_THAT(told(view),
              HasSubstr("ok    mapping/TCP/9000: 3 of 3 listeners wait for their Pods"));
}

TEST(ExplainIngress, WhatOnlyItsStatusKnowsIsTold) {
  ExplainView view = web();
  ASSERT_TRUE(wire::set_at(view.object, "/status/status", "NotReady"));
  ASSERT_TRUE(wire::set_at(view.object, "/status/message", "no load balancer has the name x"));
  EXPECT_THAT(told(view), HasSubstr("no    NotReady: no load balancer has the name x"));
  view.object.as_object().erase("status");
  EXPECT_THAT(told(view), HasSubstr("wait  no controller has looked at it yet"));
  view = web();
  view.cluster.balancers[0].status.last_error = "not_found: gone (hint: look)";
  EXPECT_THAT(told(view), AllOf(HasSubstr("load balancer edge:demo: not_found: gone\n"),
                                HasSubstr("to do: look;")));
  view = web();
  view.cluster.without = {"ingress"};
  EXPECT_THAT(told(view), HasSubstr("the controller runs without ingress"));
}

TEST(ExplainListener, SaysWhoseItIsAndWhereItLeads) {
  ExplainView view{.cluster = cluster(), .kind = "Listener", .key = {"games", "demo-8080"}};
  const auto as_object = [](const api::Listener& listener) {
    Value out = testing::as_object(listener);
    Object labels;
    for (const auto& [key, value] : listener.meta.labels) labels[key.view()] = value;
    Object annotations;
    for (const auto& [key, value] : listener.meta.annotations) annotations[key.view()] = value;
    wire::find(out, "/metadata")->as_object()["labels"] = labels;
    wire::find(out, "/metadata")->as_object()["annotations"] = annotations;
    return out;
  };
  view.object = as_object(listener_of_web());
  EXPECT_TRUE(explain(view).ready()) << told(view);
  EXPECT_THAT(told(view),
              AllOf(HasSubstr("belongs to Ingress games/web, rule/TCP/8080"),
                    HasSubstr("load balancer edge:demo is reached at 1.1.1.1"),
                    HasSubstr("TCP 8080 is as written"), HasSubstr("leads to 10.0.0.1:8000")));
  api::Listener failing = listener_of_web();
  failing.meta.annotations.clear();
  claims::testing::put(failing.meta.annotations, claims::kItemAnnotation, "rule/TCP/8080");
  failing.status.message = "forbidden: no (hint: ask)";
  view.object = as_object(failing);
  EXPECT_THAT(told(view), AllOf(HasSubstr("no    TCP 8080 is not synced: forbidden: no\n"),
                                HasSubstr("to do: ask;")));
  failing.meta.labels = {};
  view.object = as_object(failing);
  EXPECT_THAT(told(view), HasSubstr("it belongs to nobody"));
}

TEST(ExplainTarget, ObjectsOfOursAreKnownByTheirWords) {
  const Parts parts = app::all_report_parts();
  for (const char* const text : {"ingress/web", "bcsingress/web", "ingresses/web", "Ingress/web"})
    EXPECT_EQ(parse_target(text, parts).value(),
              std::pair(std::string("Ingress"), std::string("web")));
  EXPECT_EQ(parse_target("listener/demo-8080", parts).value().first, "Listener");
  const auto wrong = parse_target("service/web", parts);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, AllOf(HasSubstr("ingress/NAME"), HasSubstr("listener/NAME")));
}

}  // namespace
}  // namespace berth::report
