#include "api/decode.h"

#include "api/walkers.h"

namespace berth::api {
namespace {

// Listeners carry their claim in an annotation, and finalizers decide about deletion.
const kube::MetaRules kOurMeta{.annotations = kube::KeyFilter::everything(), .finalizers = true};

template <class T>
Result<T> decode_text(wire::JsonReader& reader, std::string_view text, const KindInfo& kind) {
  T object;
  Result<> read = kube::decode_object(reader, text, kind.type, kOurMeta, object.meta,
                                      [&](std::string_view key, wire::JsonNode value) {
                                        if (key == "spec") decode(object.spec, value);
                                        if (key == "status") decode(object.status, value);
                                      });
  if (!read) return pass(read);
  if constexpr (std::is_same_v<T, PortPool>) normalise(object.spec);
  return object;
}

template <class T>
kube::Projection<T> projection_of(const KindInfo& kind) {
  return {.type = kind.type, .from_json = [&kind](wire::JsonReader& reader, std::string_view text) {
            return decode_text<T>(reader, text, kind);
          }};
}

template <class T>
Result<T> decode_value(const wire::Value& object, const KindInfo& kind) {
  wire::JsonReader reader;
  return decode_text<T>(reader, wire::to_json(object), kind);
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

}  // namespace berth::api
