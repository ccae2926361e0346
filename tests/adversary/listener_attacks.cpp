// Listeners that somebody writes in a namespace of their own, about a neighbour's port.

#include <boost/json.hpp>

#include "attack.h"

namespace berth::adversary {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

// Without any mark of ours: what a person types.
Value hand_written(Scene& scene, const std::string& name, Object spec) {
  return Object{{"apiVersion", listeners().api_version()},
                {"kind", listeners().kind},
                {"metadata", Object{{"namespace", scene.tenant.ns()}, {"name", name}}},
                {"spec", std::move(spec)}};
}

Object spec_of_victim(Scene& scene) {
  Object spec = wire::find(scene.victim().listener, "/spec")->as_object();
  spec["targetGroup"] = target_group("127.0.0.1", scene.stage.trap().port());
  return spec;
}

Value victims_finalizers(Scene& scene) {
  return *wire::find(scene.victim().listener, "/metadata/finalizers");
}

// Made, seen by everybody, deleted, seen again.
std::string come_and_go(Scene& scene, const Value& listener) {
  Tenant& tenant = scene.tenant;
  if (auto why = worked(tenant.create(listeners(), listener)); !why.empty()) return why;
  if (auto why = scene.fence(); !why.empty()) return why;
  if (auto why = scene.stage.harm(); !why.empty()) return why;
  if (auto why = worked(tenant.remove(listeners(), tenant.ns(), name_of(listener))); !why.empty())
    return why;
  return scene.fence();
}

std::string same_name(Scene& scene) {
  return come_and_go(scene,
                     hand_written(scene, name_of(scene.victim().listener), spec_of_victim(scene)));
}

std::string same_name_with_finalizer(Scene& scene) {
  Value mine = hand_written(scene, name_of(scene.victim().listener), spec_of_victim(scene));
  mine.as_object()["metadata"].as_object()["finalizers"] = victims_finalizers(scene);
  return come_and_go(scene, mine);
}

std::string same_id(Scene& scene) {
  Value mine = hand_written(scene, "mine", spec_of_victim(scene));
  mine.as_object()["metadata"].as_object()["finalizers"] = victims_finalizers(scene);
  mine.as_object()["status"] =
      Object{{"listenerID", wire::string_at(scene.victim().listener, "/status/listenerID")},
             {"status", api::kSynced}};
  return come_and_go(scene, mine);
}

std::string whole_range(Scene& scene) {
  Object spec = spec_of_victim(scene);
  spec["port"] = 1;
  spec["endPort"] = 65535;
  Value mine = hand_written(scene, "mine", std::move(spec));
  mine.as_object()["metadata"].as_object()["finalizers"] = victims_finalizers(scene);
  return come_and_go(scene, mine);
}

std::string long_name(Scene& scene) {
  std::string name(253, 'x');
  for (std::size_t i = 1; i + 1 < name.size(); i += 2) name[i] = '.';
  return come_and_go(scene, hand_written(scene, name, spec_of_victim(scene)));
}

std::string looks_like_upstreams(Scene& scene) {
  Value mine = copy_of(scene.victim().listener, scene.tenant.ns());
  Object& metadata = mine.as_object()["metadata"].as_object();
  metadata.erase("annotations");
  metadata.erase("ownerReferences");
  mine.as_object()["spec"] = spec_of_victim(scene);
  return come_and_go(scene, mine);
}

std::string copied(Scene& scene) {
  const Value mine = copy_of(scene.victim().listener, scene.tenant.ns());
  if (auto end = scene.forged(scene.tenant.create(listeners(), mine))) return *end;
  return scene.fence();
}

std::string copied_elsewhere(Scene& scene) {
  Value mine = copy_of(scene.victim().listener, scene.tenant.ns());
  mine.as_object()["spec"] = spec_of_victim(scene);
  mine.as_object()["metadata"].as_object().erase("ownerReferences");
  if (auto end = scene.forged(scene.tenant.create(listeners(), mine))) return *end;
  if (auto why = scene.fence(); !why.empty()) return why;
  const std::string address = api::public_address(scene.victim().rooms.front().ports.front());
  return scene.stage.leads_to_trap(address) ? "players of the victim are led elsewhere" : "";
}

std::string copied_and_deleted(Scene& scene) {
  Tenant& tenant = scene.tenant;
  Value mine = copy_of(scene.victim().listener, tenant.ns());
  mine.as_object()["metadata"].as_object().erase("ownerReferences");
  if (auto end = scene.forged(tenant.create(listeners(), mine))) return *end;
  if (auto why = scene.fence(); !why.empty()) return why;
  if (auto why = worked(tenant.remove(listeners(), tenant.ns(), name_of(mine))); !why.empty())
    return why;
  return scene.fence();
}

Value owner_reference(const Value& pool) {
  return Array{Object{{"apiVersion", pools().api_version()},
                      {"kind", "PortPool"},
                      {"name", name_of(pool)},
                      {"uid", wire::string_at(pool, "/metadata/uid")},
                      {"controller", true}}};
}

// The free port of the victim's pool as if it were one of the tenant's pool.
Value adopted(Scene& scene, const Value& pool) {
  Value mine = copy_of(scene.victim().free_listener, scene.tenant.ns());
  mine.as_object()["metadata"].as_object()["ownerReferences"] = owner_reference(pool);
  return mine;
}

// In the grant of the tenant's own pool, on the same load balancer, and owned by that pool.
Value in_own_grant(Scene& scene, const std::string& name) {
  const Result<Value> pool = scene.tenant.get(pools(), scene.tenant.ns(), "rooms");
  Object spec = spec_of_victim(scene);
  spec["port"] = scene.tenant.item().start;
  Value mine = hand_written(scene, name, std::move(spec));
  Object& metadata = mine.as_object()["metadata"].as_object();
  metadata["finalizers"] = victims_finalizers(scene);
  if (pool) metadata["ownerReferences"] = owner_reference(*pool);
  return mine;
}

std::string id_in_own_grant(Scene& scene) {
  Value mine = in_own_grant(scene, "mine");
  mine.as_object()["status"] =
      Object{{"listenerID", wire::string_at(scene.victim().listener, "/status/listenerID")},
             {"status", api::kSynced}};
  return come_and_go(scene, mine);
}

std::string loopback_in_own_grant(Scene& scene) {
  Tenant& tenant = scene.tenant;
  const Value mine = in_own_grant(scene, "mine");
  if (auto why = worked(tenant.create(listeners(), mine)); !why.empty()) return why;
  if (auto why = scene.fence(); !why.empty()) return why;
  const std::string theirs = api::public_address(scene.victim().rooms.front().ports.front());
  const std::string own =
      fmt::format("{}:{}", theirs.substr(0, theirs.rfind(':')), tenant.item().start);
  return scene.stage.leads_to_trap(own) ? "players are led to the node's loopback" : "";
}

std::string adopted_by_own_pool(Scene& scene) {
  Tenant& tenant = scene.tenant;
  const Result<Value> pool = tenant.get(pools(), tenant.ns(), "rooms");
  if (!pool) return worked(pool);
  if (auto end = scene.forged(tenant.create(listeners(), adopted(scene, *pool)))) return *end;
  if (auto why = scene.fence(); !why.empty()) return why;
  // More rooms than the pool has ports of its own: none of them is on the victim's.
  for (int i = 0; i < 4; ++i) (void)tenant.ask_for_room(fmt::format("room-{}", i));
  if (auto why = tenant.wait_for_room("room-0"); !why.empty()) return why;
  return scene.fence();
}

std::string marked_later(Scene& scene) {
  Tenant& tenant = scene.tenant;
  const Value mine = hand_written(scene, name_of(scene.victim().listener), spec_of_victim(scene));
  if (auto why = worked(tenant.create(listeners(), mine)); !why.empty()) return why;
  const Value marks = *wire::find(scene.victim().listener, "/metadata/annotations");
  if (auto end = scene.forged(tenant.merge(listeners(), tenant.ns(), name_of(mine),
                                           Object{{"metadata", Object{{"annotations", marks}}}})))
    return *end;
  return scene.fence();
}

std::string in_victims_namespace(Scene& scene) {
  const Value mine = copy_of(scene.victim().free_listener, scene.victim().ns, "mine");
  return refused(scene.tenant.create(listeners(), mine), Code::forbidden, "cannot create");
}

}  // namespace

std::vector<Attack> listener_attacks() {
  const std::string who = "tenant";
  return {
      {"ListenerOfTheSameName", who,
       "a Listener with the name, load balancer and port of a neighbour's, leading elsewhere; "
       "later "
       "deleted",
       "is not acted on, neither when it comes nor when it goes", Needs::nothing, Walls::no_matter,
       same_name},
      {"ListenerOfTheSameNameWithFinalizer", who, "the same, with our finalizer",
       "is not acted on, and goes", Needs::nothing, Walls::no_matter, same_name_with_finalizer},
      {"ListenerOfTheSameId", who,
       "a Listener whose status has the `listenerID` of a neighbour's; later deleted",
       "nothing is removed at the load balancer", Needs::nothing, Walls::no_matter, same_id},
      {"ListenerOfAllPorts", who, "a Listener of ports 1 to 65535 of a neighbour's load balancer",
       "is not acted on", Needs::nothing, Walls::no_matter, whole_range},
      {"ListenerOfALongName", who, "a Listener whose name has 253 characters, half of them dots",
       "is not acted on, and is in nobody's way", Needs::nothing, Walls::no_matter, long_name},
      {"ListenerLikeUpstreams", who,
       "a Listener for a neighbour's port with the labels that bcs-ingress-controller writes",
       "is left alone; the neighbour stays Ready", Needs::nothing, Walls::no_matter,
       looks_like_upstreams},
      {"ListenerCopied", who,
       "a neighbour's Listener copied as it is, marks and owner reference to the neighbour's pool "
       "included",
       "refused by the guard; without it: not acted on", Needs::nothing, Walls::either, copied},
      {"ListenerCopiedToLeadElsewhere", who,
       "a neighbour's Listener copied without its owner, leading to the node's loopback",
       "refused by the guard; without it: nobody is led there", Needs::nothing, Walls::either,
       copied_elsewhere},
      {"ListenerCopiedAndDeleted", who, "a copy of a neighbour's Listener, deleted again",
       "refused by the guard; without it: nothing is removed at the load balancer", Needs::nothing,
       Walls::either, copied_and_deleted},
      {"ListenerAdoptedByOwnPool", who,
       "a copy of a neighbour's free Listener, owned by a pool of one's own; then more Pods than "
       "that "
       "pool has ports",
       "refused by the guard; without it: no Pod gets the neighbour's port", Needs::pool,
       Walls::either, adopted_by_own_pool},
      {"ListenerOfTheSameNameInOwnGrant", who,
       "a Listener with a neighbour's name on a port that one's own pool has on the same load "
       "balancer, owned by that pool; later deleted",
       "nothing is removed at the load balancer", Needs::pool, Walls::no_matter,
       [](Scene& s) { return come_and_go(s, in_own_grant(s, name_of(s.victim().listener))); }},
      {"ListenerOfTheSameIdInOwnGrant", who, "the same with a neighbour's `listenerID`",
       "nothing is removed at the load balancer", Needs::pool, Walls::no_matter, id_in_own_grant},
      {"ListenerToLoopbackInOwnGrant", who, "the same, leading to the node's loopback",
       "nobody is carried there", Needs::pool, Walls::no_matter, loopback_in_own_grant},
      {"ListenerMarkedLater", who, "marks of ours added to a Listener that was written by hand",
       "refused by the guard; without it: not acted on", Needs::nothing, Walls::either,
       marked_later},
      {"ListenerInANeighboursNamespace", who, "a Listener in a neighbour's namespace",
       "refused by RBAC", Needs::nothing, Walls::no_matter, in_victims_namespace},
  };
}

}  // namespace berth::adversary
