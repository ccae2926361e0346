// Our kinds at the API server, each with the store that knows it.
#pragma once

#include "api/decode.h"
#include "kube/cache/typed.h"

namespace berth::api {

using PortPools = kube::Typed<PortPool>;
using Listeners = kube::Typed<Listener>;
using PortBindings = kube::Typed<PortBinding>;
using LoadBalancers = kube::Typed<LoadBalancer>;
using PortBlocks = kube::Typed<PortBlock>;
using Ingresses = kube::Typed<Ingress>;

PortPools port_pools(kube::Client& client, kube::Store<PortPool>& store);
Listeners listeners(kube::Client& client, kube::Store<Listener>& store);
PortBindings port_bindings(kube::Client& client, kube::Store<PortBinding>& store);
LoadBalancers load_balancers(kube::Client& client, kube::Store<LoadBalancer>& store);
PortBlocks port_blocks(kube::Client& client, kube::Store<PortBlock>& store);
Ingresses ingresses(kube::Client& client, kube::Store<Ingress>& store);

}  // namespace berth::api
