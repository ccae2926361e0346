#include "modules/core/listener_metrics.h"

#include <gmock/gmock.h>

namespace berth::modules::core {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const model::LoadBalancerRef kDemo{model::Provider::edge, "", "demo"};

// Of an Ingress: HTTP with a domain and a path.
api::Listener listener() {
  api::Listener out;
  out.meta = {.ns = kube::Interned("games"), .name = "demo-80", .uid = "u", .resource_version = 1};
  out.spec = {.load_balancer_id = "edge:demo", .port = 80, .protocol = "HTTP"};
  out.spec.rules = {{.domain = "play.example.com",
                     .path = "/lobby",
                     .target_group = api::ListenerTargetGroup{
                         .protocol = "HTTP", .backends = {{.ip = "10.0.0.1", .port = 8000}}}}};
  out.status = {.listener_id = "lbl-1", .status = std::string(api::kSynced)};
  return out;
}

TEST(ListenerMetricsOf, ListenersAreCountedWhoeverTheyBelongTo) {
  metrics::Registry registry;
  kube::Store<api::Listener> listeners;
  const ListenerMetrics metrics(registry, listeners, {.version = "v1", .cloud = "edge"});
  EXPECT_THAT(registry.text(), HasSubstr(R"(bkbcs_ingressctrl_controller_info{cloud="edge",)"
                                         R"(version="v1"} 1)"));
  listeners.put(listener());
  const std::string series = R"(bkbcs_ingressctrl_listener_total{lbID="edge:demo",protocol="HTTP",)"
                             R"(status="Synced",target_group_type="normal"})";
  EXPECT_THAT(registry.text(), HasSubstr(series + " 1\n"));
  EXPECT_THAT(registry.text(),
              HasSubstr(R"(bkbcs_ingressctrl_event_counter{object="listener",type="add"} 1)"));
  ASSERT_TRUE(listeners.replace({}, 2));
  EXPECT_THAT(registry.text(), HasSubstr(series + " 0\n"));
}

TEST(ListenerMetricsOf, HealthOfARuleHasItsDomainAndPath) {
  metrics::Registry registry;
  kube::Store<api::Listener> listeners;
  std::vector<lb::TargetHealth> found{
      {.rule = {model::ListenerId("lbl-1"), {"play.example.com", "/lobby"}},
       .target = {"10.0.0.1", 8000},
       .health = lb::Health::unhealthy}};
  const ListenerMetrics metrics(registry, listeners,
                                {.health = [&](const model::LoadBalancerRef& lb) {
                                  return lb == kDemo ? found : std::vector<lb::TargetHealth>{};
                                }});
  listeners.put(listener());
  EXPECT_THAT(
      registry.text(),
      HasSubstr(R"(cloudloadbalance_backendhealth_backend_status{host="play.example.com",)"
                R"(lbid="demo",listenerid="lbl-1",namespace="games",path="/lobby",port="80",)"
                R"(protocol="HTTP",rsip="10.0.0.1",rsport="8000"} 0)"));
  found.clear();
  EXPECT_THAT(registry.text(), Not(HasSubstr("backend_status{"))) << "gone with its target";
}

}  // namespace
}  // namespace berth::modules::core
