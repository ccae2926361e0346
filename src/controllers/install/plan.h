// What must be installed for Berth to work: CRDs, webhook configurations, API priority levels, the
// guard. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "api/host_ports.h"
#include "kube/client/resource.h"
#include "wire/value.h"

namespace berth::controllers::install {

// How the API server reaches our webhooks: a Service, or a URL when we run outside of the cluster.
struct WebhookAddress {
  std::string url{};  // "https://127.0.0.1:9443", no slash at the end
  std::string service_namespace{};
  std::string service_name{};
  int service_port = 443;
  // The secret end of every path (kube/admission/path_guard.h); empty: none.
  std::string segment{};
};

// Who we are to the API server: whose requests the priority levels are for.
struct OurUser {
  std::string service_account_namespace{};
  std::string service_account{};
  std::string user{};  // when we do not run as a service account
};

struct Settings {
  WebhookAddress webhooks{};
  OurUser identity{};
  model::PortRange host_ports = api::kDefaultHostPorts;
  // With the policies of guard_policy.h.
  bool guard = true;
  // What the server calls us, once it was asked: one that guards Listeners against us would stop
  // all work.
  std::string known_as{};
};

struct Wanted {
  kube::ResourceType type;
  wire::Value object;

  std::string name() const { return std::string(wire::string_at(object, "/metadata/name")); }
};

inline constexpr std::string_view kManagedByLabel = "app.kubernetes.io/managed-by";
inline constexpr std::string_view kManagedBy = "berth";

// On the configuration of the webhooks: the range of random host ports, "20000-29999". For people
// and for `berth explain`.
inline constexpr std::string_view kHostPortsAnnotation = "berth.dev/host-ports";

// Webhooks that give ports to Pods, by their names in the configuration.
inline constexpr std::string_view kHostPortsHook = "host-ports.berth.dev";
inline constexpr std::string_view kPodPortsHook = "pod-ports.berth.dev";

// Names in our namespace: of the lease of the leader, and of the Secrets of the webhooks'
// certificate and of the keys that seal what we write.
inline constexpr std::string_view kLeaseName = "berth";
inline constexpr std::string_view kCertificateSecret = "berth-webhook-certificate";
inline constexpr std::string_view kKeysSecret = "berth-keys";

// Paths of the webhooks, for the configurations and for the router.
// After which the API server gives up on us; hints have less.
inline constexpr int kWebhookTimeoutSeconds = 10;

inline constexpr std::string_view kPodPortsPath = "/mutate-pod-ports";
inline constexpr std::string_view kHostPortsPath = "/mutate-host-ports";
inline constexpr std::string_view kPortPoolsPath = "/validate-portpools";
inline constexpr std::string_view kTemplateHintPath = "/hint-template";
inline constexpr std::string_view kNamespaceHintPath = "/hint-namespace";

// In the order of installation. Without a CA bundle the webhook configurations are left out: with a
// wrong one they would refuse every Pod.
std::vector<Wanted> wanted_objects(const Settings& settings, const std::string& ca_bundle);

// Whether the webhooks of this configuration are called at paths without a secret end.
bool has_plain_paths(const wire::Value& configuration);

// Everything in `wanted` is in `found`, which may have more: defaults of the server, fields of
// others. Lists must have the same length.
bool is_satisfied(const wire::Value& wanted, const wire::Value& found);

}  // namespace berth::controllers::install
