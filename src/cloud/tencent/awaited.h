// Awaited: the tasks that somebody waits for, of one account in one region. Questions for them are
// paid from one budget, so who asks when depends on who else waits. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "base/mutex.h"
#include "base/time.h"
#include "cloud/tencent/pace.h"
#include "lb/budget.h"

namespace berth::cloud::tencent {

class Awaited {
 public:
  // One that is waited for, as long as this lives.
  class Task {
   public:
    // `questions`: what asking for it is paid from. Both outlive it.
    Task(Awaited& all, lb::Budget& questions, Instant start);
    ~Task();
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;

    // When it is time for the first question, or to look again: not later than `now` when it is
    // time. Early, where a question in vain takes none from others; otherwise when such tasks are
    // over as a rule. While that is not known, the oldest finds it out for all.
    Instant first_question(const Pace& pace, Instant now) const;

   private:
    Awaited& all_;
    lb::Budget& questions_;
    const std::pair<Instant, std::uint64_t> place_;
  };

 private:
  using Queue = std::set<std::pair<Instant, std::uint64_t>>;  // oldest first

  Mutex mu_;
  std::map<const lb::Budget*, Queue> queues_ GUARDED_BY(mu_);
  std::uint64_t next_ GUARDED_BY(mu_) = 1;
};

}  // namespace berth::cloud::tencent
