// Points and spans of time, as values. Nothing here reads a clock: `Tasks` does.
//
// Instant is monotonic and counts from an arbitrary start; WallTime is for display, signatures and
// records that other programs read. Intervals are measured with Instant alone.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth {

using Duration = std::chrono::nanoseconds;

struct MonotonicClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<MonotonicClock>;
  static constexpr bool is_steady = true;
};

using Instant = MonotonicClock::time_point;
using WallTime = std::chrono::sys_time<std::chrono::nanoseconds>;

inline constexpr Instant kNever = Instant::max();

// `at + span`, held at kNever instead of overflowing.
Instant saturating_add(Instant at, Duration span);

inline double to_seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

// "2026-01-02T03:04:05Z", as metav1.Time has it.
std::string format_rfc3339(WallTime at);
// "2026-01-02T03:04:05.000006Z", as metav1.MicroTime (Lease) has it.
std::string format_rfc3339_micro(WallTime at);
// Any RFC 3339 time: fraction of up to nine digits, `Z` or a numeric offset.
Result<WallTime> parse_rfc3339(std::string_view text);

}  // namespace berth
