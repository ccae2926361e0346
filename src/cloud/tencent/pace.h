// Pace: when to ask how a task of the cloud is getting on. The first question comes early and, as
// the tasks of one kind are seen to end, when such a task is about to be over: each question costs
// a call of a budget that all load balancers share. Where that is short, the question comes when
// such tasks were over as a rule. Pure; owned by whoever locks it.
#pragma once

#include "base/time.h"

namespace berth::cloud::tencent {

class Pace {
 public:
  // After the answer to the write.
  Duration first() const { return expected_; }
  // When a question that must not be in vain may come.
  Duration surely() const { return surely_; }
  bool is_known() const { return is_known_; }
  // How long after the question of this number, counted from 1, that found it under way.
  Duration gap(int question) const;
  // It was over at the first question, which came when it should. Of many tasks that end together
  // one counts.
  void was_over_at_first(Duration over_at, Instant now);
  // It was under way at one question and over at the next.
  void was_over_between(Duration under_way_at, Duration over_at);
  // It was under way then; when it was over was not seen.
  void was_longer_than(Duration under_way_at);

 private:
  // What counts of one that lasted so long: by far longer ones count when they come in a row.
  static Duration counted(Duration seen, Duration usual, Duration& outlier);

  Duration expected_ = std::chrono::milliseconds{200};
  Duration surely_ = std::chrono::seconds{1};
  Duration outlier_{};  // of the former task; nothing: it was as usual
  Duration late_outlier_{};
  // Lately one was under way then: for a while no question comes so early again.
  Duration floor_{};
  int above_floor_ = 0;
  Duration good_{};  // one that was asked for then was over, and none since was not
  bool is_known_ = false;
  Instant shortened_at_ = Instant::min();
};

}  // namespace berth::cloud::tencent
