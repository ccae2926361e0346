#include "kube/runtime/work_queue_metrics.h"

namespace berth::kube {

namespace {

metrics::Labels labels_of(const std::string& queue) {
  return {{"name", queue}, {"controller", queue}};
}

}  // namespace

WorkQueueMetrics::WorkQueueMetrics(metrics::Registry& r, const std::string& queue,
                                   std::function<Running()> running)
    : depth_(r.gauge("workqueue_depth", "Keys that wait.", labels_of(queue))),
      adds_(r.counter("workqueue_adds_total", "Keys added.", labels_of(queue))),
      retries_(r.counter("workqueue_retries_total", "Keys added again after a failure.",
                         labels_of(queue))),
      queue_duration_(r.histogram("workqueue_queue_duration_seconds",
                                  "Time from the add to a worker.", labels_of(queue),
                                  metrics::workqueue_buckets())),
      work_duration_(r.histogram("workqueue_work_duration_seconds", "Time a worker spent on a key.",
                                 labels_of(queue), metrics::workqueue_buckets())),
      unfinished_(r.gauge("workqueue_unfinished_work_seconds", "Seconds of work under way, summed.",
                          labels_of(queue))),
      longest_(r.gauge("workqueue_longest_running_processor_seconds",
                       "Age of the oldest work under way.", labels_of(queue))),
      hook_(r.before_scrape([this, running = std::move(running)] {
        const Running now = running();
        unfinished_.set(to_seconds(now.sum));
        longest_.set(to_seconds(now.longest));
      })) {}

}  // namespace berth::kube
