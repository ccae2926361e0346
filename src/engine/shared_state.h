// SharedState: what all reconcilers of an engine share. Owned by the engine; thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "base/mutex.h"
#include "base/random.h"
#include "engine/engine.h"
#include "engine/metrics.h"
#include "engine/quota.h"
#include "engine/retry.h"
#include "lb/place.h"

namespace berth::engine {

struct SharedState {
  SharedState(lb::Drivers all, Catalog standing, Sink& hears, std::function<bool()> in_charge,
              Random seeded, EngineOptions chosen)
      : drivers(std::move(all)),
        catalog(std::move(standing)),
        sink(hears),
        may_act(std::move(in_charge)),
        options(std::move(chosen)),
        metrics(options.registry),
        random(seeded) {}

  // Counts how often we were found not to be in charge: what was known before is void.
  std::uint64_t fence() {
    const MutexLock lock(mu);
    return fenced;
  }
  void count_fence() {
    const MutexLock lock(mu);
    ++fenced;
  }
  Duration delay(Treatment treatment, int attempts, const Error& error) {
    const MutexLock lock(mu);
    return delay_of(treatment, attempts, error.retry_after, random);
  }
  Duration jittered(Duration span) {
    const MutexLock lock(mu);
    return random.jittered(span, 0.1);
  }

  // Evenly before the span is over.
  Duration within(Duration span) {
    const MutexLock lock(mu);
    return Duration{static_cast<Duration::rep>(random.unit() * static_cast<double>(span.count()))};
  }

  // Of a load balancer, or of a gateway for all its addresses.
  std::shared_ptr<Quota> quota_of(const model::LoadBalancerRef& parent) {
    const MutexLock lock(mu);
    std::erase_if(quotas, [](const auto& one) { return one.second.expired(); });
    std::weak_ptr<Quota>& known = quotas[parent];
    std::shared_ptr<Quota> quota = known.lock();
    if (!quota) known = quota = std::make_shared<Quota>();
    return quota;
  }

  // What came of looking at a place. One that nobody looks at any more is forgotten.
  void looked(const lb::Place& place, Result<> result) {
    note_look(place, std::optional(std::move(result)));
  }
  void forget_look(const lb::Place& place) { note_look(place, std::nullopt); }
  // At a load balancer: a failure of any of its places.
  std::optional<Result<>> last_look(const model::LoadBalancerRef& lb) {
    const MutexLock lock(mu);
    return look_at(lb);
  }

  const lb::Drivers drivers;
  const Catalog catalog;
  Sink& sink;
  const std::function<bool()> may_act;
  const EngineOptions options;
  EngineMetrics metrics;

  Mutex mu;
  Random random GUARDED_BY(mu);
  std::uint64_t fenced GUARDED_BY(mu) = 0;
  std::map<model::LoadBalancerRef, std::weak_ptr<Quota>> quotas GUARDED_BY(mu);
  std::map<lb::Place, Result<>> looks GUARDED_BY(mu);

 private:
  std::optional<Result<>> look_at(const model::LoadBalancerRef& lb) REQUIRES(mu);
  void note_look(const lb::Place& place, std::optional<Result<>> result);
};

}  // namespace berth::engine
