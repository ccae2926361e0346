#include "sim/kube/crds.h"

#include <algorithm>
#include <boost/json.hpp>

#include <fmt/format.h>

#include "sim/kube/json_path.h"
#include "sim/kube/object_meta.h"
#include "sim/kube/schema.h"
#include "wire/equal.h"

namespace berth::sim::kube {

const GroupResource kCustomResourceDefinitions{"apiextensions.k8s.io", "customresourcedefinitions"};

namespace {

using wire::Array;
using wire::Object;
using wire::Value;

constexpr std::string_view kSimplePath = "must be a simple json path starting with .";

const Array& versions_of(const Value& crd) {
  static const Array kNone;
  const Array* versions = wire::array_at(crd, "/spec/versions");
  return versions == nullptr ? kNone : *versions;
}

bool is_storage(const Value& version) { return wire::bool_at(version, "/storage").value_or(false); }

std::vector<std::string> strings_at(const Value& value, std::string_view pointer) {
  std::vector<std::string> strings;
  const Array* list = wire::array_at(value, pointer);
  if (list == nullptr) return strings;
  for (const Value& one : *list) {
    if (one.is_string()) strings.emplace_back(one.get_string());
  }
  return strings;
}

void check_column(const Value& column, const std::string& at, Causes& causes) {
  constexpr std::string_view kTypes = "must be one of boolean,date,integer,number,string";
  const std::string_view type = wire::string_at(column, "/type");
  const std::string_view path = wire::string_at(column, "/jsonPath");
  if (wire::string_at(column, "/name").empty()) causes.push_back(required_value(at + ".name"));
  if (type.empty()) {
    causes.push_back(required_value(at + ".type", kTypes));
  } else if (type != "boolean" && type != "date" && type != "integer" && type != "number" &&
             type != "string") {
    causes.push_back(invalid_value(at + ".type", Value(type), kTypes));
  }
  if (path.empty()) {
    causes.push_back(required_value(at + ".JSONPath"));
  } else if (!path.starts_with('.')) {
    causes.push_back(invalid_value(at + ".JSONPath", Value(path), kSimplePath));
  } else if (!JsonPath::parse(path)) {
    causes.push_back(invalid_value(at + ".JSONPath", Value(path),
                                   "the embedded server knows fields, indexes, [*] and "
                                   "[?(@.field==\"value\")] alone"));
  }
}

void check_scale(const Value& scale, const std::string& at, Causes& causes) {
  const auto check = [&](const char* key, bool spec, bool status, std::string_view where) {
    const std::string_view path = wire::string_at(scale, std::string("/") + key);
    if (path.empty() && spec && status) return;
    if (path.empty()) return causes.push_back(required_value(fmt::format("{}.{}", at, key)));
    if ((spec && path.starts_with(".spec.")) || (status && path.starts_with(".status."))) return;
    causes.push_back(invalid_value(fmt::format("{}.{}", at, key), Value(path),
                                   path.starts_with('.') ? where : kSimplePath));
  };
  check("specReplicasPath", true, false, "should be a json path under .spec");
  check("statusReplicasPath", false, true, "should be a json path under .status");
  check("labelSelectorPath", true, true, "should be a json path under either .spec or .status");
}

// Where there is but one version, the real server speaks of the fields of old.
void check_extras(const Array& versions, Causes& causes) {
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const std::string at = versions.size() == 1 ? "spec" : fmt::format("spec.versions[{}]", i);
    if (const Value* scale = wire::find(versions[i], "/subresources/scale")) {
      check_scale(*scale, at + ".subresources.scale", causes);
    }
    const Array* columns = wire::array_at(versions[i], "/additionalPrinterColumns");
    for (std::size_t c = 0; columns != nullptr && c < columns->size(); ++c) {
      check_column((*columns)[c], fmt::format("{}.additionalPrinterColumns[{}]", at, c), causes);
    }
  }
}

void check_versions(const Value& crd, Causes& causes) {
  const Array& versions = versions_of(crd);
  // Where all versions have one schema, the real server speaks of the older single field.
  const bool one_schema = std::ranges::all_of(versions, [&](const Value& version) {
    const Value* schema = wire::find(version, "/schema");
    const Value* first = wire::find(versions.front(), "/schema");
    return schema != nullptr && first != nullptr && wire::equal(*schema, *first);
  });
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const std::string at = fmt::format("spec.versions[{}]", i);
    if (wire::string_at(versions[i], "/name").empty())
      causes.push_back(required_value(at + ".name"));
    const Value* schema = wire::find(versions[i], "/schema/openAPIV3Schema");
    if (schema == nullptr) {
      causes.push_back(required_value(at + ".schema.openAPIV3Schema"));
    } else if (!one_schema || i == 0) {
      (void)Schema::parse(
          *schema, one_schema ? "spec.validation.openAPIV3Schema" : at + ".schema.openAPIV3Schema",
          causes);
    }
  }
  if (std::ranges::count_if(versions, is_storage) != 1) {
    causes.push_back(invalid_value("spec.versions", versions.empty() ? Value() : Value(versions),
                                   "must have exactly one version marked as storage version"));
  }
}

void check_stored(const Value& crd, Causes& causes) {
  if (std::ranges::any_of(versions_of(crd), is_storage)) return;
  causes.push_back(
      invalid_value("status.storedVersions", Value(), "must have at least one stored version"));
}

void check_names(const Value& crd, Causes& causes) {
  for (const char* key : {"plural", "singular", "kind", "listKind"}) {
    if (wire::string_at(crd, std::string("/spec/names/") + key).empty()) {
      causes.push_back(required_value(std::string("spec.names.") + key));
    }
  }
}

void check_unchanged(const Value& crd, const Value& old, Causes& causes) {
  for (const std::string_view field :
       {"spec.group", "spec.scope", "spec.names.kind", "spec.names.plural"}) {
    std::string pointer = "/" + std::string(field);
    std::ranges::replace(pointer, '.', '/');
    const std::string_view now = wire::string_at(crd, pointer);
    if (now == wire::string_at(old, pointer)) continue;
    causes.push_back(invalid_value(std::string(field), Value(now), "field is immutable"));
  }
}

Object condition(std::string_view type, std::string_view reason, std::string_view message,
                 WallTime now) {
  return {{"type", type},
          {"status", "True"},
          {"lastTransitionTime", format_rfc3339(now)},
          {"reason", reason},
          {"message", message}};
}

std::string default_warning(const Value& crd, std::string_view version) {
  const std::string_view group = wire::string_at(crd, "/spec/group");
  const std::string_view kind = wire::string_at(crd, "/spec/names/kind");
  std::string warning = fmt::format("{}/{} {} is deprecated", group, version, kind);
  for (const Value& other : versions_of(crd)) {
    if (wire::bool_at(other, "/deprecated").value_or(false)) continue;
    if (!wire::bool_at(other, "/served").value_or(false)) continue;
    return fmt::format("{}; use {}/{} {}", warning, group, wire::string_at(other, "/name"), kind);
  }
  return warning;
}

std::optional<ScalePointers> scale_of(const Value& version) {
  const Value* scale = wire::find(version, "/subresources/scale");
  if (scale == nullptr) return std::nullopt;
  const auto pointer = [scale](std::string_view key) {
    std::string path(wire::string_at(*scale, key));
    std::ranges::replace(path, '.', '/');
    return path;
  };
  return ScalePointers{pointer("/specReplicasPath"), pointer("/statusReplicasPath"),
                       pointer("/labelSelectorPath")};
}

Version version_of_crd(const Value& crd, const Value& from) {
  Version version;
  version.name = wire::string_at(from, "/name");
  version.served = wire::bool_at(from, "/served").value_or(false);
  version.storage = is_storage(from);
  version.status_subresource = wire::find(from, "/subresources/status") != nullptr;
  if (wire::bool_at(from, "/deprecated").value_or(false)) {
    version.deprecation_warning = wire::string_at(from, "/deprecationWarning");
    if (version.deprecation_warning.empty()) {
      version.deprecation_warning = default_warning(crd, version.name);
    }
  }
  version.scale = scale_of(from);
  version.columns = custom_columns(from);
  Causes none;
  const Value& openapi = *wire::find(from, "/schema/openAPIV3Schema");
  version.schema = Schema::parse(openapi, {}, none);
  version.openapi = std::make_shared<const Value>(openapi);
  return version;
}

}  // namespace

Causes validate_crd(const Value& crd, const Value* old) {
  Causes causes;
  const std::string_view group = wire::string_at(crd, "/spec/group");
  const std::string_view plural = wire::string_at(crd, "/spec/names/plural");
  if (name_of(crd) != fmt::format("{}.{}", plural, group)) {
    causes.push_back(invalid_value("metadata.name", Value(name_of(crd)),
                                   R"(must be spec.names.plural+"."+spec.group)"));
  }
  if (group.empty()) causes.push_back(required_value("spec.group"));
  const std::string_view scope = wire::string_at(crd, "/spec/scope");
  if (scope.empty()) {
    causes.push_back(required_value("spec.scope"));
  } else if (scope != "Cluster" && scope != "Namespaced") {
    causes.push_back(unsupported_value("spec.scope", Value(scope), {"Cluster", "Namespaced"}));
  }
  check_versions(crd, causes);
  check_extras(versions_of(crd), causes);
  check_names(crd, causes);
  check_stored(crd, causes);
  if (old != nullptr) check_unchanged(crd, *old, causes);
  return causes;
}

void establish_crd(Value& crd, const Value* old, WallTime now) {
  Array stored;
  if (old != nullptr) {
    if (const Array* before = wire::array_at(*old, "/status/storedVersions")) stored = *before;
  }
  const auto storage = std::ranges::find_if(versions_of(crd), is_storage);
  const Value name = storage->at("name");
  if (std::ranges::find(stored, name) == stored.end()) stored.push_back(name);
  const Value* conditions = old == nullptr ? nullptr : wire::find(*old, "/status/conditions");
  Object status;
  status["conditions"] =
      conditions != nullptr
          ? *conditions
          : Value(Array{condition("NamesAccepted", "NoConflicts", "no conflicts found", now),
                        condition("Established", "InitialNamesAccepted",
                                  "the initial names have been accepted", now)});
  status["acceptedNames"] = *wire::find(crd, "/spec/names");
  status["storedVersions"] = std::move(stored);
  crd.get_object()["status"] = std::move(status);
}

Kind kind_of_crd(const Value& crd) {
  Kind kind;
  kind.group = wire::string_at(crd, "/spec/group");
  kind.plural = wire::string_at(crd, "/spec/names/plural");
  kind.singular = wire::string_at(crd, "/spec/names/singular");
  kind.kind = wire::string_at(crd, "/spec/names/kind");
  kind.list_kind = wire::string_at(crd, "/spec/names/listKind");
  kind.short_names = strings_at(crd, "/spec/names/shortNames");
  kind.categories = strings_at(crd, "/spec/names/categories");
  kind.namespaced = wire::string_at(crd, "/spec/scope") == "Namespaced";
  kind.custom = true;
  kind.has_generation = true;
  kind.unconditional_update = false;
  for (const Value& version : versions_of(crd)) {
    kind.versions.push_back(version_of_crd(crd, version));
  }
  return kind;
}

}  // namespace berth::sim::kube
