#include "controllers/portpool/grant_plan.h"

#include <map>

#include "claims/grantor.h"

namespace berth::controllers::portpool {

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
    // Of two that come at one moment the older has it.
    if (const auto other = older_contender(pool, one, pools, defaults)) {
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
