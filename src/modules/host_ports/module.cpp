#include "modules/host_ports/module.h"

#include <boost/json.hpp>

#include "admission/host_ports.h"
#include "admission/webhooks.h"
#include "api/host_ports.h"

namespace berth::modules::host_ports {
namespace {

using wire::Array;
using wire::Object;

// Pods that ask for host ports, in any namespace: users have never had to label one for it. No
// namespace is left out, since a Pod that does not ask never reaches us, and one that asks must not
// come up without its ports. Before those of pools: a pool's port may lead to one of them.
module::Webhook webhook() {
  const std::string asks = fmt::format(
      "has(object.metadata.annotations) && '{0}' in object.metadata.annotations && "
      "object.metadata.annotations['{0}'] == 'true'",
      api::kHostPortAnnotation);
  return {.name = std::string(admission::kHostPortsHook),
          .path = std::string(admission::kHostPortsPath),
          .mutating = true,
          .order = 10,
          .entry = {{"rules", Array{module::hook_rule(kube::types::kPod, {"CREATE"})}},
                    {"matchConditions",
                     Array{Object{{"name", "asks-for-host-ports"}, {"expression", asks}}}},
                    {"failurePolicy", "Fail"},
                    {"sideEffects", "NoneOnDryRun"},
                    {"reinvocationPolicy", "IfNeeded"},
                    {"timeoutSeconds", module::kWebhookTimeoutSeconds},
                    {"admissionReviewVersions", Array{"v1"}}}};
}

struct Parts {
  explicit Parts(module::Platform& p) : ports(p.config.host_ports, p.random.fork()) {
    ports.follow(p.caches.of(kube::pod_projection).store());
    p.routes.push_back({std::string(admission::kHostPortsPath),
                        [this](const Context& context, const kube::AdmissionRequest& request) {
                          return ports.admit(context, request);
                        }});
  }

  admission::HostPorts ports;
};

}  // namespace

module::Declaration declare(const module::Config& config) {
  const model::PortRange& range = config.host_ports;
  return {.name = std::string(kName),
          .about = "random host ports for Pods that ask for them",
          // Their ports are enough: no label, no annotation.
          .reads = {{.type = kube::types::kPod,
                     .meta = {.labels = {}, .annotations = {}, .owners = false}}},
          .access = {{.resources = {"pods"}, .verbs = {"get", "list", "watch"}}},
          .webhooks = {webhook()},
          .webhook_annotations = {{std::string(admission::kHostPortsAnnotation),
                                   fmt::format("{}-{}", range.first, range.last)}}};
}

std::shared_ptr<void> build(module::Platform& platform) {
  return std::make_shared<Parts>(platform);
}

}  // namespace berth::modules::host_ports
