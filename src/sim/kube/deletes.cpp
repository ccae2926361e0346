#include "sim/kube/deletes.h"

#include <algorithm>
#include <boost/json.hpp>

#include <fmt/format.h>

#include "sim/kube/crds.h"
#include "sim/kube/object_meta.h"
#include "sim/kube/reads.h"
#include "sim/kube/write_rules.h"
#include "wire/equal.h"

namespace berth::sim::kube {

namespace {

using wire::Array;
using wire::Object;
using wire::Value;

constexpr int kMaxAttempts = 5;
constexpr std::int64_t kDefaultPodGrace = 30;
constexpr std::string_view kCleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";
const GroupResource kPods{"", "pods"};
const GroupResource kNamespaces{"", "namespaces"};

Outcome<> check_preconditions(const Kind& kind, const Value& object, const DeleteOptions& options) {
  const std::string_view uid = wire::string_at(object, "/metadata/uid");
  if (options.uid && *options.uid != uid) {
    return refuse(conflict(
        kind.group_kind(), name_of(object),
        fmt::format("the UID in the precondition ({}) does not match the UID in record ({}). The "
                    "object might have been deleted and then recreated",
                    *options.uid, uid)));
  }
  if (options.version && *options.version != version_of(object)) {
    return refuse(
        conflict(kind.group_kind(), name_of(object),
                 fmt::format("the ResourceVersion in the precondition ({}) does not match the "
                             "ResourceVersion in record ({}). The object might have been modified",
                             *options.version, version_of(object))));
  }
  return {};
}

// How long the kubelet may take; none is asked about a Pod that no node runs.
std::int64_t grace_of(const Value& pod, const DeleteOptions& options) {
  const std::string_view phase = wire::string_at(pod, "/status/phase");
  if (wire::string_at(pod, "/spec/nodeName").empty()) return 0;
  if (phase == "Succeeded" || phase == "Failed") return 0;
  // Less than nothing is taken for the least that is not forced.
  if (options.grace_seconds) return *options.grace_seconds < 0 ? 1 : *options.grace_seconds;
  return wire::int_at(pod, "/spec/terminationGracePeriodSeconds").value_or(kDefaultPodGrace);
}

constexpr std::string_view kForegroundFinalizer = "foregroundDeletion";
constexpr std::string_view kOrphanFinalizer = "orphan";

void set_finalizers(Value& object, const std::vector<std::string>& names) {
  Array list;
  for (const std::string& name : names) list.emplace_back(std::string_view(name));
  if (list.empty()) {
    metadata_of(object).erase("finalizers");
  } else {
    metadata_of(object)["finalizers"] = std::move(list);
  }
}

void add_finalizer(Value& object, std::string_view name) {
  std::vector<std::string> names = finalizers_of(object);
  if (std::ranges::find(names, name) != names.end()) return;
  names.emplace_back(name);
  set_finalizers(object, names);
}

// What becomes of dependents is a finalizer for the garbage collector. A policy replaces the one of
// an earlier deletion; without a policy a finalizer that is there stays.
void set_propagation(Value& object, std::string_view policy) {
  if (policy.empty()) return;
  std::vector<std::string> names = finalizers_of(object);
  std::erase_if(names, [](const std::string& name) {
    return name == kForegroundFinalizer || name == kOrphanFinalizer;
  });
  if (policy == "Orphan") names.emplace_back(kOrphanFinalizer);
  if (policy == "Foreground") names.emplace_back(kForegroundFinalizer);
  set_finalizers(object, names);
}

// Marks the object as being deleted. The first mark counts as a new generation; later ones may only
// make the grace shorter.
void mark_deleting(Value& object, std::int64_t grace, WallTime now) {
  Object& metadata = metadata_of(object);
  const auto before = wire::int_at(object, "/metadata/deletionGracePeriodSeconds");
  if (is_deleting(object) && before.value_or(0) <= grace) return;
  if (!is_deleting(object)) {
    if (const auto generation = wire::int_at(object, "/metadata/generation")) {
      metadata["generation"] = *generation + 1;
    }
  }
  metadata["deletionTimestamp"] = format_rfc3339(now + std::chrono::seconds{grace});
  metadata["deletionGracePeriodSeconds"] = grace;
}

void mark_namespace(Value& object, WallTime now) {
  if (is_deleting(object)) return;
  metadata_of(object)["deletionTimestamp"] = format_rfc3339(now);
  (void)wire::set_at(object, "/status/phase", Value("Terminating"));
}

void mark_definition(Value& crd, WallTime now) {
  if (is_deleting(crd)) return;
  const std::string time = format_rfc3339(now);
  metadata_of(crd)["deletionTimestamp"] = time;
  add_finalizer(crd, kCleanupFinalizer);
  wire::Value* conditions = wire::find(crd, "/status/conditions");
  if (conditions == nullptr || !conditions->is_array()) return;
  conditions->get_array().push_back(
      Object{{"type", "Terminating"},
             {"status", "True"},
             {"lastTransitionTime", time},
             {"reason", "InstanceDeletionPending"},
             {"message",
              "CustomResourceDefinition marked for deletion; CustomResource deletion will "
              "begin soon"}});
}

Value marked(const Kind& kind, const Value& current, const DeleteOptions& options, WallTime now) {
  Value next = current;
  set_propagation(next, options.propagation);
  if (kind.resource() == kNamespaces) {
    mark_namespace(next, now);
  } else if (kind.resource() == kCustomResourceDefinitions) {
    mark_definition(next, now);
  } else if (kind.resource() == kPods) {
    mark_deleting(next, grace_of(current, options), now);
  } else {
    mark_deleting(next, 0, now);
  }
  return next;
}

// A definition takes its objects with it, and stays until the last one is gone.
void remove_instances(Core& core, const Value& crd, WallTime now) REQUIRES(core.mu) {
  const GroupResource resource{std::string(wire::string_at(crd, "/spec/group")),
                               std::string(wire::string_at(crd, "/spec/names/plural"))};
  const Storage::Objects instances = core.storage.all(resource);
  for (const auto& [key, object] : instances) {
    if (finalizers_of(*object).empty()) {
      core.remove(resource, key);
    } else if (!is_deleting(*object)) {
      Value next = *object;
      mark_deleting(next, 0, now);
      core.put(resource, key, std::move(next));
    }
  }
}

void finish_definition(Core& core, const GroupResource& resource) REQUIRES(core.mu) {
  const std::string name = resource.qualified();
  const ObjectPtr crd = core.storage.find(kCustomResourceDefinitions, name);
  if (crd == nullptr || !is_deleting(*crd) || !core.storage.all(resource).empty()) return;
  core.remove(kCustomResourceDefinitions, name);
  core.kinds.remove(resource);
  core.hub.close(resource);
}

// As webhooks see them.
Object shown_options(const DeleteOptions& options) {
  Object shown;
  if (options.grace_seconds) shown["gracePeriodSeconds"] = *options.grace_seconds;
  if (!options.propagation.empty()) shown["propagationPolicy"] = options.propagation;
  Object preconditions;
  if (options.uid) preconditions["uid"] = *options.uid;
  if (options.version) preconditions["resourceVersion"] = *options.version;
  if (!preconditions.empty()) shown["preconditions"] = std::move(preconditions);
  return shown;
}

std::optional<std::string> text_at(const Value& value, std::string_view pointer) {
  const Value* found = wire::find(value, pointer);
  if (found == nullptr || !found->is_string()) return std::nullopt;
  return std::string(found->get_string());
}

// The parameters of the query, as a body would have them.
Value options_of_query(const WriteRequest& request) {
  Object options;
  const auto policy = request.info.parameter("propagationPolicy");
  if (!policy.empty()) options["propagationPolicy"] = policy;
  const auto dry_run = request.info.parameter("dryRun");
  if (!dry_run.empty()) options["dryRun"] = Array{dry_run};
  for (const char* key : {"gracePeriodSeconds", "orphanDependents"}) {
    Result<Value> value = wire::parse_json(request.info.parameter(key));
    if (value) options[key] = std::move(*value);
  }
  return options;
}

Outcome<> check_options(const Value& body) {
  Causes causes;
  const auto policy = text_at(body, "/propagationPolicy");
  if (wire::find(body, "/orphanDependents") != nullptr && policy) {
    causes.push_back(invalid_value("propagationPolicy", Value(std::string_view(*policy)),
                                   "orphanDependents and deletionPropagation cannot be both set"));
  } else if (policy && *policy != "Foreground" && *policy != "Background" && *policy != "Orphan") {
    causes.push_back(unsupported_value("propagationPolicy", Value(std::string_view(*policy)),
                                       {"Foreground", "Background", "Orphan", "nil"}));
  }
  check_dry_run(body, causes);
  if (causes.empty()) return {};
  return refuse(invalid({"meta.k8s.io", "DeleteOptions"}, {}, std::move(causes)));
}

}  // namespace

ObjectPtr remove_object(Core& core, const GroupResource& resource, const std::string& key) {
  ObjectPtr last = core.remove(resource, key);
  finish_definition(core, resource);
  return last;
}

void serve_definitions(Core& core) {
  for (const KindPtr& kind : core.kinds.all()) {
    if (!kind->custom) continue;
    if (core.storage.find(kCustomResourceDefinitions, kind->resource().qualified()) == nullptr)
      core.kinds.remove(kind->resource());
  }
  const Storage::Objects definitions = core.storage.all(kCustomResourceDefinitions);
  for (const auto& [name, crd] : definitions) {
    Kind kind = kind_of_crd(*crd);
    const GroupResource resource = kind.resource();
    core.kinds.put(std::move(kind));
    finish_definition(core, resource);
  }
}

Outcome<DeleteOptions> parse_delete_options(const WriteRequest& request) {
  const Outcome<Value> body =
      request.http.body.empty()
          ? options_of_query(request)
          : decode_document(request.http.body, request.http.headers.get("Content-Type"));
  const bool is_options =
      body && body->is_object() &&
      (wire::find(*body, "/kind") == nullptr || wire::string_at(*body, "/kind") == "DeleteOptions");
  const Value* grace = is_options ? wire::find(*body, "/gracePeriodSeconds") : nullptr;
  if (!is_options || (grace != nullptr && !grace->is_int64() && !grace->is_null())) {
    return refuse(bad_request("the body of a deletion must be DeleteOptions"));
  }
  if (Outcome<> fine = check_options(*body); !fine) return refuse(fine);
  DeleteOptions options;
  options.uid = text_at(*body, "/preconditions/uid");
  options.version = text_at(*body, "/preconditions/resourceVersion");
  if (grace != nullptr && grace->is_int64()) options.grace_seconds = grace->get_int64();
  options.propagation = text_at(*body, "/propagationPolicy").value_or("");
  if (const auto orphan = wire::bool_at(*body, "/orphanDependents")) {
    options.propagation = *orphan ? "Orphan" : "Background";
  }
  const Array* dry_run = wire::array_at(*body, "/dryRun");
  options.dry_run = dry_run != nullptr && !dry_run->empty();
  return options;
}

Outcome<Deleted> Deletes::remove(const WriteRequest& request) {
  Outcome<DeleteOptions> options = parse_delete_options(request);
  if (!options) return refuse(options);
  return remove_one(request, storage_key(request.ns(), request.info.name), *options);
}

Outcome<Deleted> Deletes::remove_one(const WriteRequest& request, const std::string& key,
                                     const DeleteOptions& options) {
  const Kind& kind = request.kind();
  const std::string name = key.substr(key.find('/') + 1);
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    ObjectPtr current;
    {
      MutexLock lock(core_.mu);
      current = core_.storage.find(kind.resource(), key);
    }
    if (current == nullptr) return refuse(not_found(kind.resource(), name));
    if (kind.resource() == kNamespaces && (name == "default" || name.starts_with("kube-"))) {
      return refuse(forbidden(kind.resource(), name, "this namespace may not be deleted"));
    }
    if (Outcome<> fine = check_preconditions(kind, *current, options); !fine) return refuse(fine);
    const AdmissionRequest admission{
        .served = request.served,
        .operation = "DELETE",
        .ns = kind.resource() == kNamespaces ? name : std::string(namespace_of(*current)),
        .name = name,
        .subresource = {},
        .user = request.user,
        .dry_run = options.dry_run,
        .old = current.get(),
        .options = shown_options(options)};
    Outcome<> fine = admission_.mutate(admission, nullptr, {}, request.warnings);
    if (fine) fine = admission_.validate(admission, nullptr, request.warnings);
    if (!fine) return refuse(fine);
    if (std::optional<Deleted> done = commit(request, key, current, options)) {
      return std::move(*done);
    }
  }
  return refuse(modified_meanwhile(kind.resource(), name));
}

std::optional<Deleted> Deletes::commit(const WriteRequest& request, const std::string& key,
                                       const ObjectPtr& current, const DeleteOptions& options) {
  const Kind& kind = request.kind();
  const GroupResource resource = kind.resource();
  const bool is_crd = resource == kCustomResourceDefinitions;
  Value next = marked(kind, *current, options, request.now);
  // A namespace goes with its second deletion at the earliest.
  const bool first_of_namespace = resource == kNamespaces && !is_deleting(*current);
  const bool vanishes = may_vanish(next) && !first_of_namespace;
  MutexLock lock(core_.mu);
  if (core_.storage.find(resource, key) != current) return std::nullopt;
  if (options.dry_run) return Deleted{std::make_shared<const Value>(std::move(next)), vanishes};
  if (vanishes) {
    // A Pod is marked first, as its watchers see on a real cluster.
    if (resource == kPods) core_.put(resource, key, std::move(next));
    return Deleted{remove_object(core_, resource, key), true};
  }
  ObjectPtr shown =
      wire::equal(next, *current) ? current : core_.put(resource, key, std::move(next));
  if (is_crd) {
    remove_instances(core_, *shown, request.now);
    finish_definition(core_, kind_of_crd(*shown).resource());
  }
  return Deleted{std::move(shown), false};
}

Outcome<std::vector<ObjectPtr>> Deletes::remove_collection(const WriteRequest& request) {
  Outcome<DeleteOptions> options = parse_delete_options(request);
  if (!options) return refuse(options);
  Outcome<Selectors> selectors = parse_selectors(request.info, request.kind());
  if (!selectors) return refuse(selectors);
  const std::string prefix = request.ns().empty() ? std::string() : request.ns() + "/";
  Storage::Objects objects;
  {
    MutexLock lock(core_.mu);
    objects = core_.storage.all(request.kind().resource());
  }
  std::vector<ObjectPtr> removed;
  for (const auto& [key, object] : objects) {
    if (!key.starts_with(prefix) || !selectors->matches(*object)) continue;
    Outcome<Deleted> deleted = remove_one(request, key, *options);
    if (deleted) {
      removed.push_back(object);
    } else if (deleted.error().code != 404) {
      return refuse(deleted);
    }
  }
  return removed;
}

}  // namespace berth::sim::kube
