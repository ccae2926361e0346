#include "modules/ingress/module.h"

#include <boost/json.hpp>

#include "admission/ingresses.h"
#include "admission/webhooks.h"
#include "api/decode.h"
#include "controllers/ingress/ingresses.h"
#include "frontend/failures.h"

namespace berth::modules::ingress {
namespace {

using wire::Array;
using wire::Object;

module::Webhook webhook() {
  return {
      .name = std::string(admission::kIngressesHook),
      .path = std::string(admission::kIngressesPath),
      .order = 30,
      .entry = {{"rules", Array{module::hook_rule(api::ingress_kind().type, {"CREATE", "UPDATE"})}},
                {"failurePolicy", "Fail"},
                {"sideEffects", "None"},
                {"timeoutSeconds", module::kWebhookTimeoutSeconds},
                {"admissionReviewVersions", Array{"v1"}}}};
}

struct Parts {
  explicit Parts(module::Platform& p)
      : drivers(p.drivers),
        gate({p.core->grantor.book(), p.core->listeners.store()}, p.core->resolver,
             [this](const model::LoadBalancerRef& lb) { return drivers.of(lb) != nullptr; }),
        controller(p.tasks, p.leader_client,
                   {.ingresses = p.caches.of(api::ingress_projection).store(),
                    .listeners = p.core->listeners.store(),
                    .balancers = p.core->balancers.store(),
                    .blocks = p.core->blocks.store(),
                    .pods = p.caches.of(kube::pod_projection).store(),
                    .services = p.caches.of(kube::service_projection).store()},
                   p.core->keeper, p.sealer, p.core->resolver, p.events,
                   {.defaults = p.config.load_balancers,
                    .names = p.config.names_have_protocol ? api::ListenerNames::with_protocol
                                                          : api::ListenerNames::plain,
                    .own_namespace_only = p.config.ingress_own_namespace,
                    .exempt_namespaces = p.config.exempt_namespaces},
                   &p.registry) {
    frontend::count_changes("ingress", p.caches.of(api::ingress_projection).store(), p.registry);
    p.core->vouchers.emplace(
        controllers::ingress::kIngressOwner,
        [this](const api::Listener& listener) { return controller.vouch(listener); });
    p.core->on_name.emplace_back(
        [this](const model::LoadBalancerRef& named) { controller.look_at_those_with(named); });
    p.on_keys.emplace_back([this] { controller.look_at_all(); });
    p.routes.push_back({std::string(admission::kIngressesPath),
                        [this](const Context&, const kube::AdmissionRequest& request) {
                          return gate.admit(request);
                        }});
    controller.add_to(p.manager);
  }

  const lb::Drivers& drivers;
  admission::IngressGate gate;
  controllers::ingress::IngressController controller;
};

}  // namespace

module::Declaration declare(const module::Config& /*config*/) {
  const std::vector<std::string> look{"get", "list", "watch"};
  return {.name = std::string(kName),
          .about = "Ingresses: ports that lead to Services and to the Pods of a workload",
          .kinds = {{.info = &api::ingress_kind(), .place = 15, .made_by_users = true}},
          .reads = {{.type = api::ingress_kind().type},
                    {.type = kube::types::kPod,
                     .meta = {.annotations = kube::KeyFilter::only(
                                  {std::string(controllers::ingress::kWeightAnnotation)})}},
                    {.type = kube::types::kService, .meta = {.labels = {}, .owners = false}}},
          .access = {{"", {"pods"}, look},
                     {"", {"services"}, look},
                     // That a Pod's own weight is used is an annotation of it.
                     {"", {"pods/status"}, {"patch"}},
                     {"", {"events"}, {"create", "patch"}}},
          .webhooks = {webhook()}};
}

std::shared_ptr<void> build(module::Platform& platform) {
  return std::make_shared<Parts>(platform);
}

}  // namespace berth::modules::ingress
