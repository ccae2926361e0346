#include "cloud/tencent/pace.h"

#include <algorithm>

namespace berth::cloud::tencent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kSoonest = milliseconds{20};
constexpr Duration kLatestFirst = seconds{5};  // one slow task does not make the next one late
constexpr Duration kShortestGap = milliseconds{20};
constexpr Duration kLongestGap = seconds{2};
constexpr int kMostDoublings = 10;  // the longest is reached before

}  // namespace

// What is known to last so long is late by a little, as a rule. Otherwise it may be any time.
Duration Pace::gap(int question) const {
  const Duration first = std::max(kShortestGap, expected_ / (is_known_ ? 10 : 2));
  return std::min(kLongestGap, first * (1 << std::clamp(question - 1, 0, kMostDoublings)));
}

// Whether it could have been asked earlier is found out slowly: asking too early costs a call.
void Pace::was_over_at_first(Instant now) {
  is_known_ = true;
  if (shortened_at_ != Instant::min() && now - shortened_at_ < expected_) return;
  expected_ = std::max(kSoonest, expected_ * 99 / 100);
  shortened_at_ = now;
}

void Pace::was_over_between(Duration under_way_at, Duration over_at) {
  expected_ = std::clamp<Duration>((under_way_at + over_at) / 2, kSoonest, kLatestFirst);
  is_known_ = true;
}

void Pace::was_longer_than(Duration under_way_at) {
  if (under_way_at < expected_) return;
  const Duration longer = under_way_at + gap(1);
  expected_ = std::clamp(expected_, std::min(longer, kLatestFirst), kLatestFirst);
}

}  // namespace berth::cloud::tencent
