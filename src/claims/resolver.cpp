#include "claims/resolver.h"

#include <algorithm>
#include <set>

namespace berth::claims {

model::Reading Resolver::reading_of(const TextsOf& whose,
                                    std::span<const std::string> texts) const {
  std::vector<model::Standing> stands_on = granted_to(whose);
  const bool known = std::ranges::all_of(texts, [&](const std::string& text) {
    return std::ranges::any_of(
        stands_on, [&](const model::Standing& one) { return model::may_mean(text, one); });
  });
  // Grants have no names in them; and somebody may have deleted them. Listeners say all of it.
  if (!known || stands_on.size() < texts.size()) {
    for (model::Standing& one : held_by(whose, stands_on)) stands_on.push_back(std::move(one));
  }
  return {defaults_, std::move(stands_on)};
}

Result<std::vector<model::LoadBalancerRef>> Resolver::load_balancers_of(
    const TextsOf& whose, std::span<const std::string> texts) const {
  return model::resolve(texts, reading_of(whose, texts), [&](const model::LoadBalancerRef& named) {
    return look_up_(named, whose.key.ns);
  });
}

std::vector<model::Standing> Resolver::granted_to(const TextsOf& whose) const {
  std::vector<model::Standing> out;
  for (const auto& [balancer, grants] : book_.of_owner(std::string(whose.uid))) {
    if (!whose.part.empty() &&
        std::ranges::find(grants, whose.part, &ledger::Grant::item) == grants.end())
      continue;
    const BalancerPtr object = book_.balancers().get("", balancer);
    Result<model::LoadBalancerRef> ref = object ? ref_of(*object) : fail(Code::not_found, "gone");
    // Its name says the same, and nobody can edit that.
    if (ref && model::object_name(*ref) == balancer) out.push_back({std::move(*ref)});
  }
  return out;
}

std::vector<model::Standing> Resolver::held_by(const TextsOf& whose,
                                               const std::vector<model::Standing>& granted) const {
  std::set<std::pair<model::LoadBalancerRef, std::string>> out;
  for (const ListenerPtr& listener :
       listeners_.by_index(kOwnerIndex, owner_key(whose.kind, whose.key))) {
    if (!whose.part.empty() && item_of(*listener) != whose.part) continue;
    const std::optional<Identity> identity = identity_of(*listener);
    if (!identity || identity->owner_uid != whose.uid) continue;
    // One look at a load balancer's Listeners is enough, and a seal costs more than a look.
    std::pair says{identity->lb, identity->found_by};
    if (out.contains(says)) continue;
    const bool is_granted =
        std::ranges::find(granted, identity->lb, &model::Standing::lb) != granted.end();
    // When keys are lost, what is older than those that we have stands in its grant.
    if (sealer_.judge(*listener) == Trust::ours ||
        (is_granted && sealer_.may_seal_again(*listener)))
      out.insert(std::move(says));
  }
  std::vector<model::Standing> list;
  for (const auto& [lb, name] : out) list.push_back({lb, name});
  return list;
}

}  // namespace berth::claims
