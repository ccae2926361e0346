#include "cluster_chores.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <set>

#include "hands.h"

namespace berth::scenario {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;
using world::World;

constexpr std::string_view kOurGroup = "networkextension.bkbcs.tencent.com";
constexpr std::array<std::string_view, 5> kInNamespaces{"pods", "portpools", "listeners",
                                                        "portbindings", "secrets"};

Object of_uid(const Value& object) {
  return {{"kind", "DeleteOptions"},
          {"apiVersion", "v1"},
          {"preconditions", Object{{"uid", wire::string_at(object, "/metadata/uid")}}}};
}

bool is_ending(const Value& object) {
  return !wire::string_at(object, "/metadata/deletionTimestamp").empty();
}

// True: there was nothing.
bool remove_all(World& world, const std::string& ns, std::string_view plural) {
  const auto found = world.cluster().list(path_in(ns, plural));
  if (!found) return false;
  for (const Value& object : *found) {
    if (!is_ending(object))
      (void)world.cluster().ask("DELETE", path_in(ns, plural, name_of(object)), of_uid(object));
  }
  return found->empty();
}

}  // namespace

void collect_garbage(World& world) {
  const sim::kube::Server& server = world.cluster().server();
  const auto pools = server.objects(kOurGroup, "portpools");
  const auto listeners = server.objects(kOurGroup, "listeners");
  if (!pools || !listeners) return;
  // Pools that are there, as their Listeners name them.
  std::set<std::pair<std::string_view, std::string_view>> owners;
  for (const auto& pool : *pools)
    owners.emplace(wire::string_at(*pool, "/metadata/namespace"),
                   wire::string_at(*pool, "/metadata/uid"));
  for (const auto& listener : *listeners) {
    const std::string_view ns = wire::string_at(*listener, "/metadata/namespace");
    const std::string_view owner = wire::string_at(*listener, "/metadata/ownerReferences/0/uid");
    if (owner.empty() || is_ending(*listener) || owners.contains({ns, owner})) continue;
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
    for (const std::string_view plural : kInNamespaces)
      empty = remove_all(world, name, plural) && empty;
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
