// What somebody does to the Listeners of a pool of their own, which Berth made.

#include <boost/json.hpp>

#include "api/keys.h"
#include "attack.h"

namespace berth::adversary {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using wire::Array;
using wire::Object;
using wire::Value;

constexpr auto kPatience = 60s;

Result<Value> edit(Scene& scene, const Value& listener, const Value& patch) {
  return scene.tenant.merge(listeners(), scene.tenant.ns(), name_of(listener), patch);
}
Value spec_patch(Object spec) { return Object{{"spec", std::move(spec)}}; }

// An edit of the Listener that leads to the room: the room has its port again, or still.
std::string edit_bound(Scene& scene, const Value& patch) {
  const std::string address = scene.own_address();
  if (auto end = scene.forged(edit(scene, scene.tenant.listener_of("own"), patch))) return *end;
  if (auto why = scene.fence(); !why.empty()) return why;
  return scene.keeps(address);
}

// An edit of what a Listener is, not of where it leads. Whoever does that may lose the port; nobody
// gets it a second time, and nobody else loses anything.
std::string edit_identity(Scene& scene, const Value& patch) {
  Tenant& tenant = scene.tenant;
  if (auto end = scene.forged(edit(scene, tenant.listener_of("own"), patch))) return *end;
  if (auto why = scene.fence(); !why.empty()) return why;
  for (const char* name : {"second", "third"}) (void)tenant.ask_for_room(name);
  if (auto why = scene.fence(); !why.empty()) return why;
  std::vector<Room> ready;
  for (const Room& room : rooms(scene.cluster(), tenant.ns()))
    if (room.told == api::kReady || room.gate_open) ready.push_back(room);
  return shared_ports(ready);
}

std::string host_of(const std::string& address) { return address.substr(0, address.rfind(':')); }

// Where a port that nobody has was made to lead: nobody is carried there, not for a moment, and the
// load balancer is not said to lead there.
std::string lead_free_to(Scene& scene, const std::string& ip, std::int64_t port) {
  Tenant& tenant = scene.tenant;
  const Value listener = tenant.free_listener();
  const Value patch = spec_patch({{"targetGroup", target_group(ip, port)}});
  if (auto end = scene.forged(edit(scene, listener, patch))) return *end;
  const std::string own = api::public_address(tenant.room("own").ports.front());
  const std::string address =
      fmt::format("{}:{}", host_of(own), wire::int_at(listener, "/spec/port").value_or(0));
  std::string why = "the Listener goes on leading there";
  (void)eventually(kPatience, [&] {
    if (scene.stage.leads_to_trap(address)) {
      why = "players are led to the node's loopback";
      return true;
    }
    const auto now = api::decode_listener(
        scene.cluster().get(listeners(), tenant.ns(), name_of(listener)).value_or(Value()));
    const bool there = now && claims::has_targets(now->spec);
    if (there && claims::is_applied(*now)) {
      why = "the load balancer leads there";
      return true;
    }
    const bool refused = now && now->status.status != api::kSynced;
    if (!there || refused) why.clear();
    return why.empty();
  });
  return why;
}

std::string bound_to_loopback(Scene& scene) {
  const std::string address = scene.own_address();
  const Value patch =
      spec_patch({{"targetGroup", target_group("127.0.0.1", scene.stage.trap().port())}});
  if (auto why = edit_bound(scene, patch); !why.empty() || scene.stage.guarded()) return why;
  const std::string plain = address.substr(4, address.size() - 5);
  return scene.stage.leads_to_trap(plain) ? "players are led to the node's loopback" : "";
}

std::string victims_port(Scene& scene) {
  const Value& theirs = scene.victim().listener;
  return edit_identity(
      scene, spec_patch({{"loadbalancerID", wire::string_at(theirs, "/spec/loadbalancerID")},
                         {"port", *wire::find(theirs, "/spec/port")}}));
}

// Held, not free: of three ports one is the room's and one cannot be read.
std::string unknown_version(Scene& scene) {
  Tenant& tenant = scene.tenant;
  const Value held = tenant.free_listener();
  const std::string text = R"({"v":99,"whose":"a later version's"})";
  if (auto end = scene.forged(edit(scene, held, annotate(ledger::kClaimAnnotation, text))))
    return *end;
  if (auto why = scene.fence(); !why.empty()) return why;
  if (auto why = worked(tenant.ask_for_room("second")); !why.empty()) return why;
  if (tenant.ask_for_room("third")) return "a port whose claim cannot be read was given away";
  if (auto why = worked(tenant.remove(pools(), tenant.ns(), "rooms")); why.empty())
    return "its pool could be deleted";
  const auto now = scene.cluster().get(listeners(), tenant.ns(), name_of(held));
  return now && annotation(*now, ledger::kClaimAnnotation) == text ? "" : "the claim was changed";
}

std::string victims_claim(Scene& scene) {
  const std::string theirs(annotation(scene.victim().listener, ledger::kClaimAnnotation));
  if (auto end = scene.forged(
          edit(scene, scene.tenant.free_listener(), annotate(ledger::kClaimAnnotation, theirs))))
    return *end;
  return scene.fence();
}

std::string remove_bound(Scene& scene, bool with_finalizer) {
  Tenant& tenant = scene.tenant;
  const std::string address = scene.own_address();
  const std::string name = name_of(tenant.listener_of("own"));
  if (!with_finalizer) {
    const Value patch = Object{{"metadata", Object{{"finalizers", nullptr}}}};
    if (auto end = scene.forged(tenant.merge(listeners(), tenant.ns(), name, patch))) return *end;
  }
  if (auto end = scene.forged(tenant.remove(listeners(), tenant.ns(), name))) return *end;
  return scene.keeps(address);
}

std::string remove_all(Scene& scene) {
  Tenant& tenant = scene.tenant;
  const std::string address = scene.own_address();
  for (const Value& listener : tenant.listeners())
    if (auto end = scene.forged(tenant.remove(listeners(), tenant.ns(), name_of(listener))))
      return *end;
  return scene.keeps(address);
}

// The room and the pool go: what the status names must stay.
std::string victims_id(Scene& scene) {
  Tenant& tenant = scene.tenant;
  const Object status{
      {"listenerID", wire::string_at(scene.victim().listener, "/status/listenerID")}};
  if (auto end = scene.forged(edit(scene, tenant.listener_of("own"), Object{{"status", status}})))
    return *end;
  if (auto why = scene.fence(); !why.empty()) return why;
  (void)tenant.remove(pods(), tenant.ns(), "own");
  const bool gone = eventually(kPatience, [&] {
    (void)tenant.remove(pools(), tenant.ns(), "rooms");
    return tenant.listeners().empty();
  });
  return gone ? "" : "the pool does not go";
}

// Targets that were never told to the load balancer, with the hash that says they were.
std::string false_applied(Scene& scene) {
  Tenant& tenant = scene.tenant;
  const std::string address = scene.own_address();
  const Value listener = tenant.listener_of("own");
  Result<api::Listener> wanted = api::decode_listener(listener);
  if (!wanted) return wanted.error().to_string();
  wanted->spec.target_group->backends.front().port = 9;
  const Object patch{
      {"metadata", Object{{"annotations",
                           Object{{claims::kAppliedAnnotation, claims::spec_hash(wanted->spec)}}}}},
      {"spec", Object{{"targetGroup", target_group(tenant.room("own").ip, 9)}}}};
  if (auto end = scene.forged(edit(scene, listener, patch))) return *end;
  return scene.keeps(address);
}

std::string huge_annotation(Scene& scene) {
  Tenant& tenant = scene.tenant;
  const std::string address = scene.own_address();
  for (const Value& listener : tenant.listeners()) {
    std::size_t used = 0;
    for (const auto& [key, value] : wire::find(listener, "/metadata/annotations")->as_object())
      used += key.size() + value.as_string().size();
    const std::string text(256 * 1024 - used - 8, 'x');
    if (auto why = worked(edit(scene, listener, annotate("note", text))); !why.empty()) return why;
  }
  // There is no room for a claim any more, so there is no port: that is all.
  (void)tenant.ask_for_room("second");
  return scene.keeps(address);
}

}  // namespace

std::vector<Attack> own_listener_attacks() {
  const std::string who = "tenant";
  const Needs needs = Needs::room;
  const Walls both = Walls::either;
  const std::string restored = "refused by the guard; without it: the room keeps its port";
  const std::string once = "refused by the guard; without it: nobody gets a port a second time";
  const auto bound = [](const Value& patch) {
    return [patch](Scene& scene) { return edit_bound(scene, patch); };
  };
  const auto identity = [](const Value& patch) {
    return [patch](Scene& scene) { return edit_identity(scene, patch); };
  };
  return {
      {"OwnPortToLoopback", who, "a free port of one's own pool made to lead to 127.0.0.1",
       "refused by the guard; without it: nobody is carried there", needs, both,
       [](Scene& s) { return lead_free_to(s, "127.0.0.1", s.stage.trap().port()); }},
      {"OwnPortToMetadata", who, "the same to 169.254.169.254, where clouds keep their secrets",
       "refused by the guard; without it: nobody is carried there", needs, both,
       [](Scene& s) { return lead_free_to(s, "169.254.169.254", 80); }},
      {"OwnPortToTheLoadBalancer", who,
       "the same to an address and port of the load balancer itself",
       "refused by the guard; without it: nobody is carried there", needs, both,
       [](Scene& s) {
         const std::string at = api::public_address(s.victim().rooms.front().ports.front());
         return lead_free_to(s, at.substr(0, at.rfind(':')), 30000);
       }},
      {"OwnPortToANeighboursPod", who, "the same to the address of a neighbour's Pod",
       "refused by the guard; without it: nobody is carried there", needs, both,
       [](Scene& s) { return lead_free_to(s, s.victim().rooms.front().ip, 22); }},
      {"OwnRoomToLoopback", who, "the port of one's own room made to lead to 127.0.0.1", restored,
       needs, both, bound_to_loopback},
      {"OwnListenerOnANeighboursPort", who,
       "load balancer and port of one's own Listener changed to a neighbour's", once, needs, both,
       victims_port},
      {"OwnClaimEmptied", who, "the claim on one's own Listener emptied", restored, needs, both,
       bound(annotate(ledger::kClaimAnnotation, ""))},
      {"OwnClaimTakenOff", who, "the claim on one's own Listener taken off", restored, needs, both,
       bound(take_off(ledger::kClaimAnnotation))},
      {"OwnClaimOfAnUnknownVersion", who,
       "a claim of a version that nobody knows on one's own port",
       "refused by the guard; without it: the port is held, not given away, and its pool stays",
       needs, both, unknown_version},
      {"OwnClaimNamesANeighbour", who, "a neighbour's claim copied to one's own free port",
       "refused by the guard; without it: nothing happens to the neighbour", needs, both,
       victims_claim},
      {"OwnListenerDeleted", who, "the Listener of one's own room deleted",
       "refused by the guard; without it: it is made again for the same room", needs, both,
       [](Scene& s) { return remove_bound(s, true); }},
      {"OwnListenerForcedAway", who, "its finalizer taken off first",
       "refused by the guard; without it: it is made again for the same room", needs, both,
       [](Scene& s) { return remove_bound(s, false); }},
      {"OwnListenersAllDeleted", who, "all Listeners of one's own pool deleted at once",
       "refused by the guard; without it: they are made again, and the room keeps its port", needs,
       both, remove_all},
      {"OwnListenerWithANeighboursId", who,
       "`listenerID` of a neighbour's in the status of one's own Listener; then room and pool "
       "deleted",
       "refused by the guard; without it: nothing of the neighbour's is removed", needs, both,
       victims_id},
      {"OwnListenerFalselyApplied", who,
       "targets changed together with the hash that says they are in place", restored, needs, both,
       false_applied},
      {"OwnListenerWithAnotherSeal", who, "the seal of one's own Listener replaced", once, needs,
       both, identity(annotate("berth.dev/seal", "1.AAAAAAAAAAAAAAAAAAAAAA"))},
      {"OwnListenerOfAnotherLoadBalancer", who,
       "`berth.dev/load-balancer` of one's own Listener changed", once, needs, both,
       identity(annotate("berth.dev/load-balancer", "edge:elsewhere"))},
      {"OwnListenerOfAnotherItem", who, "`berth.dev/pool-item` of one's own Listener changed", once,
       needs, both, identity(annotate(claims::kItemAnnotation, "other"))},
      {"OwnListenerFollowsAnother", who, "`berth.dev/slot-lock` put on one's own Listener", once,
       needs, both, identity(annotate(claims::kLockAnnotation, "another"))},
      {"OwnListenerDisowned", who, "the owner reference taken off one's own Listener", once, needs,
       both, identity(Object{{"metadata", Object{{"ownerReferences", Array{}}}}})},
      {"OwnListenerOfAnotherPool", who, "the label `owner-name` of one's own Listener changed",
       once, needs, both,
       identity(Object{{"metadata", Object{{"labels", Object{{api::kOwnerNameKey, "other"}}}}}})},
      {"OwnListenerFilledUp", who, "annotations of one's own Listeners filled to the last byte",
       "the room keeps its port; others are served", needs, Walls::no_matter, huge_annotation},
  };
}

}  // namespace berth::adversary
