#include "engine/desk.h"

#include <algorithm>
#include <utility>

namespace berth::engine {
namespace {

// How soon we look again whether we are in charge.
constexpr Duration kFenceRetry = std::chrono::milliseconds{500};

}  // namespace

Desk::Desk(Office& office, model::LoadBalancerRef lb) : office_(office), lb_(std::move(lb)) {
  if (const lb::Driver* const driver = office_.drivers.of(lb_)) driver_ = driver->listeners;
}

Mailboxes::Next Desk::step(const Context& context, Mail mail) {
  tasks_ = &context.tasks;
  retire_ = false;
  accept(std::move(mail));
  Mailboxes::Next next;
  next.due = serve(context);
  next.retire = retire_ && open_.empty();
  next.settled = std::exchange(settled_, {});
  office_.metrics.depth(lb_, open_.size());
  return next;
}

void Desk::accept(Mail mail) {
  for (auto& [key, wish] : mail.wishes) {
    if (wish) {
      accept(key, std::move(*wish));
    } else {
      open_.erase(key);
      settled_.push_back(key);
    }
  }
  if (mail.audit) {
    audit_ = true;
    stale_ = true;
  }
  attend_ = (attend_ || mail.attend) && !begun_;
}

void Desk::accept(const WishKey& key, Wish wish) {
  // What is to be removed from a load balancer that is gone need not wait for its return.
  if (!wish.spec && error_ && error_->code == Code::not_found) not_before_ = Instant::min();
  OpenWish* const open = open_.find(key);
  if (!open || !is_same(open->wish, wish)) {
    // What is not known of it, or not seen yet, is so for the newer wish, too.
    open_.put({.key = key,
               .wish = std::move(wish),
               .looked = open ? open->looked : listed_,
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

Instant Desk::serve(const Context& context) {
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

bool Desk::may_write() {
  if (!office_.may_act()) {
    office_.count_fence();
    return false;
  }
  const std::uint64_t fence = office_.fence();
  if (fence != fence_) {
    // Somebody else may have been in charge since.
    fence_ = fence;
    begun_ = false;
    listed_ = false;
  }
  return true;
}

Instant Desk::next_due() {
  Instant due = std::min(next_audit_, check_at_);
  if (!open_.empty()) due = std::min(due, std::max(open_.next_due(now()), not_before_));
  if (const auto repair = next_slow_repair()) due = std::min(due, *repair);
  if (audit_ || sweep_ || check_ || compare_ || (!has_begun() && !open_.empty()))
    due = std::min(due, std::max(now(), not_before_));
  return due;
}

}  // namespace berth::engine
