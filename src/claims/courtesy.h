// Bulk work of this process lets admissions go first: the API server that both of them write to is
// waiting for the webhook. Across processes the API priority levels do the same.
//
// Thread-safe; owned by the composition root.
#pragma once

#include <atomic>

#include "base/context.h"

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

  // Before a write that can wait. Admissions that never end must not stop it for good.
  void give_way(const Context& context) const {
    for (Duration waited{}; guests_ > 0 && waited < kMaxWait; waited += kStep) {
      if (!sleep_for(context.tasks, kStep, context.stop)) return;
    }
  }

 private:
  static constexpr Duration kStep = std::chrono::milliseconds{1};
  static constexpr Duration kMaxWait = std::chrono::milliseconds{20};

  std::atomic<int> guests_{0};
};

}  // namespace berth::claims
