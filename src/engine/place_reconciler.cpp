#include "engine/place_reconciler.h"

#include <algorithm>
#include <set>
#include <utility>

namespace berth::engine {
namespace {

// How soon we look again whether we are in charge.
constexpr Duration kFenceRetry = std::chrono::milliseconds{500};

}  // namespace

PlaceReconciler::PlaceReconciler(SharedState& shared, lb::Place place)
    : shared_(shared), place_(std::move(place)), quota_(shared.quota_of(model::parent(place_.lb))) {
  if (const lb::Driver* const driver = shared_.drivers.of(lb_)) driver_ = driver->listeners;
}

Mailboxes::Next PlaceReconciler::step(const Context& context, Messages messages) {
  tasks_ = &context.tasks;
  retire_ = false;
  accept(std::move(messages));
  next_.due = serve(context);
  next_.retire = retire_ && open_.empty();
  if (next_.retire) shared_.forget_look(place_);
  const std::size_t before = std::exchange(counted_, open_.size());
  shared_.metrics.depth(lb_, static_cast<double>(counted_) - static_cast<double>(before));
  return std::exchange(next_, {});
}

void PlaceReconciler::accept(Messages messages) {
  for (auto& [key, wish] : messages.wishes) {
    if (wish) {
      accept(key, std::move(*wish));
      if (messages.has_siblings) distrust(key, messages.moved.contains(key));
    } else {
      open_.erase(key);
      next_.settled.push_back(key);
    }
  }
  if (messages.room) wake_those_that_wait_for_room();
  if (messages.audit || messages.attend) share(messages);
  if (messages.audit) {
    // It may be there again.
    if (gone_since_) not_before_ = Instant::min();
    audit_ = true;
    stale_ = true;
  }
  attend_ = (attend_ || messages.attend) && !begun_;
}

// Somebody with other credentials may have changed it since we looked; or is about to, if he had
// the wish until now.
void PlaceReconciler::distrust(const WishKey& key, bool moved) {
  OpenWish* const wish = open_.find(key);
  if (!wish) return;
  wish->made_here = false;
  doubt(*wish);
  if (!moved) return;
  settle_for(shared_.options.settle);
  doubt_until_settled(wish->wish);
  in_doubt_[key] = std::nullopt;
}

// It was told to one for all. Those with other credentials look themselves; where nobody wishes
// anything with ours, they are not used.
void PlaceReconciler::share(Messages& messages) {
  if (!place_.credential.empty()) return;
  std::set<model::CredentialId> whose;
  for (const StandingWish& standing : shared_.catalog(lb_).wishes)
    whose.insert(standing.wish.credential);
  for (const model::CredentialId& other : whose)
    if (other != place_.credential) next_.also.emplace_back(lb_, other);
  next_.told = {.audit = messages.audit, .attend = messages.attend};
  if (whose.empty() || whose.contains(place_.credential) || begun_ || !open_.empty()) return;
  messages.audit = false;
  messages.attend = false;
}

void PlaceReconciler::accept(const WishKey& key, Wish wish) {
  // What shall lead nowhere at a load balancer that is gone need not wait for its return.
  const bool leads = wish.spec && model::leads_somewhere(*wish.spec);
  if (!leads && error_ && is_gone()) not_before_ = Instant::min();
  OpenWish* const open = open_.find(key);
  if (!open || !is_same(open->wish, wish)) {
    // What is not known of it, or not seen yet, is so for the newer wish, too.
    const bool looked = open ? open->looked && (listed_ || is_known_with(*open, wish)) : listed_;
    open_.put({.key = key,
               .wish = std::move(wish),
               .looked = looked,
               .touched = open && open->touched,
               .made_here = open && open->made_here});
    return;
  }
  // Whoever says the same again, perhaps because of what we told, is told the same again; how long
  // to wait before the next try does not change by that.
  open->repair = false;
  open->wish.known_id = std::move(wish.known_id);
  tell_again(*open);
}

// Whoever asked for the older wish asked for this one.
bool PlaceReconciler::is_known_with(const OpenWish& older, const Wish& wish) const {
  lb::Question before = question_about(older.wish);
  const lb::Question after = question_about(wish);
  if (known_.by_id(after.id)) before.id = after.id;
  return before == after;
}

Instant PlaceReconciler::serve(const Context& context) {
  if (now() >= next_audit_) {
    next_audit_ = kNever;  // set again when it is done
    audit_ = true;
    stale_ = true;
  }
  if (now() >= check_at_) {
    check_at_ = kNever;
    check_ = true;
  }
  const bool nothing_to_do =
      open_.empty() && !audit_ && !sweep_ && !check_ && !compare_ && !attend_;
  if (nothing_to_do) {
    retire_ = !listed_ && !has_begun();
    return next_due();
  }
  if (!may_write()) return now() + kFenceRetry;
  tell_of_slow_repairs();
  if (now() < not_before_) {
    if (error_) tell_all(*error_);  // those that came meanwhile
    return std::min(not_before_, next_slow_repair().value_or(kNever));
  }
  if (!driver_) {
    look_failed(error_of(Code::unsupported, "no driver serves load balancer {}", to_string(lb_)));
    return not_before_;
  }
  if (!begun_) begin();
  // Wishes that come meanwhile go along: they are read before the next step.
  if (stale_) return list(context);
  if (const auto again = ask(context)) return *again;
  if (audit_ || compare_) run_audit();
  const int writes = writes_since_look_;
  if (!open_.empty()) work(context);
  // Wishes come first.
  if (sweep_ && has_begun() && writes_since_look_ == writes) remove_leftovers(context);
  return next_due();
}

bool PlaceReconciler::may_write() {
  if (!shared_.may_act()) {
    shared_.count_fence();
    shared_.forget_look(place_);  // it is for whoever is in charge to say
    return false;
  }
  const std::uint64_t fence = shared_.fence();
  if (fence != fence_) {
    // Somebody else may have been in charge since.
    fence_ = fence;
    begun_ = false;
    listed_ = false;
  }
  return true;
}

Instant PlaceReconciler::next_due() {
  Instant due = std::min(next_audit_, check_at_);
  if (!open_.empty()) due = std::min(due, std::max(open_.next_due(now()), not_before_));
  if (const auto repair = next_slow_repair()) due = std::min(due, *repair);
  if (audit_ || sweep_ || check_ || compare_ || (!has_begun() && !open_.empty()))
    due = std::min(due, std::max(now(), not_before_));
  return due;
}

}  // namespace berth::engine
