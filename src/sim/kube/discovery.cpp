#include "sim/kube/discovery.h"

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <functional>
#include <map>
#include <tuple>

#include "sim/kube/openapi.h"
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

// "v10" before "v2" before "v1beta2" before "v1alpha1" before all that is named otherwise.
std::tuple<int, int, int> rank_of(std::string_view version) {
  const auto number = [&version] {
    int value = 0;
    const char* end = version.data() + version.size();
    version.remove_prefix(
        static_cast<std::size_t>(std::from_chars(version.data(), end, value).ptr - version.data()));
    return value;
  };
  if (!version.starts_with('v')) return {};
  version.remove_prefix(1);
  const int major = number();
  if (version.empty()) return {3, major, 0};
  const int stage = version.starts_with("beta") ? 2 : 1;
  version.remove_prefix(std::min<std::size_t>(stage == 2 ? 4 : 5, version.size()));
  return {stage, major, number()};
}

// The versions of each group, in the order of preference.
using Groups = std::map<std::string, std::vector<std::string>>;

Groups groups_of(const std::vector<KindPtr>& kinds) {
  Groups groups;
  for (const KindPtr& kind : kinds) {
    for (const Version& version : kind->versions) {
      if (!version.served) continue;
      std::vector<std::string>& list = groups[kind->group_of(version)];
      if (std::ranges::find(list, version.name) == list.end()) list.push_back(version.name);
    }
  }
  for (auto& [group, versions] : groups) {
    std::ranges::sort(versions, std::greater(), rank_of);
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

struct Subresource {
  std::string_view name;
  std::string_view kind;
  std::string_view group{};  // with its version, where they are not the resource's
  std::string_view version{};
  Array verbs;
};

std::vector<Subresource> subresources_of(const Kind& kind, const Version& version) {
  std::vector<Subresource> all;
  const Array change{"get", "patch", "update"};
  const bool core = kind.group.empty() && version.other_group.empty();
  if (core && kind.plural == "pods") all.push_back({"binding", "Binding", {}, {}, {"create"}});
  if (core && kind.plural == "namespaces") {
    all.push_back({"finalize", kind.kind, {}, {}, {"update"}});
  }
  if (core && kind.plural == "serviceaccounts") {
    all.push_back({"token", "TokenRequest", "authentication.k8s.io", "v1", {"create"}});
  }
  if (version.scale) all.push_back({"scale", "Scale", "autoscaling", "v1", change});
  if (version.status_subresource) all.push_back({"status", kind.kind, {}, {}, change});
  if (kind.custom) std::ranges::reverse(all);  // by name are built-in ones alone
  return all;
}

Array verbs_of(const Kind& kind) {
  if (kind.question) return {"create"};
  if (kind.custom) {
    return {"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"};
  }
  Array verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
  if (!kind.deletes_many) verbs.erase(verbs.begin() + 2);
  return verbs;
}

void add_names(Object& resource, const Kind& kind) {
  if (!kind.short_names.empty()) resource["shortNames"] = strings(kind.short_names);
  if (!kind.categories.empty()) resource["categories"] = strings(kind.categories);
}

// Calls `visit(kind, version)` for what a group serves in a version.
template <class Visit>
void for_each_resource(const std::vector<KindPtr>& kinds, std::string_view group,
                       std::string_view version, Visit visit) {
  for (const KindPtr& kind : kinds) {
    for (const Version& one : kind->versions) {
      if (one.served && one.name == version && kind->group_of(one) == group) visit(*kind, one);
    }
  }
}

Outcome<Value> resource_list(const std::string& group, const std::string& version,
                             const std::vector<KindPtr>& kinds) {
  Array resources;
  for_each_resource(kinds, group, version, [&](const Kind& kind, const Version& served) {
    Object resource{{"name", kind.plural},
                    {"singularName", kind.singular},
                    {"namespaced", kind.namespaced},
                    {"kind", kind.kind},
                    {"verbs", verbs_of(kind)}};
    add_names(resource, kind);
    resources.push_back(std::move(resource));
    for (Subresource& sub : subresources_of(kind, served)) {
      Object entry{{"name", kind.plural + "/" + std::string(sub.name)},
                   {"singularName", ""},
                   {"namespaced", kind.namespaced},
                   {"kind", sub.kind},
                   {"verbs", std::move(sub.verbs)}};
      if (!sub.group.empty()) entry["group"] = sub.group;
      if (!sub.group.empty()) entry["version"] = sub.version;
      resources.push_back(std::move(entry));
    }
  });
  if (resources.empty()) return refuse(page_not_found());
  return Value(Object{{"kind", "APIResourceList"},
                      {"apiVersion", "v1"},
                      {"groupVersion", group.empty() ? version : group + "/" + version},
                      {"resources", std::move(resources)}});
}

Object kind_object(std::string_view group, std::string_view version, std::string_view kind) {
  return {{"group", group}, {"version", version}, {"kind", kind}};
}

Object aggregated_resource(const Kind& kind, const Version& version) {
  Object resource{{"resource", kind.plural},
                  {"responseKind", kind_object(kind.group_of(version), version.name, kind.kind)},
                  {"scope", kind.namespaced ? "Namespaced" : "Cluster"},
                  {"singularResource", kind.singular},
                  {"verbs", verbs_of(kind)}};
  add_names(resource, kind);
  Array subresources;
  for (Subresource& sub : subresources_of(kind, version)) {
    const bool own = sub.group.empty();
    subresources.push_back(
        Object{{"subresource", sub.name},
               {"responseKind", kind_object(own ? kind.group_of(version) : sub.group,
                                            own ? version.name : sub.version, sub.kind)},
               {"verbs", std::move(sub.verbs)}});
  }
  if (!subresources.empty()) resource["subresources"] = std::move(subresources);
  return resource;
}

// Everything below /api or /apis in one list.
Value aggregated(const Groups& groups, bool core, const std::vector<KindPtr>& kinds) {
  Array items;
  for (const auto& [group, versions] : groups) {
    if (group.empty() != core) continue;
    Array list;
    for (const std::string& version : versions) {
      Array resources;
      for_each_resource(kinds, group, version, [&](const Kind& kind, const Version& served) {
        resources.push_back(aggregated_resource(kind, served));
      });
      list.push_back(Object{
          {"version", version}, {"resources", std::move(resources)}, {"freshness", "Current"}});
    }
    Object metadata;
    if (!core) metadata["name"] = group;
    items.push_back(Object{{"metadata", std::move(metadata)}, {"versions", std::move(list)}});
  }
  return Object{{"kind", "APIGroupDiscoveryList"},
                {"apiVersion", "apidiscovery.k8s.io/v2"},
                {"metadata", Object{}},
                {"items", std::move(items)}};
}

// A list of groups, of one group's versions, or of what a version has.
Outcome<Value> list_at(std::string_view path, Groups groups, const std::vector<KindPtr>& kinds) {
  constexpr std::string_view kCore = "/api/";
  constexpr std::string_view kGroups = "/apis/";
  groups.erase("");
  if (path == "/api") return Value(Object{{"kind", "APIVersions"}, {"versions", Array{"v1"}}});
  if (path == "/apis") {
    Array list;
    for (const auto& [group, versions] : groups) list.push_back(group_object(group, versions));
    return Value(
        Object{{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(list)}});
  }
  if (path.starts_with(kCore)) {
    return resource_list({}, std::string(path.substr(kCore.size())), kinds);
  }
  if (!path.starts_with(kGroups)) return refuse(page_not_found());
  path.remove_prefix(kGroups.size());
  const std::size_t slash = path.find('/');
  const std::string group(path.substr(0, slash));
  if (slash != std::string_view::npos) {
    Outcome<Value> list = resource_list(group, std::string(path.substr(slash + 1)), kinds);
    const bool builtin = std::ranges::any_of(
        kinds, [&](const KindPtr& kind) { return !kind->custom && kind->group == group; });
    if (!list && builtin) return refuse(unknown_resource());
    return list;
  }
  const auto found = groups.find(group);
  if (found == groups.end()) return refuse(page_not_found());
  Object object = group_object(group, found->second);
  object["kind"] = "APIGroup";
  object["apiVersion"] = "v1";
  return Value(std::move(object));
}

net::Reply reply_of(std::string body, std::string type = "application/json") {
  return {.headers = {{"Content-Type", std::move(type)}}, .body = std::move(body)};
}

}  // namespace

Outcome<net::Reply> discover(std::string_view path, std::string_view accept,
                             const std::vector<KindPtr>& kinds) {
  constexpr std::string_view kAggregated =
      "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  if (path == "/readyz" || path == "/livez" || path == "/healthz") {
    return reply_of("ok", "text/plain; charset=utf-8");
  }
  if (path == "/version") return reply_of(wire::to_json(version_info()));
  if (path == "/openapi/v2") return openapi_v2(accept);
  if (path.starts_with(kOpenApi)) return openapi(path.substr(kOpenApi.size()), kinds);
  Groups groups = groups_of(kinds);
  if ((path == "/api" || path == "/apis") && accept.find(kAggregated) != std::string_view::npos) {
    return reply_of(wire::to_json(aggregated(groups, path == "/api", kinds)),
                    std::string(kAggregated));
  }
  Outcome<Value> list = list_at(path, std::move(groups), kinds);
  if (!list) return refuse(list);
  return reply_of(wire::to_json(*list));
}

}  // namespace berth::sim::kube
