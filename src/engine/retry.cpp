#include "engine/retry.h"

#include <algorithm>

namespace berth::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Duration kFirst = milliseconds{200};
constexpr Duration kLongest = seconds{30};
constexpr Duration kFirstSlow = seconds{15};
constexpr Duration kLongestSlow = minutes{5};
constexpr double kJitter = 0.3;
constexpr int kMaxDoublings = 16;  // the longest is reached before

Duration doubled(Duration first, Duration longest, int times) {
  return std::min(longest, first * (1 << std::clamp(times, 0, kMaxDoublings)));
}

}  // namespace

Treatment treatment_of(Code code) {
  switch (code) {
    case Code::throttled:
    case Code::unavailable: return Treatment::again;
    case Code::timeout:
    case Code::internal:
    case Code::not_found:
    case Code::already_exists:
    case Code::conflict:
    case Code::precondition:
    case Code::expired:
    case Code::too_new: return Treatment::look;
    case Code::exhausted:
    case Code::forbidden:
    case Code::unauthorized: return Treatment::slowly;
    case Code::invalid:
    case Code::unsupported: return Treatment::give_up;
    case Code::stopped: return Treatment::stop;
  }
  return Treatment::slowly;
}

Duration delay_of(Treatment treatment, int attempts,
                  std::optional<std::chrono::nanoseconds> retry_after, Random& random) {
  Duration delay{};
  switch (treatment) {
    case Treatment::again:
    case Treatment::stop: delay = doubled(kFirst, kLongest, attempts - 1); break;
    case Treatment::look:
      if (attempts > 1) delay = doubled(kFirst, kLongest, attempts - 2);
      break;
    case Treatment::slowly:
    case Treatment::give_up: delay = doubled(kFirstSlow, kLongestSlow, attempts - 1); break;
  }
  return random.jittered(std::max(delay, retry_after.value_or(Duration{})), kJitter);
}

}  // namespace berth::engine
