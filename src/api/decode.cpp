#include "api/decode.h"

#include <algorithm>
#include <boost/json.hpp>

#include "api/decode_kind.h"

namespace berth::api {
namespace {

kube::StringMap annotations_of(const wire::Value& object) {
  kube::StringMap out;
  if (const wire::Object* const map = wire::object_at(object, "/metadata/annotations")) {
    for (const auto& entry : *map)
      if (entry.value().is_string())
        out.emplace_back(kube::Interned(entry.key()), std::string(entry.value().get_string()));
  }
  std::ranges::sort(out, {}, [](const kube::MapEntry& entry) { return entry.first.view(); });
  return out;
}

template <class T>
Result<T> decode_incoming(const wire::Value& object) {
  T out;
  out.meta.ns = kube::Interned(wire::string_at(object, "/metadata/namespace"));
  out.meta.name = std::string(wire::string_at(object, "/metadata/name"));
  out.meta.uid = std::string(wire::string_at(object, "/metadata/uid"));
  out.meta.annotations = annotations_of(object);
  wire::JsonReader reader;
  Result<> read =
      reader.read(wire::to_json(object), [&](std::string_view key, wire::JsonNode value) {
        if (key == "spec") decode(out.spec, value);
      });
  if (!read) return pass(read);
  if constexpr (requires { normalise(out.spec); }) normalise(out.spec);
  return out;
}

}  // namespace

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
kube::Projection<Ingress> ingress_projection() { return projection_of<Ingress>(ingress_kind()); }

Result<PortPool> decode_port_pool(const wire::Value& object) {
  return decode_value<PortPool>(object, port_pool_kind());
}
Result<PortPool> decode_incoming_port_pool(const wire::Value& object) {
  return decode_incoming<PortPool>(object);
}
Result<Ingress> decode_ingress(const wire::Value& object) {
  return decode_value<Ingress>(object, ingress_kind());
}
Result<Ingress> decode_incoming_ingress(const wire::Value& object) {
  return decode_incoming<Ingress>(object);
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
