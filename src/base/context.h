// What a blocking call obeys and carries: stop, deadline, and the fields of its log lines.
//
// Passed by const reference down the call tree; cheap to copy. A call that blocks returns `stopped`
// or `timeout` soon after the stop or the deadline.
#pragma once

#include <algorithm>
#include <stop_token>

#include "base/log.h"
#include "base/tasks.h"

namespace berth {

struct Context {
  Tasks& tasks;
  std::stop_token stop{};
  Instant deadline = kNever;
  LogFields fields{};

  // The same call with an earlier deadline; a later one changes nothing.
  Context within(Duration span) const {
    Context shorter = *this;
    shorter.deadline = std::min(deadline, saturating_add(tasks.now(), span));
    return shorter;
  }
  Context with(LogField field) const {
    Context more = *this;
    more.fields.push_back(std::move(field));
    return more;
  }

  bool expired() const { return stop.stop_requested() || tasks.now() >= deadline; }

  // The error to return when `expired()`.
  Error end_error() const {
    if (stop.stop_requested()) return error_of(Code::stopped, "stopping");
    return error_of(Code::timeout, "the deadline passed");
  }
};

}  // namespace berth
