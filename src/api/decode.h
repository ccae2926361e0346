// Our kinds from what the API server sends: projections for informers, and from a document in
// memory. Pure functions.
#pragma once

#include "api/ingress.h"
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
kube::Projection<Ingress> ingress_projection();

Result<PortPool> decode_port_pool(const wire::Value& object);
Result<Ingress> decode_ingress(const wire::Value& object);
// As they come to a webhook: they may have no version yet, and no name of their own. Of their
// metadata they have name, namespace and annotations.
Result<PortPool> decode_incoming_port_pool(const wire::Value& object);
Result<Ingress> decode_incoming_ingress(const wire::Value& object);
Result<Listener> decode_listener(const wire::Value& object);
Result<PortBinding> decode_port_binding(const wire::Value& object);
Result<LoadBalancer> decode_load_balancer(const wire::Value& object);
Result<PortBlock> decode_port_block(const wire::Value& object);

}  // namespace berth::api
