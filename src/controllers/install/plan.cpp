#include "controllers/install/plan.h"

#include <boost/json.hpp>

#include "api/kind.h"
#include "api/listener.h"
#include "api/pod_ports.h"
#include "api/port_binding.h"
#include "api/port_pool.h"
#include "base/encoding.h"
#include "controllers/install/guard_policy.h"

namespace berth::controllers::install {
namespace {

using kube::ResourceType;
using wire::Array;
using wire::Object;
using wire::Value;

constexpr std::string_view kPortPoolsHook = "portpools.berth.dev";
constexpr std::string_view kTemplateHintHook = "template-hint.berth.dev";
constexpr std::string_view kNamespaceHintHook = "namespace-hint.berth.dev";
// Nobody waits longer for advice.
constexpr int kHintTimeoutSeconds = 2;

Object metadata(std::string_view name) {
  return {{"name", name}, {"labels", Object{{kManagedByLabel, kManagedBy}}}};
}

Object client_config(const WebhookAddress& address, std::string_view path,
                     const std::string& ca_bundle) {
  Object out{{"caBundle", base64_encode(ca_bundle)}};
  const std::string whole =
      address.segment.empty() ? std::string(path) : fmt::format("{}/{}", path, address.segment);
  if (!address.url.empty()) {
    out["url"] = address.url + whole;
  } else {
    out["service"] = Object{{"namespace", address.service_namespace},
                            {"name", address.service_name},
                            {"path", whole},
                            {"port", address.service_port}};
  }
  return out;
}

Object rule(const std::string& group, const std::string& version, const std::string& resource,
            Array operations) {
  return {{"apiGroups", Array{Value(group)}},
          {"apiVersions", Array{Value(version)}},
          {"resources", Array{Value(resource)}},
          {"operations", std::move(operations)},
          {"scope", "Namespaced"}};
}

// Pods that ask for a port, in namespaces that allow it. `Fail`: a Pod without its port is of no
// use to anybody.
Object pod_ports_hook(const Settings& settings, const std::string& ca_bundle) {
  const std::string has_annotation =
      fmt::format("has(object.metadata.annotations) && '{}' in object.metadata.annotations",
                  api::kPortPoolsAnnotation);
  return {{"name", kPodPortsHook},
          {"clientConfig", client_config(settings.webhooks, kPodPortsPath, ca_bundle)},
          {"rules", Array{rule("", "v1", "pods", Array{"CREATE"})}},
          {"namespaceSelector", Object{{"matchLabels", Object{{api::kInjectLabel, "true"}}}}},
          {"matchConditions",
           Array{Object{{"name", "asks-for-ports"}, {"expression", has_annotation}}}},
          {"failurePolicy", "Fail"},
          {"sideEffects", "NoneOnDryRun"},
          {"reinvocationPolicy", "IfNeeded"},
          {"timeoutSeconds", kWebhookTimeoutSeconds},
          {"admissionReviewVersions", Array{"v1"}}};
}

// Pods that ask for host ports, in any namespace: users have never had to label one for it. No
// namespace is left out, since a Pod that does not ask never reaches us, and one that asks must not
// come up without its ports.
Object host_ports_hook(const Settings& settings, const std::string& ca_bundle) {
  const std::string asks = fmt::format(
      "has(object.metadata.annotations) && '{0}' in object.metadata.annotations && "
      "object.metadata.annotations['{0}'] == 'true'",
      api::kHostPortAnnotation);
  return {{"name", kHostPortsHook},
          {"clientConfig", client_config(settings.webhooks, kHostPortsPath, ca_bundle)},
          {"rules", Array{rule("", "v1", "pods", Array{"CREATE"})}},
          {"matchConditions", Array{Object{{"name", "asks-for-host-ports"}, {"expression", asks}}}},
          {"failurePolicy", "Fail"},
          {"sideEffects", "NoneOnDryRun"},
          {"reinvocationPolicy", "IfNeeded"},
          {"timeoutSeconds", kWebhookTimeoutSeconds},
          {"admissionReviewVersions", Array{"v1"}}};
}

Object port_pools_hook(const Settings& settings, const std::string& ca_bundle) {
  const ResourceType& type = api::port_pool_kind().type;
  return {{"name", kPortPoolsHook},
          {"clientConfig", client_config(settings.webhooks, kPortPoolsPath, ca_bundle)},
          {"rules",
           Array{rule(type.group, type.version, type.plural, Array{"CREATE", "UPDATE", "DELETE"})}},
          {"failurePolicy", "Fail"},
          {"sideEffects", "None"},
          {"timeoutSeconds", kWebhookTimeoutSeconds},
          {"admissionReviewVersions", Array{"v1"}}};
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
  const Array writes{"CREATE", "UPDATE"};
  Array rules;
  for (const ResourceType* type :
       {&kube::types::kDeployment, &kube::types::kStatefulSet, &kube::types::kReplicaSet})
    rules.push_back(rule(type->group, type->version, type->plural, writes));
  rules.push_back(rule("tkex.tencent.com", "v1alpha1", "gamestatefulsets", writes));
  return rules;
}

// Advice is never worth a failure: `Ignore`, and soon.
Object hint_hook(std::string_view name, const WebhookAddress& address, std::string_view path,
                 const std::string& ca_bundle, Array rules, Array conditions) {
  return {{"name", name},
          {"clientConfig", client_config(address, path, ca_bundle)},
          {"rules", std::move(rules)},
          {"matchConditions", std::move(conditions)},
          {"failurePolicy", "Ignore"},
          {"sideEffects", "None"},
          {"timeoutSeconds", kHintTimeoutSeconds},
          {"admissionReviewVersions", Array{"v1"}}};
}

Object template_hint_hook(const Settings& settings, const std::string& ca_bundle) {
  return hint_hook(kTemplateHintHook, settings.webhooks, kTemplateHintPath, ca_bundle,
                   workload_rules(),
                   Array{Object{{"name", "asks-for-ports"},
                                {"expression", asks_at({"metadata", "annotations"})}}});
}

// Pods that a workload made are left out: their creator reads no warnings.
Object namespace_hint_hook(const Settings& settings, const std::string& ca_bundle) {
  Array rules = workload_rules();
  rules.push_back(rule("", "v1", "pods", Array{"CREATE"}));
  const std::string asks = fmt::format("({}) || ({})", asks_at({"metadata", "annotations"}),
                                       asks_at({"spec", "template", "metadata", "annotations"}));
  Object hook = hint_hook(kNamespaceHintHook, settings.webhooks, kNamespaceHintPath, ca_bundle,
                          std::move(rules),
                          Array{Object{{"name", "asks-for-ports"}, {"expression", asks}},
                                Object{{"name", "made-by-a-person"},
                                       {"expression", "!has(object.metadata.ownerReferences)"}}});
  hook["namespaceSelector"] =
      Object{{"matchExpressions",
              Array{Object{
                  {"key", api::kInjectLabel}, {"operator", "NotIn"}, {"values", Array{"true"}}}}}};
  return hook;
}

Value webhook_configuration(const ResourceType& type, Array hooks) {
  return Object{{"apiVersion", type.api_version()},
                {"kind", type.kind},
                {"metadata", metadata(kManagedBy)},
                {"webhooks", std::move(hooks)}};
}

Value priority_level(std::string_view name, int shares) {
  const ResourceType& type = kube::types::kPriorityLevelConfiguration;
  return Object{
      {"apiVersion", type.api_version()},
      {"kind", type.kind},
      {"metadata", metadata(name)},
      {"spec",
       Object{{"type", "Limited"},
              {"limited",
               Object{{"nominalConcurrencyShares", shares},
                      {"limitResponse", Object{{"type", "Queue"},
                                               {"queuing", Object{{"queues", 16},
                                                                  {"handSize", 4},
                                                                  {"queueLengthLimit", 50}}}}}}}}}};
}

Object subject_of(const OurUser& us) {
  if (!us.user.empty()) return {{"kind", "User"}, {"user", Object{{"name", us.user}}}};
  return {{"kind", "ServiceAccount"},
          {"serviceAccount",
           Object{{"namespace", us.service_account_namespace}, {"name", us.service_account}}}};
}

// What a flow takes: these verbs on these resources, in every namespace.
Object taken(Array verbs, std::string_view group, std::string_view resource) {
  return {{"verbs", std::move(verbs)},
          {"apiGroups", Array{Value(group)}},
          {"resources", Array{Value(resource)}},
          {"clusterScope", true},
          {"namespaces", Array{"*"}}};
}

Object flow_rule(const OurUser& us, Array resource_rules) {
  return {{"subjects", Array{subject_of(us)}}, {"resourceRules", std::move(resource_rules)}};
}

Value flow_schema(std::string_view name, std::string_view level, int precedence,
                  Object rule_of_flow) {
  const ResourceType& type = kube::types::kFlowSchema;
  return Object{{"apiVersion", type.api_version()},
                {"kind", type.kind},
                {"metadata", metadata(name)},
                {"spec", Object{{"priorityLevelConfiguration", Object{{"name", level}}},
                                {"matchingPrecedence", precedence},
                                {"distinguisherMethod", Object{{"type", "ByUser"}}},
                                {"rules", Array{std::move(rule_of_flow)}}}}};
}

// All that the webhook asks of the server while that waits for it: claims, which are patches of
// Listeners, and what it reads before it takes a slot again or says that none is left.
Array calls_of_the_webhook() {
  const ResourceType& listeners = api::listener_kind().type;
  const ResourceType& bindings = api::port_binding_kind().type;
  const ResourceType& pods = kube::types::kPod;
  const ResourceType& namespaces = kube::types::kNamespace;
  return {taken(Array{"get", "list", "patch"}, listeners.group, listeners.plural),
          taken(Array{"get"}, bindings.group, bindings.plural),
          taken(Array{"get", "list"}, pods.group, pods.plural),
          taken(Array{"get"}, namespaces.group, namespaces.plural)};
}

// The level that every cluster has for leases. A leader whose renewal queues behind bulk work of
// its own would lose the lead at the moment when there is most to do.
constexpr std::string_view kLeaseLevel = "leader-election";

// Claims must find a seat while bulk work (everything else of ours) fills its own. The server
// cannot tell who of us calls: controllers that patch Listeners sit there too, which is why they
// give way.
void add_priority_levels(const OurUser& us, std::vector<Wanted>& out) {
  const auto& level = kube::types::kPriorityLevelConfiguration;
  const auto& flow = kube::types::kFlowSchema;
  out.push_back({level, priority_level("berth-claims", 30)});
  out.push_back({level, priority_level("berth-bulk", 20)});
  out.push_back({flow, flow_schema("berth-lease", kLeaseLevel, 850,
                                   flow_rule(us, Array{taken(Array{"get", "create", "update"},
                                                             kube::types::kLease.group,
                                                             kube::types::kLease.plural)}))});
  out.push_back({flow, flow_schema("berth-claims", "berth-claims", 900,
                                   flow_rule(us, calls_of_the_webhook()))});
  out.push_back({flow, flow_schema("berth-bulk", "berth-bulk", 950,
                                   flow_rule(us, Array{taken(Array{"*"}, "*", "*")}))});
}

bool is_satisfied_object(const Object& wanted, const Object& found) {
  for (const auto& member : wanted) {
    const Value* other = found.if_contains(member.key());
    if (!other || !is_satisfied(member.value(), *other)) return false;
  }
  return true;
}

bool is_satisfied_array(const Array& wanted, const Array& found) {
  if (wanted.size() != found.size()) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!is_satisfied(wanted[i], found[i])) return false;
  }
  return true;
}

}  // namespace

std::vector<Wanted> wanted_objects(const Settings& settings, const std::string& ca_bundle) {
  std::vector<Wanted> out;
  for (const api::KindInfo* kind : api::all_kinds()) {
    out.push_back({kube::types::kCustomResourceDefinition, api::crd_of(*kind)});
  }
  add_priority_levels(settings.identity, out);
  if (settings.guard) {
    const std::string us =
        settings.known_as.empty() ? user_name(settings.identity) : settings.known_as;
    for (Wanted& policy : guard_policies(us)) out.push_back(std::move(policy));
  }
  if (ca_bundle.empty()) return out;
  const auto& mutating = kube::types::kMutatingWebhookConfiguration;
  const auto& validating = kube::types::kValidatingWebhookConfiguration;
  out.push_back({validating, webhook_configuration(
                                 validating, Array{port_pools_hook(settings, ca_bundle),
                                                   template_hint_hook(settings, ca_bundle),
                                                   namespace_hint_hook(settings, ca_bundle)})});
  // Host ports first: a pool's port may lead to one of them.
  Value pods = webhook_configuration(
      mutating, Array{host_ports_hook(settings, ca_bundle), pod_ports_hook(settings, ca_bundle)});
  const model::PortRange& range = settings.host_ports;
  pods.as_object()["metadata"].as_object()["annotations"] =
      Object{{kHostPortsAnnotation, fmt::format("{}-{}", range.first, range.last)}};
  out.push_back({mutating, std::move(pods)});
  return out;
}

bool has_plain_paths(const Value& configuration) {
  const Array* const hooks = wire::array_at(configuration, "/webhooks");
  for (const Value& hook : hooks ? *hooks : Array{}) {
    for (const std::string_view where : {"/clientConfig/url", "/clientConfig/service/path"}) {
      const std::string_view path = wire::string_at(hook, where);
      if (path.ends_with(kPodPortsPath) || path.ends_with(kHostPortsPath)) return true;
    }
  }
  return false;
}

bool is_satisfied(const Value& wanted, const Value& found) {
  if (wanted.is_object() && found.is_object())
    return is_satisfied_object(wanted.get_object(), found.get_object());
  if (wanted.is_array() && found.is_array())
    return is_satisfied_array(wanted.get_array(), found.get_array());
  if (wanted.is_number() && found.is_number())
    return wanted.to_number<double>() == found.to_number<double>();
  return wanted == found;
}

}  // namespace berth::controllers::install
