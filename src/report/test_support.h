// A small cluster as reports see it, for tests: pool games/rooms with ports 30000 to 30002 on one
// load balancer, and a controller that leads. Free of GTest.
#pragma once

#include <boost/json.hpp>
#include <memory>
#include <string>

#include "admission/webhooks.h"
#include "api/walkers.h"
#include "app/modules.h"
#include "claims/test_support.h"
#include "report/cluster.h"

namespace berth::report::testing {

using claims::testing::kNow;

inline wire::Value lease(std::string_view holder, Duration renewed_ago) {
  return wire::Object{
      {"metadata", wire::Object{{"namespace", "berth-system"}, {"name", "berth"}}},
      {"spec", wire::Object{{"holderIdentity", holder},
                            {"leaseDurationSeconds", 15},
                            {"renewTime", format_rfc3339_micro(kNow - renewed_ago)}}}};
}

inline wire::Value webhooks(std::string_view ca_bundle = "CA") {
  wire::Array hooks;
  for (const std::string_view name : {admission::kPodPortsHook, admission::kHostPortsHook})
    hooks.push_back(
        wire::Object{{"name", name}, {"clientConfig", wire::Object{{"caBundle", ca_bundle}}}});
  return wire::Object{
      {"metadata", wire::Object{{"annotations",
                                 wire::Object{{admission::kHostPortsAnnotation, "20000-20009"}}}}},
      {"webhooks", std::move(hooks)}};
}

// Free, made, and synced.
inline api::Listener listener_at(model::Port port) {
  api::Listener out = claims::testing::lock_at({.ports = {port, port}});
  out.status.status = std::string(api::kSynced);
  out.meta.created = kNow - std::chrono::hours{1};
  return out;
}

inline ledger::Claim claim_of(std::string pod, ledger::SlotState state = ledger::SlotState::bound) {
  return {.state = state,
          .token = "token-of-" + pod,
          .ns = "games",
          .pod_name = pod,
          .pod_uid = "uid-of-" + pod,
          .since = kNow - std::chrono::seconds{30}};
}

// As the API server has it.
template <class Kind>
wire::Value as_object(const Kind& object) {
  return wire::Object{
      {"metadata", wire::Object{{"namespace", object.meta.ns.view()},
                                {"name", object.meta.name},
                                {"uid", object.meta.uid},
                                {"resourceVersion", "1"},
                                {"creationTimestamp", format_rfc3339(object.meta.created)}}},
      {"spec", api::encode(object.spec)},
      {"status", api::encode(object.status)}};
}
inline std::vector<wire::Value>& pools(ClusterView& view) { return view.objects["portpools"]; }
inline std::vector<wire::Value>& bindings(ClusterView& view) {
  return view.objects["portbindings"];
}
// The first item of the first pool.
inline wire::Object& item_status(ClusterView& view) {
  return wire::find(pools(view).at(0), "/status/poolItems/0")->get_object();
}

inline ClusterView cluster() {
  ClusterView view{.ns = "berth-system",
                   .parts = app::all_report_parts(),
                   .lease = lease("berth-1", std::chrono::seconds{2}),
                   .webhooks = webhooks(),
                   .ca_bundle = "CA",
                   .now = kNow};
  api::PortPool pool =
      claims::testing::pool_with({claims::testing::tcp_item("item1", 30000, 30003)});
  pool.status.pool_items = {{.item_name = "item1", .status = std::string(api::kReady)}};
  pools(view) = {as_object(pool)};
  for (model::Port port = 30000; port < 30003; ++port)
    view.listeners.push_back(std::make_shared<const api::Listener>(listener_at(port)));
  api::LoadBalancer balancer;
  balancer.meta.name = "edge.demo";
  balancer.spec = {.provider = "edge", .load_balancer_id = "demo"};
  balancer.status = {.vips = {"1.1.1.1"}, .listeners_used = 3};
  view.balancers = {balancer};
  return view;
}

// In place of the free one at its port.
inline void put(ClusterView& view, const api::Listener& listener) {
  for (claims::ListenerPtr& one : view.listeners)
    if (one->meta.name == listener.meta.name) one = std::make_shared<const api::Listener>(listener);
}
inline void hold(ClusterView& view, model::Port port, const ledger::Claim& claim) {
  put(view, claims::testing::with_claim(listener_at(port), claim));
}

}  // namespace berth::report::testing
