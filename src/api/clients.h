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

inline PortPools port_pools(kube::Client& client, kube::Store<PortPool>& store) {
  return {client, store, port_pool_kind().type, decode_port_pool};
}
inline Listeners listeners(kube::Client& client, kube::Store<Listener>& store) {
  return {client, store, listener_kind().type, decode_listener};
}
inline PortBindings port_bindings(kube::Client& client, kube::Store<PortBinding>& store) {
  return {client, store, port_binding_kind().type, decode_port_binding};
}
inline LoadBalancers load_balancers(kube::Client& client, kube::Store<LoadBalancer>& store) {
  return {client, store, load_balancer_kind().type, decode_load_balancer};
}
inline PortBlocks port_blocks(kube::Client& client, kube::Store<PortBlock>& store) {
  return {client, store, port_block_kind().type, decode_port_block};
}
inline Ingresses ingresses(kube::Client& client, kube::Store<Ingress>& store) {
  return {client, store, ingress_kind().type, decode_ingress};
}

}  // namespace berth::api
