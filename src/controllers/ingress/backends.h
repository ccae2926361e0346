// Whom a route of an Ingress leads to, as the caches show it: nodes, Pods, or host ports of Pods.
// Pure over the caches.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "api/ingress.h"
#include "api/listener.h"
#include "kube/cache/core_types.h"
#include "kube/cache/pod.h"
#include "kube/cache/store.h"

namespace berth::controllers::ingress {

// On Pods, the keys of bcs-ingress-controller: a weight of its own, and that it was taken over.
inline constexpr std::string_view kWeightAnnotation =
    "networkextension.bkbcs.tencent.com/clb-weight";
inline constexpr std::string_view kWeightReadyAnnotation =
    "networkextension.bkbcs.tencent.com/clb-weight-ready";

// On the Pod store: by namespace.
inline constexpr std::string_view kPodsOfNamespaceIndex = "ingress-namespace";
void add_indexes(kube::Store<kube::Pod>& pods);

struct Sight {
  const kube::Store<kube::Pod>& pods;
  const kube::Store<kube::Service>& services;
  bool own_namespace_only = false;               // Ingresses lead nowhere else
  std::vector<std::string> exempt_namespaces{};  // but for those of these
};

// Why something that is written leads nowhere.
struct Gap {
  std::string field{};
  std::string message{};

  friend bool operator==(const Gap&, const Gap&) = default;
};

// What was noticed on the way.
struct Notes {
  std::vector<Gap> gaps{};
  std::set<kube::ObjectKey> weighted{};  // Pods whose own weight was used
};

// One rule: where it stands in the object, and what its backends must speak.
struct RouteContext {
  std::string_view ns{};  // of the Ingress
  std::string field{};    // "spec.rules[0]"
  model::Transport transport = model::Transport::tcp;
};

// Of all its services, sorted by address; of an address that two of them have, the first counts.
// A Pod that ends or is not ready has weight 0, and leaves when it is gone.
std::vector<api::ListenerBackend> backends_of(const std::vector<api::ServiceRoute>& services,
                                              const RouteContext& route, const Sight& sight,
                                              Notes& notes);

// The Pod of a mapping with this index, if it is there and has an address.
std::vector<api::ListenerBackend> backends_of(const api::PortMapping& mapping, std::int64_t index,
                                              std::uint16_t pod_port, const RouteContext& route,
                                              const Sight& sight, Notes& notes);

// The namespace that a text means: the Ingress's own where it is empty.
std::string_view namespace_or(std::string_view written, std::string_view own);

// Whether the Service selects the Pod.
bool selects(const kube::Service& service, const kube::Pod& pod);
// "room-3" is the Pod of a workload "room" with index 3.
std::string pod_name(const api::PortMapping& mapping, std::int64_t index);

}  // namespace berth::controllers::ingress
