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

// Every port of the Pod leads to it.
kube::EventNote pod_is_ready(const kube::Pod& pod);
// The pool's ports can be had.
kube::EventNote pool_is_ready(const api::PortPool& pool);
kube::EventNote pool_failed(const api::PortPool& pool, const Error& error);
// The load balancer did not do what the Listener asks for.
kube::EventNote listener_failed(const api::Listener& listener, const Error& error);

}  // namespace berth::controllers::portpool
