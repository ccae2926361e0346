// What a report looks at: the objects of Berth in a cluster, read once.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/load_balancer.h"
#include "base/context.h"
#include "claims/slot.h"
#include "kube/client/client.h"
#include "report/installation.h"
#include "report/part.h"
#include "report/refusals.h"

namespace berth::report {

struct ClusterView {
  std::string ns{};  // of the controller; empty: no lease of it was found
  Parts parts{};     // who looks at it
  std::vector<claims::ListenerPtr> listeners{};
  std::vector<api::LoadBalancer> balancers{};
  // Those that parts have asked for, as they came, by the plural of their kind.
  std::map<std::string, std::vector<wire::Value>> objects{};
  wire::Value lease{};     // null: there is none
  wire::Value webhooks{};  // the MutatingWebhookConfiguration; null: there is none
  // What the webhooks' certificate is signed by, in base64; empty: we may not read it.
  std::string ca_bundle{};
  Installation installation{};
  std::vector<Refusal> refusals{};
  // What we may not read: "events". Nobody is told that all is well in what was not looked at.
  std::vector<std::string> unseen{};
  bool installed = true;  // our kinds are known to the server
  // Modules that the controller runs without, by their names.
  std::vector<std::string> without{};
  WallTime now{};
};

bool is_off(const ClusterView& view, std::string_view module);

// Those of a kind that can be read: `decode` gives a Result of a value.
template <class Decode>
auto objects_of(const ClusterView& view, const api::KindInfo& kind, Decode decode) {
  std::vector<std::remove_cvref_t<decltype(*decode(std::declval<const wire::Value&>()))>> out;
  const auto found = view.objects.find(kind.type.plural);
  if (found == view.objects.end()) return out;
  for (const wire::Value& object : found->second)
    if (auto decoded = decode(object)) out.push_back(std::move(*decoded));
  return out;
}

// `ns` is where the controller's lease is; empty: it is looked for in all namespaces, or, for users
// who may not, in those where it usually is.
Result<ClusterView> read_cluster(const Context& context, kube::Client& client, const Parts& parts,
                                 const std::string& ns);

// " (open at 61080)" for a low port that the load balancer with this address may not open and opens
// elsewhere; else empty.
std::string opened_elsewhere(const ClusterView& view, std::string_view ip, std::int64_t port);

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
