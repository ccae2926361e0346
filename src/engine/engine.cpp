#include "engine/engine.h"

#include "engine/mailbox.h"
#include "engine/place_reconciler.h"
#include "engine/shared_state.h"

namespace berth::engine {

class Engine::Impl {
 public:
  Impl(Tasks& tasks, lb::Drivers drivers, Catalog catalog, Sink& sink,
       std::function<bool()> may_act, Random random, EngineOptions options)
      : tasks_(tasks),
        shared_(std::move(drivers), std::move(catalog), sink, std::move(may_act), random,
                std::move(options)),
        boxes_(tasks, [this](const model::LoadBalancerRef& lb) {
          const lb::Driver* const driver = shared_.drivers.of(lb);
          return driver && driver->listeners->abilities().serial_writes;
        }) {}

  void run(const Context& context) {
    std::vector<std::unique_ptr<Task>> workers;
    while (workers.size() < shared_.options.max_workers &&
           boxes_.wait_for_lack_of_workers(context.stop)) {
      workers.push_back(tasks_.spawn("engine", [&](std::stop_token stop) {
        Context own = context;
        own.stop = stop;
        boxes_.arrived();
        work(own);
      }));
    }
    const auto never = tasks_.signal();
    (void)tasks_.wait(*never, kNever, context.stop);
    // All are told before the first is waited for.
    for (auto& worker : workers) worker->request_stop();
  }

  Tasks& tasks_;
  SharedState shared_;
  Mailboxes boxes_;

 private:
  void work(const Context& context) {
    while (Box* box = boxes_.take(context.stop)) {
      if (!box->reconciler)
        box->reconciler = std::make_shared<PlaceReconciler>(shared_, box->place);
      Messages messages = boxes_.read(*box);
      boxes_.give_back(*box, box->reconciler->step(context, std::move(messages)));
    }
  }
};

Engine::Engine(Tasks& tasks, lb::Drivers drivers, Catalog catalog, Sink& sink,
               std::function<bool()> may_act, Random random, EngineOptions options)
    : impl_(std::make_unique<Impl>(tasks, std::move(drivers), std::move(catalog), sink,
                                   std::move(may_act), random, std::move(options))) {}

Engine::~Engine() = default;

void Engine::want(WishKey key, Wish wish) { impl_->boxes_.want(std::move(key), std::move(wish)); }
void Engine::forget(const WishKey& key) { impl_->boxes_.forget(key); }
void Engine::expect(const WishKey& key, const lb::Place& place, Notice notice) {
  impl_->boxes_.expect(key, place, notice);
}
void Engine::audit(const model::LoadBalancerRef& lb) { impl_->boxes_.audit(lb); }
void Engine::attend(const model::LoadBalancerRef& lb) { impl_->boxes_.attend(lb); }
std::optional<Result<>> Engine::last_look(const model::LoadBalancerRef& lb) const {
  return impl_->shared_.last_look(lb);
}
void Engine::run(const Context& context) { impl_->run(context); }

}  // namespace berth::engine
