// Counts reconciles that failed and changes that were seen, under the names that users of
// bcs-ingress-controller know.
#pragma once

#include <string>

#include "kube/cache/store.h"
#include "kube/runtime/controller.h"
#include "metrics/registry.h"

namespace berth::frontend {

// Options of the controller of this kind of objects. The registry may be null, and outlives it.
kube::ControllerOptions counting_failures(const std::string& object, int workers,
                                          metrics::Registry* registry);

// Changes of a kind's objects. Before its informer starts; the registry outlives the store.
template <class T>
void count_changes(const std::string& object, kube::Store<T>& store, metrics::Registry& registry) {
  const auto counter = [&](const char* type) {
    return &registry.counter("bkbcs_ingressctrl_event_counter", "Changes that were seen.",
                             {{"object", object}, {"type", type}});
  };
  store.on_change([add = counter("add"), update = counter("update"),
                   gone = counter("delete")](const kube::Change<T>& change) {
    (change.before ? (change.after ? update : gone) : add)->increment();
  });
}

}  // namespace berth::frontend
