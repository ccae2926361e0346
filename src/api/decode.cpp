#include "api/decode.h"

#include "api/decode_kind.h"

namespace berth::api {
kube::Projection<PortPool> port_pool_projection() {
  return projection_of<PortPool>(port_pool_kind());
}
kube::Projection<Listener> listener_projection() {
  return projection_of<Listener>(listener_kind());
}
kube::Projection<PortBinding> port_binding_projection() {
  return projection_of<PortBinding>(port_binding_kind());
}
kube::Projection<LoadBalancer> load_balancer_projection() {
  return projection_of<LoadBalancer>(load_balancer_kind());
}
kube::Projection<PortBlock> port_block_projection() {
  return projection_of<PortBlock>(port_block_kind());
}

Result<PortPool> decode_port_pool(const wire::Value& object) {
  return decode_value<PortPool>(object, port_pool_kind());
}
Result<PortPool> decode_incoming_port_pool(const wire::Value& object) {
  PortPool pool;
  pool.meta.ns = kube::Interned(wire::string_at(object, "/metadata/namespace"));
  pool.meta.name = std::string(wire::string_at(object, "/metadata/name"));
  wire::JsonReader reader;
  Result<> read =
      reader.read(wire::to_json(object), [&](std::string_view key, wire::JsonNode value) {
        if (key == "spec") decode(pool.spec, value);
      });
  if (!read) return pass(read);
  normalise(pool.spec);
  return pool;
}

Result<Listener> decode_listener(const wire::Value& object) {
  return decode_value<Listener>(object, listener_kind());
}

Result<PortBinding> decode_port_binding(const wire::Value& object) {
  return decode_value<PortBinding>(object, port_binding_kind());
}

Result<LoadBalancer> decode_load_balancer(const wire::Value& object) {
  return decode_value<LoadBalancer>(object, load_balancer_kind());
}

Result<PortBlock> decode_port_block(const wire::Value& object) {
  return decode_value<PortBlock>(object, port_block_kind());
}

}  // namespace berth::api
