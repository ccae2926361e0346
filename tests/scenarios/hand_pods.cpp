// What people do to Pods, and in the name of Pods.
#include <boost/json.hpp>

#include "hand_moves.h"

namespace berth::scenario {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

constexpr std::string_view kDecade = "87600h";

Object containers() {
  return {{"containers", Array{Object{{"name", "room"},
                                      {"image", "room:1"},
                                      {"ports", Array{Object{{"containerPort", 8000}},
                                                      Object{{"containerPort", 8001}}}}}}}};
}

Object pod_named(std::string_view ns, std::string_view name, Object labels, Object annotations) {
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", Object{{"namespace", ns},
                              {"name", name},
                              {"labels", std::move(labels)},
                              {"annotations", std::move(annotations)}}},
          {"spec", containers()}};
}

Object part_of(const Value& object, const char* part) {
  const Value* found = wire::find(object, std::string("/metadata/") + part);
  return found && found->is_object() ? found->get_object() : Object{};
}

std::string any_name(Hand& hand) { return fmt::format("guest-{}", hand.dice().below(6)); }

// What a Pod would be told of the port of this Listener.
std::string bindings_for(const Value& listener) {
  const api::PortBindingItem item{
      .pool_name = std::string(wire::string_at(listener, "/metadata/labels/owner-name")),
      .pool_namespace = std::string(wire::string_at(listener, "/metadata/namespace")),
      .load_balancer_ids = {std::string(wire::string_at(listener, "/spec/loadbalancerID"))},
      .pool_item_name = std::string(wire::string_at(
          listener, "/metadata/annotations/" + wire::escape_pointer_step(claims::kItemAnnotation))),
      .protocol = std::string(wire::string_at(listener, "/spec/protocol")),
      .start_port = wire::int_at(listener, "/spec/port").value_or(0),
      .end_port = wire::int_at(listener, "/spec/endPort").value_or(0),
      .rs_start_port = 8000};
  return api::encode_pool_bindings({item});
}

std::string new_token(Hand& hand) {
  return ledger::make_token(hand.world().kernel().wall_time(), hand.dice().next(),
                            hand.dice().next());
}

}  // namespace

namespace {

void ask_for_a_port(Hand& hand, std::string_view keep) {
  const std::string ns = hand.person().role == world::Role::tenant ? hand.own_namespace() : kLobby;
  Object annotations{
      {api::kPortPoolsAnnotation, "true"},
      {api::kPortsAnnotation, hand.any_of({"own/one.lobby TCP 8000", "own/one.lobby TCP 8000",
                                           "own/pair.lobby TCP_UDP 8000", "rooms.games TCP 8000",
                                           "halls.games TCP_UDP 8000", "quiet.calm TCP 8000"})}};
  if (hand.chance(0.5)) annotations[api::kReadinessGateAnnotation] = "true";
  if (!keep.empty()) annotations[api::kKeepDurationAnnotation] = keep;
  (void)hand.ask("POST", path_in(ns, "pods"), pod_named(ns, any_name(hand), {}, annotations));
}

}  // namespace

void asks_for_a_port(Hand& hand) { ask_for_a_port(hand, hand.chance(0.3) ? "40s" : ""); }

void asks_for_a_decade(Hand& hand) { ask_for_a_port(hand, kDecade); }

void removes_a_pod(Hand& hand) {
  const Value pod = hand.any_in(hand.own_namespace(), "pods");
  if (pod.is_null()) return;
  Value options;
  if (hand.chance(0.4))
    options = Object{{"kind", "DeleteOptions"}, {"apiVersion", "v1"}, {"gracePeriodSeconds", 0}};
  (void)hand.ask("DELETE", path_of(pod), options);
}

// A manifest that was taken from a Pod that runs, with all that we wrote into it.
void copies_a_pod(Hand& hand) {
  const Value pod = hand.any_in(hand.any_namespace(), "pods");
  if (pod.is_null()) return;
  const std::string ns = hand.own_namespace();
  Object annotations = part_of(pod, "annotations");
  if (hand.chance(0.6)) annotations.erase(api::kPortPoolsAnnotation);
  if (hand.chance(0.2)) annotations.erase(api::kBindStatusAnnotation);
  Object labels = part_of(pod, "labels");
  if (hand.chance(0.3)) labels[ledger::kTokenLabel] = new_token(hand);
  const std::string name = hand.chance(0.5) ? name_of(pod) : any_name(hand);
  (void)hand.ask("POST", path_in(ns, "pods"), pod_named(ns, name, labels, annotations));
}

// A Pod that never passed our admission, told of a port that it chose.
void forges_a_pod(Hand& hand) {
  const Value listener = hand.any_in(hand.any_namespace(), "listeners");
  if (listener.is_null()) return;
  const std::string ns = hand.own_namespace();
  Object labels{{ledger::kTokenLabel, new_token(hand)}};
  const Object annotations{{api::kPoolBindingsAnnotation, bindings_for(listener)},
                           {api::kBindStatusAnnotation, hand.any_of({"NotReady", "Ready"})}};
  (void)hand.ask("POST", path_in(ns, "pods"), pod_named(ns, any_name(hand), labels, annotations));
}

void edits_a_pod(Hand& hand) {
  const Value pod = hand.any_in(hand.own_namespace(), "pods");
  const Value other = hand.any_in(hand.any_namespace(), "pods");
  const Value listener = hand.any_in(hand.any_namespace(), "listeners");
  if (pod.is_null()) return;
  const std::string key = hand.any_of({api::kPoolBindingsAnnotation, api::kPoolBindingsAnnotation,
                                       api::kBindStatusAnnotation, api::kPortsAnnotation,
                                       api::kPortPoolsAnnotation, api::kKeepDurationAnnotation});
  Value value;
  switch (hand.dice().below(4)) {
    case 0: break;  // taken off
    case 1: value = hand.any_of({"", "garbage", "[]", "Ready", "NotReady", "true", "50s"}); break;
    case 2:
      if (key == api::kPoolBindingsAnnotation && !listener.is_null())
        value = bindings_for(listener);
      break;
    default: {
      const Object annotations = part_of(other, "annotations");
      if (const auto it = annotations.find(key); it != annotations.end()) value = it->value();
    }
  }
  (void)hand.patch_meta(path_of(pod), {{"annotations", Object{{key, value}}}});
}

// Of one that was given ports: the annotation that asks for them goes, and nothing else.
void asks_no_more(Hand& hand) {
  const std::string ns = hand.own_namespace();
  const auto pods = hand.world().cluster().list(path_in(ns, "pods"));
  std::vector<std::string> told;
  for (const Value& pod : pods ? *pods : std::vector<Value>{})
    if (part_of(pod, "annotations").contains(api::kPoolBindingsAnnotation))
      told.push_back(name_of(pod));
  if (told.empty()) return;
  const std::string& name = hand.any_of(std::span<const std::string>(told));
  (void)hand.patch_meta(path_in(ns, "pods", name),
                        {{"annotations", Object{{api::kPortPoolsAnnotation, nullptr}}}});
}

void changes_a_token(Hand& hand) {
  const Value pod = hand.any_in(hand.own_namespace(), "pods");
  const Value other = hand.any_in(hand.any_namespace(), "pods");
  if (pod.is_null()) return;
  Value token;
  if (hand.chance(0.4)) token = new_token(hand);
  if (hand.chance(0.4) && !other.is_null()) {
    const Object labels = part_of(other, "labels");
    if (const auto it = labels.find(ledger::kTokenLabel); it != labels.end()) token = it->value();
  }
  (void)hand.patch_meta(path_of(pod), {{"labels", Object{{ledger::kTokenLabel, token}}}});
}

void ties_a_pod(Hand& hand) {
  const Value pod = hand.any_in(hand.own_namespace(), "pods");
  if (pod.is_null()) return;
  const Value finalizers = hand.chance(0.5) ? Value(Array{"example.com/tied"}) : Value(nullptr);
  (void)hand.patch_meta(path_of(pod), {{"finalizers", finalizers}});
}

// The webhook's address is told by errors of the API server, and anybody can reach it.
void posts_a_review(Hand& hand) {
  const auto hooks = hand.world().cluster().list(
      "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations");
  if (!hooks || hooks->empty()) return;
  const wire::Array* const entries = wire::array_at(hooks->front(), "/webhooks");
  if (!entries) return;
  const Value& entry = (*entries)[hand.dice().below(entries->size())];
  const std::string url(wire::string_at(entry, "/clientConfig/url"));
  if (url.empty()) return;
  const std::string ns = hand.any_of({"games", "lobby", "nowhere", "a/b", ""});
  Object annotations{
      {api::kPortPoolsAnnotation, "true"},
      {api::kPortsAnnotation,
       hand.any_of({"rooms.games TCP 8000", "own.lobby TCP 8000", "halls.games TCP_UDP 8000"})}};
  if (hand.chance(0.7)) annotations[api::kKeepDurationAnnotation] = kDecade;
  const std::string name = hand.chance(0.5) ? any_name(hand) : std::string("room-0");
  const Object request{{"uid", new_token(hand)},
                       {"operation", "CREATE"},
                       {"namespace", ns},
                       {"name", name},
                       {"kind", Object{{"group", ""}, {"version", "v1"}, {"kind", "Pod"}}},
                       {"resource", Object{{"group", ""}, {"version", "v1"}, {"resource", "pods"}}},
                       {"userInfo", Object{{"username", "system:apiserver"}}},
                       {"object", pod_named(ns, name, {}, annotations)}};
  const Result<net::Response> answer =
      hand.world().call({.url = url},
                        wire::to_json(Object{{"apiVersion", "admission.k8s.io/v1"},
                                             {"kind", "AdmissionReview"},
                                             {"request", request}}),
                        std::chrono::seconds{10});
  hand.say(fmt::format("  POST {} for {}/{}: {}", url, ns, name,
                       answer ? std::to_string(answer->status) : answer.error().to_string()));
}

}  // namespace berth::scenario
