#include "claims/resolver.h"

#include <algorithm>
#include <set>

namespace berth::claims {
void add_indexes(BalancerStore& store) {
  store.add_index(std::string(kGrantOwnerIndex),
                  [](const api::LoadBalancer& object, kube::EmitKey emit) {
                    std::set<std::string_view> owners;
                    for (const api::Grant& grant : object.spec.grants)
                      if (owners.insert(grant.owner_uid).second) emit(grant.owner_uid);
                  });
}

Result<std::vector<model::LoadBalancerRef>> Resolver::load_balancers_of(
    const api::PortPool& pool, const api::PortPoolItem& item) const {
  std::vector<model::LoadBalancerRef> stands_on = granted_to(pool, item.item_name);
  // Somebody may have deleted what says so: its Listeners say it too.
  if (stands_on.size() < item.load_balancer_ids.size()) {
    for (model::LoadBalancerRef& ref : held_by(pool, item.item_name))
      stands_on.push_back(std::move(ref));
  }
  return model::resolve(item.load_balancer_ids, defaults_, stands_on);
}

std::vector<model::LoadBalancerRef> Resolver::granted_to(const api::PortPool& pool,
                                                         const std::string& item) const {
  std::vector<model::LoadBalancerRef> out;
  for (const auto& object : balancers_.by_index(kGrantOwnerIndex, pool.meta.uid)) {
    const bool has = std::ranges::any_of(object->spec.grants, [&](const api::Grant& grant) {
      return grant.owner_uid == pool.meta.uid && grant.item == item;
    });
    if (!has) continue;
    Result<model::LoadBalancerRef> ref = ref_of(*object);
    // Its name says the same, and nobody can edit that.
    if (ref && model::object_name(*ref) == object->meta.name) out.push_back(std::move(*ref));
  }
  return out;
}

std::vector<model::LoadBalancerRef> Resolver::held_by(const api::PortPool& pool,
                                                      const std::string& item) const {
  std::set<model::LoadBalancerRef> out;
  for (const ListenerPtr& listener : listeners_.by_index(kPoolIndex, pool.meta.key().to_string())) {
    if (item_of(*listener) != item) continue;
    const std::optional<Identity> identity = identity_of(*listener);
    // One look at a load balancer's Listeners is enough, and a seal costs more than a look.
    if (!identity || identity->owner_uid != pool.meta.uid || out.contains(identity->lb)) continue;
    if (sealer_.judge(*listener) == Trust::ours) out.insert(identity->lb);
  }
  return {out.begin(), out.end()};
}

}  // namespace berth::claims
