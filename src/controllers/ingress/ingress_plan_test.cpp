#include "controllers/ingress/ingress_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/test_ingress.h"
#include "controllers/ingress/concerns.h"
#include "controllers/ingress/test_cluster.h"

namespace berth::controllers::ingress {
namespace {

using namespace testing;
using claims::testing::kNow;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Balancer kOne{"lb-1", {model::Provider::tencent, "ap-x", "lb-1"}};
const Balancer kTwo{"ap-y:lb-2", {model::Provider::tencent, "ap-y", "lb-2"}};

class IngressPlanTest : public ::testing::Test {
 protected:
  IngressPlanTest() {
    cluster_.put(service("web", 31003));
    cluster_.put(pod("web-a", "10.0.0.1", {{"app", "web"}}));
    for (int i = 0; i < 3; ++i)
      cluster_.put(owned(pod(fmt::format("room-{}", i), fmt::format("10.0.1.{}", i)), "StatefulSet",
                         "room"));
  }
  IngressWants wants(const api::Ingress& ingress, std::vector<Balancer> balancers = {kOne}) {
    EXPECT_TRUE(api::validate(ingress));
    return wants_of(ingress, balancers, cluster_.sight(), api::ListenerNames::plain, kNow);
  }
  static std::vector<std::string> names(const IngressWants& wants) {
    std::vector<std::string> out;
    for (const auto& part : wants.parts)
      for (const auto& one : part.listeners) out.push_back(one.name);
    return out;
  }
  // "TCP 443-443 of lb-1 for rule/TCP/443".
  static std::vector<std::string> grants(const IngressWants& wants) {
    std::vector<std::string> out;
    for (const auto& part : wants.parts)
      for (const auto& one : part.grants)
        out.push_back(fmt::format("{} {}-{} of {} for {}", model::to_string(one.grant.transport),
                                  one.grant.ports.first, one.grant.ports.last, one.lb.id,
                                  one.grant.item));
    return out;
  }
  // "10.0.0.1:80" of each, over all rules.
  static std::vector<std::string> targets(const api::ListenerSpec& spec) {
    std::vector<std::string> out;
    for (const api::ListenerBackend* const one : api::backends_of(spec))
      out.push_back(fmt::format("{}:{}", one->ip, one->port));
    return out;
  }

  Cluster cluster_;
};

TEST_F(IngressPlanTest, ARuleIsOneListenerOnEachLoadBalancer) {
  const IngressWants found =
      wants(api::ingress_with("{rules: [{port: 38080, protocol: TCP, services: "
                              "[{serviceName: web, servicePort: 8080, isDirectConnect: true}]}]}"),
            {kOne, kTwo});
  EXPECT_THAT(names(found), ElementsAre("lb-1-38080", "lb-2-38080"));
  EXPECT_THAT(grants(found), ElementsAre("TCP 38080-38080 of lb-1 for rule/TCP/38080",
                                         "TCP 38080-38080 of lb-2 for rule/TCP/38080"));
  const frontend::WantedListener& first = found.parts[0].listeners[0];
  EXPECT_EQ(first.spec.load_balancer_id, "lb-1");
  EXPECT_EQ(first.spec.end_port, 0);
  EXPECT_EQ(first.spec.target_group->protocol, "TCP");
  EXPECT_THAT(targets(first.spec), ElementsAre("10.0.0.1:80"));
  EXPECT_EQ(first.labels->at("web"), "ingress-name");
  EXPECT_EQ(first.labels->at("owner-kind"), "Ingress");
  EXPECT_EQ(found.parts[0].listeners[1].spec.load_balancer_id, "lb-2");
}

TEST_F(IngressPlanTest, OfLayer7EachRouteIsARuleAndTheListenerKeepsWhatIsItsOwn) {
  const IngressWants found = wants(api::ingress_with(
      "{rules: [{port: 443, protocol: HTTPS, certificate: {mode: UNIDIRECTIONAL, certID: cert-1}, "
      "listenerAttribute: {sessionTime: 60, keepAliveEnable: 1}, layer7Routes: ["
      "{domain: b.example, path: /, services: [{serviceName: web, servicePort: 8080}]}, "
      "{domain: a.example, path: /x, services: [{serviceName: web, servicePort: 8080}], "
      "listenerAttribute: {lbPolicy: IP_HASH}}]}]}"));
  EXPECT_THAT(grants(found), ElementsAre("TCP 443-443 of lb-1 for rule/TCP/443"));
  const api::ListenerSpec& spec = found.parts[0].listeners[0].spec;
  EXPECT_FALSE(spec.target_group);
  EXPECT_EQ(spec.certificate->cert_id, "cert-1");
  EXPECT_EQ(spec.listener_attribute->keep_alive_enable, 1);
  EXPECT_EQ(spec.listener_attribute->session_time, 0) << "that is of rules";
  ASSERT_EQ(spec.rules.size(), 2u);
  EXPECT_EQ(spec.rules[0].domain, "a.example");
  EXPECT_EQ(spec.rules[0].listener_attribute->lb_policy, "IP_HASH");
  EXPECT_EQ(spec.rules[1].domain, "b.example");
  EXPECT_EQ(spec.rules[1].target_group->protocol, "HTTPS");
  EXPECT_THAT(targets(spec), ElementsAre("192.168.0.1:31003", "192.168.0.1:31003"));
}

// A rule that is made before there are Pods is not made anew when they come.
TEST_F(IngressPlanTest, HowTargetsAreSpokenToIsSaidBeforeThereAreAny) {
  const IngressWants found = wants(api::ingress_with(
      "{rules: [{port: 443, protocol: HTTPS, certificate: {mode: UNIDIRECTIONAL, certID: cert-1}, "
      "layer7Routes: [{domain: a.example, path: /, forwardType: GRPC, "
      "services: [{serviceName: nobody, servicePort: 8080}]}]}]}"));
  const api::ListenerSpec& spec = found.parts[0].listeners[0].spec;
  EXPECT_THAT(targets(spec), ElementsAre());
  ASSERT_TRUE(spec.rules[0].target_group);
  EXPECT_EQ(spec.rules[0].target_group->protocol, "GRPC");
}

TEST_F(IngressPlanTest, AMappingIsASegmentForEachPod) {
  const IngressWants found = wants(api::ingress_with(
      "{portMappings: [{startPort: 30000, protocol: TCP, startIndex: 0, endIndex: 4, "
      "segmentLength: 2, workloadKind: StatefulSet, workloadNamespace: games, workloadName: room, "
      "rsStartPort: 80}]}"));
  EXPECT_THAT(names(found), ElementsAre("lb-1-30000-30001", "lb-1-30002-30003", "lb-1-30004-30005",
                                        "lb-1-30006-30007"));
  EXPECT_THAT(grants(found), ElementsAre("TCP 30000-30007 of lb-1 for mapping/TCP/30000"));
  EXPECT_THAT(targets(found.parts[0].listeners[1].spec), ElementsAre("10.0.1.1:82"));
  EXPECT_EQ(found.parts[0].listeners[1].spec.end_port, 30003);
  EXPECT_THAT(targets(found.parts[0].listeners[3].spec), IsEmpty()) << "there is no room-3";
}

TEST_F(IngressPlanTest, WithoutSegmentsEachPortIsAListener) {
  const IngressWants found = wants(api::ingress_with(
      "{portMappings: [{startPort: 30000, protocol: UDP, startIndex: 1, endIndex: 2, "
      "segmentLength: 2, ignoreSegment: true, isRsPortFixed: true, rsStartPort: 7000, "
      "workloadKind: StatefulSet, workloadNamespace: games, workloadName: room}]}"));
  EXPECT_THAT(names(found), ElementsAre("lb-1-30002-0", "lb-1-30003-0"));
  EXPECT_THAT(targets(found.parts[0].listeners[0].spec), ElementsAre("10.0.1.1:7000"));
  EXPECT_THAT(targets(found.parts[0].listeners[1].spec), ElementsAre("10.0.1.1:7001"));
  EXPECT_EQ(found.parts[0].listeners[1].spec.end_port, 0);
}

TEST_F(IngressPlanTest, AMappingOfLayer7HasItsRoutesForEachPod) {
  const IngressWants found = wants(api::ingress_with(
      "{portMappings: [{startPort: 30000, protocol: HTTPS, startIndex: 0, endIndex: 2, "
      "workloadKind: StatefulSet, workloadNamespace: games, workloadName: room, certificate: "
      "{mode: UNIDIRECTIONAL, certID: "
      "c}, routes: [{domain: www.example, path: /path2}]}]}"));
  const api::ListenerSpec& spec = found.parts[0].listeners[1].spec;
  EXPECT_EQ(spec.port, 30001);
  ASSERT_EQ(spec.rules.size(), 1u);
  EXPECT_EQ(spec.rules[0].path, "/path2");
  EXPECT_THAT(targets(spec), ElementsAre("10.0.1.1:30001"));
}

TEST_F(IngressPlanTest, OnePortOfAMappingIsFoundWithoutTheOthers) {
  const api::Ingress ingress = api::ingress_with(
      "{rules: [{port: 443, protocol: TCP, services: [{serviceName: web, servicePort: 8080, "
      "isDirectConnect: true}]}], portMappings: [{startPort: 30000, protocol: TCP, startIndex: 0, "
      "endIndex: 3, segmentLength: 2, workloadKind: StatefulSet, workloadNamespace: games, "
      "workloadName: room}]}");
  for (const auto& part : wants(ingress).parts) {
    for (const auto& one : part.listeners) {
      auto spec = wanted_spec(ingress, part.name, api::ports_of(one.spec), cluster_.sight());
      ASSERT_TRUE(spec) << one.name;
      spec->load_balancer_id = one.spec.load_balancer_id;
      EXPECT_EQ(*spec, one.spec) << one.name;
    }
  }
  EXPECT_FALSE(wanted_spec(ingress, "rule/TCP/80", {80, 80}, cluster_.sight()));
  EXPECT_FALSE(wanted_spec(ingress, "mapping/TCP/30000", {30006, 30007}, cluster_.sight()));
}

TEST_F(IngressPlanTest, VouchesForWhatItLeadsToAndForNothingElse) {
  const api::Ingress ingress = api::ingress_with(
      "{rules: [{port: 443, protocol: TCP, services: [{serviceName: web, servicePort: 8080, "
      "isDirectConnect: true}]}]}");
  api::Listener listener;
  listener.spec = wants(ingress).parts[0].listeners[0].spec;
  claims::testing::put(listener.meta.annotations, claims::kItemAnnotation, "rule/TCP/443");
  const auto vouched = [&](const api::Ingress* owner) {
    return check_targets(listener, owner, cluster_.sight());
  };
  EXPECT_TRUE(vouched(&ingress));
  EXPECT_FALSE(vouched(nullptr));
  listener.spec.target_group->backends[0].port = 22;
  const Result<> other_port = vouched(&ingress);
  ASSERT_FALSE(other_port);
  EXPECT_EQ(other_port.error().code, Code::unavailable);
  EXPECT_THAT(other_port.error().to_string(),
              HasSubstr("10.0.0.1:22 is no address that its Ingress leads to"));
  listener.spec.target_group->backends.clear();
  EXPECT_TRUE(vouched(&ingress));
}

TEST_F(IngressPlanTest, AChangeOfAPodConcernsWhoLeadsToIt) {
  const api::Ingress by_service = api::ingress_with(
      "{rules: [{port: 443, protocol: TCP, services: [{serviceName: web, servicePort: 8080}]}]}");
  const api::Ingress by_index = api::ingress_with(
      "{portMappings: [{startPort: 30000, protocol: TCP, startIndex: 0, endIndex: 3, workloadKind: "
      "StatefulSet, workloadName: room}]}");
  const kube::Pod web = pod("web-a", "10.0.0.1", {{"app", "web"}});
  const kube::Pod room = pod("room-0", "10.0.0.2");
  EXPECT_TRUE(concerns(by_service, web, cluster_.services));
  EXPECT_FALSE(concerns(by_service, room, cluster_.services));
  EXPECT_TRUE(concerns(by_index, room, cluster_.services));
  EXPECT_FALSE(concerns(by_index, web, cluster_.services));
}

// A status that says nothing of what is in the way is of no use at 3 a.m.
TEST_F(IngressPlanTest, TheStatusSaysWhatIsInTheWay) {
  const std::vector<Balancer> balancers{kOne};
  auto object = std::make_shared<api::LoadBalancer>();
  object->status = {.name = "front", .vips = {"1.1.1.1"}, .type = "OPEN"};
  const BalancerOf known = [&](const auto&) { return object; };
  const BalancerOf unknown = [](const auto&) -> std::shared_ptr<const api::LoadBalancer> {
    return nullptr;
  };
  frontend::Survey survey;
  survey.reports["rule/TCP/443"] = {.wanted = 1};
  const std::vector<Gap> none;
  EXPECT_THAT(status_of({balancers, survey, none, unknown}).message,
              HasSubstr("ap-x:lb-1: its address is not known yet"));
  EXPECT_EQ(status_of({balancers, survey, none, known}).message, "0 of 1 listeners are ready");
  const frontend::WantedListener wanted;
  auto listener = std::make_shared<api::Listener>();
  listener->meta.name = "lb-1-443";
  listener->status = {.status = std::string(api::kNotSynced), .message = "no permission"};
  survey.found = {{&wanted, listener}};
  EXPECT_EQ(status_of({balancers, survey, none, known}).message,
            "Listener lb-1-443: no permission");
  survey.found = {{&wanted, std::make_shared<api::Listener>(claims::testing::applied(*listener))}};
  const std::vector<Gap> gaps{{"spec.rules[0].services[0]", "Service games/web is not there"}};
  EXPECT_EQ(status_of({balancers, survey, gaps, known}).message,
            "spec.rules[0].services[0]: Service games/web is not there");
  const api::IngressStatus ready = status_of({balancers, survey, none, known});
  EXPECT_EQ(ready.status, "Ready");
  EXPECT_EQ(ready.message, "");
  ASSERT_EQ(ready.load_balancers.size(), 1u);
  EXPECT_THAT(ready.load_balancers[0].ips, ElementsAre("1.1.1.1"));
}

}  // namespace
}  // namespace berth::controllers::ingress
