// What is done about a failed call, by the code of its error; and how long to wait before. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "base/random.h"
#include "base/result.h"
#include "base/time.h"

namespace berth::engine {

enum class Treatment : std::uint8_t {
  again,    // nothing happened: try again soon
  look,     // what happened is not known, or we were wrong: list first, then try again
  slowly,   // somebody has to do something about it: report it, and try again now and then
  give_up,  // the same wish will never succeed: report it
  stop,     // our own process ends
};

Treatment treatment_of(Code code);

// Transient failures are reported when they last: this many in a row.
inline constexpr int kReportAfter = 3;

// After the `attempts`-th failure in a row; not shorter than `retry_after`. The first look is at
// once.
Duration delay_of(Treatment treatment, int attempts,
                  std::optional<std::chrono::nanoseconds> retry_after, Random& random);

}  // namespace berth::engine
