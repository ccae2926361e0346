#include "controllers/install/plan.h"

#include <algorithm>
#include <boost/json.hpp>
#include <map>

#include "api/kind.h"
#include "base/encoding.h"
#include "base/mutex.h"
#include "controllers/install/guard_policy.h"

namespace berth::controllers::install {
namespace {

using kube::ResourceType;
using wire::Array;
using wire::Object;
using wire::Value;

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

Array hooks_of(const module::Declarations& modules, const WebhookAddress& address, bool mutating,
               const std::string& ca_bundle) {
  Array out;
  for (const module::Webhook& hook : module::webhooks_of(modules, mutating)) {
    Object entry{{"name", hook.name},
                 {"clientConfig", client_config(address, hook.path, ca_bundle)}};
    for (const auto& member : hook.entry) entry[member.key()] = member.value();
    out.push_back(std::move(entry));
  }
  return out;
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

Object flow_rule(const OurUser& us, const std::vector<module::Call>& calls) {
  Array rules;
  for (const module::Call& call : calls) {
    rules.push_back(Object{{"verbs", Array(call.verbs.begin(), call.verbs.end())},
                           {"apiGroups", Array{Value(call.group)}},
                           {"resources", Array{Value(call.resource)}},
                           {"clusterScope", true},
                           {"namespaces", Array{"*"}}});
  }
  return {{"subjects", Array{subject_of(us)}}, {"resourceRules", std::move(rules)}};
}

Value flow_schema(const OurUser& us, const module::Flow& flow) {
  const ResourceType& type = kube::types::kFlowSchema;
  return Object{{"apiVersion", type.api_version()},
                {"kind", type.kind},
                {"metadata", metadata(flow.name)},
                {"spec", Object{{"priorityLevelConfiguration", Object{{"name", flow.level}}},
                                {"matchingPrecedence", flow.precedence},
                                {"distinguisherMethod", Object{{"type", "ByUser"}}},
                                {"rules", Array{flow_rule(us, flow.calls)}}}}};
}

WantedPtr shared(Wanted wanted) { return std::make_shared<const Wanted>(std::move(wanted)); }

void add_priority_levels(const Settings& settings, std::vector<WantedPtr>& out) {
  for (const module::PriorityLevel& level : module::levels_of(settings.modules))
    out.push_back(shared(
        {kube::types::kPriorityLevelConfiguration, priority_level(level.name, level.shares)}));
  for (const module::Flow& flow : module::flows_of(settings.modules))
    out.push_back(shared({kube::types::kFlowSchema, flow_schema(settings.identity, flow)}));
}

Object annotations_of(const Settings& settings) {
  Object out;
  for (const auto& [key, text] : module::webhook_annotations_of(settings.modules)) out[key] = text;
  std::string off;
  for (const std::string& name : settings.without) off += (off.empty() ? "" : ",") + name;
  if (!off.empty()) out[kWithoutAnnotation] = off;
  return out;
}

// Written down once: what a definition says is fixed when we are built.
WantedPtr definition_of(const api::KindInfo& kind) {
  static Mutex mu;
  static std::map<const api::KindInfo*, WantedPtr> known;
  const MutexLock lock(mu);
  WantedPtr& entry = known[&kind];
  if (!entry) {
    entry = std::make_shared<const Wanted>(
        Wanted{kube::types::kCustomResourceDefinition, api::crd_of(kind)});
  }
  return entry;
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

std::vector<WantedPtr> standing_objects(const Settings& settings) {
  std::vector<WantedPtr> out;
  for (const module::Kind& kind : module::kinds_of(settings.modules))
    out.push_back(definition_of(*kind.info));
  add_priority_levels(settings, out);
  if (!settings.guard) return out;
  const std::string us =
      settings.known_as.empty() ? user_name(settings.identity) : settings.known_as;
  for (Wanted& policy : guard_policies(us, settings.modules))
    out.push_back(shared(std::move(policy)));
  return out;
}

std::vector<WantedPtr> webhook_objects(const Settings& settings, const WebhookAddress& address,
                                       const std::string& ca_bundle) {
  if (ca_bundle.empty()) return {};
  const auto configuration = [&](const ResourceType& type, bool mutating) {
    return webhook_configuration(type, hooks_of(settings.modules, address, mutating, ca_bundle));
  };
  const auto& mutating = kube::types::kMutatingWebhookConfiguration;
  const auto& validating = kube::types::kValidatingWebhookConfiguration;
  Value pods = configuration(mutating, true);
  if (Object annotations = annotations_of(settings); !annotations.empty())
    pods.as_object()["metadata"].as_object()["annotations"] = std::move(annotations);
  return {shared({validating, configuration(validating, false)}),
          shared({mutating, std::move(pods)})};
}

std::vector<Wanted> wanted_objects(const Settings& settings, const std::string& ca_bundle) {
  std::vector<Wanted> out;
  for (const WantedPtr& one : standing_objects(settings)) out.push_back(*one);
  for (const WantedPtr& one : webhook_objects(settings, settings.webhooks, ca_bundle))
    out.push_back(*one);
  return out;
}

bool has_plain_paths(const Value& configuration, const module::Declarations& modules) {
  const std::vector<module::Webhook> ours = module::webhooks_of(modules, true);
  const Array* const hooks = wire::array_at(configuration, "/webhooks");
  for (const Value& hook : hooks ? *hooks : Array{}) {
    for (const std::string_view where : {"/clientConfig/url", "/clientConfig/service/path"}) {
      const std::string_view path = wire::string_at(hook, where);
      if (std::ranges::any_of(ours, [&](const auto& one) { return path.ends_with(one.path); }))
        return true;
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
