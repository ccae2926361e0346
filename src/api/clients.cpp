#include "api/clients.h"

#include "api/decode_kind.h"

namespace berth::api {

PortPools port_pools(kube::Client& client, kube::Store<PortPool>& store) {
  return {client, store, port_pool_kind().type, read_text<PortPool, port_pool_kind>};
}
Listeners listeners(kube::Client& client, kube::Store<Listener>& store) {
  return {client, store, listener_kind().type, read_text<Listener, listener_kind>};
}
PortBindings port_bindings(kube::Client& client, kube::Store<PortBinding>& store) {
  return {client, store, port_binding_kind().type, read_text<PortBinding, port_binding_kind>};
}
LoadBalancers load_balancers(kube::Client& client, kube::Store<LoadBalancer>& store) {
  return {client, store, load_balancer_kind().type, read_text<LoadBalancer, load_balancer_kind>};
}
PortBlocks port_blocks(kube::Client& client, kube::Store<PortBlock>& store) {
  return {client, store, port_block_kind().type, read_text<PortBlock, port_block_kind>};
}
Ingresses ingresses(kube::Client& client, kube::Store<Ingress>& store) {
  return {client, store, ingress_kind().type, read_text<Ingress, ingress_kind>};
}

}  // namespace berth::api
