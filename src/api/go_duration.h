// Durations as users write them in annotations: those of Go's time.ParseDuration. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace berth::api {

// "5m", "2h45m", "1.5h", "300ms", "-10s", "0". Units: ns, us, µs, ms, s, m, h. Errors quote the
// text.
Result<Duration> parse_go_duration(std::string_view text);
// In hours, minutes and seconds without those that are 0: "720h", "1m30s". Fractions are cut.
std::string format_go_duration(Duration span);

}  // namespace berth::api
