// CAM policies as far as actions go: which key may call what. Pure.
#pragma once

#include <string_view>

#include "sim/cloud/tencent/state.h"

namespace berth::sim::tencent {

// `operation` is "clb:CreateListener". A pattern may end with a star; "*" stands for everything.
bool allows(const Policy& policy, std::string_view operation);

// What the guide of bcs-ingress-controller tells its users to grant, and no more.
const Policy& guide_policy();

}  // namespace berth::sim::tencent
