#include "frontend/grant_plan.h"

#include <algorithm>

namespace berth::frontend {
namespace {

// Its Listeners are there: somebody took its grant away.
bool lives_in(const ledger::Grant& wanted, const std::vector<ledger::Holding>& held) {
  return std::ranges::any_of(held, [&](const ledger::Holding& holding) {
    return holding.owner.uid == wanted.owner.uid && holding.transport == wanted.transport &&
           holding.ports.overlaps(wanted.ports);
  });
}

bool may_shrink(const WantedGrant& wanted, const std::vector<ledger::Grant>& grants,
                const Standing& standing) {
  return ledger::may_shrink(
      grants, wanted.grant,
      standing.holdings_on(wanted.lb, claims::of_owner(wanted.grant.owner.uid)));
}

bool share_address(const api::LoadBalancer& a, const api::LoadBalancer& b) {
  return std::ranges::any_of(a.status.vips, [&](const std::string& vip) {
    return std::ranges::find(b.status.vips, vip) != b.status.vips.end();
  });
}

std::string spelling_of(const api::LoadBalancer& object) {
  return object.spec.region.empty() ? object.spec.load_balancer_id
                                    : object.spec.region + ":" + object.spec.load_balancer_id;
}

// What somebody else was granted of these ports, before our own grant was written.
std::optional<ledger::Grant> earlier_grant(const std::vector<ledger::Grant>& grants,
                                           const ledger::Grant& wanted,
                                           const std::optional<WallTime>& own_since) {
  for (const ledger::Grant& grant : grants) {
    if (grant.transport == wanted.transport && grant.ports.overlaps(wanted.ports) &&
        (!own_since || grant.since < *own_since))
      return grant;
  }
  return std::nullopt;
}

}  // namespace

std::string same_address(const WantedGrant& wanted, const claims::GrantBook& book) {
  const std::string name = model::object_name(wanted.lb);
  const claims::BalancerPtr own = book.balancers().get("", name);
  if (!own) return "";
  std::optional<WallTime> since;
  for (const ledger::Grant& grant : book.around(name, wanted.grant.owner.uid, wanted.grant.ports))
    if (grant.owner.uid == wanted.grant.owner.uid && grant.item == wanted.grant.item)
      since = grant.since;
  for (const auto& other : book.balancers().all()) {
    if (other == own || other->spec.provider != own->spec.provider ||
        other->spec.load_balancer_id != model::id_text(wanted.lb) || !share_address(*own, *other))
      continue;
    const std::optional<ledger::Grant> grant =
        earlier_grant(book.on(other->meta.name, wanted.grant.ports), wanted.grant, since);
    if (!grant) continue;
    return fmt::format(
        "load balancers {} and {} have one address, {}, where {} ports {}-{} are granted to {}: "
        "write the same text for both",
        spelling_of(*own), spelling_of(*other), own->status.vips.front(),
        model::to_string(grant->transport), grant->ports.first, grant->ports.last,
        grant->owner.to_string());
  }
  return "";
}

GrantPlan plan_grants(const Owner& owner, const std::vector<WantedGrant>& wanted,
                      const Standing& standing) {
  GrantPlan plan;
  for (const WantedGrant& one : wanted) {
    const std::vector<ledger::Grant> grants = standing.grants_on(one.lb, one.grant);
    const bool has_it = ledger::has_grant(grants, one.grant);
    if (has_it && !may_shrink(one, grants, standing)) {
      // Somebody may have edited what was granted.
      const std::vector<ledger::Holding> others =
          standing.holdings_on(one.lb, claims::of_others(owner.uid, one.grant.ports));
      if (Result<> unheld = ledger::check_unheld(others, one.grant); !unheld)
        return {.refused = std::move(unheld.error()).about(model::to_string(one.lb))};
      continue;
    }
    const std::vector<ledger::Holding> held =
        standing.holdings_on(one.lb, claims::around(owner.uid, one.grant.ports));
    // Who has ports is said before who wants them: it stays true whichever owner is older.
    if (Result<std::vector<ledger::Grant>> next = ledger::with_grant(grants, one.grant, held);
        !next)
      return {.refused = std::move(next.error()).about(model::to_string(one.lb))};
    // Of two that come at one moment the older has it; of one that was there, nobody takes it.
    const bool is_its = has_it || lives_in(one.grant, held);
    const auto rival = is_its ? std::nullopt : standing.rival_of(owner, one);
    if (rival) {
      return {.waits_for =
                  fmt::format("{} ports {}-{} of {} are wanted by the older {}",
                              model::to_string(one.grant.transport), one.grant.ports.first,
                              one.grant.ports.last, model::to_string(one.lb), to_string(*rival))};
    }
    plan.steps.push_back({.wanted = one, .before = ledger::own_grants(grants, one.grant)});
  }
  return plan;
}

}  // namespace berth::frontend
