#include "app/webhook_metrics.h"

namespace berth::app {
namespace {

const metrics::Buckets kRequestBuckets{0.01, 0.1, 0.5, 0.75, 1, 2, 3, 5, 10};

}  // namespace

kube::AdmissionHandler timed(metrics::Registry& registry, const std::string& path,
                             kube::AdmissionHandler handler) {
  const std::string method = path.starts_with("/mutate") ? "mutate" : "validate";
  const auto labels = [&](const char* status) {
    return metrics::Labels{{"handler", path}, {"method", method}, {"status", status}};
  };
  struct Series {
    metrics::Counter* total;
    metrics::Histogram* seconds;
  };
  const auto series = [&](const char* status) {
    return Series{&registry.counter("bkbcs_ingressctrl_api_request_total",
                                    "Requests to our webhooks.", labels(status)),
                  &registry.histogram("bkbcs_ingressctrl_api_request_latency_seconds",
                                      "Their time.", labels(status), kRequestBuckets)};
  };
  return [handler = std::move(handler), ok = series("ok"), err = series("err")](
             const Context& context, const kube::AdmissionRequest& request) {
    const Instant begin = context.tasks.now();
    Result<kube::AdmissionAnswer> answer = handler(context, request);
    const Series& which = answer ? ok : err;
    which.total->increment();
    which.seconds->observe(to_seconds(context.tasks.now() - begin));
    return answer;
  };
}

}  // namespace berth::app
