// What is known of the quota of one load balancer, or of one gateway for all its addresses: all who
// make listeners there share it. Thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>

#include "base/mutex.h"
#include "base/result.h"
#include "base/time.h"

namespace berth::engine {

class Quota {
 public:
  static constexpr std::size_t kNoBound = std::numeric_limits<std::size_t>::max();

  // A quota that is full is full for all that wait: they are tried by ones, and after a failure not
  // before that time.
  struct State {
    std::size_t at_once = kNoBound;
    Instant full_until = Instant::min();
    std::optional<Error> full{};
  };
  State state() const;

  // How creations ended: whether some were made, and what those were told that found no room.
  void note(bool made, const std::optional<Error>& full, Instant now,
            const std::function<Duration(int attempts)>& delay);
  // A listener was removed.
  void make_room();

 private:
  mutable Mutex mu_;
  State state_ GUARDED_BY(mu_);
  int attempts_ GUARDED_BY(mu_) = 0;
};

}  // namespace berth::engine
