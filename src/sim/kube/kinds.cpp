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
};

struct Row {
  std::string_view group, version, plural, kind, short_name;
  unsigned traits;
};

constexpr std::string_view kAdmission = "admissionregistration.k8s.io";
constexpr std::string_view kFlow = "flowcontrol.apiserver.k8s.io";
constexpr std::string_view kRbac = "rbac.authorization.k8s.io";

constexpr Row kBuiltIn[] = {
    {"", "v1", "namespaces", "Namespace", "ns", kCluster | kStatus | kReturnsDeleted | kLabelName},
    {"", "v1", "pods", "Pod", "po", kStatus | kGeneration | kReturnsDeleted},
    {"", "v1", "nodes", "Node", "no", kCluster | kStatus},
    {"", "v1", "services", "Service", "svc", kStatus | kCreateOnPut | kReturnsDeleted | kLabelName},
    {"", "v1", "endpoints", "Endpoints", "ep", kCreateOnPut},
    {"", "v1", "configmaps", "ConfigMap", "cm", 0},
    {"", "v1", "secrets", "Secret", "", 0},
    {"", "v1", "serviceaccounts", "ServiceAccount", "sa", kReturnsDeleted},
    {"", "v1", "events", "Event", "ev", kCreateOnPut},
    {"coordination.k8s.io", "v1", "leases", "Lease", "", kNeedsVersion | kCreateOnPut},
    {"apps", "v1", "deployments", "Deployment", "deploy", kStatus | kGeneration},
    {"apps", "v1", "replicasets", "ReplicaSet", "rs", kStatus | kGeneration},
    {"apps", "v1", "statefulsets", "StatefulSet", "sts", kStatus | kGeneration},
    {"apps", "v1", "controllerrevisions", "ControllerRevision", "", 0},
    {"discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", "", kGeneration | kCreateOnPut},
    {kAdmission, "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", "",
     kCluster | kGeneration | kNeedsVersion},
    {kAdmission, "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", "",
     kCluster | kGeneration | kNeedsVersion},
    {kFlow, "v1", "flowschemas", "FlowSchema", "", kCluster | kStatus | kGeneration},
    {kFlow, "v1", "prioritylevelconfigurations", "PriorityLevelConfiguration", "",
     kCluster | kStatus | kGeneration},
    {kRbac, "v1", "roles", "Role", "", kCreateOnPut | kPathName},
    {kRbac, "v1", "rolebindings", "RoleBinding", "", kCreateOnPut | kPathName},
    {kRbac, "v1", "clusterroles", "ClusterRole", "", kCluster | kCreateOnPut | kPathName},
    {kRbac, "v1", "clusterrolebindings", "ClusterRoleBinding", "",
     kCluster | kCreateOnPut | kPathName},
    {"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", "crd",
     kCluster | kStatus | kGeneration | kNeedsVersion},
};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

Kind kind_of(const Row& row) {
  const auto has = [&row](Trait trait) { return (row.traits & trait) != 0; };
  Kind kind;
  kind.group = row.group;
  kind.plural = row.plural;
  kind.singular = lower(row.kind);
  kind.kind = row.kind;
  kind.list_kind = std::string(row.kind) + "List";
  if (!row.short_name.empty()) kind.short_names.emplace_back(row.short_name);
  kind.versions = {{.name = std::string(row.version), .status_subresource = has(kStatus)}};
  kind.namespaced = !has(kCluster);
  kind.has_generation = has(kGeneration);
  kind.unconditional_update = !has(kNeedsVersion);
  kind.create_on_update = has(kCreateOnPut);
  kind.returns_deleted = has(kReturnsDeleted);
  kind.names = has(kPathName)    ? NameRule::path_segment
               : has(kLabelName) ? NameRule::label
                                 : NameRule::subdomain;
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
  for (const Row& row : kBuiltIn) put(kind_of(row));
}

std::optional<ServedKind> Kinds::find(const GroupResource& resource,
                                      std::string_view version) const {
  KindPtr kind = find(resource);
  if (kind == nullptr) return std::nullopt;
  const Version* found = kind->version(version);
  if (found == nullptr || !found->served) return std::nullopt;
  return ServedKind{std::move(kind), found};
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

bool Kinds::has_builtin_group(std::string_view group, std::string_view version) const {
  return std::ranges::any_of(kinds_, [&](const auto& entry) {
    const Kind& kind = *entry.second;
    return !kind.custom && kind.group == group && kind.version(version) != nullptr;
  });
}

}  // namespace berth::sim::kube
