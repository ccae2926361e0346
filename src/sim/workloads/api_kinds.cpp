#include "sim/workloads/api_kinds.h"

#include <algorithm>
#include <boost/json.hpp>

#include "sim/workloads/any_object.h"

namespace berth::workloads {
namespace {

using wire::Value;

bool can(const Value& resource, std::string_view verb) {
  return std::ranges::any_of(array_or_empty(resource, "/verbs"),
                             [&](const Value& one) { return one == Value(verb); });
}

Result<> add_kinds(const Context& context, kube::Client& client, const std::string& group,
                   const std::string& version, std::vector<kube::ResourceType>& out) {
  const std::string path =
      group.empty() ? "/api/" + version : fmt::format("/apis/{}/{}", group, version);
  Result<std::string> text = client.raw_get(context, path);
  if (!text) return pass(text);
  Result<Value> list = wire::parse_json(*text);
  if (!list) return pass(list);
  for (const Value& resource : array_or_empty(*list, "/resources")) {
    const std::string plural(wire::string_at(resource, "/name"));
    if (plural.find('/') != std::string::npos) continue;
    if (!can(resource, "list") || !can(resource, "watch") || !can(resource, "delete")) continue;
    out.push_back({.group = group,
                   .version = version,
                   .plural = plural,
                   .kind = std::string(wire::string_at(resource, "/kind")),
                   .namespaced = wire::bool_at(resource, "/namespaced").value_or(true)});
  }
  return {};
}

}  // namespace

Result<std::vector<kube::ResourceType>> discover_kinds(const Context& context,
                                                       kube::Client& client) {
  std::vector<kube::ResourceType> kinds;
  if (Result<> core = add_kinds(context, client, "", "v1", kinds); !core) return pass(core);
  Result<std::string> text = client.raw_get(context, "/apis");
  if (!text) return pass(text);
  Result<Value> groups = wire::parse_json(*text);
  if (!groups) return pass(groups);
  for (const Value& group : array_or_empty(*groups, "/groups")) {
    Result<> added =
        add_kinds(context, client, std::string(wire::string_at(group, "/name")),
                  std::string(wire::string_at(group, "/preferredVersion/version")), kinds);
    if (!added) return pass(added);
  }
  return kinds;
}

}  // namespace berth::workloads
