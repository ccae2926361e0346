// Keeper: from what an owner wants to grants and Listener objects, and back to nothing. The same
// for owners of every kind: a front end says what is wanted (`wants.h`), and what it makes of the
// reports.
//
// Grants come first, and all of a part or none; Listeners are made many at a time, and let
// admissions go first; what people changed is put right; what is wanted no more goes when nobody
// has it. Used by the leader; thread-safe; owned by the composition root.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "api/clients.h"
#include "claims/courtesy.h"
#include "claims/grantor.h"
#include "frontend/choice.h"
#include "frontend/contenders.h"
#include "frontend/grant_plan.h"
#include "frontend/survey.h"

namespace berth::frontend {

// One look at an owner. Its writes may go on side by side.
struct Round {
  // A write found its object changed: the owner is looked at again.
  std::atomic<bool> overtaken{false};
  // There is more to make than one pass makes.
  std::atomic<bool> goes_on{false};
};

class Keeper {
 public:
  struct House {
    kube::Client& client;  // of the leader
    claims::ListenerStore& listeners;
    claims::Grantor& grantor;
    const claims::Sealer& sealer;
    claims::Courtesy& courtesy;
    Contenders& contenders;
    model::LoadBalancerDefaults defaults;
    std::string home;  // our namespace: where Listeners of cluster-scoped owners live
  };
  explicit Keeper(House house)
      : house_(std::move(house)), objects_(api::listeners(house_.client, house_.listeners)) {}

  // First at each look, of whoever has this name: what its Listeners stand on is granted to it, and
  // what was granted to one before it of that name (whose finalizer somebody took off) is released.
  // `key` is that of the object; `uid` is empty when nobody has the name now.
  Result<> settle_grants(const Context& context, const kube::ResourceType& type,
                         const kube::ObjectKey& key, const std::string& uid, Round& round) const;

  // What the owner wants, so that younger ones wait for it.
  void contend(const Owner& owner, const std::vector<WantedGrant>& wanted) const {
    house_.contenders.put(owner, wanted);
  }
  // When a front end begins to lead, before it tells of its owners.
  void forget_contenders(const kube::ResourceType& type) const {
    house_.contenders.forget(type.kind);
  }

  // Without a problem when the part owns its ports. Where somebody else has some of them, `refused`
  // is told why, and the problem names him.
  Result<PartReport> ensure_grants(const Context& context, const Owner& owner,
                                   const WantedPart& part,
                                   const std::function<void(const Error&)>& refused) const;

  // Where a want that leaves it open is met. It is durable when `ensure_grants` has been told of
  // `grants_of` it, and not before.
  Result<Choice> choose(const Owner& owner, const OpenWant& want) const;

  // Where another load balancer's Listener has a wanted name, it gets a suffix (names.h). Before
  // anything else is done with the parts.
  void settle_names(const Owner& owner, std::vector<WantedPart>& parts) const;

  Survey survey_of(const Owner& owner, const std::vector<WantedPart>& parts,
                   std::map<std::string, PartReport> reports) const;

  // Makes what is missing, writes the changes, and lets go what is wanted no more.
  Result<> carry_out(const Context& context, const Owner& owner,
                     const std::vector<WantedPart>& parts, const Survey& survey,
                     const std::vector<ChangedListener>& changes, Round& round) const;

  // Of an owner that is being deleted: true when nothing of it is left.
  Result<bool> let_go(const Context& context, const Owner& owner, Round& round) const;

 private:
  const claims::GrantBook& book() const { return house_.grantor.book(); }
  Standing standing() const;
  Result<> create_missing(const Context& context, const Owner& owner,
                          const std::vector<const WantedListener*>& missing, Round& round) const;
  Result<> write_changes(const Context& context, const std::vector<ChangedListener>& changes,
                         Round& round) const;
  Result<> remove_free(const Context& context, const std::vector<claims::ListenerPtr>& listeners,
                       Round& round) const;
  Result<> remove_slot(const Context& context, const api::Listener& lock, Round& round) const;
  // Only as we know it.
  Result<> remove_listener(const Context& context, const api::Listener& listener) const;
  Result<> release_left(const Context& context, const Owner& owner,
                        const std::vector<WantedPart>& parts, const Survey& survey) const;
  std::vector<claims::ListenerPtr> listeners_of(std::string_view kind,
                                                const kube::ObjectKey& key) const;

  const House house_;
  const api::Listeners objects_;
};

}  // namespace berth::frontend
