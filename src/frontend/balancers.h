// Load balancers as the status of their owners tells of them. Pure.
#pragma once

#include <string>

#include "api/listener_parts.h"
#include "api/load_balancer.h"
#include "model/load_balancer.h"

namespace berth::frontend {

// What users see as `loadbalancerID`: the id without its region, which is in a label.
std::string shown_id(const std::string& text, const model::LoadBalancerRef& lb);

// `object` may be null: nothing is known of it yet.
api::LoadBalancerBrief brief_of(const std::string& text, const model::LoadBalancerRef& lb,
                                const api::LoadBalancer* object);
bool has_address(const api::LoadBalancer* object);
// Why nobody can be told where it is reached.
std::string missing_address(const model::LoadBalancerRef& lb, const api::LoadBalancer* object);

}  // namespace berth::frontend
