// Pace: when to ask how a task of the cloud is getting on. The first question comes early and, as
// the tasks of one kind are seen to end, when such a task is about to be over: each question costs
// a call of a budget that all load balancers share. Pure; owned by whoever locks it.
#pragma once

#include "base/time.h"

namespace berth::cloud::tencent {

class Pace {
 public:
  // After the answer to the write.
  Duration first() const { return expected_; }
  // It was not over then: how long after the write to ask again.
  static Duration next(Duration asked_at);
  // It was over at `over_at`, and not yet at `under_way_at`, if it was asked before.
  void learn(Duration under_way_at, Duration over_at);

 private:
  Duration expected_ = std::chrono::milliseconds{200};
};

}  // namespace berth::cloud::tencent
