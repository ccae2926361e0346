// A mutex that knows how many are held by this task.
//
// No lock may be held over a seam call (a wait, an API call, a cloud call): on threads it would
// stall others, on fibers it would deadlock. Simulation asserts `locks_held() == 0` at every
// switch. Clang checks GUARDED_BY.
#pragma once

#include <mutex>

#if defined(__clang__)
#define BERTH_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define BERTH_THREAD_ANNOTATION(x)
#endif
#define GUARDED_BY(x) BERTH_THREAD_ANNOTATION(guarded_by(x))
#define REQUIRES(...) BERTH_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))

namespace berth {

// Of the calling thread. Fibers share their thread's count, which works because none switches with
// a lock held.
int& locks_held();

class BERTH_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  void lock() BERTH_THREAD_ANNOTATION(acquire_capability()) {
    mu_.lock();
    ++locks_held();
  }
  void unlock() BERTH_THREAD_ANNOTATION(release_capability()) {
    --locks_held();
    mu_.unlock();
  }

 private:
  std::mutex mu_;
};

class BERTH_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mu) BERTH_THREAD_ANNOTATION(acquire_capability(mu)) : mu_(mu) {
    mu_.lock();
  }
  ~MutexLock() BERTH_THREAD_ANNOTATION(release_capability()) { mu_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mu_;
};

}  // namespace berth
