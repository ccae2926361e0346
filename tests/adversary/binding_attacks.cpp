// PortBindings: they tell who has what, and are no proof of it.

#include <boost/json.hpp>

#include "attack.h"

namespace berth::adversary {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using wire::Array;
using wire::Object;
using wire::Value;

constexpr auto kPatience = 60s;
constexpr std::string_view kPodUid = "berth.dev/pod-uid";

Value victims_binding(Scene& scene) {
  return scene.cluster().get(bindings(), scene.victim().ns, "room-0").value_or(Value());
}

// A Pod past admission on a free port of the victim's pool, and a record that says we bound it.
std::string forged_record(Scene& scene) {
  Tenant& tenant = scene.tenant;
  Value pod = copy_of(scene.victim().pod, tenant.plain(), "copy");
  Object& metadata = pod.as_object()["metadata"].as_object();
  metadata.erase("ownerReferences");
  metadata.erase("labels");
  api::PortBindingItem item = scene.victim().rooms.front().ports.front();
  item.start_port = wire::int_at(scene.victim().free_listener, "/spec/port").value_or(0);
  metadata["annotations"].as_object()[api::kPoolBindingsAnnotation] =
      api::encode_pool_bindings({item});
  const Result<Value> made = tenant.create(pods(), pod);
  if (!made) return worked(made);
  Value record = copy_of(victims_binding(scene), tenant.plain(), "copy");
  record.as_object()["metadata"].as_object()["annotations"].as_object()[kPodUid] =
      wire::string_at(*made, "/metadata/uid");
  if (auto end = scene.forged(tenant.create(bindings(), record))) return *end;
  if (auto why = scene.fence(); !why.empty()) return why;
  return scene.not_ready(tenant.plain(), "copy");
}

std::string neighbours_record(Scene& scene) {
  const Value record = copy_of(victims_binding(scene), scene.tenant.ns());
  if (auto end = scene.forged(scene.tenant.create(bindings(), record))) return *end;
  return scene.fence();
}

// What the tenant wrote is written back.
std::string comes_back(Scene& scene, const Value& patch, std::string_view where,
                       const std::string& subresource) {
  Tenant& tenant = scene.tenant;
  const Result<Value> before = tenant.get(bindings(), tenant.ns(), "own");
  if (!before) return worked(before);
  const std::string address = scene.own_address();
  if (auto end = scene.forged(tenant.merge(bindings(), tenant.ns(), "own", patch, subresource)))
    return *end;
  const Value* const was = wire::find(*before, where);
  const bool back = eventually(kPatience, [&] {
    const Result<Value> now = tenant.get(bindings(), tenant.ns(), "own");
    const Value* const is = now ? wire::find(*now, where) : nullptr;
    return was && is && *was == *is;
  });
  if (!back) return fmt::format("{} is not written back", where);
  return scene.keeps(address);
}

Value to_victims_port(Scene& scene) {
  const Value theirs = victims_binding(scene);
  const Value* const spec = wire::find(theirs, "/spec");
  return spec ? Object{{"spec", *spec}} : Object{};
}

std::string removed(Scene& scene, bool with_finalizer) {
  Tenant& tenant = scene.tenant;
  const Result<Value> before = tenant.get(bindings(), tenant.ns(), "own");
  const std::string address = scene.own_address();
  if (!with_finalizer) {
    const Value patch = Object{{"metadata", Object{{"finalizers", nullptr}}}};
    if (auto end = scene.forged(tenant.merge(bindings(), tenant.ns(), "own", patch))) return *end;
  }
  if (auto why = worked(tenant.remove(bindings(), tenant.ns(), "own")); !why.empty()) return why;
  const bool again = eventually(kPatience, [&] {
    const Result<Value> now = tenant.get(bindings(), tenant.ns(), "own");
    return before && now &&
           wire::string_at(*now, "/metadata/uid") != wire::string_at(*before, "/metadata/uid");
  });
  return again ? scene.keeps(address) : "it is not made again";
}

}  // namespace

std::vector<Attack> binding_attacks() {
  const std::string who = "tenant";
  return {
      {"BindingForged", who,
       "a PortBinding that says that we bound a Pod which never passed admission, on a neighbour's "
       "free port",
       "refused by the guard; without it: the Pod is not given the port", Needs::nothing,
       Walls::either, forged_record},
      {"BindingOfANeighbour", who, "a neighbour's PortBinding copied",
       "refused by the guard; without it: nothing happens to the neighbour", Needs::nothing,
       Walls::either, neighbours_record},
      {"BindingToANeighboursPort", who, "one's own PortBinding edited to a neighbour's port",
       "refused by the guard; without it: it is written back", Needs::room, Walls::either,
       [](Scene& s) { return comes_back(s, to_victims_port(s), "/spec", ""); }},
      {"BindingOfAnotherPod", who, "`berth.dev/pod-uid` of one's own PortBinding changed",
       "refused by the guard; without it: it is written back", Needs::room, Walls::either,
       [](Scene& s) {
         return comes_back(s, annotate(kPodUid, s.victim().rooms.front().uid),
                           pointer("/metadata/annotations", kPodUid), "");
       }},
      {"BindingStatusByHand", who, "the status of one's own PortBinding changed",
       "refused by the guard; without it: it is written back", Needs::room, Walls::either,
       [](Scene& s) {
         const Value patch = Object{{"status", Object{{"status", api::kNotReady}}}};
         return comes_back(s, patch, "/status/status", "status");
       }},
      {"BindingDeleted", who, "one's own PortBinding deleted",
       "it is made again; the room keeps its port", Needs::room, Walls::no_matter,
       [](Scene& s) { return removed(s, true); }},
      {"BindingForcedAway", who, "its finalizer taken off first",
       "refused by the guard; without it: it is made again", Needs::room, Walls::either,
       [](Scene& s) { return removed(s, false); }},
  };
}

}  // namespace berth::adversary
