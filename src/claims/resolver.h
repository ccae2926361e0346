// What users' texts of load balancers mean. Where an owner stands already, on grants or on sealed
// Listeners, its text keeps the meaning that it had: another default provider or region on the next
// start moves nothing, and neither does a name that another load balancer has by now. What is new
// by name is looked up. Thread-safe; owned by the composition root.
#pragma once

#include <functional>
#include <vector>

#include "api/port_pool.h"
#include "claims/grantor.h"
#include "model/load_balancer_name.h"

namespace berth::claims {

// The load balancers of an item, in the order of their texts.
using RefsOf = std::function<Result<std::vector<model::LoadBalancerRef>>(
    const api::PortPool& pool, const api::PortPoolItem& item)>;

class Resolver {
 public:
  Resolver(const GrantBook& book, const ListenerStore& listeners, const Sealer& sealer,
           model::LoadBalancerDefaults defaults, model::LookUp look_up)
      : book_(book),
        listeners_(listeners),
        sealer_(sealer),
        defaults_(std::move(defaults)),
        look_up_(std::move(look_up)) {}

  Result<std::vector<model::LoadBalancerRef>> load_balancers_of(
      const api::PortPool& pool, const api::PortPoolItem& item) const;

 private:
  std::vector<model::Standing> granted_to(const api::PortPool& pool, const std::string& item) const;
  // With the names that are sealed on its Listeners.
  std::vector<model::Standing> held_by(const api::PortPool& pool, const std::string& item,
                                       const std::vector<model::Standing>& granted) const;

  const GrantBook book_;
  const ListenerStore& listeners_;
  const Sealer& sealer_;
  const model::LoadBalancerDefaults defaults_;
  const model::LookUp look_up_;
};

}  // namespace berth::claims
