#include "api/port_pool.h"

#include <gtest/gtest.h>

#include "api/decode.h"
#include "api/walkers.h"
#include "wire/yaml.h"

namespace berth::api {
namespace {

PortPool pool(std::string_view yaml) {
  const auto value = wire::parse_yaml(yaml);
  EXPECT_TRUE(value) << value.error().to_string();
  auto decoded = decode_incoming_port_pool(*value);
  EXPECT_TRUE(decoded) << decoded.error().to_string();
  return *decoded;
}

const char* const kTwoItems = R"(
metadata: {namespace: games, name: rooms}
spec:
  poolItems:
  - {itemName: a, loadBalancerIDs: [lb-1], protocol: TCP, startPort: 100, endPort: 110}
  - {itemName: b, loadBalancerIDs: [lb-1, lb-2], startPort: 110, endPort: 120}
)";

std::string refusal(const std::string& from, const std::string& to) {
  std::string yaml = kTwoItems;
  yaml.replace(yaml.find(from), from.size(), to);
  const Result<> valid = validate(pool(yaml));
  return valid ? ""
               : valid.error().object + ": " + valid.error().field + ": " + valid.error().message;
}

TEST(PortPool, ReadsWhatUsersWrite) {
  const PortPool rooms = pool(kTwoItems);
  ASSERT_EQ(rooms.spec.pool_items.size(), 2u);
  EXPECT_EQ(rooms.spec.pool_items[1].load_balancer_ids, (std::vector<std::string>{"lb-1", "lb-2"}));
  EXPECT_EQ(ports_of(rooms.spec.pool_items[0]), (model::PortRange{100, 109}))
      << "endPort is exclusive";
  EXPECT_EQ(protocols_of(rooms.spec.pool_items[1]).value().size(), 2u) << "no protocol means both";
  EXPECT_TRUE(validate(rooms));
}

// bcs-ingress-controller takes it; people write the pool first and its items later.
TEST(PortPool, MayHaveNoItems) {
  const PortPool empty = pool("{metadata: {namespace: games, name: rooms}, spec: {poolItems: []}}");
  const Result<> valid = validate(empty);
  EXPECT_TRUE(valid) << valid.error().to_string();
  EXPECT_TRUE(validate_update(empty, pool(kTwoItems)));
  EXPECT_TRUE(validate_update(pool(kTwoItems), empty));
  const Result<> missing = validate(pool("{metadata: {namespace: games, name: rooms}, spec: {}}"));
  EXPECT_TRUE(missing) << "that it must be there at all, the schema says";
}

TEST(PortPool, RefusalsNameObjectFieldAndWhatIsAllowed) {
  EXPECT_EQ(refusal("startPort: 100", "startPort: 0"),
            "PortPool games/rooms: spec.poolItems[0].startPort: is required");
  EXPECT_EQ(refusal("endPort: 120", "endPort: 70000"),
            "PortPool games/rooms: spec.poolItems[1].endPort: 70000 is not in 1-65535");
  EXPECT_EQ(refusal("endPort: 110", "endPort: 100"),
            "PortPool games/rooms: spec.poolItems[0].endPort: 100 is not above startPort 100 (the "
            "range is [startPort, endPort))");
  EXPECT_EQ(
      refusal("itemName: b", "itemName: a"),
      "PortPool games/rooms: spec.poolItems[1].itemName: 'a' is the name of poolItems[0] too");
  EXPECT_EQ(refusal("startPort: 110", "startPort: 109"),
            "PortPool games/rooms: spec.poolItems[1].startPort: TCP ports 109-119 overlap those of "
            "item 'a' (100-109) on load balancer edge:lb-1");
  EXPECT_EQ(
      refusal("protocol: TCP", "protocol: SCTP"),
      "PortPool games/rooms: spec.poolItems[0].protocol: protocol 'SCTP' is not one of TCP, UDP, "
      "TCP_SSL");
  EXPECT_EQ(refusal("[lb-1]", "[]"),
            "PortPool games/rooms: spec.poolItems[0].loadBalancerIDs: is required: name at least "
            "one load balancer, for example [\"lb-1\"]");
  EXPECT_EQ(refusal("[lb-1]", "[\"lb 1\"]"),
            "PortPool games/rooms: spec.poolItems[0].loadBalancerIDs[0]: load balancer 'lb 1' has "
            "blanks or separators in it: write an id (lb-1), region:id (ap-nanjing:lb-1), an ARN, "
            "edge:name, or projects/P/regions/R/addresses/NAME");
  EXPECT_EQ(refusal("[lb-1]", "[lb-1, 'edge:lb-1']"),
            "PortPool games/rooms: spec.poolItems[0].loadBalancerIDs[1]: 'edge:lb-1' is named "
            "twice")
      << "two spellings of the same one";
  EXPECT_EQ(refusal("endPort: 120", "endPort: 4111"),
            "PortPool games/rooms: spec.poolItems[1].endPort: [110, 4111) makes 4001 ports or "
            "segments, at most 4000 are allowed in one item: add another item");
  EXPECT_EQ(refusal("endPort: 120", "endPort: 120, segmentLength: 11"),
            "PortPool games/rooms: spec.poolItems[1].segmentLength: 11 is more than the 10 ports "
            "of [110, 120)");
  EXPECT_EQ(refusal("loadBalancerIDs: [lb-1]", "loadBalancerID: [lb-7], loadBalancerIDs: [lb-1]"),
            "PortPool games/rooms: spec.poolItems[0].loadBalancerID: differs from loadBalancerIDs, "
            "of which it is another spelling: give one of them");
}

// Numbers and policies that no listener of the pool could have.
TEST(PortPool, AttributesAreWhatTheLoadBalancersTake) {
  const auto refused = [](const std::string& attribute, const model::LoadBalancerDefaults& at) {
    std::string yaml = kTwoItems;
    yaml.replace(yaml.find("spec:"), 5, "spec:\n  listenerAttribute: {" + attribute + "}");
    const Result<> valid = validate(pool(yaml), by_defaults(at));
    return valid ? "" : valid.error().field + ": " + valid.error().message;
  };
  const model::LoadBalancerDefaults edge{};
  const model::LoadBalancerDefaults tencent{model::Provider::tencent, "ap-nanjing"};
  EXPECT_EQ(refused("lbPolicy: IP_HASH", edge), "");
  EXPECT_EQ(refused("lbPolicy: ROUND", edge),
            "spec.listenerAttribute.lbPolicy: 'ROUND' is not one of WRR, LEAST_CONN");
  EXPECT_EQ(refused("lbPolicy: IP_HASH", tencent),
            "spec.listenerAttribute.lbPolicy: 'IP_HASH' is for HTTP and HTTPS alone on Tencent "
            "load balancers: write WRR or LEAST_CONN");
  EXPECT_EQ(refused("sessionTime: 10", edge), "");
  EXPECT_EQ(refused("sessionTime: 10", tencent),
            "spec.listenerAttribute.sessionTime: 10 is neither 0 nor in 30-3600, as Tencent load "
            "balancers have it");
  const std::string slow = "healthCheck: {enabled: true, timeout: 6, intervalTime: 5}";
  EXPECT_EQ(refused(slow, edge),
            "spec.listenerAttribute.healthCheck.timeout: 6 seconds are not within the interval of "
            "5 seconds (intervalTime)");
  EXPECT_EQ(refused("healthCheck: {enabled: false, timeout: 6, intervalTime: 5}", tencent), "");
  EXPECT_EQ(refused("sessionTime: 60, lbPolicy: LEAST_CONN", tencent), "")
      << "users' YAML has both";
}

TEST(PortPool, SegmentsAreForPublicLoadBalancers) {
  PortPool rooms = pool(kTwoItems);
  const model::LoadBalancerRef clb{model::Provider::tencent, "ap-nanjing", "lb-1"};
  EXPECT_TRUE(validate_segments(rooms, 1, clb, "INTERNAL")) << "it has single ports";
  rooms.spec.pool_items[1].segment_length = 5;
  EXPECT_TRUE(validate_segments(rooms, 1, clb, "OPEN"));
  const Result<> refused = validate_segments(rooms, 1, clb, "INTERNAL");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().to_string(),
            "invalid: PortPool games/rooms: spec.poolItems[1].segmentLength: segments of ports on "
            "ap-nanjing:lb-1, which is an internal load balancer: only public ones have them");
}

// TLS that ends at the load balancer: the item says with which certificate.
TEST(PortPool, TlsNeedsACertificate) {
  const auto tls = [](const std::string& rest) {
    return refusal("protocol: TCP", "protocol: TCP_SSL" + rest);
  };
  const std::string item = "PortPool games/rooms: spec.poolItems[0].";
  EXPECT_EQ(tls(", certificate: {certID: front}"), "");
  EXPECT_EQ(tls(", certificate: {mode: UNIDIRECTIONAL, certID: front}"), "");
  EXPECT_EQ(tls(", certificate: {mode: MUTUAL, certID: front, certCaID: players}"), "");
  EXPECT_EQ(tls(""), item + "certificate.certID: is required with protocol TCP_SSL");
  EXPECT_EQ(tls(", certificate: {mode: UNIDIRECTIONAL}"),
            item + "certificate.certID: is required with protocol TCP_SSL");
  EXPECT_EQ(tls(", certificate: {mode: TWO_WAY, certID: front}"),
            item + "certificate.mode: 'TWO_WAY' is not one of UNIDIRECTIONAL, MUTUAL");
  EXPECT_EQ(tls(", certificate: {mode: MUTUAL, certID: front}"),
            item +
                "certificate.certCaID: is required with mode MUTUAL: the certificate of the "
                "authority that signed those of clients");
  EXPECT_EQ(tls(", certificate: {certID: front, certCaID: players}"),
            item +
                "certificate.certCaID: 'players' is for mode MUTUAL, and the mode is "
                "UNIDIRECTIONAL: write MUTUAL, or leave it out");
  EXPECT_EQ(tls(", segmentLength: 2, certificate: {certID: front}"),
            item + "segmentLength: 2 with protocol TCP_SSL: segments are for TCP and UDP");
  EXPECT_EQ(refusal("[lb-1], protocol: TCP",
                    "['projects/p/regions/r/addresses/a'], protocol: TCP_SSL, certificate: "
                    "{certID: front}"),
            item +
                "protocol: 'TCP_SSL' with Google load balancers "
                "('projects/p/regions/r/addresses/a'), which do not speak TCP_SSL");
}

TEST(PortPool, TlsTakesAPortOfTcp) {
  PortPoolItem item{.protocol = "UDP, TCP_SSL"};
  EXPECT_EQ(protocols_of(item).value(), (std::vector{model::Protocol::tls, model::Protocol::udp}));
  EXPECT_EQ(refusal("protocol: TCP", "protocol: 'TCP_SSL,TCP', certificate: {certID: front}"),
            "PortPool games/rooms: spec.poolItems[0].protocol: 'TCP_SSL,TCP': a port speaks TCP or "
            "TCP_SSL, which is TCP too: write another item for the other, with other ports");
  const std::string both =
      "protocol: TCP_SSL, certificate: {certID: front}, startPort: 105, endPort: 120";
  EXPECT_EQ(refusal("startPort: 110, endPort: 120", both),
            "PortPool games/rooms: spec.poolItems[1].startPort: TCP ports 105-119 overlap those of "
            "item 'a' (100-109) on load balancer edge:lb-1");
}

TEST(PortPool, ACertificateMayChangeAndWhatIsSpokenMayNot) {
  PortPool before = pool(kTwoItems);
  before.spec.pool_items[0].protocol = "TCP_SSL";
  before.spec.pool_items[0].certificate = ListenerCertificate{.cert_id = "front"};
  PortPool after = before;
  after.spec.pool_items[0].certificate->cert_id = "front-2027";
  EXPECT_TRUE(validate_update(before, after));
  after.spec.pool_items[0].protocol = "TCP_SSL,UDP";
  EXPECT_TRUE(validate_update(before, after));
  after.spec.pool_items[0].protocol = "TCP";
  EXPECT_EQ(validate_update(before, after).error().message,
            "'TCP' leaves out TCP_SSL, which the item has: protocols may only be added; add "
            "another item");
  EXPECT_EQ(validate_update(pool(kTwoItems), before).error().message,
            "'TCP_SSL' leaves out TCP, which the item has: protocols may only be added; add "
            "another item");
}

TEST(PortPool, BothProtocolsAreWrittenWithAComma) {
  EXPECT_EQ(refusal("protocol: TCP", "protocol: TCP_UDP"),
            "PortPool games/rooms: spec.poolItems[0].protocol: 'TCP_UDP': for both protocols write "
            "TCP,UDP, or leave it out");
}

TEST(PortPool, WhatDoesNothingIsSaid) {
  EXPECT_TRUE(warnings_about(pool(kTwoItems)).empty());
  const PortPool odd = pool(R"(
metadata: {namespace: games, name: rooms}
spec:
  allocatePolicy: avg
  listenerAttribute:
    lbPolicy: LEAST_CONN
    sessionTime: 30
    keepAliveEnable: 1
    healthCheck: {enabled: true, httpCode: 2}
    uptimeCheck: {enabled: false, nodes: [a]}
  poolItems:
  - itemName: a
    loadBalancerIDs: [lb-1]
    startPort: 100
    endPort: 113
    segmentLength: 5
    certificate: {mode: UNIDIRECTIONAL, certID: c1}
    uptimeCheck: {enabled: true, nodes: [a]}
)");
  EXPECT_TRUE(validate(odd));
  EXPECT_EQ(warnings_about(odd),
            (std::vector<std::string>{
                "PortPool games/rooms: spec.allocatePolicy: 'avg' is neither default nor average: "
                "items are used in their order",
                "PortPool games/rooms: spec.poolItems[0].endPort: [100, 113) in segments of 5: the "
                "last 3 ports are not used",
                "PortPool games/rooms: spec.poolItems[0].certificate: is kept and not used: it "
                "is for protocol TCP_SSL",
                "PortPool games/rooms: spec.poolItems[0].uptimeCheck: is kept and not acted on: no "
                "dial test is made",
                "PortPool games/rooms: spec.listenerAttribute: kept and not acted on: "
                "keepAliveEnable",
                "PortPool games/rooms: spec.listenerAttribute.healthCheck: does nothing at layer 4 "
                "without httpCheckPath: httpCode"}));
}

TEST(PortPool, AHealthCheckThatIsNotSwitchedOnIsTold) {
  const auto warnings = [](std::string_view check) {
    return warnings_about(pool(fmt::format(R"(
metadata: {{namespace: games, name: rooms}}
spec:
  listenerAttribute: {{healthCheck: {{{}}}}}
  poolItems:
  - {{itemName: a, loadBalancerIDs: [lb-1], startPort: 100, endPort: 110}}
)",
                                           check)));
  };
  const std::string at = "PortPool games/rooms: spec.listenerAttribute.healthCheck";
  EXPECT_EQ(warnings("intervalTime: 15"),
            (std::vector<std::string>{at + ": switches probes off, because it has no enabled: "
                                           "true; the rest does nothing"}));
  EXPECT_TRUE(warnings("enabled: false").empty());
  EXPECT_TRUE(warnings("enabled: true, intervalTime: 15, httpCheckPath: /up, httpCode: 2").empty());
  EXPECT_EQ(
      warnings("enabled: true, healthCheckProtocol: HTTP"),
      (std::vector<std::string>{at + ".healthCheckProtocol: 'HTTP' is kept and not acted on"}));
}

TEST(PortPool, SessionsByQuicConnectionAreOfUdp) {
  const auto warnings = [](std::string_view protocol, std::string_view policy) {
    return warnings_about(pool(fmt::format(R"(
metadata: {{namespace: games, name: rooms}}
spec:
  listenerAttribute: {{sessionType: QUIC_CID, lbPolicy: {}}}
  poolItems:
  - {{itemName: a, loadBalancerIDs: [lb-1], startPort: 100, endPort: 110, protocol: {}}}
)",
                                           policy, protocol)));
  };
  EXPECT_TRUE(warnings("UDP", "WRR").empty());
  EXPECT_TRUE(warnings("'TCP,UDP'", "WRR").empty());
  EXPECT_EQ(warnings("TCP", "WRR"),
            (std::vector<std::string>{"PortPool games/rooms: spec.listenerAttribute.sessionType: "
                                      "'QUIC_CID' is kept and not acted on: it is for UDP, which "
                                      "no item has"}));
  EXPECT_EQ(warnings("UDP", "LEAST_CONN"),
            (std::vector<std::string>{"PortPool games/rooms: spec.listenerAttribute.lbPolicy: "
                                      "'LEAST_CONN' does nothing with UDP beside sessionType "
                                      "QUIC_CID, which goes with WRR alone"}));
}

TEST(PortPool, AnAwsLoadBalancerHasOneProtocolPerPort) {
  const std::string arn =
      "arn:aws:elasticloadbalancing:us-west-2:1:loadbalancer/net/rooms/0123456789abcdef";
  EXPECT_EQ(refusal("[lb-1]", "['" + arn + "']"), "");
  EXPECT_EQ(refusal("protocol: TCP, startPort: 100", "startPort: 100"), "");
  EXPECT_EQ(refusal("[lb-1, lb-2]", "['" + arn + "']"),
            "PortPool games/rooms: spec.poolItems[1].protocol: 'TCP,UDP' with an AWS load balancer "
            "('" +
                arn + "'), which has one protocol per port: write TCP or UDP");
}

TEST(PortPool, AnAwsLoadBalancerHasNoSegments) {
  const std::string arn =
      "arn:aws-cn:elasticloadbalancing:cn-north-1:1:loadbalancer/net/rooms/0123456789abcdef";
  EXPECT_EQ(refusal("[lb-1]", "['" + arn + "'], segmentLength: 2"),
            "PortPool games/rooms: spec.poolItems[0].segmentLength: 2 with an AWS load balancer "
            "('" +
                arn + "'), whose listeners have one port each: leave it out");
}

TEST(PortPool, TheAliasOfTheSeedIsRead) {
  std::string yaml = kTwoItems;
  yaml.replace(yaml.find("loadBalancerIDs"), 15, "loadBalancerID");
  const PortPool rooms = pool(yaml);
  EXPECT_EQ(rooms.spec.pool_items[0].load_balancer_ids, (std::vector<std::string>{"lb-1"}));
  EXPECT_TRUE(rooms.spec.pool_items[0].load_balancer_id_alias.empty());
  EXPECT_TRUE(validate(rooms));
  EXPECT_TRUE(validate_update(pool(kTwoItems), rooms)) << "the same in the other spelling";
}

TEST(PortPool, ARemainderShorterThanASegmentIsNotUsed) {
  const PortPoolItem item{.start_port = 100, .end_port = 113, .segment_length = 5};
  EXPECT_EQ(slot_count(item), 2);
  EXPECT_EQ(slot_ports(item, 1), (model::PortRange{105, 109}));
  const PortPoolItem single{.start_port = 100, .end_port = 113};
  EXPECT_EQ(slot_count(single), 13);
  EXPECT_EQ(slot_ports(single, 12), (model::PortRange{112, 112}));
}

TEST(PortPool, DifferentProtocolsMayShareAPort) {
  EXPECT_EQ(refusal("startPort: 110, endPort: 120", "protocol: UDP, startPort: 100, endPort: 120"),
            "");
}

TEST(PortPool, OverlapOnDifferentLoadBalancersIsFine) {
  EXPECT_EQ(refusal("[lb-1]", "[lb-9]"), "");
}

TEST(PortPool, LoadBalancersWhoseListenersWouldHaveTheSameNamesAreRefused) {
  EXPECT_EQ(refusal("[lb-1]", "['ap-a:lb-1', 'ap-b:lb-1']"),
            "PortPool games/rooms: spec.poolItems[0].loadBalancerIDs[1]: Listeners of ap-a:lb-1 "
            "and ap-b:lb-1 have the same names ('lb-1-...'), which have no region and '-' for "
            "other characters: name the second one in a pool of another namespace");
  EXPECT_EQ(refusal("[lb-1, lb-2], startPort: 110", "['ap-a:lb-2', 'ap-b:lb-1'], startPort: 105"),
            "PortPool games/rooms: spec.poolItems[1].loadBalancerIDs[1]: Listeners of edge:lb-1 "
            "and ap-b:lb-1 have the same names ('lb-1-...'), which have no region and '-' for "
            "other characters, and ports 105-119 overlap those of item 'a' (100-109): give the "
            "items different ports, or write a pool in another namespace");
  EXPECT_NE(refusal("[lb-1, lb-2], startPort: 110", "[LB_1], startPort: 105"), "")
      << "names of objects have neither capitals nor '_'";
  EXPECT_EQ(refusal("[lb-1, lb-2]", "['ap-b:lb-1']"), "") << "the ports differ";
}

TEST(PortPool, ANameThatListenersCannotCarryIsRefused) {
  const std::string longest(63, 'r');
  EXPECT_EQ(refusal("name: rooms", "name: " + longest), "");
  EXPECT_EQ(refusal("name: rooms", "name: r" + longest),
            "PortPool games/r" + longest + ": metadata.name: 'r" + longest +
                "' has 64 characters, at most 63 are allowed");
}

TEST(PortPool, ARangeMayGrowAndNothingElseMayChange) {
  const PortPool before = pool(kTwoItems);
  PortPool after = before;
  after.spec.pool_items[1].end_port = 130;
  EXPECT_TRUE(validate_update(before, after));
  after.spec.pool_items[1].end_port = 115;
  EXPECT_EQ(validate_update(before, after).error().field, "spec.poolItems[1].endPort");
  after = before;
  after.spec.pool_items[0].start_port = 90;
  EXPECT_EQ(validate_update(before, after).error().message, "cannot change (was 100, is 90)");
  after = before;
  after.spec.pool_items[1].load_balancer_ids = {"lb-2"};
  EXPECT_EQ(validate_update(before, after).error().field, "spec.poolItems[1].loadBalancerIDs");
  after = before;
  after.spec.pool_items[0].segment_length = 2;
  EXPECT_EQ(validate_update(before, after).error().field, "spec.poolItems[0].segmentLength");
  after = before;
  after.spec.pool_items[1].protocol = "UDP";
  EXPECT_EQ(validate_update(before, after).error().message,
            "'UDP' leaves out TCP, which the item has: protocols may only be added; add another "
            "item");
  after = before;
  after.spec.pool_items[0].protocol = "";
  EXPECT_TRUE(validate_update(before, after)) << "TCP becomes both";
  after = before;
  std::swap(after.spec.pool_items[0], after.spec.pool_items[1]);
  EXPECT_TRUE(validate_update(before, after))
      << "items are told apart by their name, not by their place";
}

TEST(PortPool, TheSchemaSaysWhatTheTableSays) {
  const wire::Value crd = crd_of(port_pool_kind());
  const std::string_view item =
      "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/poolItems/items/"
      "properties/";
  EXPECT_EQ(wire::int_at(crd, std::string(item) + "startPort/maximum"), 65535);
  EXPECT_EQ(wire::string_at(crd, std::string(item) + "startPort/x-kubernetes-validations/0/rule"),
            "self == oldSelf");
  EXPECT_EQ(wire::string_at(
                crd,
                "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/poolItems/"
                "x-kubernetes-list-type"),
            "map");
  EXPECT_TRUE(wire::object_at(crd, "/spec/versions/0/subresources/status"));
}

TEST(Listener, EncodesInTheOrderOfItsTable) {
  const ListenerSpec spec{.load_balancer_id = "lb-1",
                          .port = 80,
                          .protocol = "TCP",
                          .target_group = ListenerTargetGroup{
                              .backends = {{.ip = "10.0.0.1", .port = 8080, .weight = 10}}}};
  EXPECT_EQ(
      wire::to_json(encode(spec)),
      R"({"loadbalancerID":"lb-1","port":80,"protocol":"TCP","targetGroup":{"backends":[{"IP":"10.0.0.1","port":8080,"weight":10}]}})");
}

TEST(Listener, WhatUsersGaveComesBackAsItWas) {
  const auto value = wire::parse_yaml(R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: Listener
metadata: {namespace: games, name: lb-1-443, resourceVersion: "7"}
spec:
  loadbalancerID: lb-1
  port: 443
  protocol: HTTPS
  listenerAttribute:
    sessionTime: 30
    keepAliveEnable: 1
    healthCheck: {enabled: true, intervalTime: 5}
    uptimeCheck: {enabled: true, nodes: [a, b], body: {content: x}}
  certificate: {mode: MUTUAL, certID: c1, certCaID: c2}
  rules:
  - domain: example.com
    path: /
    listenerAttribute: {lbPolicy: WRR}
    targetGroup: {protocol: HTTP, backends: [{IP: 10.0.0.1, port: 8080, weight: 0}]}
status: {status: Synced, healthStatus: {rules: [{domain: example.com}]}, ingress: web}
)");
  ASSERT_TRUE(value) << value.error().to_string();
  const auto listener = decode_listener(*value);
  ASSERT_TRUE(listener) << listener.error().to_string();
  EXPECT_EQ(wire::to_yaml(encode(listener->spec)), wire::to_yaml(*wire::find(*value, "/spec")));
  EXPECT_EQ(wire::to_yaml(encode(listener->status)), wire::to_yaml(*wire::find(*value, "/status")));
  const Listener copy = *listener;
  EXPECT_EQ(copy.spec, listener->spec) << "boxed parts are copied, not shared or lost";
}

// A hundred thousand are cached beside their metadata.
TEST(Listener, StaysSmallInMemory) {
  EXPECT_LE(sizeof(ListenerSpec), 136u);
  EXPECT_LE(sizeof(ListenerStatus), 184u);
}

TEST(Listener, NamesAreThoseOfUpstreamMadeValid) {
  using model::Provider;
  EXPECT_EQ(pool_listener_name({Provider::tencent, "ap-nanjing", "lb-00001"}, model::Protocol::tcp,
                               {31000, 31000}),
            "lb-00001-tcp-31000");
  EXPECT_EQ(
      pool_listener_name({Provider::tencent, "", "lb-00001"}, model::Protocol::udp, {31000, 31004}),
      "lb-00001-udp-31000-31004");
  EXPECT_EQ(pool_listener_name({Provider::edge, "", "demo"}, model::Protocol::tls, {1, 1}),
            "demo-tcpssl-1");
  EXPECT_EQ(pool_listener_name({Provider::edge, "", "demo"}, model::Protocol::udp, {1, 1}),
            "demo-udp-1");
}

}  // namespace
}  // namespace berth::api
