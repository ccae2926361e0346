#include "sim/kube/write_rules.h"

#include <algorithm>
#include <boost/json.hpp>

#include <fmt/format.h>

#include "sim/kube/builtin_rules.h"
#include "sim/kube/crds.h"
#include "sim/kube/managed_entries.h"
#include "sim/kube/managed_fields.h"
#include "sim/kube/object_meta.h"
#include "sim/kube/schema_validation.h"
#include "wire/equal.h"

namespace berth::sim::kube {

namespace {

using wire::Object;
using wire::Value;

void take_field(Value& object, const Value& from, std::string_view key) {
  if (const Value* value = from.get_object().if_contains(key)) {
    object.get_object()[key] = *value;
  } else {
    object.get_object().erase(key);
  }
}

// Whether everything is the same whose change counts as a new generation.
bool same_counted_part(const Value& object, const Value& old, bool with_status) {
  const auto counts = [with_status](std::string_view key) {
    return key != "metadata" && key != "apiVersion" && key != "kind" &&
           (with_status || key != "status");
  };
  const auto in_both = [&counts](const Object& from, const Object& in) {
    return std::ranges::all_of(from, [&](const auto& field) {
      const Value* other = counts(field.key()) ? in.if_contains(field.key()) : &field.value();
      return other != nullptr && wire::equal(*other, field.value());
    });
  };
  const auto has_all = [&counts](const Object& from, const Object& in) {
    return std::ranges::all_of(
        from, [&](const auto& field) { return !counts(field.key()) || in.contains(field.key()); });
  };
  return in_both(object.get_object(), old.get_object()) &&
         has_all(old.get_object(), object.get_object());
}

void count_generation(const Kind& kind, bool with_status, Value& object, const Value& old) {
  if (!kind.has_generation) return;
  const auto annotations = [](const Value& one) {
    const Object* found = wire::object_at(one, "/metadata/annotations");
    return found == nullptr ? Object() : *found;
  };
  // Of all kinds, a Deployment counts its annotations too.
  const bool annotated = kind.kind == "Deployment" && annotations(object) != annotations(old);
  if (!annotated && same_counted_part(object, old, with_status)) return;
  metadata_of(object)["generation"] = wire::int_at(old, "/metadata/generation").value_or(0) + 1;
}

// What etcd takes in one request.
constexpr std::size_t kMaxStoredBytes = 1536u << 10;

// About what the object takes in storage.
std::size_t stored_bytes(const Value& value) {
  if (value.is_string()) return value.get_string().size() + 2;
  std::size_t total = 4;
  if (value.is_array()) {
    for (const Value& item : value.get_array()) total += stored_bytes(item) + 1;
  } else if (value.is_object()) {
    for (const auto& member : value.get_object()) {
      total += member.key().size() + 4 + stored_bytes(member.value());
    }
  }
  return total;
}

}  // namespace

void check_dry_run(const Value& options, Causes& causes) {
  const wire::Array* given = wire::array_at(options, "/dryRun");
  if (given == nullptr || *given == wire::Array{"All"} || given->empty()) return;
  causes.push_back(unsupported_value("dryRun", *given, {"All"}));
}

Outcome<> check_write_options(const RequestInfo& info, bool applying) {
  Causes causes;
  if (applying && info.parameter("fieldManager").empty()) {
    causes.push_back(required_value("fieldManager", "is required for apply patch"));
  }
  if (info.verb == "patch" && !applying && !info.parameter("force").empty()) {
    causes.push_back(forbidden_value("force", "may not be specified for non-apply patch"));
  }
  if (const auto dry_run = info.parameter("dryRun"); !dry_run.empty()) {
    check_dry_run(Object{{"dryRun", wire::Array{dry_run}}}, causes);
  }
  if (info.parameter("fieldManager").size() > kMaxManagerBytes) {
    causes.push_back({"FieldValueTooLong",
                      fmt::format("Too long: may not be more than {} bytes", kMaxManagerBytes),
                      "fieldManager"});
  }
  const std::string_view validation = info.parameter("fieldValidation");
  if (!validation.empty() && validation != "Ignore" && validation != "Strict" &&
      validation != "Warn") {
    causes.push_back(
        unsupported_value("fieldValidation", Value(validation), {"", "Ignore", "Strict", "Warn"}));
  }
  if (causes.empty()) return {};
  const char* kind = info.verb == "create"   ? "CreateOptions"
                     : info.verb == "update" ? "UpdateOptions"
                                             : "PatchOptions";
  return refuse(invalid({"meta.k8s.io", kind}, {}, std::move(causes)));
}

Outcome<> check_address(Value& object, std::string_view ns, std::string_view name) {
  Object& metadata = metadata_of(object);
  if (!ns.empty()) {
    if (!metadata.contains("namespace")) metadata["namespace"] = ns;
    if (namespace_of(object) != ns) {
      return refuse(
          bad_request("the namespace of the provided object does not match the namespace "
                      "sent on the request"));
    }
  }
  if (!name.empty()) {
    if (!metadata.contains("name")) metadata["name"] = name;
    if (name_of(object) != name) {
      return refuse(bad_request(
          fmt::format("the name of the object ({}) does not match the name on the URL ({})",
                      name_of(object), name)));
    }
  }
  return {};
}

void prepare_update(const ServedKind& served, std::string_view subresource, Value& object,
                    const Value& old) {
  const bool has_status = served.version->status_subresource;
  const bool is_namespace = served.kind->resource() == GroupResource{"", "namespaces"};
  if (subresource == "finalize") {
    const wire::Array* held = wire::array_at(object, "/spec/finalizers");
    const bool any = held != nullptr && !held->empty();
    object.get_object()["spec"] = any ? Object{{"finalizers", *held}} : Object{};
  } else if (is_namespace) {
    take_field(object, old, "spec");  // which holds nothing but finalizers
  }
  if (subresource == "status") {
    Value next = old;
    take_field(next, object, "status");
    // Labels, annotations and finalizers of built-in kinds may change here too.
    if (!served.kind->custom) take_field(next, object, "metadata");
    keep_managed_fields(next, object);
    object = std::move(next);
    object.get_object()["apiVersion"] = served.api_version();
  } else if (has_status) {
    take_field(object, old, "status");
  }
  keep_system_metadata(object, old);
  count_generation(*served.kind, !has_status, object, old);
}

Outcome<> validate_object(const ServedKind& served, std::string_view subresource,
                          const Value& object, const Value* old) {
  const Kind& kind = *served.kind;
  Causes causes;
  if (old != nullptr) {
    causes = validate_metadata_update(object, *old);
    for (Cause& cause : validate_metadata(kind, object)) causes.push_back(std::move(cause));
    // Both layers of the real server look at the metadata, and both report.
    const Causes again = causes;
    causes.insert(causes.end(), again.begin(), again.end());
  } else {
    causes = validate_metadata(kind, object);
  }
  Causes more;
  if (kind.custom) {
    more = validate_schema(object, old, *served.version->schema);
  } else if (kind.resource() == kCustomResourceDefinitions) {
    more = validate_crd(object, old);
  } else if (subresource.empty()) {
    more = validate_builtin(kind, object, old);
  }
  for (Cause& cause : more) causes.push_back(std::move(cause));
  if (causes.empty()) {
    if (stored_bytes(object) <= kMaxStoredBytes) return {};
    return refuse(ApiError{.code = 500, .message = "etcdserver: request is too large"});
  }
  return refuse(invalid(kind.group_kind(), name_of(object), std::move(causes)));
}

bool may_vanish(const Value& object) {
  if (!is_deleting(object) || !finalizers_of(object).empty()) return false;
  if (wire::int_at(object, "/metadata/deletionGracePeriodSeconds").value_or(0) > 0) return false;
  const wire::Array* held = wire::array_at(object, "/spec/finalizers");
  return wire::string_at(object, "/kind") != "Namespace" || held == nullptr || held->empty();
}

}  // namespace berth::sim::kube
