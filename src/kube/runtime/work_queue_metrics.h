// The series that client-go's work queue has, under the names that dashboards already use.
#pragma once

#include <functional>
#include <string>

#include "base/time.h"
#include "metrics/registry.h"

namespace berth::kube {

class WorkQueueMetrics {
 public:
  // Work under way: its age summed over the keys, and of the oldest.
  struct Running {
    Duration sum{};
    Duration longest{};
  };
  // `running` is asked at each scrape.
  WorkQueueMetrics(metrics::Registry& registry, const std::string& queue,
                   std::function<Running()> running);

  void depth(std::size_t n) { depth_.set(static_cast<double>(n)); }
  void added() { adds_.increment(); }
  void retried() { retries_.increment(); }
  void waited(Duration span) { queue_duration_.observe(to_seconds(span)); }
  void worked(Duration span) { work_duration_.observe(to_seconds(span)); }

 private:
  metrics::Gauge& depth_;
  metrics::Counter& adds_;
  metrics::Counter& retries_;
  metrics::Histogram& queue_duration_;
  metrics::Histogram& work_duration_;
  metrics::Gauge& unfinished_;
  metrics::Gauge& longest_;
  metrics::ScrapeHook hook_;
};

}  // namespace berth::kube
