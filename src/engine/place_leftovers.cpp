// Leftovers: listeners that carry our prefix and that nobody wishes any more, because their object
// went while nobody looked. They hold a port and count against quotas. What is half made of a
// listener is one too, by the same rules.
//
// Nothing is more harmful than to remove one that is in use. So all of this must hold: the caller
// vouches that it knows all wishes and that the prefix is ours alone; no wish, open or standing,
// names the listener by id or by name, wherever it wants it; that was so in two lists, far enough
// apart for a wish that was on its way to arrive; and it is so in this moment, before each call. A
// call that fails is not retried: the next audit finds the listener again.
#include <algorithm>
#include <unordered_set>

#include "engine/calls.h"
#include "engine/place_reconciler.h"

namespace berth::engine {
namespace {

// All that wishes name, those for a removal too.
class Names {
 public:
  void add(const Wish& wish) {
    ids_.insert(wish.known_id);
    names_.insert(wish.name);
    if (wish.spec) names_.insert(wish.spec->name);
  }
  bool has(const lb::KnownListener& listener) const {
    return ids_.contains(listener.id) || names_.contains(listener.spec.name);
  }

 private:
  std::unordered_set<model::ListenerId> ids_;
  std::unordered_set<std::string> names_;
};

}  // namespace

// Whose credentials made it is not known: those of the process will do, or the only ones there.
bool PlaceReconciler::may_sweep(const Standing& standing) const {
  return place_.credential.empty() ||
         std::ranges::all_of(standing.wishes,
                             [&](const StandingWish& one) { return is_mine(one); });
}

void PlaceReconciler::find_leftovers(const Standing& standing, Find which) {
  const auto before = std::exchange(leftovers_, {});
  sweep_ = false;
  const std::string& prefix = shared_.options.name_prefix;
  if (!standing.complete || prefix.empty() || !may_sweep(standing)) return;
  Names named;
  for (const StandingWish& wish : standing.wishes) named.add(wish.wish);
  for (const OpenWish* wish : open_.all()) named.add(wish->wish);
  Instant soonest = kNever;
  for (const auto& [id, listener] : known_.all()) {
    if (!listener.spec.name.starts_with(prefix) || named.has(listener)) continue;
    const auto seen = before.find(id);
    // One that was found by a question since the last list is in no list yet.
    if (which == Find::known_ones && seen == before.end()) continue;
    const Instant since = seen == before.end() ? listed_at_ : seen->second;
    leftovers_.emplace(id, since);
    soonest = std::min(soonest, saturating_add(since, shared_.options.leftover_grace));
  }
  sweep_ = soonest <= listed_at_;
  if (!sweep_) next_audit_ = std::min(next_audit_, soonest);
}

std::vector<model::ListenerId> PlaceReconciler::due_leftovers() const {
  std::vector<model::ListenerId> ids;
  for (const auto& [id, since] : leftovers_) {
    if (ids.size() == driver_->abilities().remove_batch) break;
    if (saturating_add(since, shared_.options.leftover_grace) <= listed_at_) ids.push_back(id);
  }
  return ids;
}

void PlaceReconciler::remove_leftovers(const Context& context) {
  // What was nobody's at the audit may be wished by now.
  find_leftovers(shared_.catalog(lb_), Find::known_ones);
  const std::vector<model::ListenerId> ids = due_leftovers();
  sweep_ = !ids.empty();
  if (ids.empty()) return;
  if (calls_with_room(Action::remove_listeners, 1) == 0) return;
  if (!may_write() || !has_begun()) return;
  const auto results = remove_listeners(context, {*driver_, place_, shared_}, ids);
  ++writes_since_look_;
  std::size_t removed = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!results[i]) {
      sweep_ = false;
      // It may still take effect, on a listener that somebody wishes by then.
      if (results[i].error().code == Code::timeout) {
        settle_for(shared_.options.settle);
        all_doubtful_ = true;
      }
      continue;
    }
    known_.erase(ids[i]);
    leftovers_.erase(ids[i]);
    ++removed;
  }
  shared_.metrics.leftovers(lb_, removed);
  log_info("listeners of ours that nobody wishes any more were removed",
           {{"lb", to_string(lb_)},
            {"removed", std::to_string(removed)},
            {"failed", std::to_string(ids.size() - removed)},
            {"first", ids.front().value}});
  if (removed > 0) made_room();
}

}  // namespace berth::engine
