// What one look at an owner's Listeners found, and what is to be done about it: pure over the
// caches.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/load_balancer.h"
#include "claims/claimer.h"
#include "claims/seal.h"
#include "frontend/owner.h"
#include "frontend/wants.h"

namespace berth::frontend {

// A Listener that is not as its owner wants it.
struct OutdatedListener {
  claims::ListenerPtr listener{};
  api::ListenerSpec spec{};  // as it should be; where a slot leads is not its owner's to say
  std::optional<claims::Identity> to_seal{};
  // Somebody took its labels or its owner off.
  std::optional<claims::ListenerChange::Belonging> belonging{};
};

// One that is there and stands in its part.
struct FoundListener {
  const WantedListener* wanted = nullptr;
  claims::ListenerPtr listener{};
};

// Its pointers are to the parts that it was made of.
struct Survey {
  std::map<std::string, PartReport> reports{};  // by part
  std::vector<const WantedListener*> missing{};
  std::vector<OutdatedListener> outdated{};
  std::vector<FoundListener> found{};
  // By part: of those that are wanted no more, and of those that came back with other ports.
  std::map<std::string, std::vector<claims::ListenerPtr>> leaving{};
  std::set<std::string> present{};  // parts that have a Listener
};

struct Sight {
  const claims::ListenerStore& listeners;
  const claims::Sealer& sealer;
  const model::LoadBalancerDefaults& defaults;  // for Listeners of the version before seals
};

// `reports` has the problem of each part whose ports are not granted: its Listeners are not missed.
// A part without Listeners is one that cannot be read: nothing is said of what it has. Cost: a look
// by name for each Listener that is wanted, and each that the owner has; one seal is judged for
// each that may need another.
Survey survey(const Owner& owner, const std::vector<WantedPart>& parts,
              std::map<std::string, PartReport> reports, const Sight& sight);

// Why the load balancer does not have it, or has it with other attributes or another certificate:
// what concerns its owner, whoever it leads to. Empty: nothing is in the way.
std::string_view trouble_of(const api::Listener& listener);

// Its labels say that it is this owner's, and another controller did not make it.
bool is_its_own(const api::Listener& listener, const Owner& owner);

// A Listener and what is written to it.
struct ChangedListener {
  claims::ListenerPtr listener{};
  claims::ListenerChange change{};
};
// Attributes follow the owner; what people changed of a Listener is put right, and sealed.
std::vector<ChangedListener> changes_of(const std::vector<OutdatedListener>& outdated,
                                        const claims::Sealer& sealer);

// Of Listeners that shall go, those that may: locks of slots that nobody has, with which their
// peers go; peers whose lock is gone because a removal was interrupted; and what is no slot.
std::vector<claims::ListenerPtr> removable(const std::vector<claims::ListenerPtr>& listeners);

// The names on a lock of the slot's other Listeners.
std::vector<std::string> peers_of(const api::Listener& lock);
// Those that are there. A Listener that has the name of one and is somebody else's, or of another
// slot, is none.
std::vector<claims::ListenerPtr> peers_in(const claims::ListenerStore& listeners,
                                          const api::Listener& lock);

// Of what is granted, what nobody uses, by LoadBalancer object: of parts that are wanted no more,
// of parts that were granted some of their ports before others were refused, and what a part had
// where it wants nothing any more. Where a Listener of it lives, the grant stays.
std::map<std::string, std::vector<ledger::Grant>> grants_to_release(
    const Owner& owner, const std::vector<WantedPart>& parts, const Survey& survey,
    const std::map<std::string, std::vector<ledger::Grant>>& granted);

}  // namespace berth::frontend
