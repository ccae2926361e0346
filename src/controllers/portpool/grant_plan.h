// Which grants an item of a pool still needs, decided before the first of them is written: an item
// gets all of its ports or none, so that half of one holds nobody else back. Pure.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "controllers/portpool/pool_plan.h"

namespace berth::controllers::portpool {

struct GrantStep {
  WantedGrant wanted{};
  std::vector<ledger::Grant> before{};  // what the item has there now
};

struct GrantPlan {
  std::vector<GrantStep> steps{};  // empty when the item has everything, or cannot have it
  std::string waits_for{};         // an older pool that wants the same and goes first
  std::optional<Error> refused{};  // somebody has some of the ports
};

// What Listeners hold on a load balancer, but for those of one owner.
using HoldingsOf = std::function<std::vector<ledger::Holding>(const model::LoadBalancerRef& lb,
                                                              std::string_view but_of)>;

GrantPlan plan_grants(const api::PortPool& pool, const std::vector<WantedGrant>& wanted,
                      const BalancerOf& balancer_of, const HoldingsOf& holdings_of,
                      const std::vector<std::shared_ptr<const api::PortPool>>& pools,
                      const claims::RefsOf& refs_of);

// Two texts may mean one load balancer: `lb-1`, and `ap-y:lb-1` under another default region. They
// have an object each, and one address. Whoever was granted the ports later is told so; empty when
// there is no such other.
std::string same_address(const WantedGrant& wanted,
                         const std::vector<std::shared_ptr<const api::LoadBalancer>>& balancers);

}  // namespace berth::controllers::portpool
