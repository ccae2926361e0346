// Which Ingresses are let in beside what others have: by grants of every kind of owner, and by
// Listeners of a controller before us.
#include "admission/ingresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/keys.h"
#include "claims/test_support.h"
#include "wire/yaml.h"

namespace berth::admission {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const model::LoadBalancerDefaults kTencent{model::Provider::tencent, "ap-nanjing"};

std::string ingress(const std::string& spec, const std::string& name = "front") {
  return fmt::format(R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: Ingress
metadata:
  namespace: games
  name: {}
  annotations: {{networkextension.bkbcs.tencent.com/lbids: "ap-nanjing:lb-1"}}
spec: {}
)",
                     name, spec);
}

std::string rule(int port, const std::string& protocol) {
  return fmt::format(
      "{{rules: [{{port: {}, protocol: {}, certificate: {{certID: c}}, services: [{{serviceName: "
      "web, servicePort: 80}}]}}]}}",
      port, protocol);
}

std::string mapping(int start, int end_index, const std::string& more = "") {
  return fmt::format(
      "{{portMappings: [{{workloadKind: StatefulSet, workloadName: room, workloadNamespace: games, "
      "protocol: TCP, startPort: {}, endIndex: {}, segmentLength: 5{}}}]}}",
      start, end_index, more);
}

class IngressGateTest : public ::testing::Test {
 protected:
  IngressGateTest() {
    claims::add_indexes(listeners_, kTencent);
    claims::add_indexes(balancers_);
    claims::add_indexes(blocks_);
  }

  struct Answer {
    std::string refusal{};
    std::vector<std::string> warnings{};
  };
  Answer ask(const std::string& after, const std::string& before = "") const {
    kube::AdmissionRequest request;
    request.operation = before.empty() ? "CREATE" : "UPDATE";
    request.resource = "ingresses";
    request.ns = "games";
    request.object = wire::parse_yaml(after).value();
    request.name = std::string(wire::string_at(request.object, "/metadata/name"));
    if (!before.empty()) request.old_object = wire::parse_yaml(before).value();
    const Result<kube::AdmissionAnswer> answer = gate_.admit(request);
    if (!answer) return {.refusal = answer.error().to_string()};
    return {.warnings = answer->warnings};
  }
  // To whom ports of lb-1 are granted, and what is known of it.
  void put(std::vector<api::Grant> grants, const std::string& type = "OPEN") {
    api::LoadBalancer object;
    object.meta.name = model::object_name(kLb);
    object.meta.resource_version = ++version_;
    object.spec.provider = "tencent";
    object.spec.region = "ap-nanjing";
    object.spec.load_balancer_id = "lb-1";
    object.spec.grants = std::move(grants);
    object.status.type = type;
    balancers_.put(std::move(object));
  }
  static api::Grant grant(const std::string& kind, const std::string& name, int first, int last,
                          const std::string& protocol = "TCP") {
    return {.protocol = protocol,
            .start_port = first,
            .end_port = last,
            .owner_kind = kind,
            .owner_namespace = "other",
            .owner_name = name,
            .owner_uid = "uid-of-" + name,
            .item = "item1"};
  }
  // As bcs-ingress-controller leaves it.
  void put_foreign(const std::string& owner, int port, const std::string& protocol = "TCP") {
    api::Listener listener;
    listener.meta = {.ns = kube::Interned("games"), .name = fmt::format("lb-1-{}", port)};
    listener.meta.resource_version = ++version_;
    claims::testing::put(listener.meta.labels, api::kOwnerKindKey, "Ingress");
    claims::testing::put(listener.meta.labels, api::kOwnerNameKey, owner);
    listener.spec = {.load_balancer_id = "ap-nanjing:lb-1", .port = port, .protocol = protocol};
    listeners_.put(std::move(listener));
  }

  static inline const model::LoadBalancerRef kLb{model::Provider::tencent, "ap-nanjing", "lb-1"};
  kube::ResourceVersion version_ = 0;
  claims::ListenerStore listeners_;
  claims::BalancerStore balancers_;
  claims::BlockStore blocks_;
  const claims::GrantBook book_{balancers_, blocks_};
  const claims::Resolver resolver_{book_, listeners_, claims::testing::sealer(), kTencent, {}};
  const IngressGate gate_{
      {book_, listeners_}, resolver_, [](const model::LoadBalancerRef&) { return true; }};
};

TEST_F(IngressGateTest, PortsOfEveryOtherOwnerAreRefusedWithItsName) {
  put({grant("PortPool", "rooms", 30000, 30099), grant("Ingress", "shop", 443, 443),
       grant("Service", "web", 53, 53, "UDP")});
  EXPECT_THAT(ask(ingress(rule(30050, "TCP"))).refusal,
              HasSubstr("Ingress games/front: spec.rules[0]: TCP ports 30000-30099 of "
                        "ap-nanjing:lb-1 are granted to PortPool other/rooms, item1 (hint: choose "
                        "other ports, or another load balancer)"));
  EXPECT_THAT(ask(ingress(rule(443, "TCP_SSL"))).refusal,
              HasSubstr("are granted to Ingress other/shop"))
      << "TLS is TCP too";
  EXPECT_THAT(ask(ingress(rule(53, "UDP"))).refusal, HasSubstr("granted to Service other/web"));
  EXPECT_EQ(ask(ingress(rule(53, "TCP"))).refusal, "") << "TCP and UDP may share a port";
  EXPECT_EQ(ask(ingress(rule(443, "UDP"))).refusal, "");
  EXPECT_THAT(ask(ingress(mapping(29980, 5))).refusal, HasSubstr("PortPool other/rooms"))
      << "the last port of the last Pod";
  EXPECT_EQ(ask(ingress(mapping(29975, 5))).refusal, "");
}

TEST_F(IngressGateTest, WhatGrowsMayNotReachWhatAnotherHas) {
  api::Grant own = grant("Ingress", "front", 29900, 29909);
  own.owner_namespace = "games";
  put({own, grant("PortPool", "rooms", 29920, 29999)});
  const std::string before = ingress(mapping(29900, 2));
  EXPECT_EQ(ask(before, ingress(mapping(29900, 1))).refusal, "") << "it has them itself";
  EXPECT_EQ(ask(ingress(mapping(29900, 4)), before).refusal, "");
  EXPECT_THAT(ask(ingress(mapping(29900, 5)), before).refusal,
              HasSubstr("spec.portMappings[0]: TCP ports 29920-29999 of ap-nanjing:lb-1 are "
                        "granted to PortPool other/rooms"));
}

// Anybody can write such a Listener: it is told, and is no reason to refuse.
TEST_F(IngressGateTest, ListenersOfAnotherControllerAreWarnedAbout) {
  put({});
  put_foreign("shop", 443);
  EXPECT_THAT(
      ask(ingress(rule(443, "TCP"))).warnings,
      ElementsAre(HasSubstr("certificate"),
                  HasSubstr("spec.rules[0]: TCP ports 443-443 of ap-nanjing:lb-1 have a Listener "
                            "of another controller, games/lb-1-443, for Ingress games/shop: it "
                            "waits until that is gone")));
  EXPECT_THAT(ask(ingress(rule(443, "UDP"))).warnings, ElementsAre(HasSubstr("certificate")));
  EXPECT_THAT(ask(ingress(rule(443, "TCP_SSL"), "shop")).warnings, IsEmpty())
      << "what it made for this one goes when people switch";
}

TEST_F(IngressGateTest, SegmentsAreForPublicLoadBalancers) {
  put({}, "INTERNAL");
  EXPECT_THAT(ask(ingress(mapping(30000, 2))).refusal,
              HasSubstr("spec.portMappings[0].segmentLength: segments of ports on ap-nanjing:lb-1, "
                        "which is an internal load balancer: only public ones have them"));
  EXPECT_EQ(ask(ingress(mapping(30000, 2, ", ignoreSegment: true"))).refusal, "");
  put({}, "OPEN");
  EXPECT_EQ(ask(ingress(mapping(30000, 2))).refusal, "");
}

// It is on the edge, from before the process had another default provider.
TEST_F(IngressGateTest, AnIngressIsCheckedByTheRulesOfWhereItStands) {
  const auto on_demo = [](const std::string& spec) {
    std::string out = ingress(spec);
    out.replace(out.find("ap-nanjing:lb-1"), 15, "demo");
    return out.replace(out.find("name: front"), 11, "name: front\n  uid: uid-of-front");
  };
  EXPECT_THAT(ask(on_demo(rule(81, "TCP")), on_demo(rule(80, "TCP"))).refusal,
              HasSubstr("'demo' is not the id of a Tencent load balancer"));
  api::LoadBalancer object;
  object.meta.name = "edge.demo";
  object.meta.resource_version = ++version_;
  object.spec.provider = "edge";
  object.spec.load_balancer_id = "demo";
  object.spec.grants = {grant("Ingress", "front", 80, 80)};
  balancers_.put(std::move(object));
  EXPECT_EQ(ask(on_demo(rule(81, "TCP")), on_demo(rule(80, "TCP"))).refusal, "");
}

}  // namespace
}  // namespace berth::admission
