#include "controllers/install/guard_policy.h"

#include <boost/json.hpp>

#include "api/keys.h"

namespace berth::controllers::install {
namespace {

using kube::ResourceType;
using wire::Array;
using wire::Object;
using wire::Value;

// How annotations begin that are ours alone: claim, seal, item, load balancer, Pod uid. Objects
// without one are another controller's.
constexpr std::string_view kMark = "berth.dev/";

// They delete what belongs to something that is gone. The last one is all of them, where they have
// no accounts of their own.
constexpr std::string_view kCleaners[] = {
    "system:serviceaccount:kube-system:generic-garbage-collector",
    "system:serviceaccount:kube-system:namespace-controller", "system:kube-controller-manager"};

Object named(std::string_view name, std::string_view key, std::string expression) {
  return {{"name", name}, {key, std::move(expression)}};
}

std::string is_stranger(std::string_view us) {
  std::string names = wire::to_json(Value(us));
  for (const std::string_view cleaner : kCleaners) names += ", " + wire::to_json(Value(cleaner));
  return fmt::format("!(request.userInfo.username in [{}])", names);
}

// Everybody else is none of ours, and the costly question comes last.
Array match_conditions(std::string_view us, const ResourceType& type) {
  const std::string marked = fmt::format(
      "[object, oldObject].exists(o, o != null && has(o.metadata.annotations) && "
      "o.metadata.annotations.exists(k, k.startsWith('{}')))",
      kMark);
  const std::string unable = fmt::format(
      "!authorizer.group('{}').resource('{}').namespace(request.namespace).check('{}').allowed()",
      type.group, type.plural, kRepairVerb);
  return {named("is-a-stranger", "expression", is_stranger(us)),
          named("is-ours", "expression", marked), named("may-not-repair", "expression", unable)};
}

// A map of the object's metadata before and after; empty where there is none.
Object before(std::string_view name, std::string_view field) {
  return named(name, "expression",
               fmt::format("oldObject != null && has(oldObject.metadata.{0}) ? "
                           "oldObject.metadata.{0} : {{}}",
                           field));
}
Object after(std::string_view name, std::string_view field) {
  return named(
      name, "expression",
      fmt::format("object != null && has(object.metadata.{0}) ? object.metadata.{0} : {{}}",
                  field));
}

// The keys that `is_guarded` (of k, in m) whose values differ, as paths.
std::string moved_keys(std::string_view was, std::string_view is, std::string_view field,
                       std::string_view guard_was, std::string_view guard_is) {
  return fmt::format(
      "(variables.{0}.filter(k, ({3}) && (!(k in variables.{1}) || variables.{1}[k] != "
      "variables.{0}[k])) + variables.{1}.filter(k, ({4}) && !(k in variables.{0})))"
      ".map(k, 'metadata.{2}[' + k + ']')",
      was, is, field, guard_was, guard_is);
}

// Labels by which we and others find a Listener again. Any other label is free.
std::string is_label_of_ours(std::string_view map) {
  return fmt::format(
      "k == '{}' || k == '{}' || k.contains('bkbcs.tencent.com') || k.startsWith('{}') || "
      "variables.{}[k] == '{}'",
      api::kOwnerKindKey, api::kOwnerNameKey, api::kPoolBindingPrefix, map,
      api::kPoolItemLabelValue);
}

// The field, given as a path in a list, when it is not as it was.
std::string if_moved(std::string_view field) {
  return fmt::format(
      "(has(object.{0}) != has(oldObject.{0}) || (has(object.{0}) && object.{0} != oldObject.{0}) "
      "? ['{0}'] : [])",
      field);
}

// Somebody else's finalizers come and go.
std::string if_let_go() {
  return fmt::format(
      "(has(oldObject.metadata.finalizers) && '{0}' in oldObject.metadata.finalizers && "
      "!(has(object.metadata.finalizers) && '{0}' in object.metadata.finalizers) "
      "? ['metadata.finalizers'] : [])",
      api::kFinalizer);
}

// What is written that is ours to write. Of an object that was not ours, only the marks count.
Array variables() {
  const std::string is_mark = fmt::format("k.startsWith('{}')", kMark);
  const std::string rest = fmt::format(
      "object == null || !variables.annotationsBefore.exists(k, {}) ? [] : {} + {} + {} + {} + {}",
      is_mark,
      moved_keys("labelsBefore", "labels", "labels", is_label_of_ours("labelsBefore"),
                 is_label_of_ours("labels")),
      if_moved("metadata.ownerReferences"), if_let_go(), if_moved("spec"), if_moved("status"));
  return {before("annotationsBefore", "annotations"),
          after("annotations", "annotations"),
          before("labelsBefore", "labels"),
          after("labels", "labels"),
          named("marks", "expression",
                "object == null ? [] : " + moved_keys("annotationsBefore", "annotations",
                                                      "annotations", is_mark, is_mark)),
          named("rest", "expression", rest)};
}

std::string told(const ResourceType& type, std::string_view what, std::string_view remedy) {
  return fmt::format(
      "'{0} ' + request.namespace + '/' + (object != null && has(object.metadata.name) ? "
      "object.metadata.name : request.name) + ': ' + {1} + '; {2}. To repair by hand one needs the "
      "verb {3} on {4}.{5}'",
      type.kind, what, remedy, kRepairVerb, type.plural, type.group);
}

Object refusal(std::string expression, std::string message) {
  return {{"expression", std::move(expression)},
          {"messageExpression", std::move(message)},
          {"reason", "Forbidden"}};
}

struct Guarded {
  const ResourceType& type;
  Array resources;
  bool deletion;
  std::string_view remedy;
};

Array validations(const Guarded& guarded) {
  Array out{
      refusal("size(variables.marks) + size(variables.rest) == 0",
              told(guarded.type,
                   "(variables.marks + variables.rest).join(', ') + ' is written by Berth alone'",
                   guarded.remedy))};
  // What goes already may be told so again.
  if (guarded.deletion) {
    out.push_back(refusal(
        "request.operation != 'DELETE' || has(oldObject.metadata.deletionTimestamp)",
        told(guarded.type, "'is deleted by Berth alone, with the claim of whoever has the port'",
             "delete its owner (a PortPool, an Ingress), or take the item or rule out of it")));
  }
  return out;
}

Object metadata(const std::string& name) {
  return {{"name", name}, {"labels", Object{{kManagedByLabel, kManagedBy}}}};
}

void add(std::string_view us, Guarded guarded, std::vector<Wanted>& out) {
  const std::string name = "berth-" + guarded.type.plural;
  Array operations{"CREATE", "UPDATE"};
  if (guarded.deletion) operations.emplace_back("DELETE");
  const Object rule{{"apiGroups", Array{Value(guarded.type.group)}},
                    {"apiVersions", Array{Value(guarded.type.version)}},
                    {"resources", guarded.resources},
                    {"operations", std::move(operations)},
                    {"scope", "Namespaced"}};
  const Object policy{{"failurePolicy", "Fail"},
                      {"matchConstraints", Object{{"resourceRules", Array{rule}}}},
                      {"matchConditions", match_conditions(us, guarded.type)},
                      {"variables", variables()},
                      {"validations", validations(guarded)}};
  out.push_back({kGuardPolicy, Object{{"apiVersion", kGuardPolicy.api_version()},
                                      {"kind", kGuardPolicy.kind},
                                      {"metadata", metadata(name)},
                                      {"spec", policy}}});
  out.push_back(
      {kGuardPolicyBinding,
       Object{{"apiVersion", kGuardPolicyBinding.api_version()},
              {"kind", kGuardPolicyBinding.kind},
              {"metadata", metadata(name)},
              {"spec", Object{{"policyName", name}, {"validationActions", Array{"Deny"}}}}}});
}

}  // namespace

const ResourceType kGuardPolicy{"admissionregistration.k8s.io", "v1", "validatingadmissionpolicies",
                                "ValidatingAdmissionPolicy", false};
const ResourceType kGuardPolicyBinding{"admissionregistration.k8s.io", "v1",
                                       "validatingadmissionpolicybindings",
                                       "ValidatingAdmissionPolicyBinding", false};

std::string user_name(const OurUser& us) {
  if (!us.user.empty()) return us.user;
  return fmt::format("system:serviceaccount:{}:{}", us.service_account_namespace,
                     us.service_account);
}

bool is_guard(const ResourceType& type) {
  return type == kGuardPolicy || type == kGuardPolicyBinding;
}

std::vector<Wanted> guard_policies(std::string_view us, const module::Declarations& modules) {
  std::vector<Wanted> out;
  for (const module::Kind& kind : module::kinds_of(modules)) {
    if (!kind.guard) continue;
    const ResourceType& type = kind.info->type;
    Array resources{Value(type.plural)};
    if (kind.guard->of_status) resources.emplace_back(type.plural + "/status");
    add(us,
        {.type = type,
         .resources = std::move(resources),
         .deletion = kind.guard->of_deletion,
         .remedy = kind.guard->remedy},
        out);
  }
  return out;
}

}  // namespace berth::controllers::install
