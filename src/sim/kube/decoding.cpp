#include "sim/kube/decoding.h"

#include <algorithm>
#include <boost/json.hpp>

#include <fmt/format.h>

#include "sim/kube/builtin_rules.h"
#include "sim/kube/conversion.h"
#include "sim/kube/object_meta.h"
#include "sim/kube/protobuf_body.h"
#include "sim/kube/schema.h"
#include "wire/yaml.h"

namespace berth::sim::kube {

namespace {

using wire::Value;

ApiError unrecognized(const ServedKind& served, std::string_view why, std::string_view body) {
  // The real server shows the beginning of what it got.
  constexpr std::size_t kShown = 30;
  const std::string shown = body.empty()           ? "<empty>"
                            : body.size() > kShown ? std::string(body.substr(0, kShown)) + " ..."
                                                   : std::string(body);
  return bad_request(
      fmt::format("the object provided is unrecognized (must be of type {}): {} ({})",
                  served.kind->kind, why, shown));
}

ApiError cannot_handle(const ServedKind& served, std::string_view kind, std::string_view why) {
  return bad_request(fmt::format("{} in version \"{}\" cannot be handled as a {}: {}", kind,
                                 served.version->name, served.kind->kind, why));
}

// Built-in kinds may leave both out; custom ones may not.
Outcome<> check_type(Value& object, const ServedKind& served, std::string_view body) {
  const std::string kind(wire::string_at(object, "/kind"));
  const std::string version(wire::string_at(object, "/apiVersion"));
  const std::string expected = served.api_version();
  if (served.kind->custom) {
    if (kind.empty()) {
      return refuse(
          unrecognized(served, fmt::format("Object 'Kind' is missing in '{}'", body), body));
    }
    if (version != expected) {
      return refuse(bad_request(fmt::format(
          "the API version in the data ({}) does not match the expected API version ({})", version,
          expected)));
    }
    if (kind != served.kind->kind) {
      return refuse(invalid({served.kind->group, kind}, name_of(object),
                            {invalid_value("kind", Value(kind), "must be " + served.kind->kind)}));
    }
    return {};
  }
  if (!version.empty() && version != expected) {
    return refuse(cannot_handle(
        served, kind.empty() ? served.kind->kind : kind,
        fmt::format("no kind \"{}\" is registered for version \"{}\"", kind, version)));
  }
  if (!kind.empty() && kind != served.kind->kind) {
    return refuse(cannot_handle(served, kind, "unknown conversion"));
  }
  return {};
}

// Code behind this relies on the two parts of a built-in object being objects.
Outcome<> check_parts(const Value& object, const ServedKind& served) {
  const std::string& kind = served.kind->kind;
  for (const auto& [field, type] : {std::pair{"spec", "Spec"}, std::pair{"status", "Status"}}) {
    const Value* part = object.get_object().if_contains(field);
    if (part == nullptr || part->is_object() || part->is_null()) continue;
    return refuse(cannot_handle(
        served, kind,
        fmt::format("json: cannot unmarshal {} into Go struct field {}.{} of type v1.{}{}",
                    go_type(*part), kind, field, kind, type)));
  }
  return {};
}

Outcome<> report_unknown(const std::vector<std::string>& unknown, const Value& before,
                         const ServedKind& served, UnknownFields mode, bool patched,
                         Warnings& warnings) {
  if (unknown.empty() || mode == UnknownFields::ignore) return {};
  std::string all;
  for (const std::string& field : unknown) {
    const std::string one = fmt::format("unknown field \"{}\"", field);
    if (mode == UnknownFields::warn) warnings.push_back(one);
    all += (all.empty() ? "" : ", ") + one;
  }
  if (mode == UnknownFields::warn) return {};
  const std::string why = "strict decoding error: " + all;
  if (!patched) return refuse(cannot_handle(served, served.kind->kind, why));
  return refuse(invalid({}, {}, {invalid_value("patch", Value(wire::to_json(before)), why)}));
}

}  // namespace

UnknownFields unknown_fields_of(std::string_view parameter) {
  if (parameter == "Strict") return UnknownFields::refuse;
  return parameter == "Ignore" ? UnknownFields::ignore : UnknownFields::warn;
}

Outcome<Value> decode_body(std::string_view body, std::string_view content_type,
                           const ServedKind& served) {
  if (content_type.starts_with(kProtobuf)) {
    Outcome<Value> object = decode_protobuf(body);
    if (!object) return object;
    if (Outcome<> fine = check_type(*object, served, {}); !fine) return refuse(fine);
    return object;
  }
  const bool yaml = content_type.find("yaml") != std::string_view::npos;
  const bool json = content_type.empty() || content_type.find("json") != std::string_view::npos ||
                    content_type.starts_with("application/x-www-form-urlencoded");
  if (!yaml && !json) {
    return refuse(unsupported_media_type(
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json, application/yaml, application/vnd.kubernetes.protobuf",
        false));
  }
  Result<Value> object = yaml ? wire::parse_yaml(body) : wire::parse_json(body);
  if (!object || !object->is_object()) {
    const std::string why = object ? "not an object" : object.error().message;
    return refuse(
        unrecognized(served, "couldn't get version/kind; json parse error: " + why, body));
  }
  if (Outcome<> fine = check_type(*object, served, body); !fine) return refuse(fine);
  return std::move(*object);
}

Outcome<Value> decode_document(std::string_view body, std::string_view content_type) {
  if (content_type.starts_with(kProtobuf)) return decode_protobuf(body);
  Result<Value> document = wire::parse_json(body);
  if (!document) return refuse(bad_request(document.error().message));
  return std::move(*document);
}

Outcome<> settle(Value& object, const ServedKind& served, UnknownFields unknown_fields,
                 bool patched, Warnings& warnings) {
  const bool strict = unknown_fields == UnknownFields::refuse;
  const Value before = strict && patched ? object : Value();
  std::vector<std::string> unknown;
  if (Outcome<> fine = normalize_metadata(*served.kind, object, unknown); !fine) {
    return refuse(cannot_handle(served, served.kind->kind, fine.error().message));
  }
  object.get_object()["apiVersion"] = served.api_version();
  object.get_object()["kind"] = served.kind->kind;
  if (!served.kind->custom) {
    if (Outcome<> fine = check_parts(object, served); !fine) return fine;
    to_storage_version(served, object);
    set_builtin_defaults(*served.kind, object);
    return {};
  }
  prune(object, *served.version->schema, unknown);
  std::ranges::sort(unknown);
  apply_defaults(object, *served.version->schema);
  if (Outcome<> fine = report_unknown(unknown, before, served, unknown_fields, patched, warnings);
      !fine) {
    return fine;
  }
  return {};
}

void warn_about_finalizers(const Kind& kind, const Value& object, const Value* old,
                           Warnings& warnings) {
  if (!kind.custom) return;
  const std::vector<std::string> before =
      old == nullptr ? std::vector<std::string>() : finalizers_of(*old);
  for (const std::string& name : finalizers_of(object)) {
    const bool standard = name == "orphan" || name == "foregroundDeletion" || name == "kubernetes";
    if (standard || name.find('/') != std::string::npos) continue;
    if (std::ranges::find(before, name) != before.end()) continue;
    const bool dotted = name.find('.') != std::string::npos;
    warnings.push_back(fmt::format(
        "metadata.finalizers: \"{}\": prefer a domain-qualified finalizer name {}to avoid "
        "accidental conflicts with other finalizer writers",
        name, dotted ? "including a path (/) " : ""));
  }
}

}  // namespace berth::sim::kube
