#include "sim/kube/writes.h"

#include <boost/json.hpp>

#include <fmt/format.h>

#include "sim/kube/builtin_rules.h"
#include "sim/kube/conversion.h"
#include "sim/kube/crds.h"
#include "sim/kube/deletes.h"
#include "sim/kube/managed_entries.h"
#include "sim/kube/object_meta.h"
#include "sim/kube/patching.h"
#include "sim/kube/scale.h"
#include "sim/kube/write_rules.h"
#include "wire/equal.h"

namespace berth::sim::kube {

namespace {

using wire::Object;
using wire::Value;

// How often a write without a version starts again before its client hears of the conflict.
constexpr int kMaxAttempts = 5;
// How many random names are tried.
constexpr int kMaxNames = 8;
const GroupResource kNamespaces{"", "namespaces"};

// The object as it is stored: in the storage version.
Value stored_form(const Kind& kind, Value object) {
  object.get_object()["apiVersion"] = kind.api_version(kind.storage_version());
  return object;
}

// As decoding leaves objects: custom ones in the version of the request, others as they are stored.
Value in_version(const ServedKind& served, const Value& object) {
  return served.converts() ? object : in_served_version(served, object);
}

void keep_owners(const Value* current, Value& next) {
  static const Value kNobody = Object{};
  keep_managed_fields(next, current == nullptr ? kNobody : *current);
}

Outcome<> check_version(const WriteRequest& request, const Value& next, const Value& current) {
  const std::string_view given = version_of(next);
  const GroupResource resource = request.kind().resource();
  if (given.empty() || given == "0") {
    if (request.kind().unconditional_update) return {};
    return refuse(invalid(
        resource, request.info.name,
        {invalid_value("metadata.resourceVersion", Value(0), "must be specified for an update")}));
  }
  if (given == version_of(current)) return {};
  return refuse(modified_meanwhile(resource, request.info.name));
}

// A PUT that names another uid is about an object that was there before.
Outcome<> check_uid(const WriteRequest& request, const Value& next, const Value& current) {
  const std::string_view given = wire::string_at(next, "/metadata/uid");
  const std::string_view found = wire::string_at(current, "/metadata/uid");
  if (given.empty() || given == found) return {};
  const Kind& kind = request.kind();
  const std::string prefix = kind.custom ? kind.group + "/" : std::string();
  return refuse(conflict(
      kind.resource(), request.info.name,
      fmt::format(
          "StorageError: invalid object, Code: 4, Key: /registry/{}{}/{}, ResourceVersion: 0, "
          "AdditionalErrorMsg: Precondition failed: UID in precondition: {}, UID in object "
          "meta: {}",
          prefix, kind.plural, storage_key(request.ns(), request.info.name), given, found)));
}

}  // namespace

Outcome<> check_namespace(const Core& core, const Kind& kind, const std::string& ns,
                          std::string_view name) {
  if (!kind.namespaced) return {};
  const ObjectPtr found = core.storage.find(kNamespaces, ns);
  if (found == nullptr) return refuse(not_found(kNamespaces, ns));
  if (wire::string_at(*found, "/status/phase") != "Terminating") return {};
  ApiError error = forbidden(
      kind.resource(), name,
      fmt::format("unable to create new content in namespace {} because it is being terminated",
                  ns));
  error.causes = {{"NamespaceTerminating", fmt::format("namespace {} is being terminated", ns),
                   "metadata.namespace"}};
  return refuse(std::move(error));
}

void Writes::track(const WriteRequest& request, const Value* current, Value& next) const {
  if (!core_.tracks_fields) return keep_owners(current, next);
  track_update(current, next, request.writer());
}

ObjectPtr Writes::find(const WriteRequest& request) const {
  MutexLock lock(core_.mu);
  return core_.storage.find(request.kind().resource(),
                            storage_key(request.ns(), request.info.name));
}

AdmissionRequest Writes::admission_request(const WriteRequest& request, std::string operation,
                                           const Value& object, const Value* old) const {
  std::string name(name_of(object));
  Object options;
  for (const char* key : {"fieldManager", "fieldValidation"}) {
    if (const auto value = request.info.parameter(key); !value.empty()) options[key] = value;
  }
  return {.served = request.served,
          .operation = std::move(operation),
          // A namespace is inside itself.
          .ns = request.kind().resource() == kNamespaces ? name : request.info.ns,
          .name = name,
          .subresource = request.info.subresource,
          .user = request.user,
          .dry_run = request.dry_run(),
          .old = old,
          .options = std::move(options)};
}

Outcome<> Writes::admit(const WriteRequest& request, const std::string& operation, Value& object,
                        const Value* old) {
  const auto decode = [&request](Value& changed) {
    return settle(changed, request.served, UnknownFields::ignore, false, request.warnings);
  };
  return admission_.mutate(admission_request(request, operation, object, old), &object, decode,
                           request.warnings);
}

Outcome<Written> Writes::create(const WriteRequest& request) {
  Outcome<Value> object =
      decode_body(request.http.body, request.http.headers.get("Content-Type"), request.served);
  if (!object) return refuse(object);
  return create_object(request, Origin::post, std::move(*object));
}

Outcome<> Writes::prepare_new(const WriteRequest& request, Origin origin, Value& object) {
  const Kind& kind = request.kind();
  Outcome<> fine =
      settle(object, request.served, request.unknown_fields(), false, request.warnings);
  if (fine && origin == Origin::apply && name_of(object).empty()) {
    return refuse(bad_request(fmt::format(
        "the name of the object ({} based on URL) was undeterminable: name must be provided",
        request.info.name)));
  }
  if (fine) fine = check_address(object, request.ns(), request.info.name);
  if (!fine) return fine;
  // Nobody is born dying, and nobody owns that.
  for (const char* key : {"deletionTimestamp", "deletionGracePeriodSeconds"}) {
    metadata_of(object).erase(key);
  }
  // An applied configuration owns what stands in it, and not the defaults.
  if (origin != Origin::apply) track(request, nullptr, object);
  {
    MutexLock lock(core_.mu);
    fine = check_namespace(core_, kind, request.info.ns, name_of(object));
  }
  set_admission_defaults(kind, object);
  if (fine) fine = admit(request, "CREATE", object, nullptr);
  if (!fine) return fine;
  if (origin == Origin::apply) metadata_of(object).erase("resourceVersion");
  if (!version_of(object).empty()) {
    ApiError error;
    error.message = "resourceVersion should not be set on objects to be created";
    return refuse(std::move(error));
  }
  if (!kind.custom) {
    prepare_builtin_create(kind, object);
  } else if (request.served.version->status_subresource) {
    object.get_object().erase("status");
  }
  return {};
}

Outcome<Written> Writes::create_object(const WriteRequest& request, Origin origin, Value object) {
  if (Outcome<> fine = prepare_new(request, origin, object); !fine) return refuse(fine);
  const Kind& kind = request.kind();
  const bool generated = name_of(object).empty() && metadata_of(object).contains("generateName");
  for (int attempt = 1;; ++attempt) {
    Value candidate = object;
    {
      MutexLock lock(core_.mu);
      fill_new_metadata(kind, candidate, request.now, core_.random);
    }
    Outcome<> fine = validate_object(request.served, {}, candidate, nullptr);
    if (!fine) return refuse(fine);
    if (attempt == 1) warn_about_finalizers(kind, candidate, nullptr, request.warnings);
    fine = admission_.validate(admission_request(request, "CREATE", candidate, nullptr), &candidate,
                               request.warnings);
    if (!fine) return refuse(fine);
    Outcome<ObjectPtr> stored = commit_create(request, std::move(candidate));
    if (stored) return Written{201, std::move(*stored)};
    if (!generated || stored.error().code != 409 || attempt == kMaxNames) return refuse(stored);
  }
}

Outcome<ObjectPtr> Writes::commit_create(const WriteRequest& request, Value object) {
  const Kind& kind = request.kind();
  const std::string name(name_of(object));
  const std::string key = storage_key(request.ns(), name);
  MutexLock lock(core_.mu);
  if (core_.kinds.find(kind.resource()) == nullptr) return refuse(unknown_resource());
  if (Outcome<> fine = check_namespace(core_, kind, request.info.ns, name); !fine) {
    return refuse(fine);
  }
  if (core_.storage.find(kind.resource(), key) != nullptr) {
    return refuse(already_exists(kind.resource(), name));
  }
  if (request.dry_run()) return std::make_shared<const Value>(std::move(object));
  const bool is_crd = kind.resource() == kCustomResourceDefinitions;
  if (is_crd) establish_crd(object, nullptr, request.now);
  ObjectPtr stored = core_.put(kind.resource(), key, stored_form(kind, std::move(object)));
  if (is_crd) core_.kinds.put(kind_of_crd(*stored));
  return stored;
}

Outcome<Written> Writes::update(const WriteRequest& request) {
  Outcome<Value> object =
      decode_body(request.http.body, request.http.headers.get("Content-Type"), request.served);
  if (!object) return refuse(object);
  Value settled = *object;
  if (Outcome<> fine =
          settle(settled, request.served, request.unknown_fields(), false, request.warnings);
      !fine) {
    return refuse(fine);
  }
  return change(request, Origin::put, request.kind().create_on_update,
                [&](const Value* current) -> Outcome<Value> {
                  if (current == nullptr) return *object;
                  Value next = settled;
                  track(request, current, next);
                  return next;
                });
}

Outcome<Written> Writes::patch(const WriteRequest& request) {
  Outcome<PatchType> type = patch_type_of(request.http.headers.get("Content-Type"), request.kind());
  if (!type) return refuse(type);
  const bool applying = *type == PatchType::apply;
  Outcome<Value> patch = decode_patch(*type, request.http.body);
  if (!patch) return refuse(patch);
  if (applying) return apply(request, *patch);
  const bool names_owners = request.http.body.find("managedFields") != std::string::npos;
  return change(request, Origin::patch, false, [&](const Value* current) -> Outcome<Value> {
    Value base = in_served_version(request.served, *current);
    if (names_owners) base = shown_object(base);
    Outcome<Value> next = apply_patch(*type, *patch, std::move(base), request.served);
    if (!next) return next;
    Outcome<> fine =
        settle(*next, request.served, request.unknown_fields(), true, request.warnings);
    if (!fine) return refuse(fine);
    track(request, current, *next);
    return next;
  });
}

Outcome<Written> Writes::apply(const WriteRequest& request, const Value& configuration) {
  const std::string_view version = wire::string_at(configuration, "/apiVersion");
  const std::string_view kind = wire::string_at(configuration, "/kind");
  if (kind != request.kind().kind || version != request.served.api_version()) {
    return refuse(
        bad_request(fmt::format("invalid object type: {}{}, Kind={}",
                                version.find('/') == version.npos ? "/" : "", version, kind)));
  }
  const bool force = request.info.parameter("force") == "true";
  return change(request, Origin::apply, request.info.subresource.empty(),
                [&](const Value* current) -> Outcome<Value> {
                  Outcome<Value> next =
                      apply_configuration(current, configuration, request.writer(), force);
                  if (next && !core_.tracks_fields) keep_owners(current, *next);
                  if (!next || current == nullptr) return next;
                  Outcome<> fine = settle(*next, request.served, request.unknown_fields(), true,
                                          request.warnings);
                  if (!fine) return refuse(fine);
                  return next;
                });
}

Outcome<Written> Writes::change(const WriteRequest& request, Origin origin, bool may_create,
                                const Transform& transform) {
  const std::size_t warned = request.warnings.size();
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    // What an attempt that came to nothing had to say is said again by the next.
    request.warnings.resize(warned);
    const ObjectPtr current = find(request);
    if (current == nullptr && !may_create) {
      return refuse(not_found(request.kind().resource(), request.info.name));
    }
    Outcome<Value> next = transform(current.get());
    if (!next) return refuse(next);
    if (current == nullptr) return create_object(request, origin, std::move(*next));
    Outcome<ObjectPtr> stored = change_once(request, origin, current, std::move(*next));
    if (!stored) return refuse(stored);
    if (*stored != nullptr) return Written{200, std::move(*stored)};
  }
  return refuse(modified_meanwhile(request.kind().resource(), request.info.name));
}

Outcome<ObjectPtr> Writes::change_once(const WriteRequest& request, Origin origin,
                                       const ObjectPtr& current, Value next) {
  if (Outcome<> fine = check_address(next, request.ns(), request.info.name); !fine) {
    return refuse(fine);
  }
  if (origin == Origin::put) {
    if (Outcome<> fine = check_uid(request, next, *current); !fine) return refuse(fine);
  }
  // Most requests speak the stored version.
  const bool stored = wire::string_at(*current, "/apiVersion") == request.served.api_version();
  const Value converted = stored ? Value() : in_version(request.served, *current);
  const Value& old = stored ? *current : converted;
  set_admission_defaults(request.kind(), next);
  if (Outcome<> fine = admit(request, "UPDATE", next, &old); !fine) return refuse(fine);
  if (Outcome<> fine = check_version(request, next, *current); !fine) return refuse(fine);
  prepare_update(request.served, request.info.subresource, next, old);
  metadata_of(next)["resourceVersion"] = version_of(*current);
  if (Outcome<> fine = validate_object(request.served, request.info.subresource, next, &old);
      !fine) {
    return refuse(fine);
  }
  warn_about_finalizers(request.kind(), next, &old, request.warnings);
  Outcome<> fine = admission_.validate(admission_request(request, "UPDATE", next, &old), &next,
                                       request.warnings);
  if (!fine) return refuse(fine);
  return commit_change(request, current, std::move(next));
}

ObjectPtr Writes::commit_change(const WriteRequest& request, const ObjectPtr& current, Value next) {
  const Kind& kind = request.kind();
  const GroupResource resource = kind.resource();
  const std::string key = storage_key(request.ns(), request.info.name);
  next = stored_form(kind, std::move(next));
  keep_old_times(next, *current);
  MutexLock lock(core_.mu);
  if (core_.storage.find(resource, key) != current) return nullptr;
  if (wire::equal(next, *current)) return current;
  if (request.dry_run() || may_vanish(next)) {
    if (!request.dry_run()) remove_object(core_, resource, key);
    return std::make_shared<const Value>(std::move(next));
  }
  const bool is_crd = resource == kCustomResourceDefinitions && request.info.subresource.empty();
  if (is_crd) establish_crd(next, current.get(), request.now);
  ObjectPtr stored = core_.put(resource, key, std::move(next));
  if (is_crd) core_.kinds.put(kind_of_crd(*stored));
  return stored;
}

Outcome<Written> Writes::scale(const WriteRequest& request) {
  const std::string_view content_type = request.http.headers.get("Content-Type");
  const bool patching = request.info.verb == "patch";
  Outcome<PatchType> type =
      patching ? patch_type_of(content_type, request.kind()) : PatchType::merge;
  if (!type) return refuse(type);
  Outcome<Value> given = patching ? decode_patch(*type, request.http.body)
                                  : decode_body(request.http.body, content_type, scale_kind());
  if (!given) return refuse(given);
  const auto transform = [&](const Value* current) -> Outcome<Value> {
    Outcome<Value> scale = patching ? scale_of_object(request.served, *current, true) : given;
    if (scale && patching) scale = apply_patch(*type, *given, std::move(*scale), scale_kind());
    if (!scale) return scale;
    Outcome<Value> next = apply_scale(request.served, *current, *scale);
    if (next) track(request, current, *next);
    return next;
  };
  Outcome<Written> written = change(request, Origin::patch, false, transform);
  if (!written) return written;
  Outcome<Value> scale = scale_of_object(request.served, *written->object);
  if (!scale) return refuse(scale);
  written->object = std::make_shared<const Value>(std::move(*scale));
  return written;
}

Outcome<Written> Writes::bind(const WriteRequest& request) {
  const Outcome<Value> binding =
      decode_document(request.http.body, request.http.headers.get("Content-Type"));
  if (!binding || name_of(*binding) != request.info.name) {
    return refuse(bad_request("name in URL does not match name in Binding object"));
  }
  const std::string_view node = wire::string_at(*binding, "/target/name");
  const GroupResource resource = request.kind().resource();
  const std::string key = storage_key(request.ns(), request.info.name);
  MutexLock lock(core_.mu);
  const ObjectPtr current = core_.storage.find(resource, key);
  if (current == nullptr) return refuse(not_found(resource, request.info.name));
  const auto refuse_because = [&](const std::string& why) {
    return refuse(conflict({"", "pods/binding"}, request.info.name,
                           fmt::format("pod {} is {}", request.info.name, why)));
  };
  if (is_deleting(*current)) {
    return refuse_because("being deleted, cannot be assigned to a host");
  }
  if (const auto taken = wire::string_at(*current, "/spec/nodeName"); !taken.empty()) {
    return refuse_because(fmt::format("already assigned to node \"{}\"", taken));
  }
  if (request.dry_run()) return Written{201, current};
  Value next = *current;
  (void)wire::set_at(next, "/spec/nodeName", Value(node));
  Value& status = next.get_object()["status"];
  if (!status.is_object()) status.emplace_object();
  Value& conditions = status.get_object()["conditions"];
  if (!conditions.is_array()) conditions.emplace_array();
  conditions.get_array().push_back(Object{{"type", "PodScheduled"},
                                          {"status", "True"},
                                          {"lastTransitionTime", format_rfc3339(request.now)}});
  return Written{201, core_.put(resource, key, std::move(next))};
}

}  // namespace berth::sim::kube
