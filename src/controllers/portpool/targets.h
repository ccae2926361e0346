// Where the Listeners of a slot lead while it belongs to a Pod. Pure.
#pragma once

#include "api/listener.h"
#include "api/port_binding.h"
#include "kube/cache/pod.h"

namespace berth::controllers::portpool {

// The spec with the Pod as its one target: its address, or its node's when the entry asks for the
// host port. A Pod that terminates is drained. Without an address there is no target.
api::ListenerSpec spec_for(const api::ListenerSpec& spec, const kube::Pod& pod,
                           const api::PortBindingItem& entry);
api::ListenerSpec without_target(api::ListenerSpec spec);

// Its one target is this Pod, drained or not.
bool names(const api::ListenerSpec& spec, const kube::Pod& pod, const api::PortBindingItem& entry);

// The load balancer leads to this Pod, and was seen to.
bool leads_to(const api::Listener& listener, const kube::Pod& pod,
              const api::PortBindingItem& entry);

}  // namespace berth::controllers::portpool
