#include "engine/metrics.h"

#include <chrono>

namespace berth::engine {
namespace {

const metrics::Buckets& millisecond_buckets() {
  static const metrics::Buckets buckets{1, 5, 10, 50, 100, 500, 1000, 5000, 10000, 60000};
  return buckets;
}

// As upstream cuts them.
const metrics::Buckets& second_buckets() {
  static const metrics::Buckets buckets{.01, .1, .5, .75, 1, 2, 3, 5, 10};
  return buckets;
}

std::string_view status_of(const CallResult& result) {
  if (result.failed == 0) return "ok";
  if (result.failed < result.entries) return "partial_err";
  if (result.code == Code::timeout) return "timeout";
  if (result.code == Code::throttled) return "exceed_limit";
  return "err";
}

}  // namespace

void count_request(metrics::Registry& registry, model::Provider provider, std::string_view rpc,
                   std::string_view status, Duration took) {
  const std::string name(rpc);
  registry
      .counter("bcs_network_ingress_controller_cloud_request_total",
               "Requests to providers of load balancers.",
               {{"rpc", name}, {"errcode", status == "ok" ? "success" : "failed"}})
      .increment();
  registry
      .histogram("bcs_network_ingress_controller_cloud_response_time",
                 "Milliseconds of requests to providers of load balancers.", {{"rpc", name}},
                 millisecond_buckets())
      .observe(to_seconds(took) * 1000);
  const metrics::Labels labels{{"system", std::string(to_string(provider))},
                               {"handler", "sdk"},
                               {"method", name},
                               {"status", std::string(status)}};
  registry
      .counter("bkbcs_ingressctrl_lib_request_total",
               "Requests to providers of load balancers, by how they ended.", labels)
      .increment();
  registry
      .histogram("bkbcs_ingressctrl_lib_request_latency_seconds",
                 "Seconds of requests to providers of load balancers.", labels, second_buckets())
      .observe(to_seconds(took));
}

void EngineMetrics::call(model::Provider provider, std::string_view operation,
                         const CallResult& result, Duration took, bool is_request) {
  if (!registry_) return;
  const std::string_view status = status_of(result);
  registry_
      ->histogram("berth_lb_operation_seconds",
                  "Seconds of operations on load balancers, with all requests and waits.",
                  {{"system", std::string(to_string(provider))},
                   {"operation", std::string(operation)},
                   {"status", std::string(status)}},
                  second_buckets())
      .observe(to_seconds(took));
  if (is_request) count_request(*registry_, provider, operation, status, took);
}

void EngineMetrics::drift(const model::LoadBalancerRef& lb, std::size_t listeners) {
  if (!registry_) return;
  registry_
      ->counter("berth_lb_drift_total", "Listeners that somebody else changed and we repaired.",
                {{"lb", to_string(lb)}})
      .increment(static_cast<double>(listeners));
}

void EngineMetrics::leftovers(const model::LoadBalancerRef& lb, std::size_t removed) {
  if (!registry_) return;
  registry_
      ->counter("berth_lb_leftovers_removed_total",
                "Listeners of ours that nobody wished any more and we removed.",
                {{"lb", to_string(lb)}})
      .increment(static_cast<double>(removed));
}

void EngineMetrics::unseen(const model::LoadBalancerRef& lb, bool is_unseen) {
  if (!registry_) return;
  registry_
      ->gauge("berth_lb_unseen",
              "1 while the provider does not show what is there: what was known stays.",
              {{"lb", to_string(lb)}})
      .set(is_unseen ? 1 : 0);
}

void EngineMetrics::depth(const model::LoadBalancerRef& lb, double change) {
  if (!registry_) return;
  registry_
      ->gauge("berth_lb_queue_depth", "Wishes that a load balancer does not meet yet.",
              {{"lb", to_string(lb)}})
      .increment(change);
}

}  // namespace berth::engine
