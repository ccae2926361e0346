// What people do to Ingresses of their own, and to PortBlocks. What they may not have is what
// somebody else was granted, whatever kind that is.
#include <boost/json.hpp>

#include "hand_moves.h"
#include "ingress_book.h"
#include "kinds.h"

namespace berth::scenario {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

// Ports of pools and of Ingresses, and some that nobody has. None that the games' pools may grow
// into: there the first who comes is served.
constexpr std::array kPorts{29999, 30000, 30003, 31001, 31003, 32000, 33000,
                            35000, 35001, 35100, 35101, 35110, 35200, 35201,
                            40001, 42001, 43000, 43001, 44000, 44001, 44003};

int any_port(Hand& hand) { return hand.any_of(std::span<const int>(kPorts)); }

Array to_the_calm() {
  return {Object{{"serviceName", kCalmService},
                 {"serviceNamespace", kCalm},
                 {"servicePort", 8000},
                 {"isDirectConnect", true}}};
}

Object any_rule(Hand& hand) {
  const std::string protocol = hand.any_of({"TCP", "TCP", "UDP", "HTTP"});
  Object rule{{"port", any_port(hand)}, {"protocol", protocol}};
  if (protocol == "HTTP") {
    rule["layer7Routes"] = Array{Object{{"domain", "play.example"}, {"services", to_the_calm()}}};
  } else {
    rule["services"] = to_the_calm();
  }
  return rule;
}

// To Pods that are not there, so that its listeners lead nowhere.
Object any_mapping(Hand& hand) {
  return {{"startPort", any_port(hand)},
          {"protocol", hand.any_of({"TCP", "UDP"})},
          {"startIndex", 0},
          {"endIndex", 1 + hand.dice().below(3)},
          {"segmentLength", 1 + hand.dice().below(3)},
          {"workloadKind", "StatefulSet"},
          {"workloadNamespace", kLobby},
          {"workloadName", "nobody"}};
}

Object any_spec(Hand& hand) {
  Object spec;
  if (hand.chance(0.8)) spec["rules"] = Array{any_rule(hand)};
  if (hand.chance(0.3)) spec["portMappings"] = Array{any_mapping(hand)};
  return spec;
}

std::string any_balancers(Hand& hand) {
  return hand.any_of({"edge:demo", "edge:demo", "edge:east", "edge:west", "edge:east,edge:west"});
}

Array* list_in(Value& ingress, std::string_view key) {
  Value* const list = wire::find(ingress, fmt::format("/spec/{}", key));
  return list && list->is_array() ? &list->get_array() : nullptr;
}

}  // namespace

void writes_an_ingress(Hand& hand) {
  const std::string ns = hand.person().role == world::Role::tenant ? hand.own_namespace() : kLobby;
  (void)hand.ask("POST", path_in(ns, "ingresses"),
                 Object{{"apiVersion", "networkextension.bkbcs.tencent.com/v1"},
                        {"kind", "Ingress"},
                        {"metadata", Object{{"namespace", ns},
                                            {"name", hand.any_of({"gate", "side", "rooms"})},
                                            {"annotations", Object{{api::kLoadBalancerIdsAnnotation,
                                                                    any_balancers(hand)}}}}},
                        {"spec", any_spec(hand)}});
}

void changes_an_ingress(Hand& hand) {
  Value ingress = hand.any_in(hand.own_namespace(), "ingresses");
  if (ingress.is_null()) return;
  Array* const rules = list_in(ingress, "rules");
  Array* const mappings = list_in(ingress, "portMappings");
  Object& spec = ingress.as_object()["spec"].as_object();
  switch (hand.dice().below(6)) {
    case 0: spec = any_spec(hand); break;
    case 1:
      if (rules && !rules->empty()) rules->pop_back();
      break;
    case 2:
      if (rules) rules->push_back(any_rule(hand));
      break;
    case 3:  // what it speaks
      if (rules && !rules->empty()) {
        Object rule = any_rule(hand);
        rule["port"] = rules->front().at("port");
        rules->front() = std::move(rule);
      }
      break;
    case 4:
      if (mappings && !mappings->empty())
        mappings->front().as_object()["endIndex"] = 1 + hand.dice().below(4);
      break;
    default:
      wire::find(ingress, "/metadata/annotations")->as_object()[api::kLoadBalancerIdsAnnotation] =
          any_balancers(hand);
      break;
  }
  (void)hand.ask("PUT", path_of(ingress), ingress);
}

void deletes_an_ingress(Hand& hand) {
  const Value ingress = hand.any_in(hand.own_namespace(), "ingresses");
  if (ingress.is_null()) return;
  if (hand.chance(0.4)) (void)hand.patch_meta(path_of(ingress), {{"finalizers", nullptr}});
  (void)hand.ask("DELETE", path_of(ingress));
}

void edits_an_ingress_status(Hand& hand) {
  const Value ingress = hand.any_in(hand.own_namespace(), "ingresses");
  if (ingress.is_null()) return;
  (void)hand.ask("PATCH", path_of(ingress),
                 Object{{"status", Object{{"status", hand.any_of({"Ready", "NotReady"})},
                                          {"message", "by hand"}}}});
}

void edits_a_block(Hand& hand) {
  const kube::ResourceType& type = *type_called("portblocks");
  const auto blocks = hand.world().cluster().list(type.path(""));
  if (!blocks || blocks->empty()) return;
  const std::span<const Value> all(*blocks);
  const Value& block = hand.any_of(all);
  const Array* const theirs = wire::array_at(hand.any_of(all), "/spec/grants");
  const Array* const found = wire::array_at(block, "/spec/grants");
  Array grants = found ? *found : Array{};
  Object spec;
  switch (hand.dice().below(4)) {
    case 0: spec["closed"] = true; break;
    case 1: spec["grants"] = theirs ? *theirs : Array{}; break;
    case 2:
      if (!grants.empty()) grants[hand.dice().below(grants.size())].as_object()["ownerUID"] = "x";
      spec["grants"] = grants;
      break;
    default: spec["grants"] = Array{}; break;
  }
  (void)hand.ask("PATCH", type.path("", name_of(block)), Object{{"spec", spec}});
}

// Of one's own, or in place of another.
void copies_a_block(Hand& hand) {
  const kube::ResourceType& type = *type_called("portblocks");
  const auto blocks = hand.world().cluster().list(type.path(""));
  if (!blocks || blocks->empty()) return;
  const std::span<const Value> all(*blocks);
  const Value& block = hand.any_of(all);
  const std::string name = hand.chance(0.5) ? "copied" : name_of(hand.any_of(all));
  Object copy = fresh_copy(block, "", name);
  copy["metadata"].as_object().erase("namespace");
  if (hand.chance(0.5)) (void)hand.ask("DELETE", type.path("", name));
  (void)hand.ask("POST", type.path(""), copy);
}

void deletes_blocks(Hand& hand) {
  const kube::ResourceType& type = *type_called("portblocks");
  const auto blocks = hand.world().cluster().list(type.path(""));
  if (!blocks || blocks->empty()) return;
  const std::string one = name_of(hand.any_of(std::span<const Value>(*blocks)));
  (void)hand.ask("DELETE", hand.chance(0.5) ? type.path("") : type.path("", one));
}

}  // namespace berth::scenario
