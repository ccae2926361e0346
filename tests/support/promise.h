#pragma once

// What the project promises never to happen, when a test has seen it happen.
// Threads: any.

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace berth::testing {

// tools/suites looks for it: a suite that has said this gets no second try, though it talks to real
// processes. Seen once is seen.
inline constexpr std::string_view kBrokenPromise = "BROKEN PROMISE: ";

// Says so in the suite's output, at once. Returns what it was given, as the reason of a failure.
[[nodiscard]] inline std::string broken_promise(std::string what) {
  fmt::print("{}{}\n", kBrokenPromise, what);
  (void)std::fflush(stdout);
  return what;
}

}  // namespace berth::testing
