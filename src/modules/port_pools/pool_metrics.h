// The metrics of port pools under the names that users of bcs-ingress-controller have on their
// dashboards. docs/metrics.md lists them; those of Listeners are the core's.
//
// Owned by the composition root, made before the informers start. What can be counted from the
// caches is counted when somebody scrapes. Thread-safe.
#pragma once

#include <map>
#include <set>
#include <string>

#include "api/port_binding.h"
#include "api/port_pool.h"
#include "base/mutex.h"
#include "claims/slot_index.h"
#include "kube/admission/router.h"
#include "kube/cache/pod.h"
#include "metrics/registry.h"

namespace berth::modules::port_pools {

class PoolMetrics {
 public:
  // Stores and index outlive it.
  PoolMetrics(metrics::Registry& registry, const claims::SlotIndex& slots,
              kube::Store<api::PortPool>& pools, kube::Store<api::PortBinding>& bindings);

  // From the creation of a Pod until its ports led to it.
  void pod_became_ready(Duration waited);
  // The answer of the webhook that gives ports to Pods.
  void pod_was_admitted(const kube::AdmissionRequest& request, bool allowed);

 private:
  // Gauges by their label values; one that is not counted any more is set to 0.
  using Counts = std::map<metrics::Labels, double>;

  void before_scrape();
  Counts count_bindings() const;
  void show_conflicts();
  void show(const std::string& name, const std::string& help, const Counts& counts);

  metrics::Registry& registry_;
  const claims::SlotIndex& slots_;
  const kube::Store<api::PortBinding>& bindings_;
  metrics::Histogram& latency_;
  Mutex mu_;
  std::map<std::string, std::set<metrics::Labels>> shown_ GUARDED_BY(mu_);  // by name
  std::set<kube::ObjectKey> refused_ GUARDED_BY(mu_);
  metrics::ScrapeHook hook_;  // last: it uses the others
};

}  // namespace berth::modules::port_pools
