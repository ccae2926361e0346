// Whether a call to the API server is made once more, and after what pause. Pure.
#pragma once

#include <optional>

#include "base/result.h"
#include "base/time.h"

namespace berth::kube {

// A read whose connection broke is tried again this often: each new connection may reach another
// server behind the address. Past it the server is down, and the caller should hear of it.
inline constexpr int kMaxReconnects = 2;
inline constexpr Duration kReconnectPause = std::chrono::seconds{1};

// How an attempt ended.
struct Attempt {
  bool is_read = false;        // GET: it has no effect
  int status = 0;              // of the answer; 0 when none arrived
  Code code = Code::internal;  // of the error that answer or transport stand for
  std::optional<Duration> retry_after{};
  int made_before = 0;  // attempts before this one
};

// The pause before the next attempt; nullopt: this one counts.
std::optional<Duration> pause_before_retry(const Attempt& attempt, int max_retries);

}  // namespace berth::kube
