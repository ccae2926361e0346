// How objects are named: the type of a resource, the key of an object, and the paths under which
// both are served.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::kube {

struct ResourceType {
  std::string group;  // empty for the core group
  std::string version;
  std::string plural;
  std::string kind;
  bool namespaced = true;

  // "v1" or "apps/v1".
  std::string api_version() const;
  // "/api/v1/namespaces/games/pods/room-0/status". Empty parts are left out.
  std::string path(std::string_view ns, std::string_view name = {},
                   std::string_view subresource = {}) const;

  friend auto operator<=>(const ResourceType&, const ResourceType&) = default;
};

// Namespace and name; the namespace is empty for cluster-scoped objects.
struct ObjectKey {
  std::string ns;
  std::string name;

  std::string to_string() const { return ns.empty() ? name : ns + "/" + name; }
  friend auto operator<=>(const ObjectKey&, const ObjectKey&) = default;
};

// Versions are decimal numbers that grow; 0 is "none". Comparable only within one resource type.
using ResourceVersion = std::uint64_t;
Result<ResourceVersion> parse_resource_version(std::string_view text);

// The built-in types that we use.
namespace types {
extern const ResourceType kPod, kNode, kService, kNamespace, kSecret, kConfigMap, kEvent,
    kEndpoints, kServiceAccount;
extern const ResourceType kLease, kDeployment, kReplicaSet, kStatefulSet;
extern const ResourceType kCustomResourceDefinition;
extern const ResourceType kMutatingWebhookConfiguration, kValidatingWebhookConfiguration;
extern const ResourceType kFlowSchema, kPriorityLevelConfiguration;
}  // namespace types

}  // namespace berth::kube

template <>
struct std::hash<berth::kube::ObjectKey> {
  std::size_t operator()(const berth::kube::ObjectKey& key) const noexcept {
    const std::size_t h = std::hash<std::string>{}(key.ns);
    return h * 1099511628211u ^ std::hash<std::string>{}(key.name);
  }
};
