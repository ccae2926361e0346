#include "sim/kube/conversion.h"

#include <boost/json.hpp>

namespace berth::sim::kube {

namespace {

using wire::Object;
using wire::Value;

struct Names {
  std::string_view stored, served;
};

// Of an Event in the core group, and in its own.
constexpr Names kEventFields[] = {{"message", "note"},
                                  {"involvedObject", "regarding"},
                                  {"reportingComponent", "reportingController"},
                                  {"source", "deprecatedSource"},
                                  {"firstTimestamp", "deprecatedFirstTimestamp"},
                                  {"lastTimestamp", "deprecatedLastTimestamp"},
                                  {"count", "deprecatedCount"}};

void rename(Object& object, std::string_view from, std::string_view to) {
  const auto found = object.find(from);
  if (found == object.end()) return;
  Value value = std::move(found->value());
  object.erase(found);
  object[to] = std::move(value);
}

// {service: {name, port: {number | name}}}, and before that {serviceName, servicePort}.
void convert_backend(Object& backend, bool to_storage) {
  if (to_storage) {
    const Value* name = backend.if_contains("serviceName");
    if (name == nullptr) return;
    const Value* port = backend.if_contains("servicePort");
    Object service{{"name", *name}};
    if (port != nullptr) {
      service["port"] = Object{{port->is_string() ? "name" : "number", *port}};
    }
    backend.erase("serviceName");
    backend.erase("servicePort");
    backend["service"] = std::move(service);
    return;
  }
  const Value* service = backend.if_contains("service");
  if (service == nullptr) return;
  Object old{{"serviceName", wire::string_at(*service, "/name")}};
  const Value* port = wire::find(*service, "/port/number");
  if (port == nullptr) port = wire::find(*service, "/port/name");
  if (port != nullptr) old["servicePort"] = *port;
  backend = std::move(old);
}

void convert_ingress(Value& ingress, bool to_storage) {
  Object* spec = nullptr;
  if (Value* found = wire::find(ingress, "/spec")) spec = found->if_object();
  if (spec == nullptr) return;
  rename(*spec, to_storage ? "backend" : "defaultBackend",
         to_storage ? "defaultBackend" : "backend");
  const char* kept = to_storage ? "defaultBackend" : "backend";
  if (Value* backend = spec->if_contains(kept); backend != nullptr && backend->is_object()) {
    convert_backend(backend->get_object(), to_storage);
  }
  Value* rules = spec->if_contains("rules");
  if (rules == nullptr || !rules->is_array()) return;
  for (Value& rule : rules->get_array()) {
    Value* paths = wire::find(rule, "/http/paths");
    if (paths == nullptr || !paths->is_array()) continue;
    for (Value& path : paths->get_array()) {
      if (!path.is_object()) continue;
      // v1beta1 had a default here; v1 wants it said.
      if (to_storage && !path.get_object().contains("pathType")) {
        path.get_object()["pathType"] = "ImplementationSpecific";
      }
      Value* backend = path.get_object().if_contains("backend");
      if (backend != nullptr && backend->is_object()) {
        convert_backend(backend->get_object(), to_storage);
      }
    }
  }
}

void convert(const ServedKind& served, Value& object, bool to_storage) {
  if (served.kind->kind == "Ingress") convert_ingress(object, to_storage);
  if (served.kind->kind != "Event") return;
  if (!to_storage) {
    // Texts that the core group always writes, and this one never when they are empty.
    for (const char* key : {"reportingComponent", "reportingInstance"}) {
      const Value* text = object.get_object().if_contains(key);
      if (text != nullptr && *text == Value("")) object.get_object().erase(key);
    }
  }
  for (const Names& names : kEventFields) {
    rename(object.get_object(), to_storage ? names.served : names.stored,
           to_storage ? names.stored : names.served);
  }
}

}  // namespace

Value in_served_version(const ServedKind& served, Value object) {
  if (served.converts()) convert(served, object, false);
  object.get_object()["apiVersion"] = served.api_version();
  return object;
}

void to_storage_version(const ServedKind& served, Value& object) {
  if (!served.converts()) return;
  convert(served, object, true);
  object.get_object()["apiVersion"] = served.kind->api_version(served.kind->storage_version());
}

}  // namespace berth::sim::kube
