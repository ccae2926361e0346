#include "controllers/install/access.h"

#include <boost/json.hpp>
#include <map>

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

// Everything that is done with our own kinds.
void add_our_kinds(const module::Declarations& modules, Array& rules) {
  for (const module::Kind& kind : module::kinds_of(modules)) {
    const ResourceType& type = kind.info->type;
    rules.push_back(rule(type.group, texts({type.plural}),
                         kind.made_by_users ? texts({"get", "list", "watch", "update", "patch"})
                                            : texts({"get", "list", "watch", "create", "update",
                                                     "patch", "delete"})));
    if (!kind.info->status_subresource) continue;
    rules.push_back(rule(type.group, texts({type.plural + "/status"}), texts({"update", "patch"})));
  }
}

// What `wanted_objects` has, webhook configurations included: watched, and put back.
void add_installed(const module::Declarations& modules, bool guard, Array& rules) {
  std::map<ResourceType, Array> names;
  for (const Wanted& wanted : wanted_objects({.modules = modules, .guard = guard}, "a bundle"))
    names[wanted.type].emplace_back(wanted.name());
  for (auto& [type, list] : names) {
    rules.push_back(rule(type.group, texts({type.plural}), texts({"list", "watch", "create"})));
    rules.push_back(
        rule(type.group, texts({type.plural}), texts({"get", "update", "patch"}), std::move(list)));
  }
}

Array printed(const std::vector<module::Access>& all) {
  const auto list = [](const std::vector<std::string>& of) { return Array(of.begin(), of.end()); };
  Array rules;
  for (const module::Access& one : all)
    rules.push_back(rule(one.group, list(one.resources), list(one.verbs), list(one.names)));
  return rules;
}

}  // namespace

Array cluster_rules(const module::Declarations& modules, bool guard) {
  Array rules = printed(module::access_of(modules));
  add_our_kinds(modules, rules);
  add_installed(modules, guard, rules);
  return rules;
}

Array namespace_rules(const module::Declarations& modules) {
  return printed(module::namespace_access_of(modules));
}

}  // namespace berth::controllers::install
