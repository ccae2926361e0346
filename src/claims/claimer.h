// Claimer takes and frees slots: the only code that does. Thread-safe; works on any replica.
//
// The lock is the claim annotation of the slot's first Listener, changed by one JSON Patch that
// tests the old text and that the object is not being deleted. Memory (SlotIndex) says which slot
// to try first; a test that fails means that somebody else was faster, and the next slot is tried.
// "Exhausted" is said only after a live list.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/clients.h"
#include "api/port_binding.h"
#include "base/context.h"
#include "base/mutex.h"
#include "base/random.h"
#include "claims/list_turns.h"
#include "claims/seal.h"
#include "claims/sightings.h"
#include "claims/slot_index.h"
#include "claims/unbound_claims.h"
#include "kube/client/client.h"

namespace berth::claims {

// An owner whose Pods fail after our answer (a quota, another webhook) must not drain a pool: from
// this many unbound claims on, its oldest is used again.
inline constexpr std::size_t kMaxUnboundClaims = 8;

struct TakenLock {
  kube::ObjectKey listener{};
  std::string uid{};
  std::string before{};  // the annotation's text
  std::string after{};
};

struct TakenSlot {
  std::string item{};
  model::PortRange ports{};
  std::vector<TakenLock> locks{};  // one per protocol of the request
};

// What changes of a Listener in one write. Its claim and spec must be as we know them, or nothing
// is written.
struct ListenerChange {
  std::optional<std::string> claim{};  // the empty text frees it
  bool no_claim = false;               // of a peer: somebody wrote one there
  std::optional<api::ListenerSpec> spec{};
  // The PortBinding that it is used by; an empty name takes the labels off.
  std::optional<kube::ObjectKey> source{};
  // Sealed, for the first time or again.
  std::optional<Marks> marks{};
  // Somebody took its labels or its owner off.
  struct Belonging {
    std::map<std::string, std::string> labels{};
    wire::Value owner{};
  };
  std::optional<Belonging> belonging{};

  bool empty() const { return !claim && !no_claim && !spec && !source && !marks && !belonging; }
};

class Claimer {
 public:
  struct Options {
    // The lowest free port first. Replicas that all begin there would collide on nearly every
    // claim: only one of them should.
    std::function<bool()> lowest_first = [] { return false; };
  };

  // Before the informers start.
  Claimer(kube::Client& client, ListenerStore& store, SlotIndex& index, const Sightings& sightings,
          Random random, Options options);

  // One slot for each request or none: what was taken is given back when a later one fails.
  Result<std::vector<TakenSlot>> claim_all(const Context& context,
                                           const std::vector<SlotRequest>& requests,
                                           const ledger::Claim& claim);

  // The slots that a Pod of this name has or had, for a new Pod of the same name that asks for the
  // same. Empty: there are none to reclaim. `already_exists`: the old Pod is still there.
  Result<std::vector<TakenSlot>> reclaim(const Context& context, const std::string& pod_name,
                                         const std::vector<SlotRequest>& requests,
                                         const ledger::Claim& claim);

  // Undoes takings whose answer was never given. False: one of them may still be there.
  bool give_back(const Context& context, const std::vector<TakenSlot>& taken);

  // A slot that can be had, by what this replica knows.
  std::optional<SlotChoice> propose(const SlotRequest& request) const {
    return index_.choose(request, 0);
  }
  // Slots that a dry run may show; nothing is taken.
  Result<TakenSlot> peek(const SlotRequest& request, std::string_view asker_ns);

  // Whether a Pod that arrives with a token and was told of these ports is one that was answered
  // just now, here or by another replica: the claim is unbound, of that Pod's namespace, name and
  // request, and was first seen seconds ago. Otherwise the token came with a copied manifest.
  Result<bool> is_recent_claim(const Context& context, const ledger::Claim& claim,
                               const std::vector<api::PortBindingItem>& told);

  // For how long this replica has seen the lock with the claim that it has here.
  Duration age(const api::Listener& lock) const { return sightings_.age(lock); }

  // `precondition`: the server has it otherwise; we know it now.
  Result<> need_current(const Context& context, const api::Listener& listener);

  // `precondition`: the claim or the spec is not as `listener` has it. A spec that changes counts
  // as not applied from then on, also when it goes back to an earlier one: somebody may be about to
  // apply what lay in between.
  Result<> change(const Context& context, const api::Listener& listener,
                  const ListenerChange& change);

 private:
  using Locks = std::vector<ListenerPtr>;  // of one entry of a request

  Result<TakenSlot> claim_one(const Context& context, const SlotRequest& request,
                              const ledger::Claim& claim);
  Result<std::optional<TakenSlot>> try_slot(const Context& context, const SlotChoice& choice,
                                            const std::string& claim);
  Result<> refresh_pool(const Context& context, const kube::ObjectKey& pool, Instant asked);
  Result<> list_pool(const Context& context, const kube::ObjectKey& pool);
  Result<> refresh(const Context& context, const kube::ObjectKey& listener);

  // Replaces the claims of all these locks, or of none.
  Result<std::vector<TakenSlot>> replace_claims(const Context& context,
                                                const std::vector<SlotRequest>& requests,
                                                const std::vector<Locks>& by_entry,
                                                const ledger::Claim& claim, ledger::Event event);
  Result<std::vector<TakenSlot>> reuse_oldest(const Context& context,
                                              const std::vector<SlotRequest>& requests,
                                              const ledger::Claim& claim);
  Result<bool> has_pod_with_token(const Context& context, const ledger::Claim& claim);
  // Whether a Pod lives that was answered with this claim and does not carry its token.
  Result<bool> has_pod_told_of(const Context& context, const ledger::Claim& claim,
                               const std::vector<Locks>& by_entry);
  Result<> refuse_while_pod_lives(const Context& context, const std::vector<Locks>& by_entry);

  std::uint32_t start_offset();
  std::uint32_t random_offset();

  kube::Client& client_;
  ListenerStore& store_;
  const api::Listeners listeners_;
  SlotIndex& index_;
  const Sightings& sightings_;
  const UnboundClaims unbound_;
  const Options options_;
  Mutex mu_;
  Random random_ GUARDED_BY(mu_);
  ListTurns lists_;
};

}  // namespace berth::claims
