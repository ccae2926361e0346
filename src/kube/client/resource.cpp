#include "kube/client/resource.h"

#include <charconv>

#include "base/encoding.h"

namespace berth::kube {

std::string ResourceType::api_version() const {
  return group.empty() ? version : group + "/" + version;
}

std::string ResourceType::path(std::string_view ns, std::string_view name,
                               std::string_view subresource) const {
  std::string out = (group.empty() ? "/api/" : "/apis/") + api_version();
  if (namespaced && !ns.empty()) out += "/namespaces/" + url_encode(ns);
  out += "/" + plural;
  if (!name.empty()) out += "/" + url_encode(name);
  if (!subresource.empty()) out += "/" + url_encode(subresource);
  return out;
}

Result<ResourceVersion> parse_resource_version(std::string_view text) {
  ResourceVersion version = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, version);
  const bool leading_zero = text.size() > 1 && text.front() == '0';
  if (text.empty() || parsed.ec != std::errc{} || parsed.ptr != end || leading_zero)
    return fail(Code::invalid, "resource version '{}' is not a decimal number of 64 bits",
                text.substr(0, 64));
  return version;
}

namespace types {

const ResourceType kPod{"", "v1", "pods", "Pod"};
const ResourceType kNode{"", "v1", "nodes", "Node", false};
const ResourceType kService{"", "v1", "services", "Service"};
const ResourceType kNamespace{"", "v1", "namespaces", "Namespace", false};
const ResourceType kSecret{"", "v1", "secrets", "Secret"};
const ResourceType kConfigMap{"", "v1", "configmaps", "ConfigMap"};
const ResourceType kEvent{"", "v1", "events", "Event"};
const ResourceType kEndpoints{"", "v1", "endpoints", "Endpoints"};
const ResourceType kServiceAccount{"", "v1", "serviceaccounts", "ServiceAccount"};
const ResourceType kLease{"coordination.k8s.io", "v1", "leases", "Lease"};
const ResourceType kDeployment{"apps", "v1", "deployments", "Deployment"};
const ResourceType kReplicaSet{"apps", "v1", "replicasets", "ReplicaSet"};
const ResourceType kStatefulSet{"apps", "v1", "statefulsets", "StatefulSet"};
const ResourceType kCustomResourceDefinition{
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false};
const ResourceType kMutatingWebhookConfiguration{"admissionregistration.k8s.io", "v1",
                                                 "mutatingwebhookconfigurations",
                                                 "MutatingWebhookConfiguration", false};
const ResourceType kValidatingWebhookConfiguration{"admissionregistration.k8s.io", "v1",
                                                   "validatingwebhookconfigurations",
                                                   "ValidatingWebhookConfiguration", false};
const ResourceType kFlowSchema{"flowcontrol.apiserver.k8s.io", "v1", "flowschemas", "FlowSchema",
                               false};
const ResourceType kPriorityLevelConfiguration{"flowcontrol.apiserver.k8s.io", "v1",
                                               "prioritylevelconfigurations",
                                               "PriorityLevelConfiguration", false};

}  // namespace types
}  // namespace berth::kube
