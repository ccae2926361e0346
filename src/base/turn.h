// A mutex for work that one task does at a time and that others may leave to it. Counted like
// `Mutex`: what is done in a turn must not wait.
#pragma once

#include "base/mutex.h"

namespace berth {

class BERTH_THREAD_ANNOTATION(capability("mutex")) Turn {
 public:
  void lock() BERTH_THREAD_ANNOTATION(acquire_capability()) {
    mu_.lock();
    ++locks_held();
  }
  // Not by a task that has it.
  bool try_lock() BERTH_THREAD_ANNOTATION(try_acquire_capability(true)) {
    const bool taken = mu_.try_lock();
    if (taken) ++locks_held();
    return taken;
  }
  void unlock() BERTH_THREAD_ANNOTATION(release_capability()) {
    --locks_held();
    mu_.unlock();
  }

 private:
  std::mutex mu_;
};

}  // namespace berth
