// What a plan costs at a provider, before anything is done: calls by operation, as its driver would
// make them of the plan's batches. Pure.
#pragma once

#include <map>
#include <span>
#include <string>

#include "lb/plan.h"
#include "model/pace.h"

namespace berth::lb {

// By the provider's own names where we know them ("CreateListener"), else by those of metrics.
using Calls = std::map<std::string, std::size_t>;

// The writes of the plan for one load balancer, if nothing is refused on the way. `wishes` are
// those that it was made of, `known` what it was made from.
Calls calls_of(const Plan& plan, std::span<const Desired> wishes, const Inventory& known,
               model::Provider provider);

std::size_t sum_of(const Calls& calls);

// Seconds that it takes at the least on several load balancers of one provider: each operation at
// the rate that the provider takes it, and where writes to a load balancer must follow each other,
// the longest row of them. 0: nothing is known that would hold it up.
double seconds_at_least(std::span<const Calls> on_each, model::Provider provider);

}  // namespace berth::lb
