// What people do to Listeners and PortBindings.
#include <boost/json.hpp>

#include "controllers/portpool/binding_plan.h"
#include "controllers/portpool/pool_plan.h"
#include "hand_moves.h"

namespace berth::scenario {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

// An address that no Pod has.
constexpr std::string_view kStranger = "192.0.2.66";

Object targets_at(std::string_view ip) {
  return {{"protocol", "TCP"},
          {"backends", Array{Object{{"IP", ip}, {"port", 8000}, {"weight", 10}}}}};
}

Result<Value> annotate(Hand& hand, const Value& object, std::string_view key, Value value) {
  return hand.patch_meta(path_of(object), {{"annotations", Object{{key, std::move(value)}}}});
}

Result<Value> change_spec(Hand& hand, const Value& object, std::string_view key, Value value) {
  return hand.ask("PATCH", path_of(object), Object{{"spec", Object{{key, std::move(value)}}}});
}

std::string ip_of_some_pod(Hand& hand) {
  const Value pod = hand.any_in(hand.any_namespace(), "pods");
  const std::string ip(pod.is_null() ? "" : wire::string_at(pod, "/status/podIP"));
  return ip.empty() ? std::string(kStranger) : ip;
}

// A claim that reads well, of a Pod that there is or of none.
std::string forged_claim(Hand& hand) {
  const Value pod = hand.any_in(hand.any_namespace(), "pods");
  const WallTime now = hand.world().kernel().wall_time();
  ledger::Claim claim{.token = ledger::make_token(now, hand.dice().next(), 1),
                      .ns = hand.any_of({"games", "lobby", "nowhere", "a/b"}),
                      .pod_name = "nobody",
                      .pod_uid = "uid-of-nobody",
                      .since = now};
  if (!pod.is_null() && hand.chance(0.6)) {
    claim.ns = wire::string_at(pod, "/metadata/namespace");
    claim.pod_name = name_of(pod);
    claim.pod_uid = wire::string_at(pod, "/metadata/uid");
    claim.token =
        wire::string_at(pod, "/metadata/labels/" + wire::escape_pointer_step(ledger::kTokenLabel));
  }
  using ledger::SlotState;
  constexpr std::array kStates{SlotState::claimed, SlotState::bound, SlotState::draining,
                               SlotState::kept, SlotState::quarantined};
  claim.state = hand.any_of(std::span<const SlotState>(kStates));
  if (claim.state == SlotState::kept || claim.state == SlotState::quarantined)
    claim.until = now + (hand.chance(0.5) ? std::chrono::hours{87600} : std::chrono::hours{0});
  if (hand.chance(0.3)) claim.keep = std::chrono::hours{87600};
  return ledger::encode(claim);
}

}  // namespace

void copies_a_listener(Hand& hand) {
  const Value listener = hand.any_in(hand.any_namespace(), "listeners");
  if (listener.is_null()) return;
  const std::string ns = hand.own_namespace();
  const std::string name = hand.chance(0.7) ? name_of(listener) : "copied";
  // Or one of the person's own, under the name of another's.
  const Value own = hand.any_in(ns, "listeners");
  const bool renamed = !own.is_null() && hand.chance(0.4);
  Object copy = fresh_copy(renamed ? own : listener, ns, name);
  Object& metadata = copy["metadata"].as_object();
  if (hand.chance(0.4)) metadata.erase("ownerReferences");
  if (hand.chance(0.4)) metadata.erase("finalizers");
  if (hand.chance(0.3)) metadata.erase("labels");
  if (hand.chance(0.3)) metadata.erase("annotations");
  if (hand.chance(0.3)) copy.erase("status");
  if (hand.chance(0.5)) copy["spec"].as_object()["targetGroup"] = targets_at(ip_of_some_pod(hand));
  const auto made = hand.ask("POST", path_in(ns, "listeners"), copy);
  // With its end it names, to whoever believes it, what shall be removed.
  if (made && hand.chance(0.5)) {
    (void)hand.world().cluster().pause(std::chrono::seconds{1 + hand.dice().below(20)}, {});
    (void)hand.ask("DELETE", path_in(ns, "listeners", name));
  }
}

void writes_a_listener(Hand& hand) {
  const Value victim = hand.any_in(hand.any_namespace(), "listeners");
  const std::string ns = hand.own_namespace();
  const std::string name = fmt::format("by-hand-{}", hand.dice().below(3));
  Object spec{{"loadbalancerID", hand.any_of({"edge:demo", "edge:east", "edge:west", "edge:new"})},
              {"port", 29990 + hand.dice().below(20)},
              {"protocol", hand.any_of({"TCP", "UDP"})},
              {"targetGroup", targets_at(ip_of_some_pod(hand))}};
  if (!victim.is_null() && hand.chance(0.6)) {
    for (const char* key : {"loadbalancerID", "port", "endPort", "protocol"})
      if (const Value* found = wire::find(victim, std::string("/spec/") + key)) spec[key] = *found;
  }
  Object metadata{{"namespace", ns}, {"name", name}};
  if (hand.chance(0.3)) metadata["finalizers"] = Array{Value(api::kFinalizer)};
  if (hand.chance(0.5)) {
    metadata["labels"] = Object{{api::kOwnerKindKey, hand.any_of({"Ingress", "PortPool"})},
                                {api::kOwnerNameKey, hand.any_of({"rooms", "own", "web"})}};
  }
  if (hand.chance(0.5)) metadata["annotations"] = Object{{ledger::kClaimAnnotation, ""}};
  Object object{{"apiVersion", "networkextension.bkbcs.tencent.com/v1"},
                {"kind", "Listener"},
                {"metadata", metadata},
                {"spec", spec}};
  if (!victim.is_null() && hand.chance(0.5))
    object["status"] = Object{{"listenerID", wire::string_at(victim, "/status/listenerID")}};
  (void)hand.ask("POST", path_in(ns, "listeners"), object);
}

void edits_a_claim(Hand& hand) {
  const Value listener = hand.any_in(hand.own_namespace(), "listeners");
  if (listener.is_null()) return;
  Value claim;
  switch (hand.dice().below(5)) {
    case 0: break;  // taken off
    case 1: claim = ""; break;
    case 2: claim = hand.any_of({"garbage", "{}", R"({"v":99,"state":"Bound"})"}); break;
    default: claim = forged_claim(hand); break;
  }
  (void)annotate(hand, listener, ledger::kClaimAnnotation, claim);
}

void edits_a_listener(Hand& hand) {
  const Value listener = hand.any_in(hand.own_namespace(), "listeners");
  const Value victim = hand.any_in(hand.any_namespace(), "listeners");
  if (listener.is_null() || victim.is_null()) return;
  const auto of_victim = [&](const char* pointer) {
    const Value* const found = wire::find(victim, pointer);
    return found ? *found : Value(nullptr);
  };
  switch (hand.dice().below(12)) {
    case 0:
      (void)change_spec(hand, listener, "targetGroup", targets_at(ip_of_some_pod(hand)));
      break;
    case 1: (void)change_spec(hand, listener, "targetGroup", nullptr); break;
    case 2: (void)change_spec(hand, listener, "port", of_victim("/spec/port")); break;
    case 3:
      (void)change_spec(hand, listener, "loadbalancerID", of_victim("/spec/loadbalancerID"));
      break;
    case 4:  // all that says where it is
      (void)hand.ask("PATCH", path_of(listener), Object{{"spec", of_victim("/spec")}});
      break;
    case 5:
      (void)hand.ask("PATCH", path_of(listener),
                     Object{{"status", Object{{"listenerID", of_victim("/status/listenerID")}}}});
      break;
    case 6: {  // it looks as if it were applied
      const std::string applied =
          "/metadata/annotations/" + wire::escape_pointer_step(claims::kAppliedAnnotation);
      (void)annotate(hand, listener, claims::kAppliedAnnotation,
                     hand.chance(0.5) ? of_victim(applied.c_str()) : Value(nullptr));
      break;
    }
    case 7:
      (void)annotate(hand, listener,
                     hand.any_of({claims::kLockAnnotation, controllers::portpool::kPeersAnnotation,
                                  claims::kItemAnnotation}),
                     hand.chance(0.5) ? Value(name_of(victim)) : Value(nullptr));
      break;
    case 8:
      (void)hand.patch_meta(
          path_of(listener),
          {{"labels",
            Object{{hand.any_of(
                        {api::kOwnerKindKey, api::kOwnerNameKey, api::kLoadBalancerRegionLabel}),
                    hand.any_of({"rooms", "own", "Ingress", "PortPool", "elsewhere"})}}}});
      break;
    case 9: (void)hand.patch_meta(path_of(listener), {{"finalizers", nullptr}}); break;
    case 10:
      (void)hand.patch_meta(path_of(listener),
                            {{"ownerReferences", of_victim("/metadata/ownerReferences")}});
      break;
    default:
      (void)annotate(
          hand, listener, hand.any_of({"berth.dev/seal", "berth.dev/load-balancer"}),
          hand.chance(0.5) ? of_victim("/metadata/annotations/berth.dev~1seal") : Value("garbage"));
      break;
  }
}

void deletes_a_listener(Hand& hand) {
  const Value listener = hand.any_in(hand.own_namespace(), "listeners");
  if (listener.is_null()) return;
  if (hand.chance(0.4)) (void)hand.patch_meta(path_of(listener), {{"finalizers", nullptr}});
  (void)hand.ask("DELETE", path_of(listener));
}

// Taken from the server, deleted, and applied again, with the claim that it had.
void makes_a_listener_again(Hand& hand) {
  const Value listener = hand.any_in(hand.own_namespace(), "listeners");
  if (listener.is_null()) return;
  const std::string ns(wire::string_at(listener, "/metadata/namespace"));
  if (hand.chance(0.7)) (void)hand.patch_meta(path_of(listener), {{"finalizers", nullptr}});
  (void)hand.ask("DELETE", path_of(listener));
  (void)hand.world().cluster().pause(std::chrono::seconds{hand.dice().below(40)}, {});
  (void)hand.ask("POST", path_in(ns, "listeners"), fresh_copy(listener, ns, name_of(listener)));
}

void deletes_a_binding(Hand& hand) {
  const Value binding = hand.any_in(hand.own_namespace(), "portbindings");
  if (binding.is_null()) return;
  if (hand.chance(0.4)) (void)hand.patch_meta(path_of(binding), {{"finalizers", nullptr}});
  (void)hand.ask("DELETE", path_of(binding));
}

void edits_a_binding(Hand& hand) {
  const Value binding = hand.any_in(hand.own_namespace(), "portbindings");
  const Value other = hand.any_in(hand.any_namespace(), "portbindings");
  const Value pod = hand.any_in(hand.own_namespace(), "pods");
  if (binding.is_null() || other.is_null()) return;
  switch (hand.dice().below(4)) {
    case 0:
      (void)hand.ask("PATCH", path_of(binding), Object{{"spec", *wire::find(other, "/spec")}});
      break;
    case 1:
      if (!pod.is_null())
        (void)annotate(hand, binding, controllers::portpool::kPodUidAnnotation,
                       Value(wire::string_at(pod, "/metadata/uid")));
      break;
    case 2: (void)annotate(hand, binding, controllers::portpool::kPodUidAnnotation, nullptr); break;
    default:
      (void)hand.ask(
          "PATCH", path_of(binding) + "/status",
          Object{{"status",
                  Object{{"status", hand.any_of({"Ready", "NotReady", "Cleaned", "Cleaning"})}}}});
      break;
  }
}

// For a Pod of the person's own, so that it looks as if we had bound it.
void copies_a_binding(Hand& hand) {
  const Value binding = hand.any_in(hand.any_namespace(), "portbindings");
  const std::string ns = hand.own_namespace();
  const Value pod = hand.any_in(ns, "pods");
  if (binding.is_null() || pod.is_null()) return;
  Object copy = fresh_copy(binding, ns, name_of(pod));
  copy["metadata"].as_object()["annotations"] =
      Object{{controllers::portpool::kPodUidAnnotation, wire::string_at(pod, "/metadata/uid")}};
  if (hand.chance(0.5)) copy["metadata"].as_object().erase("finalizers");
  (void)hand.ask("POST", path_in(ns, "portbindings"), copy);
}

}  // namespace berth::scenario
