// Durations as users write them in annotations: those of Go's time.ParseDuration. Pure.
#pragma once

#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace berth::api {

// "5m", "2h45m", "1.5h", "300ms", "-10s", "0". Units: ns, us, µs, ms, s, m, h. Errors quote the
// text.
Result<Duration> parse_go_duration(std::string_view text);

}  // namespace berth::api
