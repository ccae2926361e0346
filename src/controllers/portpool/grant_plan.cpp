#include "controllers/portpool/grant_plan.h"

#include <algorithm>
#include <map>

#include "claims/grantor.h"

namespace berth::controllers::portpool {
namespace {

// Its Listeners are there: somebody took its grant away.
bool lives_in(const ledger::Grant& wanted, const std::vector<ledger::Holding>& held) {
  return std::ranges::any_of(held, [&](const ledger::Holding& holding) {
    return holding.owner.uid == wanted.owner.uid && holding.protocol == wanted.protocol &&
           holding.ports.overlaps(wanted.ports);
  });
}

}  // namespace

GrantPlan plan_grants(const api::PortPool& pool, const std::vector<WantedGrant>& wanted,
                      const BalancerOf& balancer_of, const HoldingsOf& holdings_of,
                      const std::vector<std::shared_ptr<const api::PortPool>>& pools,
                      const model::LoadBalancerDefaults& defaults) {
  GrantPlan plan;
  std::map<model::LoadBalancerRef, std::vector<ledger::Holding>> holdings;
  for (const WantedGrant& one : wanted) {
    const auto object = balancer_of(one.lb);
    const auto grants = object ? claims::grants_of(*object) : std::vector<ledger::Grant>{};
    if (!holdings.contains(one.lb)) holdings[one.lb] = holdings_of(one.lb);
    const std::vector<ledger::Holding>& held = holdings[one.lb];
    if (ledger::has_grant(grants, one.grant)) {
      // Somebody may have edited what was granted.
      if (Result<> unheld = ledger::check_unheld(held, one.grant); !unheld)
        return {.refused = std::move(unheld.error()).about(model::to_string(one.lb))};
      continue;
    }
    // Who has ports is said before who wants them: it stays true whichever pool is older.
    if (Result<std::vector<ledger::Grant>> next = ledger::with_grant(grants, one.grant, held);
        !next)
      return {.refused = std::move(next.error()).about(model::to_string(one.lb))};
    // Of two that come at one moment the older has it; of one that was there, nobody takes it.
    const auto other =
        lives_in(one.grant, held) ? nullptr : older_contender(pool, one, pools, defaults);
    if (other) {
      return {.waits_for = fmt::format("{} ports {}-{} of {} are wanted by the older PortPool {}",
                                       model::to_string(one.grant.protocol), one.grant.ports.first,
                                       one.grant.ports.last, model::to_string(one.lb),
                                       other->meta.key().to_string())};
    }
    plan.steps.push_back({.wanted = one, .before = ledger::own_grants(grants, one.grant)});
  }
  return plan;
}

}  // namespace berth::controllers::portpool
