// What a LoadBalancer object says about its load balancer. Pure.
#pragma once

#include <optional>

#include "api/load_balancer.h"
#include "model/load_balancer.h"

namespace berth::controllers::loadbalancer {

// What came of looking at the listeners that are there; nothing: nobody has looked yet.
using Look = std::optional<Result<>>;

// The status after the provider was asked: what it said, or why it did not. What was known before
// stays when it did not answer. That listeners cannot be seen is a condition of its own, which is
// there from the first time on that it happens.
api::LoadBalancerStatus status_of(const api::LoadBalancer& object,
                                  const Result<model::LoadBalancerInfo>& answer, const Look& look,
                                  std::size_t listeners, WallTime now);

// Whether its status says of the look what is so.
bool is_told(const api::LoadBalancer& object, const Look& look);

// Its provider said that it does not exist, when it was last asked.
bool was_missing(const api::LoadBalancer& object);

}  // namespace berth::controllers::loadbalancer
