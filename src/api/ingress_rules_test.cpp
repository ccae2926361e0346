// Which Ingresses are refused, and in which words. Case by case, each with the text that users see.
#include <gtest/gtest.h>

#include "api/test_ingress.h"

namespace berth::api {
namespace {

using model::LoadBalancerDefaults;
using model::Provider;

const LoadBalancerDefaults kTencent{Provider::tencent, "ap-nanjing"};
const LoadBalancerDefaults kEdge{};
const LoadBalancerDefaults kAws{Provider::aws, "eu-west-1"};

std::string refusal_of(const Ingress& ingress, const LoadBalancerDefaults& defaults) {
  const Result<> valid = validate(ingress, {defaults});
  if (valid) return "";
  EXPECT_EQ(valid.error().object, "Ingress games/web");
  EXPECT_EQ(valid.error().code, Code::invalid);
  return valid.error().field + ": " + valid.error().message;
}
std::string refusal(const std::string& spec, const LoadBalancerDefaults& defaults = kTencent) {
  return refusal_of(ingress_with(spec), defaults);
}

// A TCP rule, an HTTP rule with one route and a mapping, each with something in it.
std::string tcp(const std::string& more) {
  return "{rules: [{port: 80, protocol: TCP, " + more + "}]}";
}
std::string http(const std::string& more) {
  return "{rules: [{port: 80, protocol: HTTP, layer7Routes: [{domain: a.example.com, " + more +
         "}]}]}";
}
std::string https(const std::string& more) {
  return "{rules: [{port: 443, protocol: HTTPS, " + more + "}]}";
}
std::string mapping(const std::string& more) {
  return "{portMappings: [{workloadKind: StatefulSet, workloadName: arena, workloadNamespace: "
         "games, " +
         more + "}]}";
}

struct Case {
  std::string spec;
  std::string refusal;  // empty: it is taken
};
void expect_each(const std::vector<Case>& cases, const LoadBalancerDefaults& defaults = kTencent) {
  for (const Case& one : cases) EXPECT_EQ(refusal(one.spec, defaults), one.refusal) << one.spec;
}

TEST(IngressRules, MayHaveNothingYet) { EXPECT_EQ(refusal("{}"), ""); }

TEST(IngressRules, PortsAndProtocolsAreKnown) {
  expect_each(
      {{"{rules: [{protocol: TCP}]}", "spec.rules[0].port: is required"},
       {"{rules: [{port: 65536, protocol: TCP}]}", "spec.rules[0].port: 65536 is not in 1-65535"},
       {"{rules: [{port: 65535, protocol: TCP}]}", ""},
       {"{rules: [{port: 80}]}", "spec.rules[0].protocol: is required"},
       {"{rules: [{port: 80, protocol: SCTP}]}",
        "spec.rules[0].protocol: 'SCTP' is not one of TCP, UDP, TCP_SSL, QUIC, HTTP, HTTPS"},
       {"{rules: [{port: 80, protocol: TCP_UDP}]}",
        "spec.rules[0].protocol: 'TCP_UDP' is not one of TCP, UDP, TCP_SSL, QUIC, HTTP, HTTPS"},
       {"{rules: [{port: 80, protocol: tcp}]}", ""},
       {mapping("startPort: 80, endIndex: 1, protocol: SCTP"),
        "spec.portMappings[0].protocol: 'SCTP' is not one of TCP, UDP, TCP_SSL, QUIC, HTTP, "
        "HTTPS"}});
}

TEST(IngressRules, WhatALoadBalancerDoesNotSpeakIsRefused) {
  const std::string quic = "{rules: [{port: 80, protocol: QUIC, certificate: {certID: c1}}]}";
  EXPECT_EQ(refusal(quic, kTencent), "");
  EXPECT_EQ(refusal(quic, kEdge),
            "spec.rules[0].protocol: 'QUIC' with edge load balancers, which do not speak it");
}

TEST(IngressRules, ServicesAreNamedWithTheirPort) {
  expect_each(
      {{tcp("services: [{servicePort: 80}]"), "spec.rules[0].services[0].serviceName: is required"},
       {tcp("services: [{serviceName: web}]"),
        "spec.rules[0].services[0].servicePort: is required"},
       {tcp("services: [{serviceName: web, servicePort: 80, serviceKind: service}]"), ""},
       {tcp("services: [{serviceName: web, servicePort: 80, serviceKind: Service}]"), ""},
       {tcp("services: [{serviceName: web, servicePort: 80, serviceKind: MultiClusterService}]"),
        "spec.rules[0].services[0].serviceKind: 'MultiClusterService' is not served here: write "
        "Service, or leave it out"},
       {http("services: [{serviceName: web, servicePort: 80, serviceKind: Deployment}]"),
        "spec.rules[0].layer7Routes[0].services[0].serviceKind: 'Deployment' is not served here: "
        "write Service, or leave it out"},
       {tcp("services: [{serviceName: web, servicePort: 80, weight: {value: 101}}]"),
        "spec.rules[0].services[0].weight.value: 101 is not in 0-100"},
       {tcp("services: [{serviceName: web, servicePort: 80, weight: {value: 0}}]"), ""},
       {tcp("services: [{serviceName: web, servicePort: 80, isDirectConnect: true, subsets: "
            "[{labelSelector: {v: a}, weight: {value: -1}}]}]"),
        "spec.rules[0].services[0].subsets[0].weight.value: -1 is not in 0-100"}});
}

TEST(IngressRules, NumbersOfAListenerAreWhatTencentTakes) {
  const auto with = [](const std::string& attribute) {
    return tcp("listenerAttribute: {" + attribute + "}");
  };
  const auto probing = [&](const std::string& check) {
    return with("healthCheck: {enabled: true, " + check + "}");
  };
  const std::string at = "spec.rules[0].listenerAttribute.";
  expect_each(
      {{with("sessionTime: 29"),
        at + "sessionTime: 29 is neither 0 nor in 30-3600, as Tencent load balancers have it"},
       {with("sessionTime: 0"), ""},
       {with("sessionTime: 30"), ""},
       {with("sessionTime: 3600"), ""},
       {with("sessionTime: 3601"),
        at + "sessionTime: 3601 is neither 0 nor in 30-3600, as Tencent load balancers have it"},
       {probing("timeout: 1"),
        at + "healthCheck.timeout: 1 is neither 0 nor in 2-60, as Tencent load balancers have it"},
       {probing("timeout: 60, intervalTime: 61"), ""},
       {probing("timeout: 61, intervalTime: 100"),
        at + "healthCheck.timeout: 61 is neither 0 nor in 2-60, as Tencent load balancers have it"},
       {probing("intervalTime: 4"), at + "healthCheck.intervalTime: 4 is neither 0 nor in 5-300, "
                                         "as Tencent load balancers have it"},
       {probing("intervalTime: 300"), ""},
       {probing("intervalTime: 301"), at + "healthCheck.intervalTime: 301 is neither 0 nor in "
                                           "5-300, as Tencent load balancers have it"},
       {probing("healthNum: 11"), at + "healthCheck.healthNum: 11 is neither 0 nor in 2-10, as "
                                       "Tencent load balancers have it"},
       {probing("unHealthNum: 1"), at + "healthCheck.unHealthNum: 1 is neither 0 nor in 2-10, as "
                                        "Tencent load balancers have it"},
       {probing("httpCode: 32"), at + "healthCheck.httpCode: 32 is neither 0 nor in 1-31, as "
                                      "Tencent load balancers have it"},
       {probing("healthCheckPort: 70000"),
        at + "healthCheck.healthCheckPort: 70000 is not in 0-65535"},
       {probing("httpCheckMethod: POST"),
        at + "healthCheck.httpCheckMethod: 'POST' is not one of HEAD, GET"},
       {probing("httpCheckPath: healthy"),
        at + "healthCheck.httpCheckPath: 'healthy' does not begin with /"},
       {probing("httpCheckPath: /, httpCode: 3"),
        at + "healthCheck.httpCode: 3 is a sum, and a TCP listener that is probed by HTTP takes "
             "one of 1, 2, 4, 8, 16"},
       {probing("httpCodeValues: 200-299"),
        at + "healthCheck.httpCodeValues: '200-299' is not for Tencent load balancers: write a "
             "sum in httpCode"},
       {with("healthCheck: {enabled: false, timeout: 1, intervalTime: 1}"), ""}});
}

TEST(IngressRules, AProbeEndsBeforeTheNextBegins) {
  const auto probing = [](const std::string& check) {
    return tcp("listenerAttribute: {healthCheck: {enabled: true, " + check + "}}");
  };
  const std::string at = "spec.rules[0].listenerAttribute.healthCheck.timeout: ";
  const std::string same = probing("timeout: 15, intervalTime: 15");
  EXPECT_EQ(refusal(same),
            at + "15 seconds are not below the interval of 15 seconds (intervalTime)");
  EXPECT_EQ(refusal(same, kEdge), "") << "our own may take all of it";
  EXPECT_EQ(refusal(probing("timeout: 16, intervalTime: 15"), kEdge),
            at + "16 seconds are not within the interval of 15 seconds (intervalTime)");
  EXPECT_EQ(refusal(probing("timeout: 14, intervalTime: 15")), "");
  EXPECT_EQ(refusal(probing("timeout: 5")),
            at + "5 seconds are not below the interval of 5 seconds, the default (intervalTime)");
}

TEST(IngressRules, PoliciesAreThoseOfTheirLayer) {
  const std::string hash = "listenerAttribute: {lbPolicy: IP_HASH}";
  EXPECT_EQ(refusal(tcp(hash)),
            "spec.rules[0].listenerAttribute.lbPolicy: 'IP_HASH' is for HTTP and HTTPS alone on "
            "Tencent load balancers: write WRR or LEAST_CONN");
  EXPECT_EQ(refusal(tcp(hash), kEdge), "") << "our own has it for every protocol";
  EXPECT_EQ(refusal(http(hash)), "");
  EXPECT_EQ(refusal(tcp("listenerAttribute: {lbPolicy: ROUND}")),
            "spec.rules[0].listenerAttribute.lbPolicy: 'ROUND' is not one of WRR, LEAST_CONN");
  EXPECT_EQ(refusal(http("listenerAttribute: {lbPolicy: wrr}")),
            "spec.rules[0].layer7Routes[0].listenerAttribute.lbPolicy: 'wrr' is not one of WRR, "
            "LEAST_CONN, IP_HASH");
  EXPECT_EQ(refusal(tcp("listenerAttribute: {sessionType: COOKIE}")),
            "spec.rules[0].listenerAttribute.sessionType: 'COOKIE' is not one of NORMAL|QUIC_CID");
}

TEST(IngressRules, SwitchesOfHttpAreForHttp) {
  expect_each({{tcp("listenerAttribute: {keepAliveEnable: 1}"),
                "spec.rules[0].listenerAttribute.keepAliveEnable: 1 is for HTTP and HTTPS alone"},
               {tcp("listenerAttribute: {keepAliveEnable: 0}"), ""},
               {tcp("listenerAttribute: {sniSwitch: 1}"),
                "spec.rules[0].listenerAttribute.sniSwitch: 1 is for HTTPS alone, which has "
                "certificates by domain"},
               {tcp("listenerAttribute: {sniSwitch: 2}"),
                "spec.rules[0].listenerAttribute.sniSwitch: 2 is not in 0-1"}});
}

TEST(IngressRules, TlsNeedsACertificate) {
  const std::string routes = "layer7Routes: [{domain: a.example.com}]";
  expect_each(
      {{https(routes), "spec.rules[0].certificate.certID: is required with protocol HTTPS"},
       {https(routes + ", certificate: {mode: UNIDIRECTIONAL}"),
        "spec.rules[0].certificate.certID: is required with protocol HTTPS"},
       {https(routes + ", certificate: {certID: c1}"), ""},
       {"{rules: [{port: 1, protocol: TCP_SSL}]}",
        "spec.rules[0].certificate.certID: is required with protocol TCP_SSL"},
       {"{rules: [{port: 1, protocol: quic}]}",
        "spec.rules[0].certificate.certID: is required with protocol quic"},
       {https(routes + ", certificate: {mode: MUTUAL, certID: c1}"),
        "spec.rules[0].certificate.certCaID: is required with mode MUTUAL: the certificate of the "
        "authority that signed those of clients"},
       {https(routes + ", certificate: {mode: MUTUAL, certID: c1, certCaID: c2}"), ""},
       {https(routes + ", certificate: {certID: c1, certCaID: c2}"),
        "spec.rules[0].certificate.certCaID: 'c2' is for mode MUTUAL, and the mode is "
        "UNIDIRECTIONAL: write MUTUAL, or leave it out"},
       {https(routes + ", certificate: {mode: BOTH, certID: c1}"),
        "spec.rules[0].certificate.mode: 'BOTH' is not one of UNIDIRECTIONAL, MUTUAL"},
       {mapping("startPort: 80, endIndex: 1, protocol: HTTPS, routes: [{domain: a}]"),
        "spec.portMappings[0].certificate.certID: is required with protocol HTTPS"}});
}

TEST(IngressRules, CertificatesByDomainBelongToTheRoutes) {
  const auto sni = [](const std::string& more) {
    return https("listenerAttribute: {sniSwitch: 1}, " + more);
  };
  expect_each(
      {{sni("layer7Routes: [{domain: a, certificate: {certID: c1}}]"), ""},
       {sni("layer7Routes: [{domain: a, certificate: {certID: c1}}, {domain: b}]"),
        "spec.rules[0].layer7Routes[1].certificate.certID: is required with sniSwitch of the rule"},
       {sni("certificate: {certID: c0}, layer7Routes: [{domain: a, certificate: {certID: c1}}]"),
        "spec.rules[0].certificate: 'c0' beside sniSwitch: then each of layer7Routes has a "
        "certificate, and the rule has none"},
       {sni("layer7Routes: [{domain: a, path: /x, certificate: {certID: c1}}, {domain: A, path: "
            "/y, certificate: {certID: c2}}]"),
        "spec.rules[0].layer7Routes[1].certificate: 'c2' is another one than 'c1', which domain "
        "'A' has already: a domain has one certificate"},
       {sni("layer7Routes: [{domain: a, certificate: {mode: MUTUAL, certID: c1}}]"),
        "spec.rules[0].layer7Routes[0].certificate.certCaID: is required with mode MUTUAL: the "
        "certificate of the authority that signed those of clients"},
       {mapping("startPort: 80, endIndex: 1, protocol: HTTPS, certificate: {certID: c1}, routes: "
                "[{domain: a}], listenerAttribute: {sniSwitch: 1}"),
        "spec.portMappings[0].listenerAttribute.sniSwitch: 1 is for rules: routes of a mapping "
        "have no certificates of their own"}});
}

TEST(IngressRules, RoutesAreForLayer7AndNeededThere) {
  expect_each(
      {{"{rules: [{port: 80, protocol: HTTP}]}",
        "spec.rules[0].layer7Routes: is required with protocol HTTP: write at least one domain"},
       {tcp("layer7Routes: [{domain: a}]"),
        "spec.rules[0].layer7Routes: is for HTTP and HTTPS, and the protocol is TCP: write "
        "services"},
       {mapping("startPort: 80, endIndex: 1, protocol: HTTP"),
        "spec.portMappings[0].routes: is required with protocol HTTP: write at least one domain"},
       {mapping("startPort: 80, endIndex: 1, protocol: UDP, routes: [{domain: a}]"),
        "spec.portMappings[0].routes: is for HTTP and HTTPS, and the protocol is UDP"},
       {"{rules: [{port: 80, protocol: HTTP, layer7Routes: [{path: /}]}]}",
        "spec.rules[0].layer7Routes[0].domain: is required"}});
}

TEST(IngressRules, DomainAndPathNameARoute) {
  const auto two = [](const std::string& first, const std::string& second) {
    return "{rules: [{port: 80, protocol: HTTP, layer7Routes: [" + first + ", " + second + "]}]}";
  };
  expect_each(
      {{two("{domain: a.b, path: /x}", "{domain: a.b, path: /y}"), ""},
       {two("{domain: a.b, path: /x}", "{domain: c.b, path: /x}"), ""},
       {two("{domain: a.b, path: /x}", "{domain: a.b, path: /x}"),
        "spec.rules[0].layer7Routes[1].path: domain 'a.b' with path '/x' is "
        "spec.rules[0].layer7Routes[0] already: both together name a route"},
       {two("{domain: a.b}", "{domain: A.B, path: /}"),
        "spec.rules[0].layer7Routes[1].path: domain 'A.B' with path '/' is "
        "spec.rules[0].layer7Routes[0] already: both together name a route"},
       {mapping("startPort: 80, endIndex: 1, protocol: HTTP, routes: [{domain: a}, {domain: a}]"),
        "spec.portMappings[0].routes[1].path: domain 'a' with path '/' is "
        "spec.portMappings[0].routes[0] already: both together name a route"},
       {http("path: lobby"), "spec.rules[0].layer7Routes[0].path: 'lobby' does not begin with /"},
       {http("path: '~ ^/room[0-9]+'"), ""},
       {http("path: '~ ^/room[0-9+'"),
        "spec.rules[0].layer7Routes[0].path: '~ ^/room[0-9+' is no regular expression: its '[' at "
        "place 7 is not closed"},
       {http("path: '~^/room'"),
        "spec.rules[0].layer7Routes[0].path: '~^/room' is no regular expression: there is no blank "
        "between '~' or '~*' and the expression"},
       {http("path: '/a b'"), "spec.rules[0].layer7Routes[0].path: '/a b' has a blank in it"},
       {http("forwardType: GRPC"), ""},
       {http("forwardType: FTP"),
        "spec.rules[0].layer7Routes[0].forwardType: 'FTP' is not one of GRPC, QUIC, or empty for "
        "the rule's protocol"},
       {"{rules: [{port: 80, protocol: HTTP, layer7Routes: [{domain: 'http://a.b'}]}]}",
        "spec.rules[0].layer7Routes[0].domain: 'http://a.b' has a blank, '/' or ':' in it: write "
        "the name of a host alone"},
       {http("path: /" + std::string(200, 'x')),
        "spec.rules[0].layer7Routes[0].path: is 201 characters long, at most 200 are allowed on "
        "Tencent load balancers"},
       {"{rules: [{port: 80, protocol: HTTP, layer7Routes: [{domain: " + std::string(81, 'd') +
            "}]}]}",
        "spec.rules[0].layer7Routes[0].domain: is 81 characters long, at most 80 are allowed on "
        "Tencent load balancers"}});
}

TEST(IngressRules, AMappingNamesPodsOfAWorkload) {
  const std::string rest =
      ", workloadName: arena, workloadNamespace: games, startPort: 80, "
      "endIndex: 1, protocol: TCP}]}";
  for (const char* kind : {"StatefulSet", "statefulset", "GameStatefulSet", "GAMESTATEFULSET"})
    EXPECT_EQ(refusal("{portMappings: [{workloadKind: " + std::string(kind) + rest), "") << kind;
  EXPECT_EQ(refusal("{portMappings: [{workloadKind: Deployment" + rest),
            "spec.portMappings[0].workloadKind: 'Deployment' is not one of StatefulSet, "
            "GameStatefulSet");
  EXPECT_EQ(refusal("{portMappings: [{workloadKind: StatefulSet, workloadNamespace: games, "
                    "startPort: 80, endIndex: 1, protocol: TCP}]}"),
            "spec.portMappings[0].workloadName: is required");
}

TEST(IngressRules, TheNumbersOfAMappingFit) {
  expect_each(
      {{mapping("startPort: 80, startIndex: 3, endIndex: 3, protocol: TCP"),
        "spec.portMappings[0].endIndex: 3 is not above startIndex 3 (the range is [startIndex, "
        "endIndex))"},
       {mapping("startPort: 80, endIndex: 0, protocol: TCP"),
        "spec.portMappings[0].endIndex: is required"},
       {mapping("startPort: 80, startIndex: -1, endIndex: 3, protocol: TCP"),
        "spec.portMappings[0].startIndex: -1 is not in 0-65535"},
       {mapping("startPort: 65526, endIndex: 2, segmentLength: 5, protocol: TCP"), ""},
       {mapping("startPort: 65527, endIndex: 2, segmentLength: 5, protocol: TCP"),
        "spec.portMappings[0].startPort: 65527 leads the load balancer's ports to 65536, past "
        "65535"},
       {mapping("startPort: 80, rsStartPort: 65535, endIndex: 2, protocol: TCP"),
        "spec.portMappings[0].rsStartPort: 65535 leads the Pods' ports to 65536, past 65535"},
       {mapping("startPort: 80, rsStartPort: 65535, isRsPortFixed: true, endIndex: 2, protocol: "
                "TCP"),
        ""},
       {mapping("startPort: 80, rsStartPort: 65535, isRsPortFixed: true, endIndex: 2, "
                "segmentLength: 2, protocol: TCP"),
        "spec.portMappings[0].rsStartPort: 65535 leads the Pods' ports to 65536, past 65535"}});
}

TEST(IngressRules, HostPortsOfAMappingAreFixedAndSingle) {
  const auto host = [](const std::string& more) {
    return mapping("startPort: 80, endIndex: 2, protocol: TCP, hostPort: true" + more);
  };
  const std::string at = "spec.portMappings[0].hostPort: true needs ";
  expect_each({{host(""), at + "isRsPortFixed: true and ignoreSegment: true too"},
               {host(", isRsPortFixed: true"), at + "ignoreSegment: true too"},
               {host(", ignoreSegment: true"), at + "isRsPortFixed: true too"},
               {host(", isRsPortFixed: true, ignoreSegment: true"), ""}});
}

TEST(IngressRules, SegmentsAreForTcpAndUdp) {
  const std::string many =
      "startPort: 80, endIndex: 2, segmentLength: 2, protocol: HTTP, routes: "
      "[{domain: a}]";
  expect_each({{mapping(many),
                "spec.portMappings[0].segmentLength: 2 with protocol HTTP: segments are for TCP "
                "and UDP; with ignoreSegment: true every port has a listener of its own"},
               {mapping(many + ", ignoreSegment: true"), ""}});
}

TEST(IngressRules, SegmentsAreForPublicLoadBalancers) {
  const Ingress segments =
      ingress_with(mapping("startPort: 80, endIndex: 2, segmentLength: 2, protocol: TCP"));
  const Ingress single = ingress_with(
      mapping("startPort: 80, endIndex: 2, segmentLength: 2, ignoreSegment: true, protocol: TCP"));
  const model::LoadBalancerRef clb{Provider::tencent, "ap-nanjing", "lb-1"};
  EXPECT_TRUE(validate_segments(segments, clb, "OPEN"));
  EXPECT_TRUE(validate_segments(segments, clb, "")) << "not known yet";
  EXPECT_TRUE(validate_segments(single, clb, "INTERNAL"));
  EXPECT_TRUE(validate_segments(segments, {Provider::edge, "", "demo"}, "INTERNAL"));
  const Result<> refused = validate_segments(segments, clb, "INTERNAL");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().to_string(),
            "invalid: Ingress games/web: spec.portMappings[0].segmentLength: segments of ports on "
            "ap-nanjing:lb-1, which is an internal load balancer: only public ones have them; with "
            "ignoreSegment: true every port has a listener of its own");
}

TEST(IngressRules, NotEveryLoadBalancerReadsExpressions) {
  EXPECT_EQ(refusal(http("path: '~ ^/room'"), kEdge),
            "spec.rules[0].layer7Routes[0].path: '~ ^/room' is a regular expression, and edge load "
            "balancers have none: write how paths begin");
}

TEST(IngressRules, PartsOfOneIngressShareNoPort) {
  const auto rules = [](const std::string& a, const std::string& b) {
    const std::string cert = ", certificate: {certID: c1}";
    const std::string http = ", layer7Routes: [{domain: a}]";
    const auto rule = [&](const std::string& one) {
      return "{" + one + cert + (one.find("HTTP") == std::string::npos ? "" : http) + "}";
    };
    return "{rules: [" + rule(a) + ", " + rule(b) + "]}";
  };
  const std::string taken = "spec.rules[1].port: TCP port 443 overlaps port 443 of spec.rules[0]";
  expect_each({{rules("port: 443, protocol: TCP", "port: 443, protocol: UDP"), ""},
               {rules("port: 443, protocol: HTTPS", "port: 443, protocol: QUIC"), ""},
               {rules("port: 443, protocol: TCP", "port: 443, protocol: TCP"), taken},
               {rules("port: 443, protocol: TCP", "port: 443, protocol: HTTPS"), taken},
               {rules("port: 443, protocol: HTTP", "port: 443, protocol: TCP_SSL"), taken},
               {rules("port: 443, protocol: QUIC", "port: 443, protocol: UDP"),
                "spec.rules[1].port: UDP port 443 overlaps port 443 of spec.rules[0]"}});
}

TEST(IngressRules, MappingsTakeEveryPortOfEveryPod) {
  const auto beside = [](int port, const std::string& protocol) {
    return fmt::format(
        "{{rules: [{{port: {}, protocol: {}}}], portMappings: [{{workloadKind: StatefulSet, "
        "workloadName: arena, workloadNamespace: games, startPort: 30000, startIndex: 1, endIndex: "
        "3, segmentLength: 5, protocol: TCP}}]}}",
        port, protocol);
  };
  const auto two = [](int start) {
    const std::string one =
        "workloadKind: StatefulSet, workloadName: arena, workloadNamespace: games, endIndex: 2, "
        "segmentLength: 5, protocol: UDP";
    return fmt::format("{{portMappings: [{{startPort: 100, {}}}, {{startPort: {}, {}}}]}}", one,
                       start, one);
  };
  const auto taken = [](int port) {
    return fmt::format(
        "spec.portMappings[0].startPort: TCP ports 30005-30014 overlap port {} of spec.rules[0]",
        port);
  };
  expect_each({{beside(30004, "TCP"), ""},
               {beside(30005, "TCP"), taken(30005)},
               {beside(30005, "UDP"), ""},
               {beside(30014, "TCP"), taken(30014)},
               {beside(30015, "TCP"), ""},
               {two(110), ""},
               {two(109),
                "spec.portMappings[1].startPort: UDP ports 109-118 overlap ports 100-109 of "
                "spec.portMappings[0]"}});
}

TEST(IngressRules, APortOfAwsHasOneProtocol) {
  const std::string arn =
      "arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/net/rooms/50dc6c495c0c9188";
  Ingress both = ingress_with("{rules: [{port: 80, protocol: TCP}, {port: 80, protocol: UDP}]}");
  both.meta.annotations.front().second = arn;
  EXPECT_EQ(refusal_of(both, kAws),
            "spec.rules[1].port: UDP port 80 overlaps port 80 of spec.rules[0]: a port of these "
            "load balancers has one protocol");
  Ingress segments =
      ingress_with(mapping("startPort: 80, endIndex: 2, segmentLength: 2, protocol: TCP"));
  segments.meta.annotations.front().second = arn;
  EXPECT_EQ(refusal_of(segments, kAws),
            "spec.portMappings[0].segmentLength: 2 with AWS load balancers, whose listeners have "
            "one port each: add ignoreSegment: true");
}

TEST(IngressRules, OneIngressMakesSoManyListeners) {
  const std::string at = "spec.portMappings[0].endIndex: ";
  const std::string allowed =
      " listeners with what is before it, at most 4000 are allowed on a load balancer for one "
      "Ingress: write another Ingress";
  expect_each(
      {{mapping("startPort: 1, endIndex: 4000, protocol: TCP"), ""},
       {mapping("startPort: 1, endIndex: 4001, protocol: TCP"), at + "makes 4001" + allowed},
       {mapping("startPort: 1, endIndex: 400, segmentLength: 11, ignoreSegment: true, "
                "protocol: TCP"),
        at + "makes 4400" + allowed},
       {mapping("startPort: 1, endIndex: 400, segmentLength: 11, protocol: TCP"), ""}});
  std::string rules;
  for (int i = 0; i <= 500; ++i) rules += fmt::format("{{port: {}, protocol: TCP}}, ", i + 1);
  EXPECT_EQ(refusal("{rules: [" + rules + "]}"),
            "spec.rules: has 501 entries, at most 500 are allowed");
}

std::string annotation_refusal(std::string_view key, const std::string& text) {
  Ingress ingress = ingress_with("{}");
  ingress.meta.annotations = {{kube::Interned(key), text}};
  return refusal_of(ingress, kTencent);
}

TEST(IngressRules, LoadBalancersAreWhatTheyAreSaidToBe) {
  const std::string_view ids = "networkextension.bkbcs.tencent.com/lbids";
  const std::string_view names = "networkextension.bkbcs.tencent.com/lbnames";
  const std::string at = "metadata.annotations[networkextension.bkbcs.tencent.com/lbids]: ";
  EXPECT_EQ(annotation_refusal(ids, "lb-1,ap-shanghai:lb-2"), "");
  EXPECT_EQ(annotation_refusal(names, "games,ap-shanghai:lobby"), "");
  EXPECT_EQ(annotation_refusal(ids, "games"),
            at + "'games' is not the id of a Tencent load balancer: write names in "
                 "networkextension.bkbcs.tencent.com/lbnames");
  EXPECT_EQ(annotation_refusal(ids, "lb-1,ap-nanjing:lb-1"), at + "'ap-nanjing:lb-1' is named "
                                                                  "twice")
      << "the region is the default";
  EXPECT_EQ(annotation_refusal(ids, "ap-x:lb-1,ap-y:lb-1"), "")
      << "names of Listeners are told apart by a suffix";
  EXPECT_EQ(annotation_refusal(ids, "a:b:lb-1"),
            at + "load balancer 'a:b:lb-1' is not region:id: write an id (lb-1), region:id "
                 "(ap-nanjing:lb-1), an ARN, edge:name, or projects/P/regions/R/addresses/NAME");
}

}  // namespace
}  // namespace berth::api
