#include "claims/unbound_claims.h"

namespace berth::claims {

UnboundClaims::UnboundClaims(ListenerStore& store) {
  store.on_change([this](const kube::Change<api::Listener>& change) {
    const bool same = change.before && change.after &&
                      claim_text(*change.before) == claim_text(*change.after) &&
                      is_peer(*change.before) == is_peer(*change.after);
    if (same) return;
    if (change.before) note(*change.before, false);
    if (change.after) note(*change.after, true);
  });
}

void UnboundClaims::note(const api::Listener& listener, bool present) {
  const auto claim = claim_of(listener);
  // One that took its name's port back may lead to its former Pod, and is nobody else's.
  if (!claim || claim->state != ledger::SlotState::claimed || claim->owner_uid.empty() ||
      !claim->pod_uid.empty())
    return;
  const Answer answer{claim->since, claim->token};
  const MutexLock lock(mu_);
  Answers& answers = by_owner_[claim->owner_uid];
  if (present) {
    answers[answer].insert(listener.meta.key());
    return;
  }
  if (const auto it = answers.find(answer); it != answers.end()) {
    it->second.erase(listener.meta.key());
    if (it->second.empty()) answers.erase(it);
  }
  if (answers.empty()) by_owner_.erase(claim->owner_uid);
}

std::size_t UnboundClaims::count(const std::string& owner_uid) const {
  const MutexLock lock(mu_);
  const auto it = by_owner_.find(owner_uid);
  return it == by_owner_.end() ? 0 : it->second.size();
}

std::vector<kube::ObjectKey> UnboundClaims::oldest(const std::string& owner_uid,
                                                   std::size_t pods) const {
  std::vector<kube::ObjectKey> out;
  const MutexLock lock(mu_);
  const auto it = by_owner_.find(owner_uid);
  if (it == by_owner_.end()) return out;
  for (const auto& [answer, locks] : it->second) {
    if (pods-- == 0) break;
    out.insert(out.end(), locks.begin(), locks.end());
  }
  return out;
}

}  // namespace berth::claims
