#include "engine/mailbox.h"

#include <algorithm>
#include <utility>

namespace berth::engine {
namespace {

// Of the last calls, about so many say how long one takes.
constexpr int kCallsThatCount = 4;

}  // namespace

Box& Mailboxes::box_of(const lb::Place& place) {
  auto& box = boxes_[place];
  if (!box) {
    box = std::make_unique<Box>(place);
    box->family = &families_[model::parent(place.lb)];
    box->family->serial = is_serial_ && is_serial_(place.lb);
    box->family->boxes.push_back(box.get());
  }
  return *box;
}

void Mailboxes::erase(Box& box) {
  std::erase(box.family->boxes, &box);
  if (box.family->boxes.empty()) families_.erase(model::parent(box.place.lb));
  boxes_.erase(boxes_.find(box.place));
}

void Mailboxes::unschedule(Box& box) {
  if (box.turn != 0) turns_.erase({box.due, box.turn, &box});
  box.turn = 0;
  box.due = kNever;
  box.gathers = false;
}

void Mailboxes::schedule(Box& box, Instant due) {
  if (box.taken || (box.turn != 0 && box.due <= due)) return;
  if (box.family->taken) {
    box.put_off = std::min(box.put_off, due);
    if (box.put_off_turn == 0) box.put_off_turn = next_turn_++;
    return;
  }
  unschedule(box);
  insert(box, due, next_turn_++);
}

// They may leave later than was meant for those before them, unless something else is due there.
void Mailboxes::schedule_wishes(Box& box, Instant leave) {
  if (leave <= tasks_.now() || box.taken || box.family->taken) return schedule(box, tasks_.now());
  if (box.turn != 0 && !box.gathers && box.due <= leave) return;
  unschedule(box);
  insert(box, leave, next_turn_++);
  box.gathers = true;
}

void Mailboxes::note_call(const Box& box, Duration took) {
  const auto [it, is_first] = calls_.try_emplace(box.place.lb.provider, took);
  if (!is_first) it->second += (took - it->second) / kCallsThatCount;
}

// Nobody waits where writes need not follow each other.
Duration Mailboxes::call_to(const Box& box) const {
  const auto it = calls_.find(box.place.lb.provider);
  return it == calls_.end() || !box.family->serial ? Duration{} : it->second;
}

void Mailboxes::insert(Box& box, Instant due, std::uint64_t turn) {
  box.due = due;
  box.turn = turn;
  const auto it = turns_.insert({due, turn, &box}).first;
  if (it == turns_.begin()) notify_one();  // somebody must now wait for less long
}

void Mailboxes::begin_turn(Box& box) {
  unschedule(box);
  box.taken = true;
  box.gather.end();
  if (!box.family->serial) return;
  box.family->taken = true;
  for (Box* other : box.family->boxes) {
    if (other->turn == 0) continue;
    other->put_off = other->due;
    other->put_off_turn = other->turn;
    unschedule(*other);
  }
}

// Those that were put off come before the one that had its turn.
void Mailboxes::end_turn(Box& box) {
  box.taken = false;
  box.family->taken = false;
  for (Box* other : box.family->boxes) {
    const std::uint64_t turn = std::exchange(other->put_off_turn, 0);
    const Instant due = std::exchange(other->put_off, kNever);
    if (turn != 0) insert(*other, due, turn);
  }
}

void Mailboxes::pass_on(const Box& box, const Next& next) {
  if (next.room) {
    for (Box* other : box.family->boxes) {
      if (other == &box) continue;
      other->messages.room = true;
      schedule(*other, tasks_.now());
    }
  }
  for (const lb::Place& place : next.also) {
    Box& other = box_of(place);
    other.messages.audit = other.messages.audit || next.told.audit;
    other.messages.attend = other.messages.attend || next.told.attend;
    schedule(other, tasks_.now());
  }
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
  Box& box = box_of({wish.lb, wish.credential});
  Box*& owner = box_of_key_[key];
  if (owner && owner != &box) {
    owner->messages.wishes[key] = std::nullopt;  // the wish moved to another place
    schedule(*owner, tasks_.now());
  }
  if (owner && owner != &box && owner->place.lb == box.place.lb) box.messages.moved.insert(key);
  owner = &box;
  const Instant leave = box.gather.came(key, tasks_.now(), call_to(box));
  box.messages.wishes.insert_or_assign(std::move(key), std::move(wish));
  schedule_wishes(box, leave);
}

// Of a place that nobody has wished anything of yet, nothing is known that it could be good for.
void Mailboxes::expect(const WishKey& key, const lb::Place& place, Notice notice) {
  const MutexLock lock(mu_);
  const auto it = boxes_.find(place);
  if (it == boxes_.end()) return;
  it->second->gather.expect(key, notice, tasks_.now(), call_to(*it->second));
}

void Mailboxes::forget(const WishKey& key) {
  const MutexLock lock(mu_);
  const auto it = box_of_key_.find(key);
  if (it == box_of_key_.end()) return;
  Box& box = *it->second;
  box_of_key_.erase(it);
  box.messages.wishes[key] = std::nullopt;
  schedule(box, tasks_.now());
}

void Mailboxes::audit(const model::LoadBalancerRef& lb) {
  const MutexLock lock(mu_);
  Box& box = box_of(lb::Place(lb));
  box.messages.audit = true;
  schedule(box, tasks_.now());
}

void Mailboxes::attend(const model::LoadBalancerRef& lb) {
  const MutexLock lock(mu_);
  Box& box = box_of(lb::Place(lb));
  box.messages.attend = true;
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
        begin_turn(box);
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

Messages Mailboxes::read(Box& box) {
  const MutexLock lock(mu_);
  Messages messages = std::exchange(box.messages, {});
  messages.has_siblings = std::ranges::any_of(box.family->boxes, [&](const Box* other) {
    return other != &box && other->place.lb == box.place.lb;
  });
  return messages;
}

void Mailboxes::give_back(Box& box, const Next& next) {
  const MutexLock lock(mu_);
  for (const WishKey& key : next.settled) {
    const auto it = box_of_key_.find(key);
    const bool still_here = it != box_of_key_.end() && it->second == &box;
    if (still_here && !box.messages.wishes.contains(key)) box_of_key_.erase(it);
  }
  for (const WishKey& key : next.opened) {
    // So that whoever forgets it, or wants it elsewhere, is heard here.
    const auto [it, is_new] = box_of_key_.try_emplace(key, &box);
    if (!is_new && it->second != &box) box.messages.wishes.try_emplace(key, std::nullopt);
  }
  if (next.call) note_call(box, *next.call);
  end_turn(box);
  pass_on(box, next);
  if (!box.messages.empty()) return schedule(box, tasks_.now());
  if (next.retire) return erase(box);
  if (next.due != kNever) schedule(box, next.due);
}

}  // namespace berth::engine
