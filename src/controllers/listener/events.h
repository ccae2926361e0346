// What people read in `kubectl describe listener`. Pure.
#pragma once

#include "api/listener.h"
#include "kube/runtime/event_correlator.h"

namespace berth::controllers::listener {

// The load balancer did not do what the Listener asks for.
kube::EventNote not_synced(const api::Listener& listener, const Error& error);

}  // namespace berth::controllers::listener
