#include "cluster_chores.h"

#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "hands.h"
#include "kinds.h"

namespace berth::scenario {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;
using world::World;

Object of_uid(const Value& object) {
  return {{"kind", "DeleteOptions"},
          {"apiVersion", "v1"},
          {"preconditions", Object{{"uid", wire::string_at(object, "/metadata/uid")}}}};
}

bool is_ending(const Value& object) {
  return !wire::string_at(object, "/metadata/deletionTimestamp").empty();
}

// True: there was nothing.
bool remove_all(World& world, const std::string& ns, const kube::ResourceType& type) {
  if (!is_served(world, type)) return true;
  const auto found = world.cluster().list(type.path(ns));
  if (!found) return false;
  for (const Value& object : *found) {
    if (!is_ending(object))
      (void)world.cluster().ask("DELETE", type.path(ns, name_of(object)), of_uid(object));
  }
  return found->empty();
}

}  // namespace

void collect_garbage(World& world) {
  const sim::kube::Server& server = world.cluster().server();
  const auto listeners = server.objects(api::kNetworkExtensionGroup, "listeners");
  if (!listeners) return;
  // Owners that are there, as their Listeners name them; of a kind that is not served, nobody knows
  // who is.
  std::set<std::string_view> known;
  std::vector<std::shared_ptr<const Value>> there;
  for (const kube::ResourceType& type : types_of_users()) {
    const auto found = server.objects(type.group, type.plural);
    if (!found) continue;
    known.insert(type.kind);
    there.insert(there.end(), found->begin(), found->end());
  }
  std::set<std::pair<std::string_view, std::string_view>> owners;
  for (const auto& owner : there)
    owners.emplace(wire::string_at(*owner, "/metadata/namespace"),
                   wire::string_at(*owner, "/metadata/uid"));
  for (const auto& listener : *listeners) {
    const std::string_view ns = wire::string_at(*listener, "/metadata/namespace");
    const std::string_view owner = wire::string_at(*listener, "/metadata/ownerReferences/0/uid");
    const std::string_view kind = wire::string_at(*listener, "/metadata/ownerReferences/0/kind");
    if (owner.empty() || !known.contains(kind) || is_ending(*listener) ||
        owners.contains({ns, owner}))
      continue;
    (void)world.cluster().ask("DELETE", path_in(ns, "listeners", name_of(*listener)),
                              of_uid(*listener));
  }
}

std::vector<std::string> end_namespaces(World& world) {
  std::vector<std::string> out;
  const auto namespaces = world.cluster().server().objects("", "namespaces");
  for (const auto& ns : *namespaces) {
    if (!is_ending(*ns)) continue;
    const std::string name = name_of(*ns);
    out.push_back(name);
    bool empty = true;
    for (const kube::ResourceType& type : types_in_namespaces())
      empty = remove_all(world, name, type) && empty;
    if (!empty) continue;
    const std::string path = "/api/v1/namespaces/" + name;
    Result<Value> last = world.cluster().ask("GET", path);
    if (!last) continue;
    (void)wire::set_at(*last, "/spec/finalizers", Array{});
    (void)world.cluster().ask("PUT", path + "/finalize", *last);
  }
  return out;
}

}  // namespace berth::scenario
