// What a LoadBalancer object says about its load balancer. Pure.
#pragma once

#include "api/load_balancer.h"
#include "model/load_balancer.h"

namespace berth::controllers::loadbalancer {

// The status after the provider was asked: what it said, or why it did not. What was known before
// stays when it did not answer.
api::LoadBalancerStatus status_of(const api::LoadBalancer& object,
                                  const Result<model::LoadBalancerInfo>& answer,
                                  std::size_t listeners, WallTime now);

// Its provider said that it does not exist, when it was last asked.
bool was_missing(const api::LoadBalancer& object);

}  // namespace berth::controllers::loadbalancer
