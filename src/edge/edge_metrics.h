// What the edge load balancer has carried, for Prometheus: per load balancer and protocol, not per
// port, of which there are thousands. docs/metrics.md lists the names.
//
// Asks the driver when somebody scrapes; what is carried costs nothing more. Owned by the
// composition root; the driver and the registry outlive it.
#pragma once

#include "edge/driver.h"
#include "metrics/registry.h"

namespace berth::edge {

class EdgeMetrics {
 public:
  EdgeMetrics(metrics::Registry& registry, const EdgeDriver& driver);

 private:
  void before_scrape();
  void show(const TallyKey& key, const Tally& now) REQUIRES(mu_);
  void show(const SiteKey& key, const SiteTally& now) REQUIRES(mu_);
  void show(const haproxy::Counts& now) REQUIRES(mu_);
  void show_datagrams(const metrics::Labels& labels, const Tally& before, const Tally& now);
  void count(const std::string& name, const std::string& help, const metrics::Labels& labels,
             std::uint64_t before, std::uint64_t now);

  void count_reason(const std::string& name, const std::string& help, const metrics::Labels& labels,
                    Reason reason, const ByReason& before, const ByReason& now);

  metrics::Registry& registry_;
  const EdgeDriver& driver_;
  Mutex mu_;
  Tallies told_ GUARDED_BY(mu_);  // the most that was ever seen of each
  SiteTallies told_sites_ GUARDED_BY(mu_);
  haproxy::Counts told_haproxy_ GUARDED_BY(mu_);
  metrics::ScrapeHook hook_;  // last: it uses the others
};

}  // namespace berth::edge
