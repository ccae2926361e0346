#include "sim/kube/kinds.h"

#include <algorithm>

namespace berth::sim::kube {

namespace {

enum Trait : unsigned {
  kCluster = 1u << 0,
  kStatus = 1u << 1,
  kGeneration = 1u << 2,
  kNeedsVersion = 1u << 3,  // refuses an unconditional PUT
  kCreateOnPut = 1u << 4,
  kReturnsDeleted = 1u << 5,
  kPathName = 1u << 6,
  kLabelName = 1u << 7,
  kScale = 1u << 8,
  kAll = 1u << 9,         // in the category "all"
  kExtension = 1u << 10,  // in the category "api-extensions"
  kQuestion = 1u << 11,
  kOneByOne = 1u << 12,  // cannot be deleted as a collection
};

struct Row {
  std::string_view group, version, plural, kind, short_names;
  unsigned traits;
};

constexpr std::string_view kAdmission = "admissionregistration.k8s.io";
constexpr std::string_view kAuthorization = "authorization.k8s.io";
constexpr std::string_view kEventsGroup = "events.k8s.io";
constexpr std::string_view kFlow = "flowcontrol.apiserver.k8s.io";
constexpr std::string_view kNetworking = "networking.k8s.io";
constexpr std::string_view kRbac = "rbac.authorization.k8s.io";

constexpr unsigned kHook = kCluster | kGeneration | kNeedsVersion | kExtension;
constexpr unsigned kWorkload = kStatus | kGeneration | kScale | kAll;

constexpr Row kBuiltIn[] = {
    {"", "v1", "namespaces", "Namespace", "ns",
     kCluster | kStatus | kReturnsDeleted | kLabelName | kOneByOne},
    {"", "v1", "pods", "Pod", "po", kStatus | kGeneration | kReturnsDeleted | kAll},
    {"", "v1", "nodes", "Node", "no", kCluster | kStatus},
    {"", "v1", "services", "Service", "svc",
     kStatus | kCreateOnPut | kReturnsDeleted | kLabelName | kAll},
    {"", "v1", "endpoints", "Endpoints", "ep", kCreateOnPut},
    {"", "v1", "configmaps", "ConfigMap", "cm", 0},
    {"", "v1", "secrets", "Secret", "", 0},
    {"", "v1", "serviceaccounts", "ServiceAccount", "sa", kReturnsDeleted},
    {"", "v1", "events", "Event", "ev", kCreateOnPut},
    {"coordination.k8s.io", "v1", "leases", "Lease", "", kNeedsVersion | kCreateOnPut},
    {"discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", "", kGeneration | kCreateOnPut},
    {"apps", "v1", "deployments", "Deployment", "deploy", kWorkload},
    {"apps", "v1", "replicasets", "ReplicaSet", "rs", kWorkload},
    {"apps", "v1", "statefulsets", "StatefulSet", "sts", kWorkload},
    {"apps", "v1", "controllerrevisions", "ControllerRevision", "", 0},
    {kNetworking, "v1", "ingresses", "Ingress", "ing", kStatus | kGeneration | kCreateOnPut},
    {kNetworking, "v1", "ingressclasses", "IngressClass", "", kCluster | kGeneration},
    {kAdmission, "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", "", kHook},
    {kAdmission, "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", "",
     kHook},
    {kFlow, "v1", "flowschemas", "FlowSchema", "", kCluster | kStatus | kGeneration},
    {kFlow, "v1", "prioritylevelconfigurations", "PriorityLevelConfiguration", "",
     kCluster | kStatus | kGeneration},
    {kRbac, "v1", "roles", "Role", "", kCreateOnPut | kPathName},
    {kRbac, "v1", "rolebindings", "RoleBinding", "", kCreateOnPut | kPathName},
    {kRbac, "v1", "clusterroles", "ClusterRole", "", kCluster | kCreateOnPut | kPathName},
    {kRbac, "v1", "clusterrolebindings", "ClusterRoleBinding", "",
     kCluster | kCreateOnPut | kPathName},
    {"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition",
     "crd,crds", kStatus | kHook},
    {kAuthorization, "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", "",
     kCluster | kQuestion},
    {kAuthorization, "v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview", "",
     kCluster | kQuestion},
    {"authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", "",
     kCluster | kQuestion},
};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

// Kinds that are served in more than their storage version, and those that clients shall leave.
void add_versions(Kind& kind) {
  if (kind.kind == "Endpoints") {
    kind.versions.front().deprecation_warning =
        "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";
  } else if (kind.kind == "Ingress") {
    Version old = kind.versions.front();
    old.name = "v1beta1";
    old.storage = false;
    old.deprecation_warning =
        "networking.k8s.io/v1beta1 Ingress is deprecated in v1.19+, unavailable in v1.22+; use "
        "networking.k8s.io/v1 Ingress";
    kind.versions.push_back(std::move(old));
  } else if (kind.kind == "Event") {
    Version other = kind.versions.front();
    other.other_group = kEventsGroup;
    other.storage = false;
    kind.versions.push_back(std::move(other));
  }
}

Kind kind_of(const Row& row) {
  const auto has = [&row](Trait trait) { return (row.traits & trait) != 0; };
  Kind kind;
  kind.group = row.group;
  kind.plural = row.plural;
  kind.singular = lower(row.kind);
  kind.kind = row.kind;
  kind.list_kind = std::string(row.kind) + "List";
  for (std::string_view names = row.short_names; !names.empty();) {
    const std::string_view name = names.substr(0, names.find(','));
    kind.short_names.emplace_back(name);
    names.remove_prefix(std::min(name.size() + 1, names.size()));
  }
  if (has(kAll)) kind.categories = {"all"};
  if (has(kExtension)) kind.categories = {"api-extensions"};
  kind.versions = {{.name = std::string(row.version),
                    .status_subresource = has(kStatus),
                    .columns = builtin_columns(row.kind)}};
  if (has(kScale)) {
    kind.versions.front().scale =
        ScalePointers{"/spec/replicas", "/status/replicas", "/spec/selector"};
  }
  kind.namespaced = !has(kCluster);
  kind.has_generation = has(kGeneration);
  kind.unconditional_update = !has(kNeedsVersion);
  kind.create_on_update = has(kCreateOnPut);
  kind.returns_deleted = has(kReturnsDeleted);
  kind.deletes_many = !has(kOneByOne);
  kind.question = has(kQuestion);
  kind.names = has(kPathName)    ? NameRule::path_segment
               : has(kLabelName) ? NameRule::label
                                 : NameRule::subdomain;
  add_versions(kind);
  return kind;
}

}  // namespace

const Version* Kind::version(std::string_view name) const {
  const auto found = std::ranges::find(versions, name, &Version::name);
  return found == versions.end() ? nullptr : &*found;
}

const Version& Kind::storage_version() const {
  const auto found = std::ranges::find(versions, true, &Version::storage);
  return found == versions.end() ? versions.front() : *found;
}

Kinds::Kinds() {
  // They never change, and there may be a server for every moment of a test.
  static const auto kShared = [] {
    std::map<GroupResource, KindPtr> all;
    for (const Row& row : kBuiltIn) {
      auto kind = std::make_shared<const Kind>(kind_of(row));
      all.emplace(kind->resource(), kind);
    }
    return all;
  }();
  kinds_ = kShared;
}

std::optional<ServedKind> Kinds::find(const GroupResource& resource,
                                      std::string_view version) const {
  const bool other = resource.group == kEventsGroup;
  KindPtr kind = find(other ? GroupResource{"", resource.resource} : resource);
  if (kind == nullptr) return std::nullopt;
  for (const Version& one : kind->versions) {
    if (one.name != version || !one.served || kind->group_of(one) != resource.group) continue;
    return ServedKind{std::move(kind), &one};
  }
  return std::nullopt;
}

KindPtr Kinds::find(const GroupResource& resource) const {
  const auto found = kinds_.find(resource);
  return found == kinds_.end() ? nullptr : found->second;
}

KindPtr Kinds::find_kind(std::string_view group, std::string_view kind) const {
  for (const auto& [resource, candidate] : kinds_) {
    if (candidate->group == group && candidate->kind == kind) return candidate;
  }
  return nullptr;
}

void Kinds::put(Kind kind) {
  const GroupResource resource = kind.resource();
  kinds_[resource] = std::make_shared<const Kind>(std::move(kind));
}

void Kinds::remove(const GroupResource& resource) { kinds_.erase(resource); }

std::vector<KindPtr> Kinds::all() const {
  std::vector<KindPtr> all;
  for (const auto& [resource, kind] : kinds_) all.push_back(kind);
  return all;
}

bool Kinds::has_builtin_group(std::string_view group) const {
  return std::ranges::any_of(kinds_, [&](const auto& entry) {
    const Kind& kind = *entry.second;
    return !kind.custom && std::ranges::any_of(kind.versions, [&](const Version& one) {
      return kind.group_of(one) == group;
    });
  });
}

}  // namespace berth::sim::kube
