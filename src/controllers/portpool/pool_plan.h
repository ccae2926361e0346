// What a pool needs on its load balancers, and what its status says: pure decisions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/listener.h"
#include "api/load_balancer.h"
#include "api/port_pool.h"
#include "claims/claimer.h"
#include "claims/resolver.h"
#include "claims/seal.h"
#include "claims/slot.h"
#include "ledger/grants.h"
#include "model/load_balancer.h"

namespace berth::controllers::portpool {

using claims::kLockAnnotation;
using claims::kPeersAnnotation;

// A Listener that the pool must have.
struct WantedListener {
  std::string name{};
  std::string item{};
  model::LoadBalancerRef lb{};
  api::ListenerSpec spec{};
  std::string lock{};      // of a peer
  std::string peers{};     // of a lock
  std::string found_by{};  // the name in the item's text; empty where that has the id

  bool is_lock() const { return lock.empty(); }
};

// One for each load balancer, protocol and slot of the item. Errors name the field.
Result<std::vector<WantedListener>> wanted_listeners(const api::PortPool& pool,
                                                     const api::PortPoolItem& item,
                                                     const claims::RefsOf& refs_of);
// What it is for as long as it lives.
claims::Identity identity_of(const api::PortPool& pool, const WantedListener& wanted);
// The object to create: free, sealed, labelled as users know it, with the pool as its owner.
wire::Value new_listener(const api::PortPool& pool, const WantedListener& wanted,
                         const claims::Marks& marks);
// Its labels, and the pool as its owner.
claims::ListenerChange::Belonging belonging_of(const api::PortPool& pool,
                                               const claims::Identity& identity);

// What the item must own before its Listeners may exist.
struct WantedGrant {
  model::LoadBalancerRef lb{};
  ledger::Grant grant{};
};
Result<std::vector<WantedGrant>> wanted_grants(const api::PortPool& pool,
                                               const api::PortPoolItem& item,
                                               const claims::RefsOf& refs_of, WallTime now);

// The pool among `pools` that is older and wants one of the same ports: it goes first. Null when
// there is none.
std::shared_ptr<const api::PortPool> older_contender(
    const api::PortPool& pool, const WantedGrant& wanted,
    const std::vector<std::shared_ptr<const api::PortPool>>& pools, const claims::RefsOf& refs_of);

// How an item stands.
struct ItemReport {
  std::size_t wanted = 0;
  std::size_t ready = 0;
  std::string problem{};  // why it cannot go on, or cannot be used
  bool refused = false;   // the problem is that it does not get its ports
};

using BalancerOf =
    std::function<std::shared_ptr<const api::LoadBalancer>(const model::LoadBalancerRef& lb)>;

// `reports` by item name; items that left the spec and still have Listeners are `leaving`.
api::PortPoolStatus pool_status(const api::PortPool& pool,
                                const std::map<std::string, ItemReport>& reports,
                                const std::map<std::string, std::size_t>& leaving,
                                const BalancerOf& balancer_of, const claims::RefsOf& refs_of);

// Listeners of a free slot that lead somewhere: a late write of a former leader. By lock.
bool is_stray(const api::Listener& lock, const api::Listener& listener);

std::vector<std::string> peers_of(const api::Listener& lock);
// Those that are there. A Listener that has the name of one and is somebody else's is none.
std::vector<claims::ListenerPtr> peers_in(const claims::ListenerStore& listeners,
                                          const api::Listener& lock);

}  // namespace berth::controllers::portpool
