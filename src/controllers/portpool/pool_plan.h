// What a pool needs on its load balancers, and what its status says: pure decisions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/listener.h"
#include "api/load_balancer.h"
#include "api/port_pool.h"
#include "claims/resolver.h"
#include "claims/slot.h"
#include "frontend/survey.h"
#include "frontend/wants.h"
#include "model/load_balancer.h"

namespace berth::controllers::portpool {

using claims::kLockAnnotation;
using claims::kPeersAnnotation;
using frontend::peers_in;
using frontend::peers_of;

frontend::Owner owner_of(const api::PortPool& pool);

// Its items as parts: for each load balancer, protocol and slot a Listener, whose ports the item
// must own. An item that cannot be read is a part without Listeners, and its problem names the
// field.
struct PoolWants {
  std::vector<frontend::WantedPart> parts{};
  std::map<std::string, frontend::PartReport> unreadable{};  // by item
};
// The grants of all items that can be read.
std::vector<frontend::WantedGrant> wanted_grants(const api::PortPool& pool,
                                                 const claims::RefsOf& refs_of, WallTime now = {});
PoolWants wants_of(const api::PortPool& pool, const claims::RefsOf& refs_of, WallTime now);

using BalancerOf =
    std::function<std::shared_ptr<const api::LoadBalancer>(const model::LoadBalancerRef& lb)>;

// `reports` by item name; items that left the spec and still have Listeners are `leaving`.
api::PortPoolStatus pool_status(const api::PortPool& pool,
                                const std::map<std::string, frontend::PartReport>& reports,
                                const std::map<std::string, std::size_t>& leaving,
                                const BalancerOf& balancer_of, const claims::RefsOf& refs_of);

// Adds to items that wait for listeners what is said of the first one that its load balancer does
// not take.
void add_reasons(const frontend::Survey& survey, api::PortPoolStatus& status);

// Listeners of a free slot that lead somewhere: a late write of a former leader. By lock.
bool is_stray(const api::Listener& lock, const api::Listener& listener);

}  // namespace berth::controllers::portpool
