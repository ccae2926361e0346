// How many calls a provider's API takes, learned from its refusals.
//
// There is no limit before the first refusal. A refusal halves the pace, or the pace at which calls
// were made until then; time without one lets it grow again. Shared by all load balancers for which
// the provider counts together. Thread-safe; reads no clock.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "base/mutex.h"
#include "base/time.h"
#include "model/load_balancer.h"

namespace berth::engine {

class Budget {
 public:
  // Takes one call: its answer is not later than `now` then. Otherwise it says when to ask again.
  Instant take(Instant now);
  // The provider refused. Nothing is sent before `retry_after` has passed.
  void refused(Instant now, Duration retry_after);
  void accepted(Instant now);

  // 0: no limit.
  double per_second() const;

 private:
  void refill(Instant now) REQUIRES(mu_);
  void count(Instant now) REQUIRES(mu_);
  double recent_pace(Instant now) const REQUIRES(mu_);

  mutable Mutex mu_;
  double per_second_ GUARDED_BY(mu_) = 0;
  double tokens_ GUARDED_BY(mu_) = 0;
  Instant filled_at_ GUARDED_BY(mu_) = Instant::min();
  Instant paused_until_ GUARDED_BY(mu_) = Instant::min();
  Instant cut_at_ GUARDED_BY(mu_) = Instant::min();
  Instant grown_at_ GUARDED_BY(mu_) = Instant::min();
  // Calls of this and of the previous second.
  Instant second_ GUARDED_BY(mu_) = Instant::min();
  std::uint32_t calls_ GUARDED_BY(mu_) = 0;
  std::uint32_t calls_before_ GUARDED_BY(mu_) = 0;
};

// What engines ask of providers.
enum class Action : std::uint8_t {
  list_listeners,
  create_listeners,
  remove_listeners,
  change_listeners,
  create_rules,
  remove_rules,
  change_rules,
  change_targets
};
std::string_view to_string(Action action);

// What clouds count: calls of one kind, of one account, in one region.
class Budgets {
 public:
  Budget& of(const model::LoadBalancerRef& lb, Action action) {
    const MutexLock lock(mu_);
    return budgets_[{lb.provider, lb.account, lb.region, action}];
  }

 private:
  using Counted = std::tuple<model::Provider, std::string, std::string, Action>;

  Mutex mu_;
  std::map<Counted, Budget> budgets_ GUARDED_BY(mu_);
};

}  // namespace berth::engine
