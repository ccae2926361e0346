#include "providers/tencent_metrics.h"

#include "engine/metrics.h"

namespace berth::providers {
namespace {

// In the words of bcs-ingress-controller.
std::string_view status_of(cloud::tencent::SentRequest::End end) {
  using enum cloud::tencent::SentRequest::End;
  switch (end) {
    case answered: return "ok";
    case limited: return "exceed_limit";
    case locked: return "lb_lock";
    case timed_out: return "timeout";
    case refused:
    case lost: break;
  }
  return "err";
}

}  // namespace

void TencentMetrics::count(const cloud::tencent::SentRequest& request) {
  const MutexLock lock(mu_);
  if (!registry_) return;
  engine::count_request(*registry_, model::Provider::tencent, request.action,
                        status_of(request.end), request.took);
}

void TencentMetrics::show_in(metrics::Registry* registry) {
  const MutexLock lock(mu_);
  registry_ = registry;
}

void TencentMetrics::leave(const metrics::Registry* registry) {
  const MutexLock lock(mu_);
  if (registry_ == registry) registry_ = nullptr;
}

}  // namespace berth::providers
