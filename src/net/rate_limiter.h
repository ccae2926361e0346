// A token bucket: so many a second on average, so many at once. Thread-safe.
//
// It reads no clock: the caller passes the time, so simulation and tests decide it.
#pragma once

#include "base/context.h"
#include "base/mutex.h"
#include "base/time.h"

namespace berth::net {

struct Rate {
  double per_second = 0;  // 0 or less: no limit
  double burst = 1;       // at least 1
};

class RateLimiter {
 public:
  // Starts full.
  explicit RateLimiter(Rate rate);

  // Takes a token if one is there.
  bool try_take(Instant now);
  // Takes a token in any case and says from when on it may be used. Those who come later get later
  // times, so waiters are served in the order they asked.
  Instant reserve(Instant now);
  // A reserved token that will not be used.
  void give_back();
  // What was reserved stays reserved.
  void set_rate(Rate rate, Instant now);

 private:
  void refill(Instant now) REQUIRES(mu_);

  mutable Mutex mu_;
  Rate rate_ GUARDED_BY(mu_);
  double tokens_ GUARDED_BY(mu_);  // negative: reserved ahead of time
  Instant filled_at_ GUARDED_BY(mu_) = Instant::min();
};

// Waits for a token. When it would come after the context's deadline the answer is `throttled` at
// once, with the time it would have taken: nothing was sent, so the effect is known.
Result<> take(const Context& context, RateLimiter& limiter);

}  // namespace berth::net
