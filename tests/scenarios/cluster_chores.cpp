#include "cluster_chores.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "hands.h"

namespace berth::scenario {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;
using world::World;

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
  const auto pools = world.cluster().list("/apis/networkextension.bkbcs.tencent.com/v1/portpools");
  const auto listeners =
      world.cluster().list("/apis/networkextension.bkbcs.tencent.com/v1/listeners");
  if (!pools || !listeners) return;
  for (const Value& listener : *listeners) {
    const std::string_view owner = wire::string_at(listener, "/metadata/ownerReferences/0/uid");
    if (owner.empty() || is_ending(listener)) continue;
    const bool there = std::ranges::any_of(*pools, [&](const Value& pool) {
      return wire::string_at(pool, "/metadata/uid") == owner &&
             wire::string_at(pool, "/metadata/namespace") ==
                 wire::string_at(listener, "/metadata/namespace");
    });
    if (there) continue;
    (void)world.cluster().ask(
        "DELETE",
        path_in(wire::string_at(listener, "/metadata/namespace"), "listeners", name_of(listener)),
        of_uid(listener));
  }
}

std::vector<std::string> end_namespaces(World& world) {
  std::vector<std::string> out;
  const auto all = world.cluster().list("/api/v1/namespaces");
  for (Value ns : all ? *all : std::vector<Value>{}) {
    if (!is_ending(ns)) continue;
    const std::string name = name_of(ns);
    out.push_back(name);
    bool empty = true;
    for (const std::string_view plural : kInNamespaces)
      empty = remove_all(world, name, plural) && empty;
    if (!empty) continue;
    (void)wire::set_at(ns, "/spec/finalizers", Array{});
    ns.as_object()["apiVersion"] = "v1";
    ns.as_object()["kind"] = "Namespace";
    (void)world.cluster().ask("PUT", "/api/v1/namespaces/" + name + "/finalize", ns);
  }
  return out;
}

}  // namespace berth::scenario
