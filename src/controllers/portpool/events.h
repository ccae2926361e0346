// What people read in `kubectl describe`: the events of the port pool controllers. Pure.
#pragma once

#include <optional>
#include <vector>

#include "api/listener.h"
#include "api/port_binding.h"
#include "api/port_pool.h"
#include "kube/cache/pod.h"
#include "kube/runtime/event_correlator.h"

namespace berth::controllers::portpool {

// The words of bcs-ingress-controller, for which users have alerts.
inline constexpr std::string_view kCreatedReason = "CreateSuccess";
inline constexpr std::string_view kReadyReason = "Ready";
inline constexpr std::string_view kCleaningReason = "Cleaning";
inline constexpr std::string_view kCleanedReason = "CleanSuccess";
inline constexpr std::string_view kEnsureFailedReason = "EnsureFailed";
// A word of our own.
inline constexpr std::string_view kClaimLostReason = "ClaimLost";

// Every port of the Pod leads to it.
kube::EventNote pod_is_ready(const kube::Pod& pod);
// The life of a PortBinding. Each of them goes with a write to the object, so that it is said once,
// whoever leads.
kube::EventNote binding_created(const api::PortBinding& binding);
kube::EventNote binding_is_ready(const api::PortBinding& binding,
                                 const std::vector<api::PortBindingItem>& entries);
// The Pod is gone or has ended, and its ports still lead to it.
kube::EventNote binding_is_cleaning(const api::PortBinding& binding);
// They do no more; its name may have them again until then.
kube::EventNote binding_is_clean(const api::PortBinding& binding,
                                 const std::optional<WallTime>& kept_until);
// The pool's ports can be had.
kube::EventNote pool_is_ready(const api::PortPool& pool);
kube::EventNote pool_failed(const api::PortPool& pool, const Error& error);
// A port that the Pod was told of is not its own. Whoever reads that may not read other namespaces.
Error claim_lost(const kube::Pod& pod, const api::Listener& lock);
// What one is told that has the annotation of another.
Error never_claimed(const api::Listener& lock);
kube::EventNote pod_lost_claim(const kube::Pod& pod, const Error& error);

}  // namespace berth::controllers::portpool
