#include "sim/kube/faults.h"

#include "sim/kube/request_info.h"

namespace berth::sim::kube {

namespace {

bool matches(const FaultTarget& target, const RequestInfo& request) {
  if (!target.verb.empty() && target.verb != request.verb) return false;
  return target.resource.empty() || target.resource == request.full_resource();
}

}  // namespace

Faults::Plan* Faults::take(std::deque<Plan>& plans, const RequestInfo& request) {
  while (!plans.empty() && plans.front().left <= 0) plans.pop_front();
  for (Plan& plan : plans) {
    if (plan.left <= 0 || !matches(plan.target, request)) continue;
    --plan.left;
    return &plan;
  }
  return nullptr;
}

void Faults::refuse_next(FaultTarget target, ApiError error, int count) {
  MutexLock lock(mu_);
  refusals_.push_back({.target = std::move(target), .left = count, .error = std::move(error)});
}

void Faults::delay_next(FaultTarget target, Duration delay, int count) {
  MutexLock lock(mu_);
  delays_.push_back({.target = std::move(target), .left = count, .delay = delay});
}

void Faults::serve_stale_lists(std::optional<std::uint64_t> version) {
  MutexLock lock(mu_);
  stale_version_ = version;
}

void Faults::clear() {
  MutexLock lock(mu_);
  refusals_.clear();
  delays_.clear();
  stale_version_.reset();
}

std::optional<ApiError> Faults::take_refusal(const RequestInfo& request) {
  MutexLock lock(mu_);
  const Plan* plan = take(refusals_, request);
  if (plan == nullptr) return std::nullopt;
  return plan->error;
}

Duration Faults::take_delay(const RequestInfo& request) {
  MutexLock lock(mu_);
  const Plan* plan = take(delays_, request);
  return plan == nullptr ? Duration{} : plan->delay;
}

std::optional<std::uint64_t> Faults::stale_version() const {
  MutexLock lock(mu_);
  return stale_version_;
}

}  // namespace berth::sim::kube
