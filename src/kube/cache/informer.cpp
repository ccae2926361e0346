#include "kube/cache/informer.h"

namespace berth::kube {

InformerCore::InformerCore(Tasks& tasks, Client& client, ReflectorTarget& target,
                           StoreProgress& progress, ReflectorOptions options, Random random)
    : tasks_(tasks),
      progress_(progress),
      type_(options.type),
      reflector_(client, target, std::move(options), random) {
  progress.on_progress([this] { waiters_.notify_all(); });
}

void InformerCore::start(std::stop_token stop) {
  task_ = tasks_.spawn("informer " + type_.plural, [this](std::stop_token stopped) {
    reflector_.run(Context{.tasks = tasks_, .stop = std::move(stopped)});
  });
  stop_.emplace(std::move(stop), StopTask{task_.get()});
}

void InformerCore::stop() {
  stop_.reset();
  task_.reset();
}

Result<> InformerCore::wait_synced(const Context& context) {
  auto synced = waiters_.wait(context, [&] { return progress_.synced(); });
  if (!synced) return fail(std::move(synced.error()).about("the cache of " + type_.plural));
  return {};
}

}  // namespace berth::kube
