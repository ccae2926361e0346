// What people read in `kubectl describe` of an Ingress. Pure.
#pragma once

#include "api/ingress.h"
#include "controllers/ingress/backends.h"
#include "kube/runtime/event_correlator.h"

namespace berth::controllers::ingress {

// The words of bcs-ingress-controller.
inline constexpr std::string_view kSuccessReason = "EnsureSuccess";
inline constexpr std::string_view kFailedReason = "ProcessIngressFailed";
inline constexpr std::string_view kBindFailedReason = "IngressBindFailed";

kube::EventNote is_ready(const api::Ingress& ingress);
kube::EventNote failed(const api::Ingress& ingress, std::string message);
// A route that leads nowhere.
kube::EventNote leads_nowhere(const api::Ingress& ingress, const Gap& gap);

}  // namespace berth::controllers::ingress
