// Starts the parts of a process in order and stops them in reverse, drained.
//
// Order: caches, until all are synced; controllers that run everywhere; leadership; a quorum list
// of every cache, so that nothing a former leader wrote is missing; controllers that need
// leadership. A lead that is lost without a successor, because nobody reaches the API server, ends
// those controllers alone: they start again, from a quorum list, when the lead is back. `run`
// blocks its task until the stop or until another replica leads. Parts are owned by the composition
// root and added before `run`.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "base/mutex.h"
#include "kube/cache/informer.h"
#include "kube/runtime/controller.h"
#include "kube/runtime/leader_election.h"

namespace berth::kube {

struct ManagerOptions {
  // How often caches that do not fill are spoken of; and how long a quorum list may take before it
  // is looked whether its kind is served. That grows.
  Duration sync_report = std::chrono::minutes{1};
  Duration drain = std::chrono::seconds{30};
};

class Manager {
 public:
  explicit Manager(ManagerOptions options = {}) : options_(options) {}

  // Before `run`; health may be asked meanwhile.
  void add(InformerCore& cache) {
    const MutexLock lock(mu_);
    caches_.push_back(&cache);
  }
  void add(Controller& controller) { controllers_.push_back(&controller); }
  // Without an elector the process leads from the start.
  void lead_with(LeaderElector& elector) { elector_ = &elector; }
  // Makes the server serve what is listed, before the quorum list, each time, and again while that
  // does not come: a kind that somebody removed cannot be listed, and only who leads puts it back.
  void before_lead(std::function<void(const Context&)> step) {
    before_lead_.push_back(std::move(step));
  }
  // Runs after the quorum list and before the controllers that need leadership, each time.
  void on_lead(std::function<Result<>(const Context&)> step) {
    on_lead_.push_back(std::move(step));
  }
  // Runs when another replica leads in our place, before everything is stopped. It may take its
  // time, but not longer than the context.
  void on_deposed(std::function<void(const Context&)> step) {
    on_deposed_.push_back(std::move(step));
  }

  // Success: stopped in order. `conflict`: another replica leads, and the process should end.
  Result<> run(const Context& context);

  // Caches are synced and nobody asked for the stop.
  bool ready() const { return ready_; }
  // The first cache that is not synced; empty when all are.
  std::string missing_cache() const;
  bool leading() const { return leading_; }

 private:
  Result<> sync_caches(const Context& context);
  Result<> lead(const Context& context);
  Result<> lead_while_held(const Context& context);
  Result<> take_over(const Context& context);
  Result<> relist(InformerCore& cache, const Context& context);
  void start_controllers(bool that_need_leadership);
  void stop_controllers(Tasks& tasks, bool that_need_leadership, Duration drain);
  void release_lease(const Context& context);

  std::vector<InformerCore*> caches() const {
    const MutexLock lock(mu_);
    return caches_;
  }

  const ManagerOptions options_;
  mutable Mutex mu_;
  std::vector<InformerCore*> caches_ GUARDED_BY(mu_);
  std::vector<Controller*> controllers_;
  std::vector<std::function<void(const Context&)>> before_lead_;
  std::vector<std::function<Result<>(const Context&)>> on_lead_;
  std::vector<std::function<void(const Context&)>> on_deposed_;
  LeaderElector* elector_ = nullptr;
  std::atomic<bool> ready_{false};
  std::atomic<bool> leading_{false};
};

}  // namespace berth::kube
