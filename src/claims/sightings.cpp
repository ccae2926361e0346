#include "claims/sightings.h"

namespace berth::claims {
namespace {

using ledger::SlotState;

bool waits(const api::Listener& lock) {
  const auto claim = claim_of(lock);
  return claim && (claim->state == SlotState::claimed || claim->state == SlotState::kept ||
                   claim->state == SlotState::quarantined);
}

}  // namespace

Sightings::Sightings(Tasks& tasks, ListenerStore& store) : tasks_(tasks) {
  store.on_change([this](const kube::Change<api::Listener>& change) { note(change); });
}

void Sightings::note(const kube::Change<api::Listener>& change) {
  const std::string_view text = change.after ? claim_text(*change.after) : std::string_view();
  if (change.before && claim_text(*change.before) == text) return;
  const bool waiting = !text.empty() && waits(*change.after);
  const MutexLock lock(mu_);
  if (!waiting) {
    seen_.erase(change.object().meta.key());
    return;
  }
  Sighting& sighting = seen_[change.object().meta.key()];
  if (sighting.claim != text) sighting = {std::string(text), tasks_.now()};
}

Duration Sightings::age(const api::Listener& lock) const {
  const MutexLock guard(mu_);
  const auto it = seen_.find(lock.meta.key());
  if (it == seen_.end() || it->second.claim != claim_text(lock)) return Duration::zero();
  return tasks_.now() - it->second.since;
}

}  // namespace berth::claims
