#include "sim/kube/openapi.h"

#include <boost/json.hpp>
#include <map>

#include <fmt/format.h>

#include "base/fnv.h"
#include "sim/kube/field_table.h"
#include "wire/value.h"

namespace berth::sim::kube {

namespace {

using wire::Array;
using wire::Object;
using wire::Value;

constexpr std::string_view kObjectMeta = "meta.ObjectMeta";
constexpr std::string_view kIntOrString = "intstr.IntOrString";
constexpr std::string_view kQuantity = "resource.Quantity";

Object reference(std::string_view message) {
  return {{"$ref", fmt::format("#/components/schemas/{}", message)}};
}

Object typed(std::string_view type, std::string_view format = {}) {
  Object schema{{"type", type}};
  if (!format.empty()) schema["format"] = format;
  return schema;
}

Object element_schema(const Field& field) {
  switch (field.type) {
    case FieldType::text: return typed("string");
    case FieldType::quantity: return reference(kQuantity);
    case FieldType::integer: return typed("integer");
    case FieldType::boolean: return typed("boolean");
    case FieldType::time:
    case FieldType::micro_time: return typed("string", "date-time");
    case FieldType::bytes: return typed("string", "byte");
    case FieldType::int_or_string: return reference(kIntOrString);
    case FieldType::json:
    case FieldType::opaque: return typed("object");
    case FieldType::message: break;
  }
  return reference(field.message->name);
}

Object field_schema(const Field& field) {
  Object element = element_schema(field);
  if (field.list) return {{"type", "array"}, {"items", std::move(element)}};
  if (field.map) return {{"type", "object"}, {"additionalProperties", std::move(element)}};
  if (!element.contains("$ref")) return element;
  return {{"allOf", Array{std::move(element)}}};
}

// The schemas of one document: messages that its kinds reach, and custom kinds.
class Schemas {
 public:
  void add_kind(const Kind& kind, const Version& version, const Value& gvk) {
    Object schema = version.openapi != nullptr ? version.openapi->get_object() : typed("object");
    const Message* message =
        kind.custom ? nullptr : message_of(kind.group_of(version), version.name, kind.kind);
    const std::string name =
        message != nullptr ? message->name : fmt::format("{}.{}", version.name, kind.kind);
    if (message != nullptr) schema = message_schema(*message);
    Object& fields = properties_of(schema);
    fields["apiVersion"] =
        Object{{"type", "string"}, {"description", "The group and version of this object."}};
    fields["kind"] = Object{{"type", "string"}, {"description", "The kind of this object."}};
    fields["metadata"] = Object{{"description", "Name, labels and what else all objects have."},
                                {"allOf", Array{reference(kObjectMeta)}}};
    add_message(field_table().at(std::string(kObjectMeta)));
    schema["x-kubernetes-group-version-kind"] = Array{gvk};
    all_[name] = std::move(schema);
  }

  Object take() {
    Object out;
    const auto either = [](const char* type) {
      return Object{{"oneOf", Array{typed("string"), typed(type)}}};
    };
    out[kIntOrString] = either("integer");
    out[kQuantity] = either("number");
    for (auto& [name, schema] : all_) out[name] = std::move(schema);
    return out;
  }

 private:
  static Object& properties_of(Object& schema) {
    Value& properties = schema["properties"];
    if (!properties.is_object()) properties.emplace_object();
    return properties.get_object();
  }

  void add_message(const Message& message) {
    if (!all_.try_emplace(message.name).second) return;
    Object schema = message_schema(message);
    all_[message.name] = std::move(schema);
  }

  Object message_schema(const Message& message) {
    Object schema = typed("object");
    Array required;
    add_fields(message, properties_of(schema), required);
    if (!required.empty()) schema["required"] = std::move(required);
    return schema;
  }

  void add_fields(const Message& message, Object& properties, Array& required) {
    for (const Field& field : message.fields) {
      if (field.inlined) {
        add_fields(*field.message, properties, required);
        continue;
      }
      if (field.message != nullptr) add_message(*field.message);
      properties[field.name] = field_schema(field);
      if (field.required) required.emplace_back(std::string_view(field.name));
    }
  }

  std::map<std::string, Object> all_;
};

// kubectl looks for these to know what it may ask of a server.
Array patch_parameters() {
  Array parameters;
  for (const char* name : {"dryRun", "fieldManager", "fieldValidation", "force"}) {
    parameters.push_back(Object{{"name", name}, {"in", "query"}, {"schema", typed("string")}});
  }
  return parameters;
}

Object operation(const Value& gvk) {
  return {{"responses", Object{{"200", Object{{"description", "OK"}}}}},
          {"x-kubernetes-group-version-kind", gvk}};
}

void add_paths(Object& paths, std::string_view prefix, const Kind& kind, const Value& gvk) {
  const std::string collection =
      fmt::format("{}/{}{}", prefix, kind.namespaced ? "namespaces/{namespace}/" : "", kind.plural);
  Object many{{"post", operation(gvk)}};
  if (!kind.question) many["get"] = operation(gvk);
  paths[collection] = std::move(many);
  if (kind.question) return;
  Object patch = operation(gvk);
  patch["parameters"] = patch_parameters();
  Object content;
  for (const char* type : {"application/apply-patch+yaml", "application/json-patch+json",
                           "application/merge-patch+json"}) {
    content[type] = Object{{"schema", typed("object")}};
  }
  patch["requestBody"] = Object{{"content", std::move(content)}};
  paths[collection + "/{name}"] = Object{{"get", operation(gvk)},
                                         {"put", operation(gvk)},
                                         {"patch", std::move(patch)},
                                         {"delete", operation(gvk)}};
}

// "apis/apps/v1" to the text of its document: of all of them, or of the one that is wanted.
std::map<std::string, std::string> documents(const std::vector<KindPtr>& kinds,
                                             std::string_view wanted) {
  struct Draft {
    Object paths;
    Schemas schemas;
  };
  std::map<std::string, Draft> drafts;
  for (const KindPtr& kind : kinds) {
    for (const Version& version : kind->versions) {
      if (!version.served) continue;
      const std::string& group = kind->group_of(version);
      const std::string path =
          fmt::format("{}{}/{}", group.empty() ? "api" : "apis/", group, version.name);
      if (!wanted.empty() && path != wanted) continue;
      const Value gvk = Object{{"group", group}, {"version", version.name}, {"kind", kind->kind}};
      add_paths(drafts[path].paths, "/" + path, *kind, gvk);
      drafts[path].schemas.add_kind(*kind, version, gvk);
    }
  }
  std::map<std::string, std::string> texts;
  for (auto& [path, draft] : drafts) {
    texts[path] =
        wire::to_json(Object{{"openapi", "3.0.0"},
                             {"info", Object{{"title", "Kubernetes"}, {"version", "v1.36.4"}}},
                             {"paths", std::move(draft.paths)},
                             {"components", Object{{"schemas", draft.schemas.take()}}}});
  }
  return texts;
}

// Clients keep a document for as long as its address stays the same.
std::string hash_of(std::string_view text) {
  return fmt::format("{:016X}", Fnv1a64().add(text).value());
}

}  // namespace

net::Reply openapi_v2(std::string_view accept) {
  // Clients write the version behind it with an @, for which the answer has a dot.
  if (accept.find("application/com.github.proto-openapi.spec.v2") == std::string_view::npos) {
    return {.headers = {{"Content-Type", "application/json"}},
            .body = R"({"swagger":"2.0","info":{"title":"Kubernetes"},"paths":{}})"};
  }
  return {
      .headers = {{"Content-Type", "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"}},
      .body =
          "\n\x03"
          "2.0"};  // field 1: the version
}

Outcome<net::Reply> openapi(std::string_view path, const std::vector<KindPtr>& kinds) {
  path.remove_prefix(path.starts_with('/') ? 1 : 0);
  const std::map<std::string, std::string> all = documents(kinds, path);
  net::Reply reply{.headers = {{"Content-Type", "application/json"}}};
  if (path.empty()) {
    Object paths;
    for (const auto& [name, text] : all) {
      paths[name] = Object{
          {"serverRelativeURL", fmt::format("{}/{}?hash={}", kOpenApi, name, hash_of(text))}};
    }
    reply.body = wire::to_json(Object{{"paths", std::move(paths)}});
    return reply;
  }
  const auto found = all.find(std::string(path));
  if (found == all.end()) {
    reply.status = 404;
    return reply;
  }
  reply.body = found->second;
  return reply;
}

}  // namespace berth::sim::kube
