// Health checks and certificates: defaults, what a call changes of them, and what does not fit.
// Pure but for what it reads of the call.
#pragma once

#include "sim/cloud/tencent/call.h"

namespace berth::sim::tencent {

// What is there, with what the parameter HealthCheck of `in` says on top; checked for a listener,
// or a rule, that speaks `protocol`. `now` is empty for a new one.
Outcome<wire::Object> health_check(const Call& call, const LoadBalancer& lb,
                                   std::string_view protocol, const wire::Object& now,
                                   const Params& in);

// From Certificate or MultiCertInfo of `in`; empty when it has neither.
Outcome<wire::Object> certificate(const Call& call, const Params& in);

}  // namespace berth::sim::tencent
