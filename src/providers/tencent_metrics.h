// Requests to Tencent's API, counted under the names that dashboards know: each by its action, as
// it went over the wire.
#pragma once

#include "base/mutex.h"
#include "cloud/tencent/api.h"
#include "metrics/registry.h"

namespace berth::providers {

// Where they are counted changes while drivers live: each App has a registry of its own. Without
// one nothing is counted. Thread-safe.
class TencentMetrics {
 public:
  void count(const cloud::tencent::SentRequest& request);
  // The registry outlives its use here.
  void show_in(metrics::Registry* registry);
  // Only if it is still this one.
  void leave(const metrics::Registry* registry);

 private:
  Mutex mu_;
  metrics::Registry* registry_ GUARDED_BY(mu_) = nullptr;
};

}  // namespace berth::providers
