// What people read in `kubectl describe`: the events of the port pool controllers. Pure.
#pragma once

#include "api/listener.h"
#include "api/port_pool.h"
#include "kube/cache/pod.h"
#include "kube/runtime/event_correlator.h"

namespace berth::controllers::portpool {

// The words of bcs-ingress-controller, for which users have alerts.
inline constexpr std::string_view kReadyReason = "Ready";
inline constexpr std::string_view kEnsureFailedReason = "EnsureFailed";
// A word of our own.
inline constexpr std::string_view kClaimLostReason = "ClaimLost";

// Every port of the Pod leads to it.
kube::EventNote pod_is_ready(const kube::Pod& pod);
// The pool's ports can be had.
kube::EventNote pool_is_ready(const api::PortPool& pool);
kube::EventNote pool_failed(const api::PortPool& pool, const Error& error);
// A port that the Pod was told of is not its own.
Error claim_lost(const api::Listener& lock);
kube::EventNote pod_lost_claim(const kube::Pod& pod, const Error& error);

}  // namespace berth::controllers::portpool
