// Our kinds from what the API server sends: projections for informers, and from a document in
// memory. Pure functions.
#pragma once

#include "api/listener.h"
#include "api/load_balancer.h"
#include "api/port_binding.h"
#include "api/port_block.h"
#include "api/port_pool.h"
#include "kube/cache/projection.h"

namespace berth::api {

kube::Projection<PortPool> port_pool_projection();
kube::Projection<Listener> listener_projection();
kube::Projection<PortBinding> port_binding_projection();
kube::Projection<LoadBalancer> load_balancer_projection();
kube::Projection<PortBlock> port_block_projection();

Result<PortPool> decode_port_pool(const wire::Value& object);
// As it comes to a webhook: it may have no version yet, and no name of its own.
Result<PortPool> decode_incoming_port_pool(const wire::Value& object);
Result<Listener> decode_listener(const wire::Value& object);
Result<PortBinding> decode_port_binding(const wire::Value& object);
Result<LoadBalancer> decode_load_balancer(const wire::Value& object);
Result<PortBlock> decode_port_block(const wire::Value& object);

}  // namespace berth::api
