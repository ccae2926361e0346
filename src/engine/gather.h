// Gather: how long the wishes of one place wait for others.
//
// A call takes many wishes, and who misses it waits until it is over. So where calls are slow it is
// worth a small part of what one takes to wait for those that come just after the first, announced
// or not; for those that are known to be almost there, a little more. Where calls are quick nobody
// waits. What collected during a call has waited enough. Pure; belongs to a box.
#pragma once

#include <deque>
#include <unordered_map>
#include <utility>

#include "base/time.h"
#include "engine/engine.h"

namespace berth::engine {

// Wishes that were announced and have not come. Each counts for a while.
class Expected {
 public:
  void add(const WishKey& key, Instant now, Duration lasts);
  void erase(const WishKey& key) { until_.erase(key); }
  bool any(Instant now);

 private:
  std::unordered_map<WishKey, Instant> until_;
  std::deque<std::pair<Instant, WishKey>> order_;  // those that came included
};

class Gather {
 public:
  // `call`: what a call to the place takes, as far as is known.
  void expect(const WishKey& key, Notice notice, Instant now, Duration call);
  // A wish has come. When all that are there shall leave: not later than `now` when they need not
  // wait.
  Instant came(const WishKey& key, Instant now, Duration call);
  // They have left.
  void end() {
    since_ = kNever;
    is_burst_ = false;
  }

 private:
  Expected likely_;
  Expected written_;
  Instant since_ = kNever;  // the first of those that wait
  bool is_burst_ = false;   // one of them came while others were likely to
};

}  // namespace berth::engine
