#include "kube/runtime/work_queue.h"

#include <algorithm>

namespace berth::kube {
namespace {

// Doubling stops here: the cap on the delay is reached long before.
constexpr int kMaxDoublings = 40;

}  // namespace

WorkQueue::WorkQueue(Tasks& tasks, WorkQueueOptions options)
    : tasks_(tasks), options_(std::move(options)) {
  if (options_.registry) {
    metrics_ = std::make_unique<WorkQueueMetrics>(*options_.registry, options_.name,
                                                  [this] { return running(); });
  }
}

WorkQueue::~WorkQueue() = default;

void WorkQueue::add(const ObjectKey& key, Priority priority) {
  const MutexLock lock(mu_);
  add_locked(key, priority);
}

void WorkQueue::add_locked(const ObjectKey& key, Priority priority) {
  if (shut_down_) return;
  Slot& slot = *entries_.try_emplace(key).first;
  Entry& entry = slot.second;
  if (!entry.dirty) {
    entry.dirty = true;
    entry.priority = priority;
    entry.dirty_since = tasks_.now();
    ++dirty_;
    if (metrics_) metrics_->added();
  } else {
    // A real change to a key that waits with low priority moves it forward; its former place is
    // passed over later.
    const bool raise = priority < entry.priority;
    if (!raise) return;
    entry.priority = priority;
  }
  if (!entry.processing && !entry.held) enqueue_locked(slot);
}

void WorkQueue::enqueue_locked(Slot& slot) {
  ready_[static_cast<std::size_t>(slot.second.priority)].push_back(&slot);
  ++slot.second.places;
  if (metrics_) metrics_->depth(dirty_);
  notify_one_locked();
}

void WorkQueue::drop_if_idle_locked(Entries::iterator it) {
  const Entry& entry = it->second;
  if (!entry.dirty && !entry.processing && entry.places == 0) entries_.erase(it);
}

void WorkQueue::notify_one_locked() {
  if (idle_.empty()) return;
  idle_.back()->notify();
  idle_.pop_back();
}

void WorkQueue::add_after(const ObjectKey& key, Duration delay) {
  const MutexLock lock(mu_);
  if (shut_down_) return;
  if (delay <= Duration::zero()) return add_locked(key, Priority::normal);
  delay_locked(key, saturating_add(tasks_.now(), delay));
}

void WorkQueue::delay_locked(const ObjectKey& key, Instant due) {
  const auto it = waiting_of_.find(key);
  if (it != waiting_of_.end()) {
    if (it->second.due <= due) return;
    waiting_.erase(it->second);
  }
  const Waiting entry{due, next_order_++, key};
  waiting_of_.insert_or_assign(key, entry);
  // Two statements: the compiler may look at the beginning before it inserts.
  const auto added = waiting_.insert(entry).first;
  if (added == waiting_.begin()) notify_one_locked();  // somebody must now wait for less long
}

void WorkQueue::add_after_failure(const ObjectKey& key) {
  const MutexLock lock(mu_);
  if (shut_down_) return;
  const int failures = std::min(failures_[key]++, kMaxDoublings);
  const double scale = static_cast<double>(std::uint64_t{1} << failures);
  const double delay = static_cast<double>(options_.first_backoff.count()) * scale;
  const double cap = static_cast<double>(options_.max_backoff.count());
  if (metrics_) metrics_->retried();
  delay_locked(key, saturating_add(tasks_.now(),
                                   Duration{static_cast<Duration::rep>(std::min(delay, cap))}));
}

void WorkQueue::forget(const ObjectKey& key) {
  const MutexLock lock(mu_);
  if (!failures_.empty()) failures_.erase(key);
}

int WorkQueue::failures(const ObjectKey& key) const {
  const MutexLock lock(mu_);
  const auto it = failures_.find(key);
  return it == failures_.end() ? 0 : it->second;
}

void WorkQueue::park(const ObjectKey& key, const StoreProgress& store, ResourceVersion version) {
  const MutexLock lock(mu_);
  if (shut_down_) return;
  parks_[key].push_back({&store, version, saturating_add(tasks_.now(), options_.park_limit)});
  awaited_[&store].emplace(version, key);
}

bool WorkQueue::is_parked_locked(const ObjectKey& key, Instant now) {
  if (parks_.empty()) return false;
  const auto it = parks_.find(key);
  if (it == parks_.end()) return false;
  std::erase_if(it->second, [&](const Park& park) {
    return now >= park.until || park.store->seen() >= park.version;
  });
  if (!it->second.empty()) return true;
  parks_.erase(it);
  return false;
}

void WorkQueue::wake_parked() {
  const MutexLock lock(mu_);
  const Instant now = tasks_.now();
  // Sorted: the order of addresses must not decide the order of work.
  std::set<ObjectKey> reached;
  for (auto& [store, keys] : awaited_) {
    const auto end = keys.upper_bound(store->seen());
    for (auto it = keys.begin(); it != end; ++it) reached.insert(std::move(it->second));
    keys.erase(keys.begin(), end);
  }
  for (const ObjectKey& key : reached) {
    const auto it = entries_.find(key);
    if (it != entries_.end() && it->second.held) release_if_caught_up_locked(key, now);
  }
}

void WorkQueue::promote_due_locked(Instant now) {
  while (!waiting_.empty() && waiting_.begin()->due <= now) {
    const ObjectKey key = waiting_.begin()->key;
    waiting_.erase(waiting_.begin());
    waiting_of_.erase(key);
    const auto it = entries_.find(key);
    if (it != entries_.end() && it->second.held) {
      release_if_caught_up_locked(key, now);
    } else {
      add_locked(key, Priority::normal);
    }
  }
}

void WorkQueue::release_if_caught_up_locked(const ObjectKey& key, Instant now) {
  if (is_parked_locked(key, now)) {
    delay_locked(key, parks_.at(key).back().until);
    return;
  }
  Slot& slot = *entries_.find(key);
  slot.second.held = false;
  enqueue_locked(slot);
}

std::optional<ObjectKey> WorkQueue::pop_locked(Instant now) {
  auto& [normal, low] = ready_;
  if (normal_in_a_row_ + 1 < kLowTurn) {
    if (auto key = pop_from_locked(normal, now)) {
      ++normal_in_a_row_;
      return key;
    }
  }
  normal_in_a_row_ = 0;
  if (auto key = pop_from_locked(low, now)) return key;
  return pop_from_locked(normal, now);
}

std::optional<ObjectKey> WorkQueue::pop_from_locked(std::deque<Slot*>& lane, Instant now) {
  while (!lane.empty()) {
    auto& [key, entry] = *lane.front();
    lane.pop_front();
    --entry.places;
    const bool stale = !entry.dirty || entry.processing || entry.held;
    if (stale) {
      drop_if_idle_locked(entries_.find(key));
      continue;
    }
    if (is_parked_locked(key, now)) {
      entry.held = true;
      // Due without progress too: a store that never catches up must not hold the key for ever.
      delay_locked(key, parks_.at(key).back().until);
      continue;
    }
    entry.dirty = false;
    --dirty_;
    if (metrics_) {
      metrics_->waited(now - entry.dirty_since);
      metrics_->depth(dirty_);
    }
    entry.processing = true;
    entry.processing_since = now;
    return key;
  }
  return std::nullopt;
}

std::optional<ObjectKey> WorkQueue::take(std::stop_token stop) {
  std::unique_ptr<Signal> signal;
  while (!stop.stop_requested()) {
    Instant next_due = kNever;
    {
      const MutexLock lock(mu_);
      if (shut_down_) return std::nullopt;
      const Instant now = tasks_.now();
      promote_due_locked(now);
      if (auto key = pop_locked(now)) {
        // This worker may have been the one that waited for the next delay.
        if (!waiting_.empty()) notify_one_locked();
        return key;
      }
      if (!waiting_.empty()) next_due = waiting_.begin()->due;
      if (!signal) signal = tasks_.signal();
      idle_.push_back(signal.get());
    }
    (void)tasks_.wait(*signal, next_due, stop);
    const MutexLock lock(mu_);
    std::erase(idle_, signal.get());
  }
  // A wake-up that reached us as we stopped belongs to another worker.
  const MutexLock lock(mu_);
  notify_one_locked();
  return std::nullopt;
}

void WorkQueue::done(const ObjectKey& key) {
  const MutexLock lock(mu_);
  const auto it = entries_.find(key);
  if (it == entries_.end() || !it->second.processing) return;
  if (metrics_) metrics_->worked(tasks_.now() - it->second.processing_since);
  it->second.processing = false;
  if (it->second.dirty && !shut_down_) enqueue_locked(*it);
  drop_if_idle_locked(it);
}

void WorkQueue::shut_down() {
  const MutexLock lock(mu_);
  shut_down_ = true;
  for (auto& lane : ready_) lane.clear();
  waiting_.clear();
  waiting_of_.clear();
  parks_.clear();
  awaited_.clear();
  failures_.clear();
  std::erase_if(entries_, [](const Slot& slot) { return !slot.second.processing; });
  for (auto& [key, entry] : entries_) {
    entry.dirty = false;
    entry.held = false;
    entry.places = 0;
  }
  dirty_ = 0;
  if (metrics_) metrics_->depth(0);
  while (!idle_.empty()) notify_one_locked();
}

void WorkQueue::reopen() {
  const MutexLock lock(mu_);
  shut_down_ = false;
}

WorkQueueMetrics::Running WorkQueue::running() const {
  const MutexLock lock(mu_);
  const Instant now = tasks_.now();
  WorkQueueMetrics::Running out;
  for (const auto& [key, entry] : entries_) {
    if (!entry.processing) continue;
    out.sum += now - entry.processing_since;
    out.longest = std::max(out.longest, now - entry.processing_since);
  }
  return out;
}

std::size_t WorkQueue::depth() const {
  const MutexLock lock(mu_);
  return dirty_;
}

}  // namespace berth::kube
