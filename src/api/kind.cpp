#include "api/kind.h"

#include <boost/json.hpp>

#include "api/walkers.h"

namespace berth::api {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

Object version_schema(const KindInfo& kind) {
  Object properties{
      {"apiVersion", Object{{"type", "string"}}},
      {"kind", Object{{"type", "string"}}},
      {"metadata", Object{{"type", "object"}}},
      {"spec", schema_of(kind.spec_fields())},
  };
  if (kind.status_fields) properties["status"] = schema_of(kind.status_fields());
  return {{"type", "object"},
          {"description", kind.doc},
          {"properties", std::move(properties)},
          {"required", Array{"spec"}}};
}

Array columns_of(const KindInfo& kind) {
  Array columns;
  for (const PrinterColumn& column : kind.columns) {
    columns.push_back(
        Object{{"name", column.name}, {"type", column.type}, {"jsonPath", column.json_path}});
  }
  return columns;
}

Object version_of(const KindInfo& kind, std::string_view name, bool storage) {
  Object version{{"name", name},
                 {"served", true},
                 {"storage", storage},
                 {"schema", Object{{"openAPIV3Schema", version_schema(kind)}}}};
  if (!kind.columns.empty()) version["additionalPrinterColumns"] = columns_of(kind);
  if (kind.status_subresource) version["subresources"] = Object{{"status", Object{}}};
  return version;
}

}  // namespace

Value crd_of(const KindInfo& kind) {
  Array versions{version_of(kind, kind.type.version, true)};
  for (const ServedVersion& also : kind.also_served) {
    versions.push_back(version_of(kind, also.name, false));
    if (also.deprecated) versions.back().as_object()["deprecated"] = true;
  }

  Object names{{"kind", kind.type.kind},
               {"listKind", kind.type.kind + "List"},
               {"plural", kind.type.plural},
               {"singular", kind.singular}};
  if (!kind.short_names.empty())
    names["shortNames"] = Array(kind.short_names.begin(), kind.short_names.end());

  return Object{{"apiVersion", "apiextensions.k8s.io/v1"},
                {"kind", "CustomResourceDefinition"},
                {"metadata", Object{{"name", kind.type.plural + "." + kind.type.group},
                                    {"labels", Object{{"app.kubernetes.io/managed-by", "berth"}}}}},
                {"spec", Object{{"group", kind.type.group},
                                {"names", std::move(names)},
                                {"scope", kind.type.namespaced ? "Namespaced" : "Cluster"},
                                {"versions", std::move(versions)}}}};
}

}  // namespace berth::api
