#include <boost/json.hpp>

#include "admission/webhooks.h"
#include "api/pod_ports.h"
#include "api/port_binding.h"
#include "api/port_pool.h"
#include "claims/pod_seal.h"
#include "ledger/claim.h"
#include "modules/port_pools/module.h"

namespace berth::modules::port_pools {
namespace {

using kube::ResourceType;
using module::Access;
using module::Call;
using module::Webhook;
using wire::Array;
using wire::Object;

// Nobody waits longer for advice.
constexpr int kHintTimeoutSeconds = 2;
// GameStatefulSets.
constexpr std::string_view kGames = "tkex.tencent.com";

Object condition(std::string_view name, std::string expression) {
  return {{"name", name}, {"expression", std::move(expression)}};
}

// Pods that ask for a port, in namespaces that allow it. `Fail`: a Pod without its port is of no
// use to anybody.
Webhook pod_ports_hook() {
  return {
      .name = std::string(admission::kPodPortsHook),
      .path = std::string(admission::kPodPortsPath),
      .mutating = true,
      .order = 20,
      .entry = {{"rules", Array{module::hook_rule(kube::types::kPod, {"CREATE"})}},
                {"namespaceSelector", Object{{"matchLabels", Object{{api::kInjectLabel, "true"}}}}},
                {"matchConditions",
                 Array{condition(
                     "asks-for-ports",
                     fmt::format(
                         "has(object.metadata.annotations) && '{}' in object.metadata.annotations",
                         api::kPortPoolsAnnotation))}},
                {"failurePolicy", "Fail"},
                {"sideEffects", "NoneOnDryRun"},
                {"reinvocationPolicy", "IfNeeded"},
                {"timeoutSeconds", module::kWebhookTimeoutSeconds},
                {"admissionReviewVersions", Array{"v1"}}}};
}

Webhook port_pools_hook() {
  return {.name = std::string(admission::kPortPoolsHook),
          .path = std::string(admission::kPortPoolsPath),
          .order = 20,
          .entry = {{"rules", Array{module::hook_rule(api::port_pool_kind().type,
                                                      {"CREATE", "UPDATE", "DELETE"})}},
                    {"failurePolicy", "Fail"},
                    {"sideEffects", "None"},
                    {"timeoutSeconds", module::kWebhookTimeoutSeconds},
                    {"admissionReviewVersions", Array{"v1"}}}};
}

// The annotation in `path`, each step of which may be missing.
std::string asks_at(std::initializer_list<std::string_view> path) {
  std::string out;
  std::string at = "object";
  for (const std::string_view step : path) {
    at += fmt::format(".{}", step);
    out += fmt::format("has({}) && ", at);
  }
  return fmt::format("{}'{}' in {}", out, api::kPortPoolsAnnotation, at);
}

Array workload_rules() {
  const std::vector<std::string> writes{"CREATE", "UPDATE"};
  Array rules;
  for (const ResourceType* type :
       {&kube::types::kDeployment, &kube::types::kStatefulSet, &kube::types::kReplicaSet})
    rules.push_back(module::hook_rule(*type, writes));
  rules.push_back(module::hook_rule(
      {std::string(kGames), "v1alpha1", "gamestatefulsets", "GameStatefulSet"}, writes));
  return rules;
}

// Advice is never worth a failure: `Ignore`, and soon.
Webhook hint_hook(std::string_view name, std::string_view path, Array rules, Array conditions) {
  return {.name = std::string(name),
          .path = std::string(path),
          .order = 20,
          .entry = {{"rules", std::move(rules)},
                    {"matchConditions", std::move(conditions)},
                    {"failurePolicy", "Ignore"},
                    {"sideEffects", "None"},
                    {"timeoutSeconds", kHintTimeoutSeconds},
                    {"admissionReviewVersions", Array{"v1"}}}};
}

Webhook template_hint_hook() {
  return hint_hook(admission::kTemplateHintHook, admission::kTemplateHintPath, workload_rules(),
                   Array{condition("asks-for-ports", asks_at({"metadata", "annotations"}))});
}

// Pods that a workload made are left out: their creator reads no warnings.
Webhook namespace_hint_hook() {
  Array rules = workload_rules();
  rules.push_back(module::hook_rule(kube::types::kPod, {"CREATE"}));
  const std::string asks = fmt::format("({}) || ({})", asks_at({"metadata", "annotations"}),
                                       asks_at({"spec", "template", "metadata", "annotations"}));
  Webhook hook =
      hint_hook(admission::kNamespaceHintHook, admission::kNamespaceHintPath, std::move(rules),
                Array{condition("asks-for-ports", asks),
                      condition("made-by-a-person", "!has(object.metadata.ownerReferences)")});
  hook.entry["namespaceSelector"] =
      Object{{"matchExpressions",
              Array{Object{
                  {"key", api::kInjectLabel}, {"operator", "NotIn"}, {"values", Array{"true"}}}}}};
  return hook;
}

std::vector<Access> access() {
  const std::vector<std::string> look{"get", "list", "watch"};
  return {{"", {"pods"}, look},
          // Annotations and conditions of a Pod go through here; its spec is out of reach.
          {"", {"pods/status"}, {"patch"}},
          {"", {"namespaces"}, look},
          {"", {"events"}, {"create", "patch"}},
          // Owners of Pods that were refused are touched when there are free ports again: their
          // controllers try at once then. A replica that starts finds them by what they lack. Only
          // their status: who may patch a workload may run any Pod in its name.
          {"apps", {"replicasets", "statefulsets"}, {"list"}},
          {"apps", {"replicasets/status", "statefulsets/status"}, {"patch"}},
          {std::string(kGames), {"gamestatefulsets"}, {"get", "list"}},
          {std::string(kGames), {"gamestatefulsets/status"}, {"patch"}}};
}

// All that the webhook asks of the server while that waits for it: claims, which are patches of
// Listeners, and what it reads before it takes a slot again or says that none is left. The server
// cannot tell who of us calls: controllers that patch Listeners sit there too, which is why they
// give way.
std::vector<Call> calls_of_the_webhook() {
  const auto call = [](std::vector<std::string> verbs, const ResourceType& type) {
    return Call{std::move(verbs), type.group, type.plural};
  };
  return {call({"get", "list", "patch"}, api::listener_kind().type),
          call({"get"}, api::port_binding_kind().type), call({"get", "list"}, kube::types::kPod),
          call({"get"}, kube::types::kNamespace)};
}

}  // namespace

module::Declaration declare(const module::Config& /*config*/) {
  return {.name = std::string(kName),
          .about = "PortPools, and ports of them for Pods that ask",
          .kinds = {{.info = &api::port_pool_kind(), .place = 10, .made_by_users = true},
                    // It only tells: one that is deleted is made again.
                    {.info = &api::port_binding_kind(),
                     .place = 30,
                     .guard = module::Guard{.of_status = true,
                                            .remedy = "change the Pod instead, and leave out what "
                                                      "begins with berth.dev/"}}},
          .reads = {{.type = api::port_pool_kind().type},
                    {.type = api::port_binding_kind().type},
                    {.type = kube::types::kPod,
                     .meta = {.labels = kube::KeyFilter::only({std::string(ledger::kTokenLabel)}),
                              .annotations = kube::KeyFilter::only(
                                  {std::string(api::kPortPoolsAnnotation),
                                   std::string(api::kPoolBindingsAnnotation),
                                   std::string(claims::kPortsSealAnnotation),
                                   std::string(api::kBindStatusAnnotation),
                                   std::string(api::kKeepDurationAnnotation)}),
                              .owners = false}},
                    {.type = kube::types::kNamespace, .meta = {.owners = false}}},
          .access = access(),
          .webhooks = {pod_ports_hook(), port_pools_hook(), template_hint_hook(),
                       namespace_hint_hook()},
          .levels = {{"berth-claims", 30}},
          .flows = {{"berth-claims", "berth-claims", 900, calls_of_the_webhook()}}};
}

}  // namespace berth::modules::port_pools
