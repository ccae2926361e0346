// The metrics of Listeners and of who runs, under the names that users of bcs-ingress-controller
// have on their dashboards: whoever the Listeners belong to. docs/metrics.md lists them.
//
// Owned by the composition root, made before the informers start. What can be counted from the
// caches is counted when somebody scrapes. Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/listener.h"
#include "base/mutex.h"
#include "kube/cache/store.h"
#include "lb/driver.h"
#include "metrics/registry.h"

namespace berth::modules::core {

struct ListenerMetricsOptions {
  std::string version{};
  std::string cloud{};
  // How its targets are, by load balancer; called when somebody scrapes, so it must not wait.
  std::function<std::vector<lb::TargetHealth>(const model::LoadBalancerRef& lb)> health{};
  model::LoadBalancerDefaults defaults{};
};

class ListenerMetrics {
 public:
  // The store outlives it.
  ListenerMetrics(metrics::Registry& registry, kube::Store<api::Listener>& listeners,
                  ListenerMetricsOptions options);

 private:
  void before_scrape();
  void show_counts();
  void show_health();

  const ListenerMetricsOptions options_;
  metrics::Registry& registry_;
  const kube::Store<api::Listener>& listeners_;
  Mutex mu_;
  std::set<metrics::Labels> shown_ GUARDED_BY(mu_);  // those that are not counted any more are 0
  metrics::ScrapeHook hook_;                         // last: it uses the others
};

}  // namespace berth::modules::core
