#include "sim/kube/discovery.h"

#include <algorithm>
#include <boost/json.hpp>
#include <map>

#include "wire/value.h"

namespace berth::sim::kube {

namespace {

using wire::Array;
using wire::Object;
using wire::Value;

Array strings(const std::vector<std::string>& list) {
  Array array;
  for (const std::string& one : list) array.emplace_back(std::string_view(one));
  return array;
}

Value version_info() {
  return Object{{"major", "1"},    {"minor", "36"},           {"gitVersion", "v1.36.4+berth"},
                {"gitCommit", ""}, {"gitTreeState", "clean"}, {"buildDate", "1970-01-01T00:00:00Z"},
                {"goVersion", ""}, {"compiler", ""},          {"platform", "linux/amd64"}};
}

Object group_version(const std::string& group, const std::string& version) {
  return {{"groupVersion", group + "/" + version}, {"version", version}};
}

// Versions of a group in the order of preference: the first seen comes first.
std::map<std::string, std::vector<std::string>> groups_of(const std::vector<KindPtr>& kinds) {
  std::map<std::string, std::vector<std::string>> groups;
  for (const KindPtr& kind : kinds) {
    if (kind->group.empty()) continue;
    for (const Version& version : kind->versions) {
      std::vector<std::string>& list = groups[kind->group];
      if (version.served && std::ranges::find(list, version.name) == list.end()) {
        list.push_back(version.name);
      }
    }
  }
  return groups;
}

Object group_object(const std::string& group, const std::vector<std::string>& versions) {
  Array list;
  for (const std::string& version : versions) list.push_back(group_version(group, version));
  return {{"name", group},
          {"versions", std::move(list)},
          {"preferredVersion", group_version(group, versions.front())}};
}

Object resource_object(const Kind& kind) {
  Object resource{{"name", kind.plural},
                  {"singularName", kind.singular},
                  {"namespaced", kind.namespaced},
                  {"kind", kind.kind},
                  {"verbs", Array{"create", "delete", "deletecollection", "get", "list", "patch",
                                  "update", "watch"}}};
  if (!kind.short_names.empty()) resource["shortNames"] = strings(kind.short_names);
  if (!kind.categories.empty()) resource["categories"] = strings(kind.categories);
  return resource;
}

Object subresource_object(const Kind& kind, std::string_view name, Array verbs) {
  return {{"name", kind.plural + "/" + std::string(name)},
          {"singularName", ""},
          {"namespaced", kind.namespaced},
          {"kind", kind.kind},
          {"verbs", std::move(verbs)}};
}

Outcome<std::string> resource_list(const std::string& group, const std::string& version,
                                   const std::vector<KindPtr>& kinds) {
  Array resources;
  for (const KindPtr& kind : kinds) {
    const Version* served = kind->version(version);
    if (kind->group != group || served == nullptr || !served->served) continue;
    resources.push_back(resource_object(*kind));
    if (served->status_subresource) {
      resources.push_back(subresource_object(*kind, "status", {"get", "patch", "update"}));
    }
  }
  if (resources.empty()) return refuse(page_not_found());
  return wire::to_json(Object{{"kind", "APIResourceList"},
                              {"apiVersion", "v1"},
                              {"groupVersion", group.empty() ? version : group + "/" + version},
                              {"resources", std::move(resources)}});
}

}  // namespace

Outcome<std::string> discover(std::string_view path, const std::vector<KindPtr>& kinds) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  if (path == "/readyz" || path == "/livez" || path == "/healthz") return "ok";
  if (path == "/version") return wire::to_json(version_info());
  if (path == "/api") {
    return wire::to_json(Object{{"kind", "APIVersions"}, {"versions", Array{"v1"}}});
  }
  const auto groups = groups_of(kinds);
  if (path == "/apis") {
    Array list;
    for (const auto& [group, versions] : groups) list.push_back(group_object(group, versions));
    return wire::to_json(
        Object{{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(list)}});
  }
  constexpr std::string_view kCore = "/api/";
  constexpr std::string_view kGroups = "/apis/";
  if (path.starts_with(kCore))
    return resource_list({}, std::string(path.substr(kCore.size())), kinds);
  if (!path.starts_with(kGroups)) return refuse(page_not_found());
  path.remove_prefix(kGroups.size());
  const std::size_t slash = path.find('/');
  const std::string group(path.substr(0, slash));
  if (slash != std::string_view::npos) {
    return resource_list(group, std::string(path.substr(slash + 1)), kinds);
  }
  const auto found = groups.find(group);
  if (found == groups.end()) return refuse(page_not_found());
  Object object = group_object(group, found->second);
  object["kind"] = "APIGroup";
  object["apiVersion"] = "v1";
  return wire::to_json(object);
}

}  // namespace berth::sim::kube
