// What the workload whose Pod was refused its ports is told in `kubectl describe`. Pure.
#pragma once

#include <optional>

#include "kube/admission/review.h"
#include "kube/runtime/event_correlator.h"

namespace berth::admission {

// The word of bcs-ingress-controller, for which users have alerts.
inline constexpr std::string_view kAllocatePortFailedReason = "AllocatePortFailed";

// Nothing for a Pod that nobody owns: its creator has the answer, and there is no object to say it
// on. Two refusals for the same reason make the same message.
std::optional<kube::EventNote> refusal_event(const kube::AdmissionRequest& request,
                                             const Error& error);

}  // namespace berth::admission
