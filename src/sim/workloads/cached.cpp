#include "sim/workloads/cached.h"

#include <algorithm>

#include "base/mutex.h"

namespace berth::workloads {
namespace {

// Each in a task of its own; returns when all have ended.
Result<> send_batch(const Context& context, std::size_t first, std::size_t count,
                    const std::function<Result<>(const Context&, std::size_t)>& send) {
  if (count == 1) return send(context, first);
  std::vector<Result<>> outcomes(count);
  {
    std::vector<std::unique_ptr<Task>> tasks;
    for (std::size_t i = 0; i < count; ++i) {
      tasks.push_back(context.tasks.spawn(
          "batch", [&, i](std::stop_token) { outcomes[i] = send(context, first + i); }));
    }
    for (const auto& task : tasks) task->join();
  }
  for (Result<>& outcome : outcomes) {
    if (!outcome) return pass(outcome);
  }
  return {};
}

}  // namespace

Result<> slow_start(const Context& context, std::size_t count,
                    const std::function<Result<>(const Context&, std::size_t)>& send) {
  std::size_t batch = 1;
  for (std::size_t done = 0; done < count; done += batch, batch = std::min(2 * batch, kMaxBatch)) {
    batch = std::min(batch, count - done);
    if (Result<> sent = send_batch(context, done, batch, send); !sent) return sent;
  }
  return {};
}

Result<> unless_gone(Result<> written) {
  if (written) return written;
  const Code code = written.error().code;
  if (code == Code::not_found || code == Code::precondition) return {};
  return written;
}

}  // namespace berth::workloads
