// What people are told about an Ingress that is taken as it is.
#include <gtest/gtest.h>

#include "api/test_ingress.h"

namespace berth::api {
namespace {

using Texts = std::vector<std::string>;
constexpr std::string_view kObject = "Ingress games/web: ";

Texts warnings(const std::string& spec) {
  const Ingress ingress = ingress_with(spec);
  const Result<> valid = validate(ingress, {{model::Provider::tencent, "ap-nanjing"}, {}});
  EXPECT_TRUE(valid) << valid.error().to_string();
  Texts out = warnings_about(ingress);
  for (std::string& one : out) {
    EXPECT_TRUE(one.starts_with(kObject)) << one;
    one.erase(0, kObject.size());
  }
  return out;
}

const std::string kTo = "services: [{serviceName: web, servicePort: 80}]";
std::string tcp(const std::string& more) {
  return "{rules: [{port: 80, protocol: TCP, " + more + "}]}";
}
std::string with_attribute(const std::string& attribute) {
  return tcp(kTo + ", listenerAttribute: {" + attribute + "}");
}
std::string to_service(const std::string& more) {
  return tcp("services: [{serviceName: web, servicePort: 80, " + more + "}]");
}
std::string http(const std::string& rule, const std::string& route) {
  return "{rules: [{port: 80, protocol: HTTP" + rule + ", layer7Routes: [{domain: a, " + kTo +
         route + "}]}]}";
}

struct Case {
  std::string spec;
  Texts warnings;
};
void expect_each(const std::vector<Case>& cases) {
  for (const Case& one : cases) EXPECT_EQ(warnings(one.spec), one.warnings) << one.spec;
}

TEST(IngressWarnings, WhatDoesWhatItSaysHasNone) {
  expect_each(
      {{tcp(kTo), {}},
       {with_attribute("sessionTime: 60, lbPolicy: WRR, healthCheck: {enabled: true, timeout: 2, "
                       "intervalTime: 5, httpCheckPath: /, httpCode: 2}"),
        {}},
       {with_attribute("healthCheck: {enabled: false}"), {}},
       {to_service("isDirectConnect: true, hostPort: true, weight: {value: 20}"), {}},
       {http(
            ", listenerAttribute: {keepAliveEnable: 1}",
            ", listenerAttribute: {lbPolicy: IP_HASH, healthCheck: {enabled: true, httpCode: 31}}"),
        {}},
       {"{}", {}}});
}

TEST(IngressWarnings, AttributesThatDoNothingAreNamed) {
  const std::string at = "spec.rules[0].listenerAttribute";
  expect_each(
      {{with_attribute("sessionTime: 60, lbPolicy: LEAST_CONN"),
        {at + ".sessionTime: 60 may do nothing with lbPolicy LEAST_CONN: clients stay with their "
              "target with WRR"}},
       {with_attribute("healthCheck: {intervalTime: 5}"),
        {at + ".healthCheck: switches probes off, because it has no enabled: true; the rest does "
              "nothing"}},
       {with_attribute("healthCheck: {enabled: true, httpCode: 2, httpCheckMethod: GET}"),
        {at + ".healthCheck: does nothing at layer 4 without httpCheckPath: httpCode, "
              "httpCheckMethod"}},
       {with_attribute("healthCheck: {enabled: true, healthCheckProtocol: HTTP}"),
        {at + ".healthCheck.healthCheckProtocol: 'HTTP' is kept and not acted on"}},
       {with_attribute("sessionType: QUIC_CID, backendInsecure: true, awsAttributes: [{key: a, "
                       "value: b}], priority: 1"),
        {at + ".sessionType: 'QUIC_CID' is kept and not acted on: it is for UDP",
         at + ": kept and not acted on: backendInsecure, awsAttributes, priority"}},
       {"{rules: [{port: 80, protocol: UDP, " + kTo +
            ", listenerAttribute: {sessionType: QUIC_CID}}]}",
        {}},
       {"{rules: [{port: 80, protocol: UDP, " + kTo +
            ", listenerAttribute: {sessionType: QUIC_CID, lbPolicy: LEAST_CONN}}]}",
        {at + ".lbPolicy: 'LEAST_CONN' does nothing beside sessionType QUIC_CID, which goes with "
              "WRR alone"}},
       {with_attribute("uptimeCheck: {enabled: true, nodes: ['1']}"),
        {at + ".uptimeCheck: is kept and not acted on: no dial test is made"}},
       {with_attribute("uptimeCheck: {enabled: false, nodes: ['1']}"), {}}});
}

TEST(IngressWarnings, ListenersAndRoutesOfHttpHaveTheirOwnAttributes) {
  expect_each(
      {{http(", listenerAttribute: {sessionTime: 60, lbPolicy: WRR, healthCheck: {enabled: true}}",
             ""),
        {"spec.rules[0].listenerAttribute: does nothing on the listener of HTTP and HTTPS, write "
         "it on the routes: sessionTime, lbPolicy, healthCheck"}},
       {http("", ", listenerAttribute: {sniSwitch: 1, keepAliveEnable: 1, maxRate: 5}"),
        {"spec.rules[0].layer7Routes[0].listenerAttribute: does nothing on a route, write it on "
         "the listener: sniSwitch, keepAliveEnable, maxRate"}},
       {http("", ", forwardType: GRPC"),
        {"spec.rules[0].layer7Routes[0].forwardType: 'GRPC' is kept and not acted on: it is for "
         "HTTPS"}},
       {http("", ", listenerAttribute: {healthCheck: {enabled: true, timeout: 2}}"),
        {"spec.rules[0].layer7Routes[0].listenerAttribute.healthCheck.timeout: 2 may do nothing "
         "with HTTP and HTTPS: it is for layer 4"}},
       {http(", services: [{serviceName: web, servicePort: 80}]", ""),
        {"spec.rules[0].services: does nothing with HTTP: write it in layer7Routes"}}});
}

TEST(IngressWarnings, CertificatesThatNobodyShows) {
  expect_each({{tcp(kTo + ", certificate: {certID: c1}"),
                {"spec.rules[0].certificate: is kept and not used: it is for HTTPS, TCP_SSL and "
                 "QUIC"}},
               {http("", ", certificate: {certID: c1}"),
                {"spec.rules[0].layer7Routes[0].certificate: is kept and not used: without "
                 "sniSwitch: 1 the rule's certificate is for all domains"}}});
}

TEST(IngressWarnings, ServicesThatAreNotReachedAsWritten) {
  const std::string at = "spec.rules[0].services[0].";
  expect_each(
      {{"{rules: [{port: 80, protocol: TCP}]}",
        {"spec.rules[0].services: is empty: the traffic leads nowhere"}},
       {to_service("hostPort: true"),
        {at + "hostPort: does nothing without isDirectConnect: true"}},
       {to_service("subsets: [{labelSelector: {v: a}}]"),
        {at + "subsets: does nothing without isDirectConnect: true"}},
       {to_service("isDirectConnect: true, weight: {value: 5}, subsets: [{labelSelector: {v: a}}]"),
        {at + "weight: does nothing beside subsets, which have weights of their own"}},
       {tcp("listenerAttribute: {lbPolicy: LEAST_CONN}, services: [{serviceName: web, servicePort: "
            "80, weight: {value: 20}}]"),
        {at + "weight: may do nothing: weights count with lbPolicy WRR"}},
       {tcp("listenerAttribute: {lbPolicy: LEAST_CONN}, services: [{serviceName: web, servicePort: "
            "80, weight: {value: 10}}]"),
        {}}});
}

TEST(IngressWarnings, MappingsHaveTheSame) {
  const std::string begin =
      "{portMappings: [{workloadKind: StatefulSet, workloadName: arena, workloadNamespace: games, "
      "startPort: 80, endIndex: 1, ";
  expect_each(
      {{begin + "protocol: TCP, ignoreSegment: true}]}",
        {"spec.portMappings[0].ignoreSegment: does nothing: each Pod has one port"}},
       {begin + "protocol: TCP, ignoreSegment: true, isRsPortFixed: true, hostPort: true}]}", {}},
       {begin + "protocol: UDP, certificate: {certID: c1}, listenerAttribute: {priority: 1}}]}",
        {"spec.portMappings[0].certificate: is kept and not used: it is for HTTPS, TCP_SSL and "
         "QUIC",
         "spec.portMappings[0].listenerAttribute: kept and not acted on: priority"}},
       {begin + "protocol: HTTP, routes: [{domain: a, listenerAttribute: {sniSwitch: 1}}]}]}",
        {"spec.portMappings[0].routes[0].listenerAttribute: does nothing on a route, write it on "
         "the listener: sniSwitch"}}});
}

TEST(IngressWarnings, NamesOfLoadBalancersBesideIds) {
  Ingress both = ingress_with("{}");
  both.meta.annotations.emplace_back(kube::Interned("networkextension.bkbcs.tencent.com/lbnames"),
                                     "games");
  EXPECT_EQ(warnings_about(both),
            Texts{"Ingress games/web: "
                  "metadata.annotations[networkextension.bkbcs.tencent.com/lbnames]: does nothing "
                  "beside networkextension.bkbcs.tencent.com/lbids, which counts more"});
}

}  // namespace
}  // namespace berth::api
