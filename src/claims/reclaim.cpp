#include "claims/reclaim.h"

#include <algorithm>
#include <map>

namespace berth::claims {
namespace {

struct Group {
  // A Pod was reached through them: what an attempt that failed has claimed since counts less.
  bool was_bound = false;
  WallTime since{};
  LocksByEntry by_entry{};
};

bool answers(const SlotRequest& request, const api::Listener& lock) {
  const auto protocol = protocol_of(lock);
  return pool_of(lock) == request.pool && protocol &&
         std::ranges::count(request.protocols, *protocol) != 0 &&
         (request.item.empty() || item_of(lock) == request.item);
}

bool is_complete(const SlotRequest& request, const std::vector<ListenerPtr>& locks) {
  if (locks.size() != request.protocols.size()) return false;
  for (std::size_t i = 0; i < locks.size(); ++i) {
    if (protocol_of(*locks[i]) != request.protocols[i]) return false;
    if (locks[i]->spec.port != locks[0]->spec.port) return false;
  }
  return true;
}

// What belongs together. The last Pod ties better than the token: one that came back, and whose
// admission ended half way, has a new token on some of its locks.
const std::string& group_of(const ledger::Claim& claim) {
  return claim.pod_uid.empty() ? claim.token : claim.pod_uid;
}

std::vector<Group> matches(const std::vector<SlotRequest>& requests,
                           const std::vector<ListenerPtr>& locks,
                           const std::function<bool(const ledger::Claim&)>& fits) {
  std::map<std::string, Group> groups;
  for (const ListenerPtr& lock : locks) {
    const auto claim = claim_of(*lock);
    if (!claim || !fits(*claim) || lock->meta.deleting) continue;
    const auto entry = static_cast<std::size_t>(claim->entry);
    if (claim->entry < 0 || entry >= requests.size() || !answers(requests[entry], *lock)) continue;
    Group& group = groups[group_of(*claim)];
    group.by_entry.resize(requests.size());
    group.since = std::max(group.since, claim->since);
    group.was_bound = group.was_bound || !claim->pod_uid.empty();
    group.by_entry[entry].push_back(lock);
  }
  std::vector<Group> out;
  for (auto& [key, group] : groups) {
    bool complete = true;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      std::ranges::sort(group.by_entry[i], {}, [](const ListenerPtr& lock) {
        return protocol_of(*lock).value_or(model::Protocol::tcp);
      });
      complete = complete && is_complete(requests[i], group.by_entry[i]);
    }
    if (complete) out.push_back(std::move(group));
  }
  std::ranges::sort(out, {},
                    [](const Group& group) { return std::pair(group.was_bound, group.since); });
  return out;
}

}  // namespace

LocksByEntry newest_match(const std::vector<SlotRequest>& requests,
                          const std::vector<ListenerPtr>& locks,
                          const std::function<bool(const ledger::Claim&)>& fits) {
  std::vector<Group> found = matches(requests, locks, fits);
  return found.empty() ? LocksByEntry{} : std::move(found.back().by_entry);
}

LocksByEntry oldest_match(const std::vector<SlotRequest>& requests,
                          const std::vector<ListenerPtr>& locks,
                          const std::function<bool(const ledger::Claim&)>& fits) {
  std::vector<Group> found = matches(requests, locks, fits);
  return found.empty() ? LocksByEntry{} : std::move(found.front().by_entry);
}

}  // namespace berth::claims
