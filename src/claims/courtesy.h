// Bulk work of this process lets admissions go first: the API server that both of them write to is
// waiting for the webhook. Across processes the API priority levels do the same.
//
// Thread-safe; owned by the composition root.
#pragma once

#include <atomic>

#include "base/context.h"
#include "base/time.h"

namespace berth::claims {

class Courtesy {
 public:
  // While it lives, an admission is under way.
  class Guest {
   public:
    explicit Guest(Courtesy& courtesy) : courtesy_(courtesy) { ++courtesy_.guests_; }
    ~Guest() { --courtesy_.guests_; }
    Guest(const Guest&) = delete;
    Guest& operator=(const Guest&) = delete;

   private:
    Courtesy& courtesy_;
  };

  // Before a write that can wait. Admissions that never end must not stop bulk work for good: while
  // there are some, one write goes at each turn, so that no claim finds a queue before it.
  void give_way(const Context& context) {
    while (guests_ > 0 && !take_turn(context.tasks.now())) {
      if (!sleep_for(context.tasks, kStep, context.stop)) return;
    }
  }

 private:
  static constexpr Duration kStep = std::chrono::milliseconds{1};
  static constexpr Duration kTurn = std::chrono::milliseconds{2};

  bool take_turn(Instant now) {
    Instant::rep next = next_turn_;
    return now.time_since_epoch().count() >= next &&
           next_turn_.compare_exchange_strong(next, (now + kTurn).time_since_epoch().count());
  }

  std::atomic<int> guests_{0};
  std::atomic<Instant::rep> next_turn_{0};
};

}  // namespace berth::claims
