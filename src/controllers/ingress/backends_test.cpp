#include "controllers/ingress/backends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/ingress/test_cluster.h"

namespace berth::controllers::ingress {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class BackendsTest : public ::testing::Test {
 protected:
  // "ip:port weight" of each.
  static std::vector<std::string> texts(const std::vector<api::ListenerBackend>& backends) {
    std::vector<std::string> out;
    for (const api::ListenerBackend& one : backends)
      out.push_back(fmt::format("{}:{} {}", one.ip, one.port, one.weight));
    return out;
  }
  std::vector<std::string> lead(const std::vector<api::ServiceRoute>& routes,
                                model::Transport transport = model::Transport::tcp) {
    notes_ = {};
    return texts(
        backends_of(routes, {"games", "spec.rules[0]", transport}, cluster_.sight(), notes_));
  }
  std::vector<std::string> lead(const api::PortMapping& mapping, std::int64_t index,
                                std::uint16_t port) {
    notes_ = {};
    return texts(backends_of(mapping, index, port, {"games", "spec.portMappings[0]"},
                             cluster_.sight(), notes_));
  }
  // Of the one gap.
  std::string gap() const {
    return notes_.gaps.size() == 1 ? notes_.gaps[0].field + ": " + notes_.gaps[0].message
                                   : fmt::format("{} gaps", notes_.gaps.size());
  }
  static api::ServiceRoute to_nodes(const std::string& name) {
    return {.service_name = name, .service_port = 8080};
  }
  static api::ServiceRoute direct(const std::string& name) {
    return {.service_name = name, .service_port = 8080, .is_direct_connect = true};
  }

  Cluster cluster_;
  Notes notes_;
};

TEST_F(BackendsTest, ANodePortLeadsToEachNodeThatHasOneOfThePodsOnce) {
  cluster_.put(service("web", 31003));
  cluster_.put(pod("a", "10.0.0.1", {{"app", "web"}}));
  kube::Pod neighbour = pod("b", "10.0.0.2", {{"app", "web"}});
  neighbour.host_ip = kube::Interned("192.168.0.1");
  cluster_.put(neighbour);
  cluster_.put(pod("c", "10.0.0.3", {{"app", "web"}}));
  cluster_.put(pod("other", "10.0.0.4", {{"app", "other"}}));
  EXPECT_THAT(lead({to_nodes("web")}), ElementsAre("192.168.0.1:31003 10", "192.168.0.3:31003 10"));
  EXPECT_THAT(notes_.gaps, IsEmpty());
}

TEST_F(BackendsTest, ANodeGetsTrafficWhileOneOfItsPodsDoes) {
  cluster_.put(service("web", 31003));
  cluster_.put(unready(pod("a", "10.0.0.1", {{"app", "web"}})));
  EXPECT_THAT(lead({to_nodes("web")}), ElementsAre("192.168.0.1:31003 0"));
  kube::Pod neighbour = pod("b", "10.0.0.2", {{"app", "web"}});
  neighbour.host_ip = kube::Interned("192.168.0.1");
  cluster_.put(neighbour);
  EXPECT_THAT(lead({to_nodes("web")}), ElementsAre("192.168.0.1:31003 10"));
}

TEST_F(BackendsTest, AServiceWithoutANodePortIsToldWithBothRemedies) {
  cluster_.put(service("web"));
  EXPECT_THAT(lead({to_nodes("web")}), IsEmpty());
  EXPECT_EQ(gap(),
            "spec.rules[0].services[0]: port 8080 of Service games/web has no NodePort, for the "
            "Service is of type ClusterIP: make it NodePort, or write isDirectConnect: true");
}

TEST_F(BackendsTest, DirectlyToPodsThatRunAndHaveAnAddress) {
  cluster_.put(service("web"));
  cluster_.put(pod("a", "10.0.0.1", {{"app", "web"}}));
  kube::Pod pending = pod("b", "10.0.0.2", {{"app", "web"}});
  pending.phase = kube::PodPhase::pending;
  cluster_.put(pending);
  kube::Pod ended = pod("c", "10.0.0.3", {{"app", "web"}});
  ended.phase = kube::PodPhase::succeeded;
  cluster_.put(ended);
  EXPECT_THAT(lead({direct("web")}), ElementsAre("10.0.0.1:80 10"));
}

TEST_F(BackendsTest, APodThatEndsOrIsNotReadyGetsNoNewTraffic) {
  cluster_.put(service("web"));
  cluster_.put(leaving(pod("a", "10.0.0.1", {{"app", "web"}})));
  cluster_.put(unready(pod("b", "10.0.0.2", {{"app", "web"}})));
  cluster_.put(with_weight(unready(pod("c", "10.0.0.3", {{"app", "web"}})), "50"));
  EXPECT_THAT(lead({direct("web")}),
              ElementsAre("10.0.0.1:80 0", "10.0.0.2:80 0", "10.0.0.3:80 0"));
}

TEST_F(BackendsTest, APodsOwnWeightCountsBeforeItsRoutes) {
  cluster_.put(service("web"));
  cluster_.put(with_weight(pod("a", "10.0.0.1", {{"app", "web"}}), "35"));
  api::ServiceRoute route = direct("web");
  route.weight = api::IngressWeight{.value = 80};
  EXPECT_THAT(lead({route}), ElementsAre("10.0.0.1:80 35"));
  EXPECT_THAT(notes_.weighted, ElementsAre(kube::ObjectKey{"games", "a"}));
  for (const char* const wrong : {"-1", "101", "ten", "7x"}) {
    cluster_.put(with_weight(pod("a", "10.0.0.1", {{"app", "web"}}), wrong));
    EXPECT_THAT(lead({route}), ElementsAre("10.0.0.1:80 80")) << wrong;
    EXPECT_THAT(gap(), HasSubstr("Pod games/a: annotation networkextension.bkbcs.tencent.com/"
                                 "clb-weight is '" +
                                 std::string(wrong) + "'"));
  }
}

TEST_F(BackendsTest, NamedPortsAndHostPortsAreThoseThatThePodDeclares) {
  kube::Service named = service("web");
  named.ports[0].target_port = 0;
  named.ports[0].target_port_name = kube::Interned("http");
  cluster_.put(named);
  cluster_.put(with_port(pod("a", "10.0.0.1", {{"app", "web"}}), "http", 8000, 18000));
  EXPECT_THAT(lead({direct("web")}), ElementsAre("10.0.0.1:8000 10"));
  api::ServiceRoute host = direct("web");
  host.host_port = true;
  EXPECT_THAT(lead({host}), ElementsAre("192.168.0.1:18000 10"));
  cluster_.put(with_port(pod("a", "10.0.0.1", {{"app", "web"}}), "http", 8000));
  EXPECT_THAT(lead({host}), IsEmpty());
  EXPECT_THAT(gap(), HasSubstr("containerPort http of Pod games/a has no hostPort"));
  cluster_.put(pod("a", "10.0.0.1", {{"app", "web"}}));
  EXPECT_THAT(lead({direct("web")}), IsEmpty());
  EXPECT_THAT(gap(), HasSubstr("Pod games/a declares no TCP containerPort http"));
}

TEST_F(BackendsTest, SubsetsHaveWeightsOfTheirOwn) {
  cluster_.put(service("web"));
  cluster_.put(pod("a", "10.0.0.1", {{"app", "web"}, {"version", "v1"}}));
  cluster_.put(pod("b", "10.0.0.2", {{"app", "web"}, {"version", "v2"}}));
  cluster_.put(pod("c", "10.0.0.3", {{"app", "web"}, {"version", "v3"}}));
  api::ServiceRoute route = direct("web");
  route.subsets = {{.label_selector = {{"version", "v1"}}},
                   {.label_selector = {{"version", "v2"}}, .weight = api::IngressWeight{20}}};
  EXPECT_THAT(lead({route}), ElementsAre("10.0.0.1:80 10", "10.0.0.2:80 20"));
  route.subsets = {{.label_selector = {{"app", "canary"}}}};
  cluster_.put(pod("d", "10.0.0.4", {{"app", "canary"}}));
  EXPECT_THAT(lead({route}), ElementsAre("10.0.0.4:80 10"))
      << "what a subset says of a label counts before what the Service says of it";
}

TEST_F(BackendsTest, OfOneAddressTheFirstRouteSaysTheWeight) {
  cluster_.put(service("web"));
  cluster_.put(pod("a", "10.0.0.1", {{"app", "web"}}));
  api::ServiceRoute heavy = direct("web");
  heavy.weight = api::IngressWeight{.value = 80};
  EXPECT_THAT(lead({heavy, direct("web")}), ElementsAre("10.0.0.1:80 80"));
}

TEST_F(BackendsTest, WhatIsNotThereIsNamed) {
  EXPECT_THAT(lead({to_nodes("web")}), IsEmpty());
  EXPECT_EQ(gap(), "spec.rules[0].services[0]: Service games/web is not there");
  cluster_.put(service("web"));
  api::ServiceRoute route = direct("web");
  route.service_port = 9;
  EXPECT_THAT(lead({route}), IsEmpty());
  EXPECT_THAT(gap(), HasSubstr("Service games/web has no port 9; it has TCP 8080"));
  EXPECT_THAT(lead({direct("web")}, model::Transport::udp), IsEmpty());
  EXPECT_THAT(gap(), HasSubstr("port 8080 of Service games/web is TCP, and the rule needs UDP"));
  kube::Service bare = service("web");
  bare.selector.clear();
  cluster_.put(bare);
  EXPECT_THAT(lead({direct("web")}), IsEmpty());
  EXPECT_THAT(gap(), HasSubstr("it has no spec.selector"));
}

TEST_F(BackendsTest, OfTwoTransportsOnOnePortTheRulesOwnIsTaken) {
  kube::Service both = service("web");
  both.ports.push_back({.protocol = kube::Interned("UDP"), .port = 8080, .target_port = 81});
  cluster_.put(both);
  cluster_.put(pod("a", "10.0.0.1", {{"app", "web"}}));
  EXPECT_THAT(lead({direct("web")}), ElementsAre("10.0.0.1:80 10"));
  EXPECT_THAT(lead({direct("web")}, model::Transport::udp), ElementsAre("10.0.0.1:81 10"));
}

TEST_F(BackendsTest, AMappingLeadsToThePodOfItsIndex) {
  const api::PortMapping mapping{.workload_kind = "statefulset", .workload_name = "room"};
  EXPECT_THAT(lead(mapping, 0, 7000), IsEmpty());
  EXPECT_THAT(notes_.gaps, IsEmpty()) << "there may be fewer Pods than ports";
  cluster_.put(owned(pod("room-0", "10.0.0.1"), "StatefulSet", "room"));
  EXPECT_THAT(lead(mapping, 0, 7000), ElementsAre("10.0.0.1:7000 10"));
  cluster_.put(leaving(owned(pod("room-0", "10.0.0.1"), "StatefulSet", "room")));
  EXPECT_THAT(lead(mapping, 0, 7000), ElementsAre("10.0.0.1:7000 0"));
}

TEST_F(BackendsTest, APodThatOnlyHasTheNameIsNotTheWorkloads) {
  const api::PortMapping mapping{.workload_kind = "StatefulSet", .workload_name = "room"};
  cluster_.put(pod("room-0", "10.0.0.1"));
  EXPECT_THAT(lead(mapping, 0, 7000), IsEmpty());
  cluster_.put(owned(pod("room-0", "10.0.0.1"), "ReplicaSet", "room"));
  EXPECT_THAT(lead(mapping, 0, 7000), IsEmpty());
}

// Who may write an Ingress could otherwise open every Service of the cluster to the world.
TEST_F(BackendsTest, OtherNamespacesCanBeClosed) {
  kube::Service other = service("web");
  other.meta.ns = kube::Interned("lobby");
  cluster_.put(other);
  kube::Pod theirs = pod("a", "10.0.0.1", {{"app", "web"}});
  theirs.meta.ns = kube::Interned("lobby");
  cluster_.put(theirs);
  api::ServiceRoute route = direct("web");
  route.service_namespace = "lobby";
  EXPECT_THAT(lead({route}), ElementsAre("10.0.0.1:80 10"));
  const Sight closed{cluster_.pods, cluster_.services, true};
  notes_ = {};
  EXPECT_THAT(backends_of(std::vector{route}, {"games", "spec.rules[0]"}, closed, notes_),
              IsEmpty());
  EXPECT_THAT(gap(), HasSubstr("namespace lobby is not the Ingress's own"));
}

TEST_F(BackendsTest, AMappingToHostPortsNeedsThem) {
  const api::PortMapping mapping{
      .workload_kind = "StatefulSet", .workload_name = "room", .host_port = true};
  cluster_.put(owned(with_port(pod("room-0", "10.0.0.1"), "", 7000, 27000), "StatefulSet", "room"));
  EXPECT_THAT(lead(mapping, 0, 7000), ElementsAre("192.168.0.1:27000 10"));
  EXPECT_THAT(lead(mapping, 0, 7001), IsEmpty());
  EXPECT_THAT(gap(), HasSubstr("Pod games/room-0 has no hostPort of TCP containerPort 7001"));
}

}  // namespace
}  // namespace berth::controllers::ingress
