#include "sim/kube/scale.h"

#include <algorithm>
#include <boost/json.hpp>

#include <fmt/format.h>

#include "sim/kube/object_meta.h"

namespace berth::sim::kube {

namespace {

using wire::Object;
using wire::Value;

// ".spec.replicas" again.
std::string dotted(std::string pointer) {
  std::ranges::replace(pointer, '/', '.');
  return pointer;
}

Kind make_scale_kind() {
  Kind kind;
  kind.group = "autoscaling";
  kind.plural = "scales";
  kind.kind = "Scale";
  kind.list_kind = "ScaleList";
  kind.versions = {{.name = "v1", .columns = builtin_columns("Scale")}};
  return kind;
}

Cause negative(const ServedKind& served, std::int64_t replicas) {
  if (!served.kind->custom) {
    return invalid_value("spec.replicas", Value(replicas), "must be greater than or equal to 0");
  }
  return invalid_value(dotted(served.version->scale->spec_replicas), Value(replicas),
                       "should be a non-negative integer");
}

}  // namespace

const ServedKind& scale_kind() {
  static const KindPtr kKind = std::make_shared<const Kind>(make_scale_kind());
  static const ServedKind kServed{kKind, &kKind->versions.front()};
  return kServed;
}

Outcome<Value> scale_of_object(const ServedKind& served, const Value& object, bool lenient) {
  const ScalePointers& at = *served.version->scale;
  const std::optional<std::int64_t> replicas = wire::int_at(object, at.spec_replicas);
  if (!replicas && !lenient) {
    return refuse(internal_error(
        fmt::format("the spec replicas field \"{}\" does not exist", dotted(at.spec_replicas))));
  }
  Object metadata;
  for (const char* key : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
    if (const Value* value = wire::find(object, std::string("/metadata/") + key)) {
      metadata[key] = *value;
    }
  }
  Object spec;
  if (replicas.value_or(0) != 0) spec["replicas"] = *replicas;
  Object status{{"replicas", wire::int_at(object, at.status_replicas).value_or(0)}};
  if (const Value* selector = at.selector.empty() ? nullptr : wire::find(object, at.selector)) {
    const std::string text =
        selector->is_string() ? std::string(selector->get_string()) : selector_text(selector);
    if (!text.empty()) status["selector"] = text;
  }
  return Value(Object{{"kind", "Scale"},
                      {"apiVersion", "autoscaling/v1"},
                      {"metadata", std::move(metadata)},
                      {"spec", std::move(spec)},
                      {"status", std::move(status)}});
}

Outcome<Value> apply_scale(const ServedKind& served, const Value& object, const Value& scale) {
  const std::string_view name = name_of(scale);
  if (!name.empty() && name != name_of(object)) {
    return refuse(bad_request(
        fmt::format("the name of the object ({}) does not match the name on the URL ({})", name,
                    name_of(object))));
  }
  const std::int64_t replicas = wire::int_at(scale, "/spec/replicas").value_or(0);
  if (replicas < 0) {
    const GroupResource about =
        served.kind->custom ? served.kind->group_kind() : scale_kind().kind->group_kind();
    return refuse(invalid(about, name_of(object), {negative(served, replicas)}));
  }
  Value next = object;
  if (!wire::set_at(next, served.version->scale->spec_replicas, Value(replicas))) {
    return refuse(internal_error(fmt::format("the spec replicas field \"{}\" cannot be set",
                                             dotted(served.version->scale->spec_replicas))));
  }
  if (const std::string_view version = version_of(scale); !version.empty()) {
    metadata_of(next)["resourceVersion"] = version;
  }
  return next;
}

}  // namespace berth::sim::kube
