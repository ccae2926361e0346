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
    Guest(Courtesy& courtesy, Tasks& tasks) : courtesy_(courtesy), tasks_(tasks) {
      ++courtesy_.guests_;
    }
    ~Guest() {
      courtesy_.last_left_ = tasks_.now().time_since_epoch().count();
      --courtesy_.guests_;
    }
    Guest(const Guest&) = delete;
    Guest& operator=(const Guest&) = delete;

   private:
    Courtesy& courtesy_;
    Tasks& tasks_;
  };

  // Before a write that can wait. Admissions that never end must not stop bulk work for good: while
  // there are some, one write goes at each turn, so that no claim finds a queue before it.
  void give_way(const Context& context) {
    while (expects_guests(context.tasks.now()) && !take_turn(context.tasks.now())) {
      if (!sleep_for(context.tasks, kStep, context.stop)) return;
    }
  }

 private:
  static constexpr Duration kStep = std::chrono::milliseconds{1};
  static constexpr Duration kTurn = std::chrono::milliseconds{4};
  // Rooms come one after the other: the next admission finds no storm that began meanwhile.
  static constexpr Duration kLinger = std::chrono::milliseconds{250};

  bool expects_guests(Instant now) const {
    return guests_ > 0 || now.time_since_epoch().count() < last_left_ + kLinger.count();
  }
  bool take_turn(Instant now) {
    Instant::rep next = next_turn_;
    return now.time_since_epoch().count() >= next &&
           next_turn_.compare_exchange_strong(next, (now + kTurn).time_since_epoch().count());
  }

  std::atomic<int> guests_{0};
  std::atomic<Instant::rep> last_left_{Instant::min().time_since_epoch().count()};
  std::atomic<Instant::rep> next_turn_{0};
};

}  // namespace berth::claims
