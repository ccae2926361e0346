// Keys that need work: deduplicated, one worker per key at a time, with delay, backoff and parking.
//
// A key that is added while it is being worked on is handed out again afterwards, so no change is
// lost. A key can be parked until a store has caught up with a write of ours: a reconcile then
// never plans on what it already changed. Any task may call any member. Bounded by the number of
// distinct keys.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/tasks.h"
#include "kube/cache/store_progress.h"
#include "kube/client/resource.h"
#include "kube/runtime/work_queue_metrics.h"

namespace berth::kube {

enum class Priority : std::uint8_t {
  normal,
  low,  // first lists and resyncs: real changes go first
};

// While keys of both kinds wait, each so many-th that is handed out is a low one: changes that come
// as fast as they are worked on must not keep a restart from being finished.
inline constexpr unsigned kLowTurn = 8;

struct WorkQueueOptions {
  std::string name = "queue";
  Duration first_backoff = std::chrono::milliseconds{5};
  Duration max_backoff = std::chrono::seconds{1000};
  // A parked key is let go after this: a store that never catches up must not stop work for good,
  // and writes carry preconditions of their own.
  Duration park_limit = std::chrono::seconds{30};
  metrics::Registry* registry = nullptr;
};

class WorkQueue {
 public:
  WorkQueue(Tasks& tasks, WorkQueueOptions options);
  ~WorkQueue();

  void add(const ObjectKey& key, Priority priority = Priority::normal);
  // Of two delays for one key the earlier counts.
  void add_after(const ObjectKey& key, Duration delay);
  // After a failure: waits twice as long each time, until `forget`.
  void add_after_failure(const ObjectKey& key);
  void forget(const ObjectKey& key);
  int failures(const ObjectKey& key) const;
  // The key is not handed out before the store has seen `version`. Add `wake_parked` to the store's
  // progress.
  void park(const ObjectKey& key, const StoreProgress& store, ResourceVersion version);
  void wake_parked();

  // Waits for a key. Empty: the queue was shut down or the stop was requested.
  std::optional<ObjectKey> take(std::stop_token stop);
  void done(const ObjectKey& key);

  // No key is handed out any more, adds are ignored, and what waited is forgotten.
  void shut_down();
  // Takes keys again, from nothing. After all workers have ended.
  void reopen();
  std::size_t depth() const;

 private:
  struct Waiting {
    Instant due;
    std::uint64_t order;  // first come, first served among equals
    ObjectKey key;
    auto operator<=>(const Waiting&) const = default;
  };
  struct Park {
    const StoreProgress* store;
    ResourceVersion version;
    Instant until;
  };
  // A key that waits to be handed out, is being worked on, or both.
  struct Entry {
    Priority priority = Priority::normal;
    bool dirty = false;
    bool held = false;  // dirty, but parked
    bool processing = false;
    std::uint32_t places = 0;  // in `ready_`, those that were passed over included
    Instant dirty_since{};
    Instant processing_since{};
  };
  using Entries = std::unordered_map<ObjectKey, Entry>;
  using Slot = Entries::value_type;  // stays where it is while it has a place

  WorkQueueMetrics::Running running() const;
  void add_locked(const ObjectKey& key, Priority priority) REQUIRES(mu_);
  void enqueue_locked(Slot& slot) REQUIRES(mu_);
  void drop_if_idle_locked(Entries::iterator it) REQUIRES(mu_);
  void delay_locked(const ObjectKey& key, Instant due) REQUIRES(mu_);
  void promote_due_locked(Instant now) REQUIRES(mu_);
  void release_if_caught_up_locked(const ObjectKey& key, Instant now) REQUIRES(mu_);
  bool is_parked_locked(const ObjectKey& key, Instant now) REQUIRES(mu_);
  std::optional<ObjectKey> pop_locked(Instant now) REQUIRES(mu_);
  std::optional<ObjectKey> pop_from_locked(std::deque<Slot*>& lane, Instant now) REQUIRES(mu_);
  void notify_one_locked() REQUIRES(mu_);

  Tasks& tasks_;
  const WorkQueueOptions options_;

  mutable Mutex mu_;
  Entries entries_ GUARDED_BY(mu_);
  std::size_t dirty_ GUARDED_BY(mu_) = 0;
  std::deque<Slot*> ready_[2] GUARDED_BY(mu_);  // by priority
  unsigned normal_in_a_row_ GUARDED_BY(mu_) = 0;
  std::set<Waiting> waiting_ GUARDED_BY(mu_);
  std::unordered_map<ObjectKey, Waiting> waiting_of_ GUARDED_BY(mu_);
  std::unordered_map<ObjectKey, std::vector<Park>> parks_ GUARDED_BY(mu_);
  // The same by what they wait for: a store that moves on looks at those alone that it has reached.
  // Thousands may be ahead of it.
  std::map<const StoreProgress*, std::multimap<ResourceVersion, ObjectKey>> awaited_
      GUARDED_BY(mu_);
  std::unordered_map<ObjectKey, int> failures_ GUARDED_BY(mu_);
  std::vector<Signal*> idle_ GUARDED_BY(mu_);  // workers that wait
  std::uint64_t next_order_ GUARDED_BY(mu_) = 0;
  bool shut_down_ GUARDED_BY(mu_) = false;

  std::unique_ptr<WorkQueueMetrics> metrics_;  // last: its scrape hook looks at the members above
};

}  // namespace berth::kube
