#include "sim/workloads/service.h"

#include <gmock/gmock.h>

#include <set>

#include "sim/workloads/test_objects.h"
#include "wire/patch.h"

namespace berth::workloads {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

AnyPtr service(const std::string& name, const std::string& spec) {
  return object(kube::types::kService,
                fmt::format("metadata: {{name: {}, labels: {{team: a}}}}\nspec: {}\n", name, spec));
}
const char* const kPlain =
    "{type: ClusterIP, selector: {app: room}, ports: [{port: 80, targetPort: 8000, protocol: "
    "TCP}]}";

AnyPtr planned(const AnyPtr& before, const AnyList& others = {}) {
  const Writes writes = plan_service(*before, numbers_in_use(others)).value();
  if (writes.empty()) return before;
  return object(kube::types::kService,
                wire::apply_json_patch(before->value, writes.front().body).value());
}

TEST(ServicePlan, GetsAClusterAddressOnce) {
  const AnyPtr made = planned(service("web", kPlain));
  EXPECT_THAT(std::string(wire::string_at(made->value, "/spec/clusterIP")),
              testing::StartsWith("10.96."));
  EXPECT_EQ(wire::string_at(made->value, "/spec/clusterIPs/0"),
            wire::string_at(made->value, "/spec/clusterIP"));
  EXPECT_THAT(plan_service(*made, numbers_in_use({made})).value(), IsEmpty());
}

TEST(ServicePlan, NumbersAreGivenOnce) {
  AnyList made;
  std::set<std::string> addresses;
  std::set<std::int64_t> ports;
  for (int i = 0; i < 300; ++i) {
    made.push_back(planned(service(fmt::format("web{}", i),
                                   "{type: NodePort, ports: [{name: a, port: 80, protocol: TCP}, "
                                   "{name: b, port: 81, protocol: TCP}]}"),
                           made));
    const wire::Value& value = made.back()->value;
    addresses.emplace(wire::string_at(value, "/spec/clusterIP"));
    for (const char* at : {"/spec/ports/0/nodePort", "/spec/ports/1/nodePort"}) {
      const std::int64_t port = wire::int_at(value, at).value();
      EXPECT_TRUE(port >= 30000 && port <= 32767) << port;
      ports.insert(port);
    }
  }
  EXPECT_EQ(addresses.size(), 300u);
  EXPECT_EQ(ports.size(), 600u);
}

TEST(ServicePlan, WhatTheUserChoseStays) {
  const AnyPtr made =
      planned(service("web",
                      "{type: NodePort, clusterIP: 10.96.7.7, ports: [{port: 80, nodePort: "
                      "30080, protocol: TCP}]}"));
  EXPECT_EQ(wire::string_at(made->value, "/spec/clusterIP"), "10.96.7.7");
  EXPECT_EQ(wire::int_at(made->value, "/spec/ports/0/nodePort"), 30080);
  const AnyPtr headless = planned(service("rooms", "{type: ClusterIP, clusterIP: None}"));
  EXPECT_EQ(wire::string_at(headless->value, "/spec/clusterIP"), "None");
  EXPECT_EQ(wire::string_at(headless->value, "/spec/clusterIPs/0"), "None");
}

TEST(ServicePlan, OnlyThoseThatNeedThemGetNodePorts) {
  const auto node_port = [](const std::string& spec) {
    return wire::int_at(planned(service("web", spec))->value, "/spec/ports/0/nodePort").has_value();
  };
  const std::string port = "ports: [{port: 80, protocol: TCP}]";
  EXPECT_FALSE(node_port("{type: ClusterIP, " + port + "}"));
  EXPECT_TRUE(node_port("{type: LoadBalancer, " + port + "}"));
  EXPECT_FALSE(
      node_port("{type: LoadBalancer, allocateLoadBalancerNodePorts: false, " + port + "}"));
  EXPECT_THAT(
      plan_service(*service("out", "{type: ExternalName, externalName: a.example}"), {}).value(),
      IsEmpty());
}

TEST(EndpointsPlan, AddressesAreSortedByReadiness) {
  const PodList pods{pod({.name = "a", .ip = "127.16.0.1"}),
                     pod({.name = "b", .ready = false, .ip = "127.16.0.2"}),
                     pod({.name = "c", .deleting = true, .ip = "127.16.0.3"}),
                     pod({.name = "d", .phase = "Failed", .ip = "127.16.0.4"}),
                     pod({.name = "e", .labels = "{app: other}", .ip = "127.16.0.5"})};
  const EndpointsPlan plan = plan_endpoints(*service("web", kPlain), pods, nullptr, {});
  ASSERT_THAT(shown(plan.endpoints), ElementsAre("create web"));
  const wire::Value& endpoints = plan.endpoints.front().body;
  EXPECT_THAT(wire::to_json(*wire::find(endpoints, "/subsets/0/addresses")),
              AllOf(HasSubstr("127.16.0.1"), HasSubstr("uid-of-a"), Not(HasSubstr("127.16.0.3"))));
  EXPECT_THAT(wire::to_json(*wire::find(endpoints, "/subsets/0/notReadyAddresses")),
              HasSubstr("127.16.0.2"));
  EXPECT_EQ(wire::int_at(endpoints, "/subsets/0/ports/0/port"), 8000);

  ASSERT_THAT(plan.slices, SizeIs(1));
  const wire::Value& slice = plan.slices.front().body;
  EXPECT_EQ(wire::string_at(slice, "/metadata/labels/kubernetes.io~1service-name"), "web");
  EXPECT_EQ(wire::array_at(slice, "/endpoints")->size(), 3u);
  EXPECT_EQ(wire::bool_at(slice, "/endpoints/0/conditions/ready"), true);
  EXPECT_EQ(wire::bool_at(slice, "/endpoints/1/conditions/ready"), false);
  EXPECT_EQ(wire::bool_at(slice, "/endpoints/2/conditions/terminating"), true);
  EXPECT_EQ(wire::bool_at(slice, "/endpoints/2/conditions/serving"), true);
  EXPECT_EQ(wire::bool_at(slice, "/endpoints/2/conditions/ready"), false);
}

TEST(EndpointsPlan, NamedPortsAreLookedUpInEachPod) {
  const AnyPtr web = service(
      "web", "{selector: {app: room}, ports: [{port: 80, targetPort: game, protocol: TCP}]}");
  const PodList pods{
      pod({.name = "a", .ports = "[{name: game, containerPort: 8000, protocol: TCP}]"}),
      pod({.name = "b", .ports = "[{name: game, containerPort: 9000, protocol: TCP}]"})};
  const EndpointsPlan plan = plan_endpoints(*web, pods, nullptr, {});
  const wire::Value& endpoints = plan.endpoints.front().body;
  EXPECT_EQ(wire::int_at(endpoints, "/subsets/0/ports/0/port"), 8000);
  EXPECT_EQ(wire::int_at(endpoints, "/subsets/1/ports/0/port"), 9000);
  EXPECT_THAT(plan.slices, SizeIs(2));
}

TEST(NodePortLeads, OfPodsThatAreReadyByThePortsThatTheyDeclare) {
  const AnyPtr web = service(
      "web",
      "{type: NodePort, selector: {app: room}, ports: [{port: 80, targetPort: game, protocol: TCP, "
      "nodePort: 30080}, {port: 81, targetPort: 9, protocol: UDP, nodePort: 30081}]}");
  const std::string game = "[{name: game, containerPort: 8000, protocol: TCP}]";
  const PodList pods{pod({.name = "a", .ip = "127.16.0.2", .ports = game}),
                     pod({.name = "b", .ip = "127.16.0.1"}),
                     pod({.name = "c", .ready = false, .ip = "127.16.0.3", .ports = game}),
                     pod({.name = "d", .deleting = true, .ip = "127.16.0.4", .ports = game})};
  const std::vector<NodePortLead> leads = node_port_leads(*web, pods);
  ASSERT_THAT(leads, SizeIs(2));
  EXPECT_EQ(leads[0].port, 30080);
  EXPECT_THAT(leads[0].targets, ElementsAre(model::Target{"127.16.0.2", 8000}));
  EXPECT_EQ(leads[1].protocol, model::Transport::udp);
  EXPECT_THAT(leads[1].targets,
              ElementsAre(model::Target{"127.16.0.1", 9}, model::Target{"127.16.0.2", 9}));
  EXPECT_THAT(node_port_leads(*service("plain", kPlain), pods), IsEmpty());
}

TEST(EndpointsPlan, SlicesAreBounded) {
  PodList pods;
  for (int i = 0; i < 250; ++i) {
    pods.push_back(pod({.name = fmt::format("p{:03}", i), .ip = fmt::format("127.16.1.{}", i)}));
  }
  const EndpointsPlan plan = plan_endpoints(*service("web", kPlain), pods, nullptr, {});
  ASSERT_THAT(plan.slices, SizeIs(3));
  EXPECT_EQ(wire::array_at(plan.slices[0].body, "/endpoints")->size(), kMaxEndpointsPerSlice);
  EXPECT_EQ(wire::array_at(plan.slices[2].body, "/endpoints")->size(), 50u);
}

TEST(EndpointsPlan, OnlyDifferencesAreWritten) {
  const AnyPtr web = service("web", kPlain);
  const PodList pods{pod({.name = "a"})};
  const EndpointsPlan first = plan_endpoints(*web, pods, nullptr, {});
  const AnyPtr endpoints = object(kube::types::kEndpoints, first.endpoints.front().body);
  const AnyPtr slice = object(types::kEndpointSlice, first.slices.front().body);
  const EndpointsPlan same = plan_endpoints(*web, pods, endpoints, {slice});
  EXPECT_THAT(same.endpoints, IsEmpty());
  EXPECT_THAT(same.slices, IsEmpty());
  const EndpointsPlan gone = plan_endpoints(*web, {}, endpoints, {slice});
  EXPECT_THAT(shown(gone.endpoints), ElementsAre("patch web /subsets=[]"));
  EXPECT_THAT(shown(gone.slices), ElementsAre(HasSubstr("/endpoints=[]")));
}

TEST(EndpointsPlan, WithoutSelectorTheyAreSomebodyElses) {
  const EndpointsPlan plan = plan_endpoints(*service("web", "{ports: [{port: 80, protocol: TCP}]}"),
                                            {pod({.name = "a"})}, nullptr, {});
  EXPECT_THAT(plan.endpoints, IsEmpty());
  EXPECT_THAT(plan.slices, IsEmpty());
}

}  // namespace
}  // namespace berth::workloads
