#pragma once

// Waiting for a condition that only the outside world can make true, in tests.
// Threads: any; the condition runs on the caller's thread.

#include <chrono>
#include <thread>

namespace berth::testing {

// Short against what is waited for (hundreds of milliseconds), long against a cheap check.
inline constexpr std::chrono::milliseconds kPollInterval{20};

// Asks until the answer is yes (true) or the time is over (false).
template <typename Condition>
[[nodiscard]] bool eventually(std::chrono::milliseconds timeout, Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    if (condition()) return true;
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kPollInterval);
  }
}

}  // namespace berth::testing
