// Tasks that wait for a condition of somebody else. Thread-safe.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "base/context.h"
#include "base/mutex.h"
#include "wire/json_reader.h"

namespace berth::kube {

class Waiters {
 public:
  // Blocks until the condition holds; it is asked again after each `notify_all`.
  Result<> wait(const Context& context, wire::FunctionRef<bool()> holds) {
    const std::shared_ptr<Signal> signal = context.tasks.signal();
    {
      const MutexLock lock(mu_);
      waiting_.push_back(signal);
    }
    bool held = holds();
    while (!held && !context.expired()) {
      (void)context.tasks.wait(*signal, context.deadline, context.stop);
      held = holds();
    }
    {
      const MutexLock lock(mu_);
      std::erase(waiting_, signal);
    }
    if (!held) return fail(context.end_error());
    return {};
  }

  void notify_all() {
    std::vector<std::shared_ptr<Signal>> all;
    {
      const MutexLock lock(mu_);
      all = waiting_;
    }
    for (const auto& signal : all) signal->notify();
  }

 private:
  Mutex mu_;
  std::vector<std::shared_ptr<Signal>> waiting_ GUARDED_BY(mu_);
};

}  // namespace berth::kube
