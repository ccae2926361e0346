// How long to wait between attempts that fail. Not thread-safe: each loop has its own.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/random.h"
#include "base/time.h"

namespace berth::kube {

struct BackoffPolicy {
  Duration first = std::chrono::milliseconds{800};
  Duration most = std::chrono::seconds{30};
  double jitter =
      1.0;  // up to this much of a wait is added, so that clients do not return together
  Duration healthy = std::chrono::minutes{2};  // without an attempt that failed: start over
};

class Backoff {
 public:
  explicit Backoff(BackoffPolicy policy = {}) : policy_(policy), next_(policy.first) {}

  // The wait after an attempt that failed at `now`: each time twice the last.
  Duration next(Instant now, Random& random) {
    if (failed_before_ && now - last_ > policy_.healthy) next_ = policy_.first;
    failed_before_ = true;
    last_ = now;
    const Duration wait = random.jittered(next_, policy_.jitter);
    next_ = std::min(next_ * 2, policy_.most);
    return wait;
  }

 private:
  BackoffPolicy policy_;
  Duration next_;
  Instant last_{};
  bool failed_before_ = false;
};

}  // namespace berth::kube
