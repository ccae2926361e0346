// Which Ingresses must be looked at after a change of what they lead to. Pure over the caches.
#pragma once

#include <string>

#include "controllers/ingress/backends.h"

namespace berth::controllers::ingress {

// On the Ingress store: by the Services that it names, and by the namespaces of its Pods.
inline constexpr std::string_view kServiceIndex = "service";          // "namespace/name"
inline constexpr std::string_view kNamespaceIndex = "pod-namespace";  // of Services and workloads
void add_indexes(kube::Store<api::Ingress>& ingresses);

// Whether the Pod is one that the Ingress leads to, or may be: it is of a workload that it names,
// or one of its Services selects it.
bool concerns(const api::Ingress& ingress, const kube::Pod& pod,
              const kube::Store<kube::Service>& services);
// Whether what an Ingress makes of the Pod may be another by now.
bool matters(const kube::Change<kube::Pod>& change);

}  // namespace berth::controllers::ingress
