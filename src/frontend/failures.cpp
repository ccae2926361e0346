#include "frontend/failures.h"

namespace berth::frontend {

kube::ControllerOptions counting_failures(const std::string& object, int workers,
                                          metrics::Registry* registry) {
  kube::ControllerOptions options{.name = object, .workers = workers, .registry = registry};
  if (!registry) return options;
  options.on_error = [registry, object](const kube::ObjectKey& key, const Error& error) {
    const bool users_fault = error.code == Code::invalid;
    registry
        ->counter("bkbcs_ingressctrl_failed_counter", "Reconciles that failed.",
                  {{"object", object},
                   {"type", users_fault ? "config_error" : "reconcile_error"},
                   {"namespace", key.ns},
                   {"name", key.name}})
        .increment();
  };
  return options;
}

}  // namespace berth::frontend
