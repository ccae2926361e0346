#include "base/parallel.h"

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"

namespace berth {

Result<> for_each_parallel(const Context& context, std::size_t count, std::size_t width,
                           const std::function<Result<>(const Context&, std::size_t i)>& work) {
  if (count == 0) return {};
  std::atomic<std::size_t> next{0};
  Mutex mu;
  std::optional<Error> failure;
  const auto has_failed = [&] {
    const MutexLock lock(mu);
    return failure.has_value();
  };
  const auto run = [&](const Context& own) {
    for (std::size_t i = next++; i < count && !has_failed(); i = next++) {
      if (own.expired()) return;
      Result<> done = work(own, i);
      if (done) continue;
      const MutexLock lock(mu);
      if (!failure) failure = std::move(done.error());
    }
  };
  {
    std::vector<std::unique_ptr<Task>> helpers;
    for (std::size_t i = 1; i < std::min(width, count); ++i) {
      helpers.push_back(context.tasks.spawn("parallel", [&](std::stop_token) { run(context); }));
    }
    run(context);
    for (const auto& helper : helpers) helper->join();
  }
  if (failure) return fail(std::move(*failure));
  if (next < count) return fail(context.end_error());
  return {};
}

}  // namespace berth
