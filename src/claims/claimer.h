// Claimer takes and frees slots: the only code that does. Thread-safe; works on any replica.
//
// The lock is the claim annotation of the slot's Listener, changed by one JSON Patch that tests the
// old text and that the object is not being deleted. Memory is an index that says which slot to try
// first; a test that fails means that somebody else was faster, and the next slot is tried.
// "Exhausted" is said only after a live list.
#pragma once

#include <string>
#include <vector>

#include "base/context.h"
#include "base/mutex.h"
#include "base/random.h"
#include "claims/slot.h"
#include "kube/cache/store.h"
#include "kube/client/client.h"

namespace berth::claims {

using ListenerStore = kube::Store<api::Listener>;

// Adds the indexes that the claimer reads; before the informer starts.
void add_indexes(ListenerStore& store);

struct SlotRequest {
  kube::ObjectKey pool{};
  model::Protocol protocol = model::Protocol::tcp;
};

struct Slot {
  kube::ObjectKey listener{};
  std::string item{};
  std::string load_balancer_id{};
  model::Port port = 0;
  std::string claim{};  // the annotation's text, as it is after our write
};

class Claimer {
 public:
  Claimer(kube::Client& client, ListenerStore& store, Random random);

  // One slot for each request or none: what was taken is given back when a later one fails.
  Result<std::vector<Slot>> claim_all(const Context& context,
                                      const std::vector<SlotRequest>& requests,
                                      const ledger::Claim& claim);

  // A slot that a dry run may show; nothing is taken.
  Result<Slot> peek(const SlotRequest& request);

  // Whether a Pod that arrives with this token is one that we have just answered: the claim is
  // unbound, of that namespace and seconds old. Otherwise the token came with a copied manifest.
  bool is_recent_claim(std::string_view token, std::string_view ns, WallTime now) const;

  // Replaces the claim and the spec of a Listener, provided that both are still as `listener` has
  // them; the empty text frees it. Code::precondition: they are not. A spec that changes counts as
  // not applied from then on, also when it goes back to an earlier one: somebody may be about to
  // apply what lay in between.
  Result<> swap(const Context& context, const api::Listener& listener, std::string_view claim,
                const api::ListenerSpec& spec);

 private:
  Result<Slot> claim_one(const Context& context, const SlotRequest& request,
                         const ledger::Claim& claim);
  Result<Slot> try_each(const Context& context, std::vector<ListenerStore::Ptr> free,
                        const std::string& claim);
  Result<std::vector<ListenerStore::Ptr>> list_slots(const Context& context,
                                                     const SlotRequest& request);
  void remember(const wire::Value& listener);
  std::size_t start_offset(std::size_t count);

  kube::Client& client_;
  ListenerStore& store_;
  Mutex mu_;
  Random random_ GUARDED_BY(mu_);
};

}  // namespace berth::claims
