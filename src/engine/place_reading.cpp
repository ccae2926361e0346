// Looking: what is known of the load balancer comes from its list, from answers to questions, from
// our own confirmed changes, and in the beginning from what the caller believes.
#include <algorithm>
#include <utility>

#include "engine/calls.h"
#include "engine/place_reconciler.h"

namespace berth::engine {
namespace {

void see(OpenWish& wish) {
  wish.looked = true;
  wish.touched = false;
  wish.read_back = false;
  wish.judged = false;
  wish.told_nowhere = false;
}

// Clouds say of what is another account's that it does not exist. A namespace that changes its
// credentials must not get rid of what it has that way.
Error not_shown(const Error& error) {
  return Error(error_of(Code::forbidden, "{}", error.message))
      .with_hint("it may belong to another account than the credentials of this namespace");
}

}  // namespace

lb::Question question_about(const Wish& wish) {
  return {.id = wish.known_id,
          .name = wish.spec ? wish.spec->name : wish.name,
          .ports = wish.spec ? wish.spec->ports : wish.ports};
}

// We are in charge, as of now: somebody else may have been until then.
void PlaceReconciler::begin() {
  begun_ = true;
  attend_ = false;
  listed_ = false;
  leftovers_.clear();
  sweep_ = false;
  for (OpenWish* wish : open_.all()) wish->looked = false;
  if (!keeps_listeners()) {
    stale_ = true;
    audit_ = true;
    return;
  }
  const Standing standing = shared_.catalog(lb_);
  small_ = standing.wishes.size() <= shared_.options.small;
  // One list, and nothing has to be believed. It is tried until there is one, whether anything is
  // wished or not; and an audit is of what is there.
  audit_ = audit_ || small_;
  stale_ = audit_;
  seen_ = false;
  first_asked_ = 0;
  if (driver_->abilities().outlives_caller) settle_for(shared_.options.settle);
  believe(standing);
  if (settling()) note_in_doubt(standing);
  next_audit_ = std::min(next_audit_, now() + shared_.within(shared_.options.audit_period));
}

// What is applied is there until it is seen not to be: nothing is planned for it before it is asked
// for.
void PlaceReconciler::believe(const Standing& standing) {
  known_ = {};
  believed_.clear();
  for (const StandingWish& one : standing.wishes) {
    const Wish& wish = one.wish;
    if (!one.applied || !wish.spec || wish.known_id.empty()) continue;
    // Two cannot both be true.
    const bool is_free = std::ranges::all_of(
        model::transports_of(wish.spec->protocol),
        [&](model::Transport way) { return known_.overlapping(way, wish.spec->ports).empty(); });
    if (!is_free) continue;
    known_.put({.id = wish.known_id, .spec = *wish.spec, .asked = true});
    if (settling() && is_mine(one))
      believed_[wish.known_id] = {one.key, model::leads_of(*wish.spec)};
  }
}

Instant PlaceReconciler::list(const Context& context) {
  const Instant at = driver_->free_at(place_, Action::list_listeners, 1, now());
  if (at > now()) return at;
  // Before the call: what lands while it is under way is not in its answer.
  const bool is_settled = !settling();
  auto listed = list_listeners(context, {*driver_, place_, shared_});
  if (!listed) {
    if (context.stop.stop_requested()) return kNever;
    look_failed(listed.error());
    return not_before_;
  }
  known_.replace(std::move(*listed));
  for (OpenWish* wish : open_.all()) see(*wish);
  while (!believed_.empty()) note_surprise(model::ListenerId(believed_.begin()->first));
  listed_at_ = now();
  seen_ = true;
  gone_since_.reset();
  if (std::exchange(check_, false)) audit_ = true;
  if (is_settled) end_doubts();
  if (!listed_) {
    // The first touch: a dead leader's call may still land.
    if (!keeps_listeners()) {
      if (driver_->abilities().outlives_caller) settle_for(shared_.options.settle);
      if (settling()) note_in_doubt(shared_.catalog(lb_));
    }
    listed_ = true;
    audit_ = true;
    leftovers_.clear();
    sweep_ = false;
  }
  stale_ = false;
  writes_since_look_ = 0;
  attempts_ = 0;
  error_.reset();
  shared_.looked(place_, {});
  return now();
}

// Those that may be worked on as soon as it is known what is there of them.
std::vector<OpenWish*> PlaceReconciler::unseen() {
  std::vector<OpenWish*> out = open_.all();
  std::erase_if(out,
                [&](const OpenWish* wish) { return wish->looked || wish->not_before > now(); });
  return out;
}

void PlaceReconciler::doubt(OpenWish& wish) {
  if (keeps_listeners()) {
    wish.looked = false;
  } else {
    stale_ = true;
  }
}

std::optional<Instant> PlaceReconciler::ask(const Context& context) {
  std::vector<OpenWish*> about = unseen();
  if (!check_ && (about.empty() || asked_last_)) {
    asked_last_ = false;  // what was seen is worked on before others are asked for
    return std::nullopt;
  }
  // What waits for a look goes along, so that others who are asked for do not put it off.
  for (OpenWish* wish : open_.all())
    if (wish->looked && wish->read_back) about.push_back(wish);
  std::vector<lb::Question> questions;
  if (check_) questions = doubtful_;
  for (const OpenWish* wish : about) questions.push_back(question_about(wish->wish));
  if (is_to_be_listed(about, questions.size())) {
    stale_ = true;
    return now();
  }
  if (!questions.empty()) {
    const Instant at = driver_->free_at(place_, Action::look_up_listeners, 1, now());
    if (at > now()) return at;
    auto answers = look_up_listeners(context, {*driver_, place_, shared_}, questions);
    if (!answers) {
      if (context.stop.stop_requested()) return kNever;
      look_failed(answers.error());
      return not_before_;
    }
    answered(questions, std::move(*answers), about);
    compare_ = compare_ || check_;
  }
  // It is asked for when the time is over, not before.
  if (std::exchange(check_, false)) end_doubts();
  asked_last_ = true;
  return now();
}

bool PlaceReconciler::is_to_be_listed(const std::vector<OpenWish*>& about,
                                      std::size_t questions) const {
  if (check_ && all_doubtful_) return true;
  if (questions == 0) return false;
  if (questions > shared_.options.few) return true;
  if (listed_) return false;
  return small_ || first_asked_ + about.size() > shared_.options.few;
}

void PlaceReconciler::answered(std::span<const lb::Question> questions,
                               std::vector<lb::ObservedListener> answers,
                               const std::vector<OpenWish*>& about) {
  known_.update(questions, std::move(answers));
  seen_ = true;
  gone_since_.reset();
  for (OpenWish* wish : about) {
    if (!wish->touched && wish->attempts == 0) ++first_asked_;
    note_surprise(wish->wish.known_id);
    see(*wish);
  }
  writes_since_look_ = 0;
  attempts_ = 0;
  error_.reset();
  shared_.looked(place_, {});
}

void PlaceReconciler::look_failed(const Error& error) {
  if (error.code == Code::not_found) {
    if (place_.credential.empty() || seen_) return load_balancer_gone(error);
    return look_failed(not_shown(error));
  }
  const Treatment treatment = treatment_of(error.code);
  ++attempts_;
  not_before_ = now() + shared_.delay(treatment, attempts_, error);
  const bool lasting = treatment == Treatment::slowly || treatment == Treatment::give_up;
  if (!lasting && attempts_ < kReportAfter) return;
  error_ = error;
  // Those that are open hear it; of all that rests, the load balancer's own object does.
  tell_all(error);
  // An audit for nobody is not tried for ever.
  if (lasting && open_.empty() &&
      std::ranges::none_of(shared_.catalog(lb_).wishes,
                           [&](const StandingWish& one) { return is_mine(one); })) {
    retire_ = true;
  } else {
    shared_.looked(place_, fail(error));
  }
}

void PlaceReconciler::load_balancer_gone(const Error& error) {
  known_ = {};
  believed_.clear();
  leftovers_.clear();
  sweep_ = false;
  listed_ = false;
  stale_ = true;
  ++attempts_;
  not_before_ = now() + shared_.delay(Treatment::slowly, attempts_, error);
  error_ = error;
  reopen_all();
  // Who lets go of what he has there does so for good: it must be said twice.
  if (!gone_since_) gone_since_ = now();
  if (!is_gone()) not_before_ = *gone_since_ + shared_.options.gone_grace;
  for (OpenWish* wish : open_.all()) {
    if (!is_gone()) break;
    // What has no load balancer does not exist, and leads nowhere.
    if (!wish->wish.spec) {
      succeeded(*wish, {});
    } else if (!model::leads_somewhere(*wish->wish.spec)) {
      tell_nowhere(*wish, error);
    }
  }
  tell_all(error);
  if (open_.empty()) {
    retire_ = true;
  } else {
    shared_.looked(place_, fail(error));
  }
}

}  // namespace berth::engine
