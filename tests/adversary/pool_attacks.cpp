// Pools: ranges that belong to others, and ranges that move while Pods come.

#include <algorithm>
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
constexpr int kFlips = 50;
// To meet a race.
constexpr int kAttempts = 10;

std::string status_of(Scene& scene, const std::string& ns, const std::string& name) {
  const Result<Value> pool = scene.cluster().get(pools(), ns, name);
  if (!pool) return pool.error().to_string();
  const Value* const status = wire::find(*pool, "/status");
  return status ? wire::to_json(*status) : "";
}

bool says(Scene& scene, const std::string& ns, const std::string& name, std::string_view text) {
  return eventually(kPatience, [&] {
    const Result<Value> pool = scene.cluster().get(pools(), ns, name);
    const Value* const status = pool ? wire::find(*pool, "/status") : nullptr;
    return status && wire::to_json(*status).find(text) != std::string::npos;
  });
}

// A pool on ports of the victim's load balancer: refused, or NotReady with the owner's name.
std::string overlaps(Scene& scene, const PoolItem& item, const std::string& name = "greedy") {
  Tenant& tenant = scene.tenant;
  scene.ends_here();
  if (!tenant.create(pools(), pool(tenant.ns(), name, {item}))) return {};
  if (!says(scene, tenant.ns(), name, scene.victim().ns))
    return "nobody says whose the ports are: " + status_of(scene, tenant.ns(), name);
  return worked(tenant.remove(pools(), tenant.ns(), name));
}

// More Pods than its own item has ports.
std::string overlaps_two_items(Scene& scene) {
  Tenant& tenant = scene.tenant;
  PoolItem mine = tenant.item();
  mine.name = "mine";
  const PoolItem theirs{
      .name = "theirs", .load_balancers = {scene.victim().load_balancer}, .end = 30002};
  scene.ends_here();
  if (!tenant.create(pools(), pool(tenant.ns(), "greedy", {mine, theirs}))) return {};
  if (!says(scene, tenant.ns(), "greedy", scene.victim().ns)) return "nobody says whose they are";
  for (int i = 0; i <= tenant.place().ports; ++i)
    (void)tenant.create(pods(),
                        bare_room(tenant.ns(), fmt::format("guest-{}", i), "greedy TCP 8000"));
  return scene.fence();
}

PoolItem spare_item(Scene& scene, int start, int ports) {
  return {
      .load_balancers = {scene.stage.spare_load_balancer()}, .start = start, .end = start + ports};
}

Result<Value> set_items(Scene& scene, const std::string& name, std::vector<PoolItem> items) {
  Array list;
  for (const PoolItem& item : items) list.push_back(pool_item(item));
  return scene.tenant.merge(pools(), scene.tenant.ns(), name,
                            Object{{"spec", Object{{"poolItems", list}}}});
}

// The tenant's pool is older than its neighbour's, and grows into its ports.
std::string older_pool_grows(Scene& scene) {
  Tenant& tenant = scene.tenant;
  const int first = tenant.place().first;
  const std::string late = scene.cluster().make_namespace(tenant.ns() + "-late");
  const auto made = make_pool(scene.cluster(), pool(late, "rooms", {spare_item(scene, first, 3)}));
  if (!made) return worked(made);
  if (auto why = worked(scene.cluster().create(bare_room(late, "own"))); !why.empty()) return why;
  if (auto why = settle(scene.cluster(), late, 1, 60s); !why.empty()) return why;
  PoolItem more = spare_item(scene, first, 8);
  more.name = "more";
  scene.ends_here();
  if (set_items(scene, "rooms", {tenant.item(), more})) {
    if (!says(scene, tenant.ns(), "rooms", late)) return "nobody says whose the ports are";
    if (auto why = scene.fence(); !why.empty()) return why;
  }
  return unsettled(scene.cluster(), late, 1);
}

// Rooms of the tenant that are called Ready at this moment have ports of their own.
std::string shared_by_ready(Scene& scene) {
  std::vector<Room> ready;
  for (const Room& room : rooms(scene.cluster(), scene.tenant.ns()))
    if (!room.deleting && (room.told == api::kReady || room.gate_open)) ready.push_back(room);
  return shared_ports(ready);
}

// Another pool on these ports, and a Deployment that wants all of them. Until it is served, or
// until the pool says that it has none.
std::string let_inherit(Scene& scene, const PoolItem& item) {
  Tenant& tenant = scene.tenant;
  const auto made = tenant.create(pools(), pool(tenant.ns(), "heir", {item}));
  // Somebody still has them, and the answer says so: nothing is inherited.
  if (!made && made.error().code == Code::conflict) {
    scene.ends_here();
    if (auto why = shared_by_ready(scene); !why.empty()) return why;
    return scene.fence();
  }
  if (auto why = worked(made); !why.empty()) return why;
  const RoomsSpec heirs{.kind = "Deployment",
                        .ns = tenant.ns(),
                        .name = "heir",
                        .replicas = item.end - item.start,
                        .ports = "heir TCP 8000"};
  if (auto why = worked(tenant.create(kube::types::kDeployment, workload(heirs))); !why.empty())
    return why;
  scene.ends_here();
  std::string why;
  (void)eventually(kPatience, [&] {
    if (why = shared_by_ready(scene); !why.empty()) return true;
    const std::string status = status_of(scene, tenant.ns(), "heir");
    const auto all = rooms(scene.cluster(), tenant.ns());
    const auto served = std::ranges::count_if(all, [](const Room& room) {
      return room.name.starts_with("heir-") && room.told == api::kReady;
    });
    const bool told = status.find("are granted to") != std::string::npos ||
                      status.find("are held by") != std::string::npos;
    return told || served > 0;
  });
  if (!why.empty()) return why;
  if (why = scene.fence(); !why.empty()) return why;
  return shared_by_ready(scene);
}

// A Deployment on the item, and the item taken out while its Pods come. Whether that was let
// through when there were Pods that had passed admission with ports of it: only then it is a race.
bool meets_the_race(Scene& scene, const PoolItem& item, const PoolItem& rest, int attempt) {
  Tenant& tenant = scene.tenant;
  const std::string name = fmt::format("room-{}", attempt);
  const RoomsSpec spec{.kind = "Deployment",
                       .ns = tenant.ns(),
                       .name = name,
                       .replicas = item.end - item.start,
                       .ports = "moving/item1 TCP 8000"};
  if (!tenant.create(kube::types::kDeployment, workload(spec))) return false;
  std::size_t come = 0;
  for (int i = 0; i < kFlips && come < static_cast<std::size_t>(spec.replicas); ++i) {
    const bool out = set_items(scene, "moving", {rest}).has_value();
    come = rooms(scene.cluster(), tenant.ns()).size();
    if (out && come > 0) return true;
    (void)set_items(scene, "moving", {rest, item});
  }
  // All of them were there before, and the item was held for them: once more, from the beginning.
  (void)set_items(scene, "moving", {rest, item});
  (void)tenant.merge(kube::types::kDeployment, tenant.ns(), name,
                     Object{{"spec", Object{{"replicas", 0}}}});
  (void)eventually(kPatience, [&] {
    return rooms(scene.cluster(), tenant.ns()).empty() &&
           claims_in(scene.cluster(), tenant.ns()).empty();
  });
  return false;
}

// Its item goes while Pods are created, comes back with other ports, and another pool takes the
// ports that it had.
std::string item_moves(Scene& scene) {
  Tenant& tenant = scene.tenant;
  const PoolItem item = spare_item(scene, tenant.place().first, 8);
  PoolItem rest = spare_item(scene, tenant.place().first + 8, 1);
  rest.name = "rest";
  PoolItem moved = spare_item(scene, tenant.place().first + 9, 8);
  const auto made = make_pool(scene.cluster(), pool(tenant.ns(), "moving", {item, rest}));
  if (!made) return worked(made);
  bool met = false;
  for (int attempt = 0; attempt < kAttempts && !met; ++attempt)
    met = meets_the_race(scene, item, rest, attempt);
  if (!met) return fmt::format("the race was not met in {} attempts", kAttempts);
  (void)set_items(scene, "moving", {rest, moved});
  return let_inherit(scene, item);
}

// The pool is forced away under its room, and another one takes its ports.
std::string forced_away(Scene& scene) {
  Tenant& tenant = scene.tenant;
  const Value no_finalizers = Object{{"metadata", Object{{"finalizers", nullptr}}}};
  (void)tenant.merge(pools(), tenant.ns(), "rooms", no_finalizers);
  (void)tenant.remove(pools(), tenant.ns(), "rooms");
  return let_inherit(scene, tenant.item());
}

std::string deleted_in_use(Scene& scene) {
  Tenant& tenant = scene.tenant;
  const std::string address = scene.own_address();
  // Refused while a Pod holds a port, with its name.
  if (auto why = refused(tenant.remove(pools(), tenant.ns(), "rooms"), Code::conflict, "own");
      !why.empty())
    return why;
  return scene.keeps(address);
}

std::string status_by_hand(Scene& scene) {
  Tenant& tenant = scene.tenant;
  const std::string address = scene.own_address();
  const Value patch =
      Object{{"status", Object{{"status", api::kNotReady}, {"poolItems", Array{}}}}};
  if (auto why = worked(tenant.merge(pools(), tenant.ns(), "rooms", patch, "status")); !why.empty())
    return why;
  if (auto why = tenant.wait_for_pool(); !why.empty()) return why;
  return scene.keeps(address);
}

std::string strange_ids(Scene& scene) {
  Tenant& tenant = scene.tenant;
  int number = 0;
  for (const std::string& id :
       {std::string("edge:../../etc"), "edge:" + std::string(253, 'x'), std::string("127.0.0.1"),
        std::string("edge:"), std::string("arn:aws:elasticloadbalancing:x:1:loadbalancer/net/a/b")})
    (void)tenant.create(pools(), pool(tenant.ns(), fmt::format("strange-{}", number++),
                                      {{.load_balancers = {id}, .end = 30002}}));
  return scene.fence();
}

// Somebody deletes the namespace and makes it again: nothing of the old one is in the new one.
std::string namespace_again(Scene& scene) {
  Tenant& tenant = scene.tenant;
  BerthCluster& cluster = scene.cluster();
  const std::string old_pool(wire::string_at(
      cluster.get(pools(), tenant.ns(), "rooms").value_or(Value()), "/metadata/uid"));
  (void)cluster.remove(kube::types::kNamespace, "", tenant.ns());
  const bool gone =
      eventually(kPatience, [&] { return !cluster.get(kube::types::kNamespace, "", tenant.ns()); });
  if (!gone) return "the namespace does not go";
  cluster.make_namespace(tenant.ns());
  const auto made = make_pool(cluster, pool(tenant.ns(), "rooms", {tenant.item()}));
  if (!made) return worked(made);
  if (auto why = worked(cluster.create(bare_room(tenant.ns(), "own"))); !why.empty()) return why;
  scene.ends_here();
  return settle(cluster, tenant.ns(), 1, 60s);
}

}  // namespace

std::vector<Attack> pool_attacks() {
  const std::string who = "tenant";
  const std::string names = "gets none of them, and is told whose they are";
  const auto item = [](Scene& s) {
    return PoolItem{.load_balancers = {s.victim().load_balancer}, .end = 30003};
  };
  return {
      {"PoolOnTakenPorts", who, "a pool on ports of a neighbour's pool", names, Needs::nothing,
       Walls::no_matter, [item](Scene& s) { return overlaps(s, item(s)); }},
      {"PoolOfTheSameName", who, "the same under the name of the neighbour's pool", names,
       Needs::nothing, Walls::no_matter,
       [item](Scene& s) { return overlaps(s, item(s), "rooms"); }},
      {"PoolOnAllPorts", who, "a pool on a range that has the neighbour's in its middle", names,
       Needs::nothing, Walls::no_matter,
       [item](Scene& s) {
         PoolItem wide = item(s);
         wide.start = 29000;
         wide.end = 31000;
         return overlaps(s, wide);
       }},
      {"PoolInSegments", who, "a pool of segments that reach into the neighbour's ports", names,
       Needs::nothing, Walls::no_matter,
       [item](Scene& s) {
         PoolItem segments = item(s);
         segments.start = 29995;
         segments.end = 30015;
         segments.segment = 10;
         return overlaps(s, segments);
       }},
      {"PoolWithOneItemTooMany", who, "a pool with an item of its own and one on taken ports",
       "no Pod gets a taken port", Needs::nothing, Walls::no_matter, overlaps_two_items},
      {"PoolThatIsOlder", who, "an older pool that grows into the ports of a younger one",
       "gets none of them; the younger one's room stays", Needs::pool, Walls::no_matter,
       older_pool_grows},
      {"PoolThatMoves", who,
       "an item taken out while Pods are created, added again with other ports, its old ports "
       "given to "
       "another pool",
       "no port has two Ready Pods at any moment", Needs::pool, Walls::no_matter, item_moves},
      {"PoolForcedAway", who,
       "a pool deleted with its finalizer taken off under a living room, its ports given to "
       "another "
       "pool",
       "no port has two Ready Pods at any moment", Needs::room, Walls::no_matter, forced_away},
      {"PoolDeletedInUse", who, "a pool deleted while a room has a port of it",
       "refused with the name of the Pod", Needs::room, Walls::no_matter, deleted_in_use},
      {"PoolStatusByHand", who, "the status of one's own pool overwritten",
       "it is written back; the room keeps its port", Needs::room, Walls::no_matter,
       status_by_hand},
      {"PoolOfStrangeIds", who,
       "pools on load balancers with names that are paths, too long or empty",
       "refused or NotReady; others are served", Needs::nothing, Walls::no_matter, strange_ids},
      {"NamespaceAgain", who, "a namespace with pool and room deleted and made again",
       "nothing of the old one is in the new one, which is served", Needs::room, Walls::no_matter,
       namespace_again},
  };
}

}  // namespace berth::adversary
