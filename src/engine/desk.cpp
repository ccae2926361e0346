#include "engine/desk.h"

#include <algorithm>

#include "engine/calls.h"

namespace berth::engine {
namespace {

// How soon we look again whether we are in charge.
constexpr Duration kFenceRetry = std::chrono::milliseconds{500};

}  // namespace

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
}

void Desk::accept(const WishKey& key, Wish wish) {
  // What is to be removed from a load balancer that is gone need not wait for its return.
  if (!wish.spec && error_ && error_->code == Code::not_found) not_before_ = Instant::min();
  OpenWish* const open = open_.find(key);
  if (!open || !is_same(open->wish, wish)) {
    open_.put({.key = key, .wish = std::move(wish)});
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
  const bool nothing_to_do = open_.empty() && !audit_ && !sweep_;
  if (nothing_to_do) {
    retire_ = !listed_;
    return next_due();
  }
  if (!may_write()) return now() + kFenceRetry;
  tell_of_slow_repairs();
  if (now() < not_before_) {
    if (error_) tell_all(*error_);  // those that came meanwhile
    return std::min(not_before_, next_slow_repair().value_or(kNever));
  }
  const lb::Driver* const driver = office_.drivers.of(lb_);
  driver_ = driver ? driver->listeners : nullptr;
  if (!driver_) {
    list_failed(error_of(Code::unsupported, "no driver serves load balancer {}", to_string(lb_)));
    return not_before_;
  }
  if (stale_) {
    // Wishes that came meanwhile go along: they are read before the next step.
    return look(context).value_or(now());
  }
  if (audit_) run_audit();
  const int writes = writes_since_list_;
  if (!open_.empty()) work(context);
  // Wishes come first.
  if (sweep_ && !stale_ && writes_since_list_ == writes) remove_leftovers(context);
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
    listed_ = false;
    stale_ = true;
  }
  return true;
}

std::optional<Instant> Desk::look(const Context& context) {
  Budget& budget = office_.budgets.of(lb_, Action::list_listeners);
  const Instant at = budget.take(now());
  if (at > now()) return at;
  auto listed = list_listeners(context, {*driver_, lb_, office_});
  if (!listed) {
    const Error error = listed.error();
    if (context.stop.stop_requested()) return kNever;
    list_failed(error);
    return not_before_;
  }
  known_.replace(std::move(*listed));
  for (OpenWish* wish : open_.all()) wish->touched = false;
  listed_at_ = now();
  if (!settling()) in_doubt_.clear();
  if (!listed_) {
    // The first touch: a dead leader's call may still land.
    if (driver_->abilities().outlives_caller) settle_for(office_.options.settle);
    if (settling()) note_in_doubt();
    listed_ = true;
    audit_ = true;
    leftovers_.clear();
    sweep_ = false;
  }
  stale_ = false;
  read_back_ = false;
  writes_since_list_ = 0;
  attempts_ = 0;
  error_.reset();
  return std::nullopt;
}

void Desk::settle_for(Duration span) {
  if (span <= Duration::zero()) return;
  settle_until_ = std::max(settle_until_, now() + span);
  next_audit_ = std::min(next_audit_, settle_until_);
}

// A listener that is as its caller believes has no call under way: those that had none to wait for
// are marked as not applied before.
void Desk::note_in_doubt() {
  for (const StandingWish& standing : office_.catalog(lb_).wishes) {
    const Wish& wish = standing.wish;
    if (wish.known_id.empty() || !wish.spec) continue;
    const lb::KnownListener* const known = known_.by_id(wish.known_id);
    model::Leads wished = model::leads_of(*wish.spec);
    if (standing.applied && known && model::leads_of(known->spec) == wished) continue;
    // What is wished now is at best the same again. If that is nothing, it was something before.
    in_doubt_[standing.key] = wished.empty() ? std::nullopt : std::optional(std::move(wished));
  }
}

bool Desk::may_be_undone(const OpenWish& wish) const {
  const auto it = in_doubt_.find(wish.key);
  if (it == in_doubt_.end() || !wish.wish.spec) return false;
  return !it->second || *it->second != model::leads_of(*wish.wish.spec);
}

void Desk::list_failed(const Error& error) {
  if (error.code == Code::not_found) return load_balancer_gone(error);
  const Treatment treatment = treatment_of(error.code);
  ++attempts_;
  not_before_ = now() + office_.delay(treatment, attempts_, error);
  const bool lasting = treatment == Treatment::slowly || treatment == Treatment::give_up;
  if (!lasting && attempts_ < kReportAfter) return;
  error_ = error;
  tell_all(error);
  // An audit for nobody is not tried for ever.
  if (lasting && open_.empty() && office_.catalog(lb_).wishes.empty()) retire_ = true;
}

void Desk::load_balancer_gone(const Error& error) {
  known_ = {};
  leftovers_.clear();
  sweep_ = false;
  listed_ = false;
  stale_ = true;
  ++attempts_;
  not_before_ = now() + office_.delay(Treatment::slowly, attempts_, error);
  error_ = error;
  all_are_astray();
  for (OpenWish* wish : open_.all()) {
    // What has no load balancer does not exist.
    if (!wish->wish.spec) succeeded(*wish, {});
  }
  tell_all(error);
  if (open_.empty()) retire_ = true;
}

Instant Desk::next_due() {
  Instant due = next_audit_;
  if (!open_.empty()) due = std::min(due, std::max(open_.next_due(now()), not_before_));
  if (const auto repair = next_slow_repair()) due = std::min(due, *repair);
  if (audit_ || sweep_ || (stale_ && !open_.empty()))
    due = std::min(due, std::max(now(), not_before_));
  return due;
}

}  // namespace berth::engine
