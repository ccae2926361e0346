// What users' texts of load balancers mean. Where an owner stands already, on grants or on sealed
// Listeners, its text keeps the meaning that it had: another default provider or region on the next
// start moves nothing, and neither does a name that another load balancer has by now. What is new
// by name is looked up. Thread-safe; owned by the composition root.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "api/port_pool.h"
#include "claims/grantor.h"
#include "model/load_balancer_name.h"

namespace berth::claims {

// The load balancers of an item, in the order of their texts.
using RefsOf = std::function<Result<std::vector<model::LoadBalancerRef>>(
    const api::PortPool& pool, const api::PortPoolItem& item)>;

// Whose texts they are.
struct TextsOf {
  std::string_view kind{};
  kube::ObjectKey key{};  // with the namespace of its Listeners
  std::string_view uid{};
  std::string_view part{};  // empty: all its parts stand on the same
};

class Resolver {
 public:
  // Asks what a name means to the objects of a namespace: each may have an account of its own.
  using LookUp = std::function<Result<model::LoadBalancerRef>(const model::LoadBalancerRef& named,
                                                              std::string_view ns)>;

  Resolver(const GrantBook& book, const ListenerStore& listeners, const Sealer& sealer,
           model::LoadBalancerDefaults defaults, LookUp look_up)
      : book_(book),
        listeners_(listeners),
        sealer_(sealer),
        defaults_(std::move(defaults)),
        look_up_(std::move(look_up)) {}

  // What texts are read by, without asking anybody: for whoever checks an object before it is acted
  // on. Cost: the owner's grants, and where one of the texts is not among them its Listeners.
  model::Reading reading_of(const TextsOf& whose, std::span<const std::string> texts) const;
  model::Reading reading_of(const api::PortPool& pool, const api::PortPoolItem& item) const {
    return reading_of(texts_of(pool, item), item.load_balancer_ids);
  }

  // In the order of the texts.
  Result<std::vector<model::LoadBalancerRef>> load_balancers_of(
      const TextsOf& whose, std::span<const std::string> texts) const;
  Result<std::vector<model::LoadBalancerRef>> load_balancers_of(
      const api::PortPool& pool, const api::PortPoolItem& item) const {
    return load_balancers_of(texts_of(pool, item), item.load_balancer_ids);
  }

 private:
  static TextsOf texts_of(const api::PortPool& pool, const api::PortPoolItem& item) {
    return {kPoolOwner, pool.meta.key(), pool.meta.uid, item.item_name};
  }
  std::vector<model::Standing> granted_to(const TextsOf& whose) const;
  // With the names that are sealed on its Listeners.
  std::vector<model::Standing> held_by(const TextsOf& whose,
                                       const std::vector<model::Standing>& granted) const;

  const GrantBook book_;
  const ListenerStore& listeners_;
  const Sealer& sealer_;
  const model::LoadBalancerDefaults defaults_;
  const LookUp look_up_;
};

}  // namespace berth::claims
