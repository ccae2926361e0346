#include "engine/mailbox.h"

#include <algorithm>

namespace berth::engine {

Box& Mailboxes::box_of(const model::LoadBalancerRef& lb) {
  auto& box = boxes_[lb];
  if (!box) box = std::make_unique<Box>(lb);
  return *box;
}

void Mailboxes::unschedule(Box& box) {
  if (box.turn != 0) turns_.erase({box.due, box.turn, &box});
  box.turn = 0;
  box.due = kNever;
}

void Mailboxes::schedule(Box& box, Instant due) {
  if (box.taken || (box.turn != 0 && box.due <= due)) return;
  unschedule(box);
  box.due = due;
  box.turn = next_turn_++;
  const auto turn = turns_.insert({due, box.turn, &box}).first;
  if (turn == turns_.begin()) notify_one();  // somebody must now wait for less long
}

void Mailboxes::notify_one() {
  if (idle_.empty()) {
    if (foreman_) foreman_->notify();
    return;
  }
  idle_.back()->notify();
  idle_.pop_back();
}

void Mailboxes::want(WishKey key, Wish wish) {
  const MutexLock lock(mu_);
  Box& box = box_of(wish.lb);
  Box*& owner = box_of_key_[key];
  if (owner && owner != &box) {
    owner->mail.wishes[key] = std::nullopt;  // the wish moved to another load balancer
    schedule(*owner, tasks_.now());
  }
  owner = &box;
  box.mail.wishes.insert_or_assign(std::move(key), std::move(wish));
  schedule(box, tasks_.now());
}

void Mailboxes::forget(const WishKey& key) {
  const MutexLock lock(mu_);
  const auto it = box_of_key_.find(key);
  if (it == box_of_key_.end()) return;
  Box& box = *it->second;
  box_of_key_.erase(it);
  box.mail.wishes[key] = std::nullopt;
  schedule(box, tasks_.now());
}

void Mailboxes::audit(const model::LoadBalancerRef& lb) {
  const MutexLock lock(mu_);
  Box& box = box_of(lb);
  box.mail.audit = true;
  schedule(box, tasks_.now());
}

void Mailboxes::attend(const model::LoadBalancerRef& lb) {
  const MutexLock lock(mu_);
  Box& box = box_of(lb);
  box.mail.attend = true;
  schedule(box, tasks_.now());
}

Box* Mailboxes::take(std::stop_token stop) {
  std::unique_ptr<Signal> signal;
  while (!stop.stop_requested()) {
    Instant next_due = kNever;
    {
      const MutexLock lock(mu_);
      if (!turns_.empty() && turns_.begin()->due <= tasks_.now()) {
        Box& box = *turns_.begin()->box;
        unschedule(box);
        box.taken = true;
        // This worker may have been the one that waited for the next turn.
        if (!turns_.empty()) notify_one();
        return &box;
      }
      if (!turns_.empty()) next_due = turns_.begin()->due;
      if (!signal) signal = tasks_.signal();
      idle_.push_back(signal.get());
    }
    (void)tasks_.wait(*signal, next_due, stop);
    const MutexLock lock(mu_);
    std::erase(idle_, signal.get());
  }
  // A wake-up that reached us as we stopped belongs to another worker.
  const MutexLock lock(mu_);
  notify_one();
  return nullptr;
}

// Among those that are due.
bool Mailboxes::lacks_workers() const {
  std::size_t free = idle_.size() + on_their_way_;
  const Instant now = tasks_.now();
  for (auto turn = turns_.begin(); turn != turns_.end() && turn->due <= now; ++turn)
    if (free-- == 0) return true;
  return false;
}

bool Mailboxes::wait_for_lack_of_workers(std::stop_token stop) {
  const std::unique_ptr<Signal> signal = tasks_.signal();
  while (!stop.stop_requested()) {
    Instant next_due = kNever;
    {
      const MutexLock lock(mu_);
      if (lacks_workers()) {
        ++on_their_way_;
        foreman_ = nullptr;
        return true;
      }
      // Somebody who waits looks at it himself when it is due.
      if (!turns_.empty() && idle_.empty() && on_their_way_ == 0) next_due = turns_.begin()->due;
      foreman_ = signal.get();
    }
    (void)tasks_.wait(*signal, next_due, stop);
  }
  const MutexLock lock(mu_);
  foreman_ = nullptr;
  return false;
}

void Mailboxes::arrived() {
  const MutexLock lock(mu_);
  --on_their_way_;
}

Mail Mailboxes::read(Box& box) {
  const MutexLock lock(mu_);
  return std::exchange(box.mail, {});
}

void Mailboxes::give_back(Box& box, const Next& next) {
  const MutexLock lock(mu_);
  for (const WishKey& key : next.settled) {
    const auto it = box_of_key_.find(key);
    const bool still_here = it != box_of_key_.end() && it->second == &box;
    if (still_here && !box.mail.wishes.contains(key)) box_of_key_.erase(it);
  }
  box.taken = false;
  if (!box.mail.empty()) return schedule(box, tasks_.now());
  if (next.retire) {
    boxes_.erase(boxes_.find(box.lb));
    return;
  }
  if (next.due != kNever) schedule(box, next.due);
}

}  // namespace berth::engine
