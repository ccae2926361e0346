// What must be installed for Berth to work: CRDs, webhook configurations, API priority levels, the
// guard. Pure functions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kube/client/resource.h"
#include "module/config.h"
#include "module/declaration.h"
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

  friend bool operator==(const WebhookAddress&, const WebhookAddress&) = default;
};

using module::OurUser;

struct Settings {
  WebhookAddress webhooks{};
  OurUser identity{};
  // The modules that are on.
  module::Declarations modules{};
  // Names of those that are off: whoever looks at the cluster is told.
  std::vector<std::string> without{};
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
using WantedPtr = std::shared_ptr<const Wanted>;

inline constexpr std::string_view kManagedByLabel = "app.kubernetes.io/managed-by";
inline constexpr std::string_view kManagedBy = "berth";

// On the configuration of mutating webhooks, when modules are off: their names, by commas.
inline constexpr std::string_view kWithoutAnnotation = "berth.dev/without";

// Names in our namespace: of the lease of the leader, and of the Secrets of the webhooks'
// certificate and of the keys that seal what we write.
inline constexpr std::string_view kLeaseName = "berth";
inline constexpr std::string_view kCertificateSecret = "berth-webhook-certificate";
inline constexpr std::string_view kKeysSecret = "berth-keys";

// In the order of installation. Without a CA bundle the webhook configurations are left out: with a
// wrong one they would refuse every Pod. Both are there also when no module has a webhook: so those
// of a module that was on go, and who comes later sees that somebody led.
std::vector<Wanted> wanted_objects(const Settings& settings, const std::string& ca_bundle);
// The same in two parts: what stands while a process lives, and the webhook configurations. CRDs
// are shared by all who ask: they are large, and always the same.
std::vector<WantedPtr> standing_objects(const Settings& settings);
std::vector<WantedPtr> webhook_objects(const Settings& settings, const WebhookAddress& address,
                                       const std::string& ca_bundle);

// Whether webhooks of this configuration that may refuse a Pod are called at paths without a secret
// end.
bool has_plain_paths(const wire::Value& configuration, const module::Declarations& modules);

// Everything in `wanted` is in `found`, which may have more: defaults of the server, fields of
// others. Lists must have the same length.
bool is_satisfied(const wire::Value& wanted, const wire::Value& found);

}  // namespace berth::controllers::install
