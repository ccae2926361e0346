// A part that is started again when it ends, as a container would be.
//
// For the controller: one that finds its lease in other hands ends itself, and in a playground
// nobody else is there to take over. Blocks the task that calls it.
#pragma once

#include <functional>

#include "base/context.h"

namespace berth::playground {

struct Revival {
  Duration pause = std::chrono::milliseconds{500};  // before the next start
  // An end that comes sooner than this after its start is a failure to start.
  Duration settled = std::chrono::seconds{5};
  int max_failed_starts = 5;  // in a row; then it is given up
};

// Runs it until the stop (success). `on_end` hears of each end after which it is started again.
// Fails with the last error once it is given up.
Result<> keep_running(const Context& context, const Revival& revival,
                      const std::function<Result<>(const Context&)>& run,
                      const std::function<void(const Error&)>& on_end);

}  // namespace berth::playground
