// Where targets may lie: which address belongs to which network, and what the load balancer and the
// account must have so that it can be bound. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "sim/cloud/tencent/call.h"

namespace berth::sim::tencent {

bool is_address(std::string_view text);
// `cidr` is "10.0.0.0/8" or an IPv6 network.
bool lies_in(std::string_view address, std::string_view cidr);

// A target as the call names it, with its type. Exactly one of EniIp and InstanceId names it.
Outcome<Target> place_target(const Call& call, const LoadBalancer& lb, const Params& named);
// The same for a target that is there already, or is not: no rules about where it lies.
Outcome<Target> name_target(const Call& call, const Params& named);

}  // namespace berth::sim::tencent
