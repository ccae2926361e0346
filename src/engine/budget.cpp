#include "engine/budget.h"

#include <algorithm>
#include <array>

namespace berth::engine {
namespace {

using std::chrono::seconds;

constexpr double kSlowest = 0.5;  // calls a second: an API that refuses more is out of order
// Faster than our workers can call; from here on the limit has no effect.
constexpr double kFastest = 500;
constexpr double kBurstSeconds = 0.5;
// Calls that were on their way when the first was refused say nothing new.
constexpr Duration kCutInterval = seconds{1};
constexpr double kGrowthPerSecond = 0.05;

Duration seconds_of(double count) { return Duration{static_cast<Duration::rep>(count * 1e9) + 1}; }

constexpr std::array<std::string_view, 8> kActions{
    "list_listeners", "create_listeners", "remove_listeners", "change_listeners",
    "create_rules",   "remove_rules",     "change_rules",     "change_targets"};

}  // namespace

std::string_view to_string(Action action) { return kActions[static_cast<std::size_t>(action)]; }

void Budget::refill(Instant now) {
  if (now <= filled_at_) return;
  const double burst = std::max(1.0, per_second_ * kBurstSeconds);
  const double passed = filled_at_ == Instant::min() ? 0 : to_seconds(now - filled_at_);
  tokens_ = std::min(burst, tokens_ + passed * per_second_);
  filled_at_ = now;
}

void Budget::count(Instant now) {
  if (second_ == Instant::min()) second_ = now;
  if (now - second_ >= seconds{1}) {
    calls_before_ = now - second_ >= seconds{2} ? 0 : calls_;
    calls_ = 0;
    second_ = now;
  }
  ++calls_;
}

double Budget::recent_pace(Instant now) const {
  if (second_ == Instant::min() || now - second_ >= seconds{2}) return kSlowest;
  return std::max<double>({kSlowest, double(calls_), double(calls_before_)});
}

Instant Budget::take(Instant now) {
  const MutexLock lock(mu_);
  if (now < paused_until_) return paused_until_;
  if (per_second_ > 0) {
    refill(now);
    if (tokens_ < 1) return now + seconds_of((1 - tokens_) / per_second_);
    tokens_ -= 1;
  }
  count(now);
  return now;
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
  if (per_second_ >= kFastest) per_second_ = 0;
}

double Budget::per_second() const {
  const MutexLock lock(mu_);
  return per_second_;
}

}  // namespace berth::engine
