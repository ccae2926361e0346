// UnboundClaims: claims whose Pods have not been seen, by the Pods' controller, the oldest first,
// as they say themselves. A large workload has thousands of them while its Pods start; an admission
// looks at a few. How old they really are, Sightings know.
//
// Fed by the changes of the Listener store. Thread-safe; owned by the Claimer, which attaches it
// before the informers start.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "claims/slot.h"

namespace berth::claims {

class UnboundClaims {
 public:
  explicit UnboundClaims(ListenerStore& store);

  // How many Pods of the owner were answered and have not been seen.
  std::size_t count(const std::string& owner_uid) const;
  // The locks of those that were answered first, of so many Pods at most.
  std::vector<kube::ObjectKey> oldest(const std::string& owner_uid, std::size_t pods) const;

 private:
  // All claims of one answer have its time and its token.
  using Answer = std::pair<WallTime, std::string>;
  using Answers = std::map<Answer, std::set<kube::ObjectKey>>;

  void note(const api::Listener& listener, bool present);

  mutable Mutex mu_;
  std::unordered_map<std::string, Answers> by_owner_ GUARDED_BY(mu_);
};

}  // namespace berth::claims
