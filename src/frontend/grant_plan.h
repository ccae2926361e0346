// Which grants a part of an owner still needs, decided before the first of them is written: a part
// gets all of its ports or none, so that half of one holds nobody else back. Pure.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "claims/grant_book.h"
#include "claims/seal.h"
#include "frontend/owner.h"
#include "frontend/wants.h"

namespace berth::frontend {

struct GrantStep {
  WantedGrant wanted{};
  std::vector<ledger::Grant> before{};  // what the part has there now
};

struct GrantPlan {
  std::vector<GrantStep> steps{};  // empty when the part has everything, or cannot have it
  std::string waits_for{};         // an older owner that wants the same and goes first
  std::optional<Error> refused{};  // somebody has some of the ports
};

// What is known of load balancers.
struct Standing {
  // Those on the ports that are wanted, and all of the owner.
  std::function<std::vector<ledger::Grant>(const model::LoadBalancerRef& lb,
                                           const ledger::Grant& wanted)>
      grants_on{};
  std::function<std::vector<ledger::Holding>(const model::LoadBalancerRef& lb,
                                             const claims::WhichListeners& which)>
      holdings_on{};
  // One that wants the same and goes first.
  std::function<std::optional<Owner>(const Owner& owner, const WantedGrant& wanted)> rival_of{};
};

GrantPlan plan_grants(const Owner& owner, const std::vector<WantedGrant>& wanted,
                      const Standing& standing);

// Two texts may mean one load balancer: `lb-1`, and `ap-y:lb-1` under another default region. They
// have an object each, and one address. Whoever was granted the ports later is told so; empty when
// there is no such other.
std::string same_address(const WantedGrant& wanted, const claims::GrantBook& book);

}  // namespace berth::frontend
