// How many calls a provider's API takes, learned from its refusals.
//
// There is no limit before the first refusal, unless a driver knows one. A refusal halves the pace,
// or the pace at which calls were made until then; time without one lets it grow again. Drivers pay
// before each call of theirs, and whoever plans calls asks first whether there is room.
// Thread-safe.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "base/context.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/time.h"
#include "model/load_balancer.h"

namespace berth::lb {

class Budget {
 public:
  // Takes one call: its answer is not later than `now` then. Otherwise it says when to ask again.
  Instant take(Instant now);
  // When so many calls have room, as far as is known now: not later than `now` if they have it
  // already. Takes nothing; those who wait to pay come first.
  Instant free_at(Instant now, std::size_t calls = 1) const;
  // The provider refused. Nothing is sent before `retry_after` has passed.
  void refused(Instant now, Duration retry_after);
  void accepted(Instant now);
  // As many as the provider says that it takes in any one second; 0: it does not say.
  void set_limit(std::uint32_t calls);

  // What was learned from refusals. 0: no limit.
  double per_second() const;

 private:
  friend Result<> pay(const Context& context, Budget& budget);
  void count_waiting(int more);
  double tokens_at(Instant now) const REQUIRES(mu_);
  void refill(Instant now) REQUIRES(mu_);
  void count(Instant now) REQUIRES(mu_);
  double recent_pace(Instant now) const REQUIRES(mu_);
  Instant within_limit_at(Instant now, std::size_t calls) const REQUIRES(mu_);

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
  int waiting_ GUARDED_BY(mu_) = 0;  // to pay
  std::size_t limit_ GUARDED_BY(mu_) = 0;
  std::deque<Instant> lately_ GUARDED_BY(mu_){};  // calls of the last second, where that is limited
};

// What a cloud counts together: calls of one kind, of one account, in one region.
struct Counted {
  model::Provider provider = model::Provider::edge;
  std::string account{};
  std::string region{};
  std::string action{};  // as the provider's API calls it; polls and describes, too

  friend auto operator<=>(const Counted&, const Counted&) = default;
};

// Owned by a driver. A budget lives as long as they do.
class Budgets {
 public:
  // The limit of each budget until another is set.
  explicit Budgets(std::uint32_t limit = 0) : limit_(limit) {}

  Budget& of(const Counted& counted) {
    const MutexLock lock(mu_);
    const auto [it, fresh] = budgets_.try_emplace(counted);
    if (fresh) it->second.set_limit(limit_);
    return it->second;
  }

 private:
  const std::uint32_t limit_;
  Mutex mu_;
  std::map<Counted, Budget> budgets_ GUARDED_BY(mu_);
};

// Before each call to the API: waits until there is room for it. `throttled` when there is none
// before the deadline: nothing was sent.
Result<> pay(const Context& context, Budget& budget);

// After each call: how it ended. One entry of a batch that was refused is enough.
void tell(Budget& budget, Instant now, const Error* error);
template <class T>
void tell(Budget& budget, Instant now, const Result<T>& result) {
  tell(budget, now, result ? nullptr : &result.error());
}
template <class T>
void tell(Budget& budget, Instant now, const std::vector<Result<T>>& results) {
  const Error* refusal = nullptr;
  for (const Result<T>& result : results) {
    if (result || result.error().code != Code::throttled) continue;
    if (!refusal || refusal->retry_after < result.error().retry_after) refusal = &result.error();
  }
  tell(budget, now, refusal);
}

}  // namespace berth::lb
