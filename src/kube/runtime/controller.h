// A controller: a work queue, the workers that drain it, and one function that reconciles a key.
//
// The function is plain blocking code over seams. Its answer decides what happens to the key: an
// error is tried again with backoff (an invalid input is not: only a change can help), a delay
// comes back after it, otherwise the key rests until the next change.
//
// It may be started again after it was stopped, as a replica that lost the lead and has it again
// does. While it does not run it keeps no keys: at each start, every object of the stores that it
// watches is looked at once. Owned by the composition root and run by the Manager.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/context.h"
#include "base/random.h"
#include "kube/cache/store.h"
#include "kube/runtime/work_queue.h"

namespace berth::kube {

struct Requeue {
  std::optional<Duration> after{};
};

using Reconcile = std::function<Result<Requeue>(const Context& context, const ObjectKey& key)>;

struct ControllerOptions {
  std::string name;
  int workers = 1;
  Duration reconcile_timeout = std::chrono::minutes{2};
  metrics::Registry* registry = nullptr;
  // False: runs on every replica, whether it leads or not.
  bool needs_leadership = true;
  // Hears of each reconcile that failed, on the worker's task; must be quick.
  std::function<void(const ObjectKey& key, const Error& error)> on_error{};
};

class Controller {
 public:
  Controller(Tasks& tasks, ControllerOptions options, Reconcile reconcile);
  ~Controller();

  const ControllerOptions& options() const { return options_; }
  WorkQueue& queue() { return queue_; }

  // Every change in the store queues the keys that `keys_of` emits for it, this much later;
  // progress of the store wakes parked keys. At the start, each object counts as one of a first
  // list. Before the informer starts.
  template <class StoreT, class KeysOf>
  void watch(StoreT& store, KeysOf keys_of, Duration later = {}) {
    store.on_change([this, keys_of, later](const auto& change) {
      if (!running_) return;
      keys_of(change, [&](const ObjectKey& key) {
        if (later > Duration::zero()) return queue_.add_after(key, later);
        queue_.add(key, change.initial ? Priority::low : Priority::normal);
      });
    });
    store.on_progress([this] { queue_.wake_parked(); });
    at_start([this, &store, keys_of] {
      for (const auto& object : store.all()) {
        keys_of(change_of_first_list(object),
                [&](const ObjectKey& key) { queue_.add(key, Priority::low); });
      }
    });
  }
  // Queues what no store tells of, at each start.
  void at_start(std::function<void()> step) { at_start_.push_back(std::move(step)); }

  void start();
  // Takes no new keys, lets running reconciles finish until the deadline, then stops them. Joins
  // the workers.
  void stop(Instant drain_until);

 private:
  struct Metrics;
  template <class T>
  static Change<T> change_of_first_list(std::shared_ptr<const T> object) {
    return {.before = nullptr, .after = std::move(object), .initial = true};
  }
  void work(std::stop_token stop);
  void reconcile_one(const ObjectKey& key, const std::stop_token& stop);
  void settle(const ObjectKey& key, const Result<Requeue>& outcome);

  Tasks& tasks_;
  const ControllerOptions options_;
  const Reconcile reconcile_;
  std::unique_ptr<Metrics> metrics_;
  WorkQueue queue_;
  std::vector<std::function<void()>> at_start_;
  std::atomic<bool> running_{false};
  std::atomic<std::uint64_t> next_reconcile_id_{1};
  std::atomic<int> active_{0};
  std::unique_ptr<Signal> idle_;
  std::vector<std::unique_ptr<Task>> workers_;  // last: joined first
};

}  // namespace berth::kube
