// A slot of a pool as it stands in its Listeners: the typed view that claims, admission and
// controllers share. Pure.
//
// A slot has one Listener on each load balancer of its item. The one on the first load balancer is
// the lock: it alone carries the claim.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/listener.h"
#include "kube/cache/store.h"
#include "ledger/claim.h"
#include "model/load_balancer.h"
#include "model/port.h"

namespace berth::claims {

using ListenerStore = kube::Store<api::Listener>;
using ListenerPtr = ListenerStore::Ptr;

// The item of the pool; ours, because upstream hides it in the key of a label.
inline constexpr std::string_view kItemAnnotation = "berth.dev/pool-item";
// Hash of the spec that the load balancer was last seen to have, in two parts: whom it leads to,
// and how ("1f…-9a…"). What changes is emptied in the same write.
inline constexpr std::string_view kAppliedAnnotation = "berth.dev/applied";
// On every Listener of ours: its load balancer in full (model::canonical).
inline constexpr std::string_view kBalancerAnnotation = "berth.dev/load-balancer";
// The name by which that one was found, where its owner's text has one in place of an id.
inline constexpr std::string_view kFoundByAnnotation = "berth.dev/load-balancer-name";
// On a peer: the name of the slot's lock.
inline constexpr std::string_view kLockAnnotation = "berth.dev/slot-lock";
// On the lock of a slot: the names of its Listeners on the other load balancers, with commas
// between.
inline constexpr std::string_view kPeersAnnotation = "berth.dev/slot-peers";
inline constexpr std::string_view kPoolOwner = "PortPool";

// Names of the indexes on the Listener store. What is foreign is in none of them but the last.
inline constexpr std::string_view kOwnerIndex = "owner";        // by owner_key
inline constexpr std::string_view kTokenIndex = "claim-token";  // claims whose Pod was not seen
inline constexpr std::string_view kPodIndex = "claim-pod";      // by "namespace/pod"
inline constexpr std::string_view kBalancerIndex = "balancer";  // by LoadBalancer object
// Only what is foreign, by LoadBalancer object.
inline constexpr std::string_view kForeignIndex = "foreign-balancer";
// The key, in the last one, of Listeners whose reference cannot be read.
inline constexpr std::string_view kNoBalancer;

// Adds them; before the informer starts.
void add_indexes(ListenerStore& store, const model::LoadBalancerDefaults& defaults);

// Another controller made it, by the labels that we have in common: bcs-ingress-controller, for a
// pool or for an Ingress. It may carry traffic that we know nothing of: nobody here touches it.
bool is_foreign(const api::Listener& listener);
// What its labels name as its owner, whoever made it.
struct OwnerName {
  std::string kind{};
  kube::ObjectKey key{};  // with the namespace of the Listener

  friend auto operator<=>(const OwnerName&, const OwnerName&) = default;
};
OwnerName owner_of(const api::Listener& listener);
// "PortPool games/rooms".
std::string owner_key(std::string_view kind, const kube::ObjectKey& key);
inline std::string pool_key(const kube::ObjectKey& pool) { return owner_key(kPoolOwner, pool); }
// Ours, and of a pool.
bool belongs_to_pool(const api::Listener& listener);
// The pool that its labels name, whoever made it.
kube::ObjectKey pool_of(const api::Listener& listener);
std::string_view item_of(const api::Listener& listener);
// Of a slot: a pool's Listeners speak TCP, UDP or TCP_SSL. Nothing for any other.
std::optional<model::Protocol> protocol_of(const api::Listener& listener);
// There is one Listener of a pool for each port of a load balancer, and this is its name.
bool has_name_of_its_port(const api::Listener& listener, const model::LoadBalancerRef& lb);
// What its ports are ports of: HTTPS takes TCP. Nothing when its protocol is not known.
std::span<const model::Transport> transports_of(const api::Listener& listener);
// What is stored on it; the text of its spec where nothing is. Nothing when neither can be read.
std::optional<model::LoadBalancerRef> load_balancer_of(const api::Listener& listener,
                                                       const model::LoadBalancerDefaults& defaults);

// The name that stands for its load balancer in its owner's text; empty where the id does.
std::string_view found_by(const api::Listener& listener);

// The text of the claim annotation; empty when the slot is free.
std::string_view claim_text(const api::Listener& listener);
// Of a slot on several load balancers the lock has the claim; the others name it. A claim on one
// that does was written by somebody, or the name was.
bool is_peer(const api::Listener& listener);
bool is_lock(const api::Listener& listener);
// Nothing when the slot is free, or when the text cannot be read; a peer has none.
std::optional<ledger::Claim> claim_of(const api::Listener& listener);
// It has a claim that this version cannot read. The slot is held by somebody: hands off.
bool is_unreadable(const api::Listener& listener);

// A hash of what the load balancer must look like: writes that change nothing there have the same.
std::string spec_hash(const api::ListenerSpec& spec);
// What stays of the annotation when the spec becomes the other one. A change of attributes does not
// take a port away from whom it leads to.
std::string still_applied(const api::Listener& listener, const api::ListenerSpec& next);
bool is_applied(const api::Listener& listener);
// The load balancer leads to the targets of the spec, whatever its attributes.
bool are_targets_applied(const api::Listener& listener);
bool has_targets(const api::ListenerSpec& spec);
// The load balancer has confirmed that nobody is reached through it.
bool leads_nowhere(const api::Listener& listener);

}  // namespace berth::claims
