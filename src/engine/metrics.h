// What the engine counts. The names of calls to providers are upstream's, so that dashboards go on
// working. Thread-safe; owned by the engine. Without a registry nothing is counted.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "metrics/registry.h"
#include "model/load_balancer.h"

namespace berth::engine {

// How the entries of one call ended.
struct CallResult {
  std::size_t entries = 0;
  std::size_t failed = 0;
  Code code = Code::internal;  // of the first that failed
};

// A request to a provider, by the provider's name for it. `status`: ok, partial_err, timeout,
// exceed_limit, lb_lock, err.
void count_request(metrics::Registry& registry, model::Provider provider, std::string_view rpc,
                   std::string_view status, Duration took);

class EngineMetrics {
 public:
  explicit EngineMetrics(metrics::Registry* registry) : registry_(registry) {}

  // An operation of a driver. Where the driver does not count what it asks of the provider
  // (lb/listeners.h), the operation counts as one request, too.
  void call(model::Provider provider, std::string_view operation, const CallResult& result,
            Duration took, bool is_request);
  void drift(const model::LoadBalancerRef& lb, std::size_t listeners);
  void leftovers(const model::LoadBalancerRef& lb, std::size_t removed);
  // Whether what is there cannot be seen.
  void unseen(const model::LoadBalancerRef& lb, bool is_unseen);
  // By how much it changed: several reconcilers may serve one load balancer.
  void depth(const model::LoadBalancerRef& lb, double change);

 private:
  metrics::Registry* registry_;
};

}  // namespace berth::engine
