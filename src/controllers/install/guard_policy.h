// The guard: what people may not write of our Listeners and PortBindings, as
// ValidatingAdmissionPolicies that the API server judges by itself. Pure functions.
//
// No webhook: our claims are writes of Listeners, and nobody who may be down stands in their way.
// It is a second wall. The invariants hold without it, on servers that do not know the kind too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controllers/install/plan.h"

namespace berth::controllers::install {

// Who has this verb on `listeners` or `portbindings` may write everything of them.
inline constexpr std::string_view kRepairVerb = "repair";

extern const kube::ResourceType kGuardPolicy, kGuardPolicyBinding;
bool is_guard(const kube::ResourceType& type);

// Our name at the API server, as it is configured.
std::string user_name(const OurUser& us);

// A policy and its binding for each kind that has a guard, named "berth-" and the resource. They
// are not for `us`, the user whose name that is.
std::vector<Wanted> guard_policies(std::string_view us, const module::Declarations& modules);

}  // namespace berth::controllers::install
