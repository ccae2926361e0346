#include "controllers/install/access.h"

#include <boost/json.hpp>
#include <map>

#include "api/kind.h"
#include "controllers/install/plan.h"

namespace berth::controllers::install {
namespace {

using kube::ResourceType;
using wire::Array;
using wire::Object;
using wire::Value;

Array texts(std::initializer_list<std::string_view> list) {
  Array out;
  for (const std::string_view text : list) out.emplace_back(text);
  return out;
}

Object rule(std::string_view group, Array resources, Array verbs, Array names = {}) {
  Object out{{"apiGroups", texts({group})},
             {"resources", std::move(resources)},
             {"verbs", std::move(verbs)}};
  if (!names.empty()) out["resourceNames"] = std::move(names);
  return out;
}

// Everything that is done with our own kinds. Users make pools; we make the rest.
void add_our_kinds(Array& rules) {
  for (const api::KindInfo* kind : api::all_kinds()) {
    const ResourceType& type = kind->type;
    const bool by_users = type.kind == "PortPool";
    rules.push_back(
        rule(type.group, texts({type.plural}),
             by_users ? texts({"get", "list", "watch", "update", "patch"})
                      : texts({"get", "list", "watch", "create", "update", "patch", "delete"})));
    if (!kind->status_subresource) continue;
    rules.push_back(rule(type.group, texts({type.plural + "/status"}), texts({"update", "patch"})));
  }
}

// What `wanted_objects` has, webhook configurations included: watched, and put back.
void add_installed(bool guard, Array& rules) {
  std::map<ResourceType, Array> names;
  for (const Wanted& wanted : wanted_objects({.guard = guard}, "a bundle"))
    names[wanted.type].emplace_back(wanted.name());
  for (auto& [type, list] : names) {
    rules.push_back(rule(type.group, texts({type.plural}), texts({"list", "watch", "create"})));
    rules.push_back(
        rule(type.group, texts({type.plural}), texts({"get", "update", "patch"}), std::move(list)));
  }
}

}  // namespace

Array cluster_rules(bool guard) {
  Array rules;
  rules.push_back(rule("", texts({"pods"}), texts({"get", "list", "watch"})));
  // Annotations and conditions of a Pod go through here; its spec is out of reach.
  rules.push_back(rule("", texts({"pods/status"}), texts({"patch"})));
  rules.push_back(rule("", texts({"namespaces"}), texts({"get", "list", "watch"})));
  rules.push_back(rule("", texts({"events"}), texts({"create", "patch"})));
  // Owners of Pods that were refused are touched when there are free ports again: their controllers
  // try at once then. A replica that starts finds them by what they lack. Only their status: who
  // may patch a workload may run any Pod in its name.
  constexpr std::string_view kGames = "tkex.tencent.com";
  rules.push_back(rule("apps", texts({"replicasets", "statefulsets"}), texts({"list"})));
  rules.push_back(
      rule("apps", texts({"replicasets/status", "statefulsets/status"}), texts({"patch"})));
  rules.push_back(rule(kGames, texts({"gamestatefulsets"}), texts({"get", "list"})));
  rules.push_back(rule(kGames, texts({"gamestatefulsets/status"}), texts({"patch"})));
  add_our_kinds(rules);
  add_installed(guard, rules);
  return rules;
}

Array namespace_rules() {
  return {
      rule("coordination.k8s.io", texts({"leases"}), texts({"create"})),
      rule("coordination.k8s.io", texts({"leases"}), texts({"get", "update"}), texts({kLeaseName})),
      rule("", texts({"secrets"}), texts({"create"})),
      rule("", texts({"secrets"}), texts({"get", "update"}),
           texts({kCertificateSecret, kKeysSecret}))};
}

}  // namespace berth::controllers::install
