#include "engine/engine.h"

#include "engine/desk.h"
#include "engine/mailbox.h"
#include "engine/office.h"

namespace berth::engine {

class Engine::Impl {
 public:
  Impl(Tasks& tasks, lb::Drivers drivers, Catalog catalog, Sink& sink,
       std::function<bool()> may_act, Random random, EngineOptions options)
      : tasks_(tasks),
        office_(std::move(drivers), std::move(catalog), sink, std::move(may_act), random,
                std::move(options)),
        boxes_(tasks, [this](const model::LoadBalancerRef& lb) {
          const lb::Driver* const driver = office_.drivers.of(lb);
          return driver && driver->listeners->abilities().serial_writes;
        }) {}

  void run(const Context& context) {
    std::vector<std::unique_ptr<Task>> workers;
    while (workers.size() < office_.options.max_workers &&
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
  Office office_;
  Mailboxes boxes_;

 private:
  void work(const Context& context) {
    while (Box* box = boxes_.take(context.stop)) {
      if (!box->desk) box->desk = std::make_shared<Desk>(office_, box->place);
      Mail mail = boxes_.read(*box);
      boxes_.give_back(*box, box->desk->step(context, std::move(mail)));
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
void Engine::audit(const model::LoadBalancerRef& lb) { impl_->boxes_.audit(lb); }
void Engine::attend(const model::LoadBalancerRef& lb) { impl_->boxes_.attend(lb); }
void Engine::run(const Context& context) { impl_->run(context); }

}  // namespace berth::engine
