#include "engine/quota.h"

namespace berth::engine {

Quota::State Quota::state() const {
  const MutexLock lock(mu_);
  return state_;
}

// A call for many may fail for all of them where there is room for some: then one is tried.
void Quota::note(bool made, const std::optional<Error>& full, Instant now,
                 const std::function<Duration(int attempts)>& delay) {
  const MutexLock lock(mu_);
  if (made) attempts_ = 0;
  if (full) {
    const bool for_certain = made || state_.at_once == 1;
    state_.full = full;
    state_.at_once = 1;
    if (for_certain) state_.full_until = now + delay(++attempts_);
  } else if (made && state_.at_once < kNoBound / 2) {
    state_.at_once *= 2;
  }
}

void Quota::make_room() {
  const MutexLock lock(mu_);
  state_.full_until = Instant::min();
}

}  // namespace berth::engine
