#include "lb/budget.h"

#include <algorithm>

namespace berth::lb {
namespace {

using std::chrono::seconds;

constexpr double kSlowest = 0.5;  // calls a second: an API that refuses more is out of order
// Faster than our workers can call; from here on the limit has no effect.
constexpr double kFastest = 500;
constexpr double kBurstSeconds = 0.5;
// Calls that were on their way when the first was refused say nothing new.
constexpr Duration kCutInterval = seconds{1};
constexpr double kGrowthPerSecond = 0.05;
// A provider's second, and a little for calls that overtake each other on the way.
constexpr Duration kWindow = std::chrono::milliseconds{1020};

Duration seconds_of(double count) { return Duration{static_cast<Duration::rep>(count * 1e9) + 1}; }

}  // namespace

double Budget::tokens_at(Instant now) const {
  if (now <= filled_at_) return tokens_;
  const double burst = std::max(1.0, per_second_ * kBurstSeconds);
  const double passed = filled_at_ == Instant::min() ? 0 : to_seconds(now - filled_at_);
  return std::min(burst, tokens_ + passed * per_second_);
}

void Budget::refill(Instant now) {
  tokens_ = tokens_at(now);
  filled_at_ = std::max(filled_at_, now);
}

void Budget::count(Instant now) {
  if (second_ == Instant::min()) second_ = now;
  if (now - second_ >= seconds{1}) {
    calls_before_ = now - second_ >= seconds{2} ? 0 : calls_;
    calls_ = 0;
    second_ = now;
  }
  ++calls_;
  if (limit_ == 0) return;
  while (!lately_.empty() && lately_.front() + kWindow <= now) lately_.pop_front();
  lately_.push_back(now);
}

// When so many more fit the provider's second.
Instant Budget::within_limit_at(Instant now, std::size_t calls) const {
  if (limit_ == 0) return now;
  const auto first = std::ranges::find_if(lately_, [&](Instant at) { return at + kWindow > now; });
  const auto recent = static_cast<std::size_t>(lately_.end() - first);
  if (recent + calls <= limit_) return now;
  const std::size_t must_pass = recent + calls - limit_;
  if (must_pass <= recent) return *(first + static_cast<std::ptrdiff_t>(must_pass - 1)) + kWindow;
  return now + kWindow * static_cast<std::int64_t>(1 + (must_pass - recent) / limit_);
}

double Budget::recent_pace(Instant now) const {
  if (second_ == Instant::min() || now - second_ >= seconds{2}) return kSlowest;
  return std::max<double>({kSlowest, double(calls_), double(calls_before_)});
}

Instant Budget::take(Instant now) {
  const MutexLock lock(mu_);
  if (now < paused_until_) return paused_until_;
  if (const Instant at = within_limit_at(now, 1); at > now) return at;
  if (per_second_ > 0) {
    refill(now);
    if (tokens_ < 1) return now + seconds_of((1 - tokens_) / per_second_);
    tokens_ -= 1;
  }
  count(now);
  return now;
}

Instant Budget::free_at(Instant now, std::size_t calls) const {
  const MutexLock lock(mu_);
  if (now < paused_until_) return paused_until_;
  const Instant at = within_limit_at(now, calls + static_cast<std::size_t>(waiting_));
  if (per_second_ <= 0) return at;
  const double missing = static_cast<double>(calls) + waiting_ - tokens_at(now);
  return missing <= 0 ? at : std::max(at, now + seconds_of(missing / per_second_));
}

void Budget::set_limit(std::uint32_t calls) {
  const MutexLock lock(mu_);
  limit_ = calls;
  if (limit_ == 0) lately_.clear();
}

void Budget::count_waiting(int more) {
  const MutexLock lock(mu_);
  waiting_ += more;
}

void Budget::refused(Instant now, Duration retry_after) {
  const MutexLock lock(mu_);
  paused_until_ = std::max(paused_until_, saturating_add(now, retry_after));
  if (cut_at_ != Instant::min() && now - cut_at_ < kCutInterval) return;
  const double pace = per_second_ > 0 ? per_second_ : recent_pace(now);
  per_second_ = std::max(kSlowest, pace / 2);
  tokens_ = std::min(tokens_, 1.0);
  filled_at_ = std::max(filled_at_, now);
  cut_at_ = now;
  grown_at_ = now;
}

void Budget::accepted(Instant now) {
  const MutexLock lock(mu_);
  if (per_second_ <= 0 || now <= grown_at_) return;
  refill(now);
  // An hour of silence is not a reason to rush.
  const double passed = std::min(to_seconds(now - grown_at_), 10.0);
  per_second_ *= 1 + kGrowthPerSecond * passed;
  grown_at_ = now;
  const double fastest = limit_ > 0 ? static_cast<double>(limit_) : kFastest;
  if (per_second_ >= fastest) per_second_ = 0;
}

double Budget::per_second() const {
  const MutexLock lock(mu_);
  return per_second_;
}

Result<> pay(const Context& context, Budget& budget) {
  for (;;) {
    if (context.expired()) return fail(context.end_error());
    const Instant now = context.tasks.now();
    const Instant at = budget.take(now);
    if (at <= now) return {};
    if (at >= context.deadline) {
      Error error = error_of(Code::throttled, "the provider takes no more calls of this kind now");
      error.retry_after = at - now;
      return fail(std::move(error));
    }
    budget.count_waiting(1);
    (void)sleep_for(context.tasks, at - now, context.stop);
    budget.count_waiting(-1);
  }
}

void tell(Budget& budget, Instant now, const Error* error) {
  if (error && error->code == Code::throttled) {
    budget.refused(now, Duration(error->retry_after.value_or(Duration{})));
  } else {
    budget.accepted(now);
  }
}

}  // namespace berth::lb
