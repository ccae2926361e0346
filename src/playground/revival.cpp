#include "playground/revival.h"

namespace berth::playground {

Result<> keep_running(const Context& context, const Revival& revival,
                      const std::function<Result<>(const Context&)>& run,
                      const std::function<void(const Error&)>& on_end) {
  for (int failed_starts = 0;;) {
    const Instant began = context.tasks.now();
    Result<> ran = run(context);
    if (context.stop.stop_requested()) return {};
    const Error why = ran ? error_of(Code::internal, "it ended by itself") : ran.error();
    const bool settled = context.tasks.now() - began >= revival.settled;
    failed_starts = settled ? 0 : failed_starts + 1;
    if (failed_starts >= revival.max_failed_starts) return fail(why);
    on_end(why);
    if (!sleep_for(context.tasks, revival.pause, context.stop)) return {};
  }
}

}  // namespace berth::playground
