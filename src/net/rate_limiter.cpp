#include "net/rate_limiter.h"

#include <algorithm>
#include <cmath>

namespace berth::net {
namespace {

Rate with_bounds(Rate rate) {
  rate.burst = std::max(rate.burst, 1.0);
  return rate;
}

// A century: a rate near zero must not overflow the count of nanoseconds.
constexpr double kLongestWaitSeconds = 3.2e9;

Duration seconds(double count) {
  count = std::min(count, kLongestWaitSeconds);
  return Duration{static_cast<Duration::rep>(std::ceil(count * 1e9))};
}

}  // namespace

RateLimiter::RateLimiter(Rate rate) : rate_(with_bounds(rate)), tokens_(rate_.burst) {}

void RateLimiter::refill(Instant now) {
  if (filled_at_ != Instant::min() && now > filled_at_) {
    tokens_ = std::min(rate_.burst, tokens_ + to_seconds(now - filled_at_) * rate_.per_second);
  }
  // Callers read the clock before they get the lock: a time from the past adds nothing.
  filled_at_ = std::max(filled_at_, now);
}

bool RateLimiter::try_take(Instant now) {
  const MutexLock lock(mu_);
  if (rate_.per_second <= 0) return true;
  refill(now);
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

Instant RateLimiter::reserve(Instant now) {
  const MutexLock lock(mu_);
  if (rate_.per_second <= 0) return now;
  refill(now);
  tokens_ -= 1;
  if (tokens_ >= 0) return now;
  return saturating_add(now, seconds(-tokens_ / rate_.per_second));
}

void RateLimiter::give_back() {
  const MutexLock lock(mu_);
  tokens_ = std::min(rate_.burst, tokens_ + 1);
}

void RateLimiter::set_rate(Rate rate, Instant now) {
  const MutexLock lock(mu_);
  refill(now);
  rate_ = with_bounds(rate);
  tokens_ = std::min(tokens_, rate_.burst);
}

Result<> take(const Context& context, RateLimiter& limiter) {
  if (context.expired()) return fail(context.end_error());
  const Instant now = context.tasks.now();
  const Instant ready = limiter.reserve(now);
  if (ready <= now) return {};
  if (ready >= context.deadline) {
    limiter.give_back();
    Error error =
        error_of(Code::throttled, "our own rate limit leaves no room before the deadline");
    error.retry_after = ready - now;
    return fail(std::move(error));
  }
  if (!sleep_for(context.tasks, ready - now, context.stop)) {
    limiter.give_back();
    return fail(context.end_error());
  }
  return {};
}

}  // namespace berth::net
