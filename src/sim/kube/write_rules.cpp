#include "sim/kube/write_rules.h"

#include <algorithm>
#include <boost/json.hpp>

#include <fmt/format.h>

#include "sim/kube/builtin_rules.h"
#include "sim/kube/crds.h"
#include "sim/kube/managed_entries.h"
#include "sim/kube/object_meta.h"
#include "sim/kube/schema_validation.h"

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
      return other != nullptr && *other == field.value();
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

}  // namespace

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
  if (subresource == "finalize") {
    Value next = old;
    const Value* finalizers = wire::find(object, "/spec/finalizers");
    next.get_object()["spec"] =
        finalizers == nullptr ? Value(Object{}) : Value(Object{{"finalizers", *finalizers}});
    keep_managed_fields(next, object);
    object = std::move(next);
    return;
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
    // Both layers of the real server look at the metadata, and both report.
    for (int layer = 0; layer < 2; ++layer) {
      for (Cause& cause : validate_metadata_update(object, *old))
        causes.push_back(std::move(cause));
      for (Cause& cause : validate_metadata(kind, object)) causes.push_back(std::move(cause));
    }
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
  if (causes.empty()) return {};
  return refuse(invalid(kind.group_kind(), name_of(object), std::move(causes)));
}

bool may_vanish(const Value& object) {
  if (!is_deleting(object) || !finalizers_of(object).empty()) return false;
  if (wire::int_at(object, "/metadata/deletionGracePeriodSeconds").value_or(0) > 0) return false;
  const wire::Array* held = wire::array_at(object, "/spec/finalizers");
  return wire::string_at(object, "/kind") != "Namespace" || held == nullptr || held->empty();
}

}  // namespace berth::sim::kube
