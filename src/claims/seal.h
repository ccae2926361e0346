// Seals of Listeners: which of them we made. They lie in users' namespaces, where anybody may write
// one that looks like ours; a seal is a MAC over what a Listener is, with a key that only we have.
//
// From its creation on, a Listener of ours names its load balancer in full, so that another default
// region on the next start moves nothing, and carries the seal. Where it leads to is not sealed: a
// claim decides that. Pure but for the ring of keys, which comes in as a function; any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/load_balancer.h"
#include "claims/slot.h"
#include "crypto/key_ring.h"
#include "ledger/grants.h"

namespace berth::claims {

inline constexpr std::string_view kSealAnnotation = "berth.dev/seal";

// What a Listener is, for as long as it lives.
struct Identity {
  std::string ns{};
  std::string name{};
  model::LoadBalancerRef lb{};
  model::Protocol protocol = model::Protocol::tcp;
  model::PortRange ports{};
  std::string owner_uid{};
  std::string item{};
  std::string lock{};      // of a peer: the name of its slot's lock
  std::string peers{};     // of a lock
  std::string found_by{};  // the name in its owner's text; empty where that has the id
};
// As the object says. Nothing where it cannot be read.
std::optional<Identity> identity_of(const api::Listener& listener);
// The same of one that has never been sealed: its load balancer is what its spec means.
std::optional<Identity> identity_without_seal(const api::Listener& listener,
                                              const model::LoadBalancerDefaults& defaults);

// Whether something on it says that we made it, true or not.
bool has_marks(const api::Listener& listener);

// What a Listener carries to say so.
struct Marks {
  Identity identity{};
  std::string balancer{};  // of kBalancerAnnotation
  std::string seal{};
};

enum class Trust : std::uint8_t {
  ours,      // we made it, and it is what it was
  unsealed,  // older than our keys: of the version before us
  unjudged,  // older than our keys, and sealed with one that was lost
  forged,    // somebody wrote or changed it
};
std::string_view to_string(Trust trust);

class Sealer {
 public:
  // Null: the keys are not known yet.
  using RingOf = std::function<std::shared_ptr<const crypto::KeyRing>()>;
  explicit Sealer(RingOf ring_of) : ring_of_(std::move(ring_of)) {}

  // Null: the keys are not known yet.
  std::shared_ptr<const crypto::KeyRing> ring() const { return ring_of_(); }
  bool is_ready() const { return ring_of_() != nullptr; }
  Marks marks(const Identity& identity) const;
  Trust judge(const api::Listener& listener) const;
  // Ours, and sealed with the key that seals now.
  bool is_current(const api::Listener& listener) const;
  // What it says cannot be judged, because it is older than our keys. Inside a grant of its owner
  // it is sealed again.
  bool may_seal_again(const api::Listener& listener) const {
    const Trust trust = judge(listener);
    return trust == Trust::unsealed || trust == Trust::unjudged;
  }

 private:
  const RingOf ring_of_;
};

// What a Listener holds if it is ours: one for each transport.
std::vector<ledger::Holding> holdings_of(const api::Listener& listener);
// What Listeners hold on the load balancer of this object, whatever its grants say; the oldest
// first. Those count that we made, those that cannot be judged, and those without a seal that lie
// in a grant of their owner: they get theirs. Who needs to know of some only says which: there may
// be a hundred thousand, and to judge a seal costs more than to look at a port.
using WhichListeners = std::function<bool(const api::Listener& listener)>;
std::vector<ledger::Holding> holdings_on(const ListenerStore& listeners, std::string_view balancer,
                                         const Sealer& sealer,
                                         const std::vector<ledger::Grant>& grants,
                                         const WhichListeners& which = {});
// The same, where it is asked for each of them whether it lies in a grant.
using IsGranted = std::function<bool(const ledger::Stand& stand)>;
std::vector<ledger::Holding> holdings_on(const ListenerStore& listeners, std::string_view balancer,
                                         const Sealer& sealer, const IsGranted& is_granted,
                                         const WhichListeners& which);
// Those that may matter when its owner is granted these ports: all of that owner, and what lies on
// them.
WhichListeners around(std::string_view owner_uid, const model::PortRange& ports);
WhichListeners of_owner(std::string_view owner_uid);
// Those of others that lie on these ports.
WhichListeners of_others(std::string_view owner_uid, const model::PortRange& ports);

}  // namespace berth::claims
