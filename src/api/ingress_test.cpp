#include "api/ingress.h"

#include <gtest/gtest.h>

#include "api/keys.h"
#include "api/test_ingress.h"
#include "api/walkers.h"

namespace berth::api {
namespace {

using model::PortRange;
using model::Transport;

const model::LoadBalancerRef kFirst{model::Provider::tencent, "ap-nanjing", "lb-1"};

Ingress annotated(std::string_view key, std::string text) {
  Ingress ingress;
  ingress.meta.ns = kube::Interned("games");
  ingress.meta.name = "web";
  ingress.meta.annotations = {{kube::Interned(key), std::move(text)}};
  return ingress;
}

std::string complaint(std::string_view key, std::string text) {
  const auto read = load_balancers_of(annotated(key, std::move(text)));
  EXPECT_TRUE(read || read.error().object == "Ingress games/web");
  return read ? "" : read.error().field + ": " + read.error().message;
}

TEST(Ingress, IsTheKindThatUsersHave) {
  const wire::Value crd = crd_of(ingress_kind());
  EXPECT_EQ(wire::string_at(crd, "/metadata/name"), "ingresses.networkextension.bkbcs.tencent.com");
  EXPECT_EQ(wire::string_at(crd, "/spec/names/shortNames/0"), "bcsingress");
  EXPECT_FALSE(wire::find(crd, "/spec/versions/0/subresources/status"))
      << "status is written with the object, as upstream";
}

TEST(Ingress, ReadsAndWritesEveryField) {
  const char* const yaml = R"(
metadata:
  namespace: games
  name: web
  annotations: {networkextension.bkbcs.tencent.com/lbids: lb-1}
spec:
  rules:
  - port: 443
    protocol: HTTPS
    listenerAttribute: {sniSwitch: 1}
    certificate: {mode: MUTUAL, certID: c1, certCaID: c2}
    layer7Routes:
    - domain: play.example.com
      path: /lobby
      forwardType: GRPC
      certificate: {mode: UNIDIRECTIONAL, certID: c3}
      listenerAttribute: {sessionTime: 60}
      services:
      - serviceName: lobby
        serviceNamespace: rooms
        serviceKind: Service
        servicePort: 80
        isDirectConnect: true
        hostPort: true
        weight: {value: 0}
        subsets:
        - labelSelector: {version: v1}
          weight: {value: 20}
  portMappings:
  - workloadKind: StatefulSet
    workloadName: arena
    workloadNamespace: rooms
    startPort: 30000
    rsStartPort: 8000
    startIndex: 0
    endIndex: 3
    segmentLength: 5
    protocol: HTTP
    isRsPortFixed: true
    ignoreSegment: true
    hostPort: true
    listenerAttribute: {keepAliveEnable: 1}
    certificate: {certID: c4}
    routes:
    - domain: arena.example.com
      path: /
      listenerAttribute: {lbPolicy: WRR}
)";
  const Ingress ingress = ingress_of(yaml);
  const auto written = wire::parse_yaml(yaml);
  ASSERT_TRUE(written);
  EXPECT_EQ(wire::Value(encode(ingress.spec)), *wire::find(*written, "/spec"))
      << wire::to_json(wire::Value(encode(ingress.spec)));
  EXPECT_TRUE(check(ingress.spec, "spec").empty());
}

TEST(Ingress, TheStatusHasTheNamesOfUpstream) {
  const IngressStatus status{.load_balancers = {{.id = "lb-1", .ips = {"1.2.3.4"}}}};
  EXPECT_EQ(wire::to_json(wire::Value(encode(status))),
            R"({"loadbalancers":[{"loadbalancerID":"lb-1","ips":["1.2.3.4"]}]})");
}

TEST(Ingress, LoadBalancersAreNamedInAnnotations) {
  const auto ids = load_balancers_of(annotated(kLoadBalancerIdsAnnotation, "lb-1,ap-x:lb-2"));
  ASSERT_TRUE(ids) << ids.error().to_string();
  EXPECT_EQ(ids->texts, (std::vector<std::string>{"lb-1", "ap-x:lb-2"}));
  EXPECT_FALSE(ids->by_name);
  const auto names = load_balancers_of(annotated(kLoadBalancerNamesAnnotation, "games"));
  ASSERT_TRUE(names) << names.error().to_string();
  EXPECT_EQ(names->texts, std::vector<std::string>{"games"});
  EXPECT_TRUE(names->by_name);
}

TEST(Ingress, IdsOfLoadBalancersCountMoreThanNames) {
  Ingress both = annotated(kLoadBalancerIdsAnnotation, "lb-1");
  both.meta.annotations.emplace_back(kube::Interned(kLoadBalancerNamesAnnotation), "games");
  const auto read = load_balancers_of(both);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->texts, std::vector<std::string>{"lb-1"});
  EXPECT_FALSE(read->by_name);
}

TEST(Ingress, OddListsOfLoadBalancersAreRefusedWithWhatWasFound) {
  const std::string ids = "metadata.annotations[networkextension.bkbcs.tencent.com/lbids]: ";
  const std::string names = "metadata.annotations[networkextension.bkbcs.tencent.com/lbnames]: ";
  EXPECT_EQ(complaint("other", "lb-1"),
            ids +
                "is required: name the load balancers, for example lb-1; or by name in "
                "networkextension.bkbcs.tencent.com/lbnames");
  EXPECT_EQ(complaint(kLoadBalancerIdsAnnotation, ""),
            ids + "is empty: name at least one load balancer, for example lb-1,ap-shanghai:lb-2");
  EXPECT_EQ(complaint(kLoadBalancerIdsAnnotation, "lb-1, lb-2"),
            ids +
                "'lb-1, lb-2' has a blank in it: write commas alone between load balancers, for "
                "example lb-1,ap-shanghai:lb-2");
  EXPECT_EQ(complaint(kLoadBalancerIdsAnnotation, "lb-1\n"),
            ids +
                "'lb-1\n' has a line end in it: write commas alone between load balancers, for "
                "example lb-1,ap-shanghai:lb-2");
  EXPECT_EQ(complaint(kLoadBalancerIdsAnnotation, "lb-1,,lb-2"),
            ids +
                "'lb-1,,lb-2' has an empty part: a comma stands between two load balancers, for "
                "example lb-1,ap-shanghai:lb-2");
  EXPECT_EQ(complaint(kLoadBalancerNamesAnnotation, "games,"),
            names +
                "'games,' has an empty part: a comma stands between two load balancers, for "
                "example games,ap-shanghai:lobby");
  EXPECT_EQ(complaint(kLoadBalancerNamesAnnotation, "a,b,a"), names +
                                                                  "'a' is named twice in "
                                                                  "'a,b,a'");
  std::string many = "lb-0";
  for (int i = 1; i <= 16; ++i) many += fmt::format(",lb-{}", i);
  EXPECT_EQ(complaint(kLoadBalancerIdsAnnotation, many),
            ids + "names 17 load balancers, at most 16 are allowed");
}

TEST(Ingress, Layer7IsHttpHoweverItIsWritten) {
  for (const char* one : {"HTTP", "HTTPS", "http", "Https"}) EXPECT_TRUE(is_layer7(one)) << one;
  for (const char* one : {"TCP", "UDP", "TCP_SSL", "QUIC", "", "HTTP2"})
    EXPECT_FALSE(is_layer7(one)) << one;
}

TEST(Ingress, AWeightOfNoughtIsNotTheDefault) {
  EXPECT_EQ(weight_or_default({}), 10);
  EXPECT_EQ(weight_or_default(IngressWeight{.value = 0}), 0);
  EXPECT_EQ(weight_or_default(IngressWeight{.value = 80}), 80);
}

struct Mapped {
  PortMapping mapping;
  std::int64_t index;
  PortRange listener;
  int pod_port;
};

TEST(Ingress, PodsOfAMappingHaveTheirPortsInTurn) {
  for (const Mapped& one : std::vector<Mapped>{
           // Pods without more: the same ports inside.
           {{.start_port = 30000, .end_index = 6, .segment_length = 5}, 0, {30000, 30004}, 30000},
           {{.start_port = 30000, .end_index = 6, .segment_length = 5}, 5, {30025, 30029}, 30025},
           // A first port inside: each Pod has the next ones there as well.
           {{.start_port = 30000, .rs_start_port = 80, .end_index = 3, .segment_length = 2},
            2,
            {30004, 30005},
            84},
           {{.start_port = 30000, .rs_start_port = 80, .end_index = 3}, 2, {30002, 30002}, 82},
           // Fixed: every Pod has the same.
           {{.start_port = 30000, .rs_start_port = 80, .end_index = 3, .is_rs_port_fixed = true},
            2,
            {30002, 30002},
            80},
           {{.start_port = 30000, .end_index = 3, .is_rs_port_fixed = true},
            2,
            {30002, 30002},
            30000},
           // The index counts from 0, wherever the range begins.
           {{.start_port = 30000, .start_index = 4, .end_index = 6}, 4, {30004, 30004}, 30004},
           {{.start_port = 65535, .end_index = 1}, 0, {65535, 65535}, 65535}}) {
    const MappedPorts ports = mapped_ports(one.mapping, one.index);
    EXPECT_EQ(ports.listener, one.listener);
    EXPECT_EQ(ports.pod_port, one.pod_port) << one.listener.first;
  }
}

TEST(Ingress, APodHasOneListenerForItsPortsUnlessItIsToldOtherwise) {
  EXPECT_TRUE(is_segment({.segment_length = 5}));
  EXPECT_FALSE(is_segment({.segment_length = 5, .ignore_segment = true}));
  EXPECT_FALSE(is_segment({.segment_length = 1}));
  EXPECT_FALSE(is_segment({}));
  EXPECT_EQ(segment_length_of({}), 1);
}

TEST(Ingress, ListenersHaveTheNamesOfUpstream) {
  const auto plain = ListenerNames::plain;
  const auto with_protocol = ListenerNames::with_protocol;
  const IngressRule tcp{.port = 8000, .protocol = "TCP"};
  const IngressRule tls{.port = 8000, .protocol = "TCP_SSL"};
  const IngressRule https{.port = 443, .protocol = "HTTPS"};
  EXPECT_EQ(rule_listener_name(kFirst, tcp, plain), "lb-1-8000");
  EXPECT_EQ(rule_listener_name(kFirst, tcp, with_protocol), "lb-1-tcp-8000");
  EXPECT_EQ(rule_listener_name(kFirst, tls, with_protocol), "lb-1-tcpssl-8000");
  EXPECT_EQ(rule_listener_name(kFirst, https, plain), "lb-1-443");
  EXPECT_EQ(rule_listener_name(kFirst, https, with_protocol), "lb-1-443");
  const PortMapping udp{.protocol = "UDP"};
  const PortMapping http{.protocol = "HTTP"};
  EXPECT_EQ(mapping_listener_name(kFirst, udp, {8000, 8000}, plain), "lb-1-8000-0");
  EXPECT_EQ(mapping_listener_name(kFirst, udp, {8000, 8004}, plain), "lb-1-8000-8004");
  EXPECT_EQ(mapping_listener_name(kFirst, udp, {8000, 8000}, with_protocol), "lb-1-udp-8000");
  EXPECT_EQ(mapping_listener_name(kFirst, udp, {8000, 8004}, with_protocol), "lb-1-udp-8000-8004");
  EXPECT_EQ(mapping_listener_name(kFirst, http, {8000, 8000}, with_protocol), "lb-1-8000-0");
  const model::LoadBalancerRef arn{
      model::Provider::aws, "eu-west-1",
      "arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/net/rooms/50dc6c495c0c"};
  EXPECT_EQ(rule_listener_name(arn, tcp, plain), "eu-west-1-rooms-8000");
}

TEST(Ingress, TakesThePortsOfItsRulesAndMappings) {
  const auto ports = ports_of(ingress_with(
      "{rules: [{port: 443, protocol: HTTPS}, {port: 443, protocol: QUIC}], portMappings: "
      "[{startPort: 100, startIndex: 2, endIndex: 4, segmentLength: 5, protocol: udp}]}"));
  EXPECT_EQ(ports,
            (std::vector<IngressPorts>{{"spec.rules[0]", Transport::tcp, {443, 443}},
                                       {"spec.rules[1]", Transport::udp, {443, 443}},
                                       {"spec.portMappings[0]", Transport::udp, {110, 119}}}));
}

// What is asked for as one range is what the Pods then have, each its own.
TEST(Ingress, ThePortsOfAMappingAreThoseOfItsPods) {
  for (const std::int64_t length : {0, 1, 7}) {
    for (const std::int64_t start : {0, 1, 20}) {
      Ingress ingress;
      ingress.spec.port_mappings = {{.start_port = 1000,
                                     .start_index = start,
                                     .end_index = start + 9,
                                     .segment_length = length,
                                     .protocol = "TCP"}};
      const PortMapping& mapping = ingress.spec.port_mappings.front();
      const auto all = ports_of(ingress);
      ASSERT_EQ(all.size(), 1u);
      int next = all.front().ports.first;
      for (std::int64_t index = start; index < mapping.end_index; ++index) {
        const PortRange own = mapped_ports(mapping, index).listener;
        EXPECT_EQ(own.first, next) << index;
        next = own.last + 1;
      }
      EXPECT_EQ(next, all.front().ports.last + 1);
    }
  }
}

TEST(Ingress, WhatIsNotValidTakesNoPorts) {
  EXPECT_TRUE(ports_of(ingress_with("{rules: [{port: 0, protocol: TCP}, {port: 70000, protocol: "
                                    "TCP}, {port: 1, protocol: SCTP}]}"))
                  .empty());
  EXPECT_TRUE(
      ports_of(ingress_with(
                   "{portMappings: [{startPort: 65535, endIndex: 2, protocol: TCP}, {startPort: 1, "
                   "startIndex: 3, endIndex: 3, protocol: TCP}, {startPort: 1, endIndex: "
                   "9223372036854775807, segmentLength: 9223372036854775807, protocol: TCP}]}"))
          .empty());
}

}  // namespace
}  // namespace berth::api
