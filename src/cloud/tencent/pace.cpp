#include "cloud/tencent/pace.h"

#include <algorithm>
#include <utility>

namespace berth::cloud::tencent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kSoonest = milliseconds{20};
constexpr Duration kLatestFirst = seconds{5};  // one slow task does not make the next one late
constexpr Duration kShortestGap = milliseconds{20};
constexpr Duration kLongestGap = seconds{2};
constexpr int kMostDoublings = 10;  // the longest is reached before
constexpr int kTasksAboveFloor = 16;
constexpr int kSurelyOf = 8;  // so many tasks that were shorter make it shorter

}  // namespace

// What is known to last so long is late by a little, as a rule. Otherwise it may be any time.
Duration Pace::gap(int question) const {
  const Duration first = std::max(kShortestGap, expected_ / (is_known_ ? 20 : 2));
  return std::min(kLongestGap, first * (1 << std::clamp(question - 1, 0, kMostDoublings)));
}

Duration Pace::counted(Duration seen, Duration usual, Duration& outlier) {
  const Duration before = std::exchange(outlier, Duration{});
  if (seen <= usual * 3 / 2) return seen;
  outlier = seen;
  return std::max(usual, std::min(seen, before));
}

// Whether it could have been asked earlier is found out slowly: asking too early costs a call.
void Pace::was_over_at_first(Duration over_at, Instant now) {
  outlier_ = late_outlier_ = {};
  const bool came_late = over_at > expected_ + kShortestGap;
  if (!came_late || surely_ > expected_ * 5 / 4)
    surely_ -= (surely_ - std::min(expected_ * 51 / 50, surely_)) / kSurelyOf;
  if (came_late) return;
  if (!is_known_) surely_ = over_at;
  is_known_ = true;
  if (shortened_at_ != Instant::min() && now - shortened_at_ < expected_) return;
  shortened_at_ = now;
  good_ = expected_;
  const Duration shorter = std::max(kSoonest, expected_ * 99 / 100);
  if (shorter <= floor_ && ++above_floor_ < kTasksAboveFloor) return;
  if (shorter <= floor_) floor_ = {};
  expected_ = shorter;
}

void Pace::was_over_between(Duration under_way_at, Duration over_at) {
  const bool was_good = under_way_at < good_ && good_ < over_at;
  if (!was_good) good_ = {};
  Duration about = was_good ? good_ : (under_way_at + over_at) / 2;
  floor_ = under_way_at;
  above_floor_ = 0;
  if (is_known_) {
    about = counted(about, expected_, outlier_);
    over_at = counted(over_at, surely_, late_outlier_);
  }
  expected_ = std::clamp(about, kSoonest, kLatestFirst);
  const bool is_shorter = is_known_ && over_at < surely_;
  surely_ += is_shorter ? (over_at - surely_) / kSurelyOf : over_at - surely_;
  surely_ = std::clamp(surely_, expected_, kLatestFirst);
  is_known_ = true;
}

void Pace::was_longer_than(Duration under_way_at) {
  if (under_way_at < expected_) return;
  const Duration longer = under_way_at + gap(1);
  expected_ = std::clamp(expected_, std::min(longer, kLatestFirst), kLatestFirst);
  surely_ = std::max(surely_, expected_);
}

}  // namespace berth::cloud::tencent
