// What a report looks at: the objects of Berth in a cluster, read once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/load_balancer.h"
#include "api/port_binding.h"
#include "api/port_pool.h"
#include "base/context.h"
#include "claims/slot.h"
#include "kube/client/client.h"
#include "report/refusals.h"

namespace berth::report {

struct ClusterView {
  std::string ns{};  // of the controller; empty: no lease of it was found
  std::vector<api::PortPool> pools{};
  std::vector<claims::ListenerPtr> listeners{};
  std::vector<api::LoadBalancer> balancers{};
  std::vector<api::PortBinding> bindings{};
  wire::Value lease{};     // null: there is none
  wire::Value webhooks{};  // the MutatingWebhookConfiguration; null: there is none
  // What the webhooks' certificate is signed by, in base64; empty: we may not read it.
  std::string ca_bundle{};
  std::vector<Refusal> refusals{};
  // What we may not read: "events". Nobody is told that all is well in what was not looked at.
  std::vector<std::string> unseen{};
  bool installed = true;  // our kinds are known to the server
  // Modules that the controller runs without, by their names.
  std::vector<std::string> without{};
  WallTime now{};
};

// Of modules: as --without has them.
inline constexpr std::string_view kPortPoolsModule = "port-pools";
inline constexpr std::string_view kHostPortsModule = "host-ports";
bool is_off(const ClusterView& view, std::string_view module);

// `ns` is where the controller's lease is; empty: it is looked for in all namespaces, or, for users
// who may not, in those where it usually is.
Result<ClusterView> read_cluster(const Context& context, kube::Client& client,
                                 const std::string& ns);

// " (open at 61080)" for a low port that its load balancer may not open and opens elsewhere; else
// empty.
std::string opened_elsewhere(const ClusterView& view, const api::PortBindingItem& entry);

// "3 s", "5 min", "2 h", "4 d".
std::string age(Duration span);

// Who leads, and whether it is alive.
struct Leader {
  std::string holder{};
  Duration since{};  // the last renewal
  bool alive = false;
};
Leader leader_of(const ClusterView& view);
// "lease games/berth has no holder": why nobody leads.
std::string lease_without_holder(const ClusterView& view);

}  // namespace berth::report
