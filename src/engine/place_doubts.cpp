// Doubts: after a takeover, and after a call whose end is not known, a call may still land that
// nobody waits for. What is said of the listeners that it may concern, and when.
#include <algorithm>

#include "engine/place_reconciler.h"

namespace berth::engine {

void PlaceReconciler::settle_for(Duration span) {
  if (span <= Duration::zero()) return;
  settle_until_ = std::max(settle_until_, now() + span);
  if (keeps_listeners()) {
    check_at_ = settle_until_;
  } else {
    next_audit_ = std::min(next_audit_, settle_until_);
  }
}

// A listener that is as its caller believes has no call under way: those that had none to wait for
// are marked as not applied before.
void PlaceReconciler::note_in_doubt(const Standing& standing) {
  for (const StandingWish& one : standing.wishes) {
    if (!is_mine(one)) continue;
    const Wish& wish = one.wish;
    const lb::KnownListener* const known = known_.by_id(wish.known_id);
    if (!one.applied) doubt_until_settled(wish);
    if (!one.applied && wish.known_id.empty()) may_appear_.insert(one.key);
    if (wish.known_id.empty() || !wish.spec) continue;
    model::Leads wished = model::leads_of(*wish.spec);
    if (one.applied && known && model::leads_of(known->spec) == wished) continue;
    // What is wished now is at best the same again. If that is nothing, it was something before.
    in_doubt_[one.key] = wished.empty() ? std::nullopt : std::optional(std::move(wished));
  }
}

// Of a listener that is seen for the first time.
void PlaceReconciler::note_surprise(const model::ListenerId& id) {
  const auto it = believed_.find(id);
  if (it == believed_.end()) return;
  const Belief belief = std::move(it->second);
  believed_.erase(it);
  const lb::KnownListener* const known = known_.by_id(id);
  if (!settling() || !known || model::leads_of(known->spec) == belief.leads) return;
  in_doubt_.try_emplace(belief.key, std::nullopt);
  doubt_until_settled({.known_id = id});
}

void PlaceReconciler::doubt_until_settled(const Wish& wish) {
  if (!keeps_listeners()) return;  // all are listed then
  if (doubtful_.size() >= shared_.options.few) {
    all_doubtful_ = true;
    return;
  }
  lb::Question question = question_about(wish);
  if (std::ranges::find(doubtful_, question) == doubtful_.end())
    doubtful_.push_back(std::move(question));
}

void PlaceReconciler::end_doubts() {
  in_doubt_.clear();
  may_appear_.clear();
  doubtful_.clear();
  all_doubtful_ = false;
  believed_.clear();
  check_at_ = kNever;
}

bool PlaceReconciler::may_be_undone(const OpenWish& wish) const {
  if (!wish.wish.spec) return may_appear_.contains(wish.key);
  const auto it = in_doubt_.find(wish.key);
  if (it == in_doubt_.end()) return false;
  return !it->second || *it->second != model::leads_of(*wish.wish.spec);
}

}  // namespace berth::engine
