// Everything that a cluster needs to run Berth, as `berth manifests` prints it and `berth
// uninstall` takes it away. Pure functions.
//
// CRDs and priority levels are those of plan.h. The webhook configurations are left to the
// controller, which knows the certificate's authority.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controllers/install/plan.h"

namespace berth::controllers::install {

inline constexpr std::string_view kDefaultNamespace = "berth-system";
// The name of everything that is there once: Deployment, service account, roles.
inline constexpr std::string_view kAppName = "berth";
inline constexpr std::string_view kWebhookService = "berth-webhooks";
inline constexpr std::string_view kAppLabel = "app.kubernetes.io/name";

struct ManifestOptions {
  // The modules that are on, and the names of those that are off.
  module::Declarations modules{};
  std::vector<std::string> without{};
  std::string ns{kDefaultNamespace};
  std::string image = "berth:latest";
  int replicas = 2;
  // Of an edge load balancer, "ID=ADDRESS[,ADDRESS]" each: it lives in the process of the leader,
  // so that is the only one, on the node that has these addresses.
  std::vector<std::string> edge_addresses{};
  // The node that the controller runs on, by its label `kubernetes.io/hostname`; empty: any.
  std::string node{};
  // Pods in the network of their node: its addresses, and its ports.
  bool host_network = false;
  std::uint16_t webhook_port = 9443;
  std::uint16_t ops_port = 8080;
  // The webhook configurations too, for people who want to see or to keep them: without an
  // authority, and not in anybody's way until the controller has completed them.
  bool with_webhooks = false;
  // Where API servers call from ("192.0.2.0/28"). With some, a NetworkPolicy lets nobody else reach
  // the webhooks.
  std::vector<std::string> apiserver_cidrs{};
  // More of the controller's, as they are.
  std::vector<std::string> arguments{};
  // The policies of guard_policy.h, and the right to keep them installed.
  bool with_guard = true;
};

// Errors quote the text.
Result<> check_cidr(std::string_view text);

// Options that do not go together. Errors name the flags of `berth manifests`.
Result<> check_together(const ManifestOptions& options);

// In the order in which they are applied.
std::vector<Wanted> manifests(const ManifestOptions& options);

// Namespaces that are there without us: they are neither made nor removed.
bool is_shared_namespace(std::string_view ns);

}  // namespace berth::controllers::install
