#include "kube/runtime/work_queue.h"

#include <algorithm>

namespace berth::kube {
namespace {

// Doubling stops here: the cap on the delay is reached long before.
constexpr int kMaxDoublings = 40;

// Most of these tables are empty most of the time, and hashing a key is what costs here.
template <class Table>
bool has(const Table& table, const ObjectKey& key) {
  return !table.empty() && table.contains(key);
}

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
  const auto [it, fresh] = dirty_.try_emplace(key, Dirty{priority, tasks_.now()});
  if (!fresh) {
    // A real change to a key that waits with low priority moves it forward; the stale entry is
    // passed over later.
    const bool raise = priority < it->second.priority;
    if (!raise) return;
    it->second.priority = priority;
  } else if (metrics_) {
    metrics_->added();
  }
  if (!has(processing_, key) && !has(held_, key)) enqueue_locked(key, priority);
}

void WorkQueue::enqueue_locked(const ObjectKey& key, Priority priority) {
  ready_[static_cast<std::size_t>(priority)].push_back(key);
  if (metrics_) metrics_->depth(dirty_.size());
  notify_one_locked();
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
  parks_[key].push_back({&store, version, saturating_add(tasks_.now(), options_.park_limit)});
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
  std::vector<ObjectKey> free(held_.begin(), held_.end());
  std::erase_if(free, [&](const ObjectKey& key) { return is_parked_locked(key, now); });
  std::sort(free.begin(),
            free.end());  // the order of a hash table must not decide the order of work
  for (const ObjectKey& key : free) release_if_caught_up_locked(key, now);
}

void WorkQueue::promote_due_locked(Instant now) {
  while (!waiting_.empty() && waiting_.begin()->due <= now) {
    const ObjectKey key = waiting_.begin()->key;
    waiting_.erase(waiting_.begin());
    waiting_of_.erase(key);
    if (has(held_, key)) {
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
  held_.erase(key);
  enqueue_locked(key, dirty_.at(key).priority);
}

std::optional<ObjectKey> WorkQueue::pop_locked(Instant now) {
  for (auto& queue : ready_) {
    while (!queue.empty()) {
      ObjectKey key = std::move(queue.front());
      queue.pop_front();
      const auto it = dirty_.find(key);
      const bool stale = it == dirty_.end() || has(processing_, key) || has(held_, key);
      if (stale) continue;
      if (is_parked_locked(key, now)) {
        held_.insert(key);
        // Due without progress too: a store that never catches up must not hold the key for ever.
        delay_locked(key, parks_.at(key).back().until);
        continue;
      }
      if (metrics_) {
        metrics_->waited(now - it->second.since);
        metrics_->depth(dirty_.size() - 1);
      }
      dirty_.erase(it);
      processing_.emplace(key, now);
      return key;
    }
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
  const auto it = processing_.find(key);
  if (it == processing_.end()) return;
  if (metrics_) metrics_->worked(tasks_.now() - it->second);
  processing_.erase(it);
  if (dirty_.empty() || shut_down_) return;
  const auto dirty = dirty_.find(key);
  if (dirty != dirty_.end()) enqueue_locked(key, dirty->second.priority);
}

void WorkQueue::shut_down() {
  const MutexLock lock(mu_);
  shut_down_ = true;
  while (!idle_.empty()) notify_one_locked();
}

WorkQueueMetrics::Running WorkQueue::running() const {
  const MutexLock lock(mu_);
  const Instant now = tasks_.now();
  WorkQueueMetrics::Running out;
  for (const auto& [key, since] : processing_) {
    out.sum += now - since;
    out.longest = std::max(out.longest, now - since);
  }
  return out;
}

std::size_t WorkQueue::depth() const {
  const MutexLock lock(mu_);
  return dirty_.size();
}

}  // namespace berth::kube
