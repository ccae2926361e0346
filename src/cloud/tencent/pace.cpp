#include "cloud/tencent/pace.h"

#include <algorithm>

namespace berth::cloud::tencent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kSoonest = milliseconds{20};
constexpr Duration kLatestFirst = seconds{5};  // one slow task does not make the next one late
constexpr Duration kShortestGap = milliseconds{50};
constexpr Duration kLongestGap = seconds{2};

}  // namespace

Duration Pace::next(Duration asked_at) {
  return asked_at + std::clamp<Duration>(asked_at / 4, kShortestGap, kLongestGap);
}

void Pace::learn(Duration under_way_at, Duration over_at) {
  // Over at the first question: ask the next a little earlier. Otherwise go half of the way.
  const Duration seen =
      under_way_at == Duration::zero() ? over_at * 97 / 100 : (expected_ + over_at) / 2;
  expected_ = std::clamp<Duration>(seen, kSoonest, kLatestFirst);
}

}  // namespace berth::cloud::tencent
