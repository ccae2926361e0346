#include "controllers/portpool/failures.h"

namespace berth::controllers::portpool {

std::function<void(const kube::ObjectKey& key, const Error& error)> count_failures(
    metrics::Registry* registry, std::string object) {
  if (!registry) return {};
  return [registry, object = std::move(object)](const kube::ObjectKey& key, const Error& error) {
    const bool users_fault = error.code == Code::invalid;
    registry
        ->counter("bkbcs_ingressctrl_failed_counter", "Reconciles that failed.",
                  {{"object", object},
                   {"type", users_fault ? "config_error" : "reconcile_error"},
                   {"namespace", key.ns},
                   {"name", key.name}})
        .increment();
  };
}

}  // namespace berth::controllers::portpool
