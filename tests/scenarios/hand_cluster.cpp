// What operators and administrators do to what belongs to the whole cluster.
#include <boost/json.hpp>

#include "hand_moves.h"
#include "kinds.h"

namespace berth::scenario {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

const std::string kBalancers = "/apis/berth.dev/v1/loadbalancers";
const std::string kLease = "/apis/coordination.k8s.io/v1/namespaces/default/leases/berth";
const std::string kHooks = "/apis/admissionregistration.k8s.io/v1/";

Value any_balancer(Hand& hand) {
  const auto found = hand.world().cluster().list(kBalancers);
  return found && !found->empty() ? (*found)[hand.dice().below(found->size())] : Value(nullptr);
}

void restore(Hand& hand, std::string_view resource) {
  const auto backup = hand.backup();
  if (!backup) return hand.make_backup();
  hand.say(fmt::format("  puts back {}", resource.empty() ? "everything" : resource));
  // Of everything, our keys are a part.
  hand.trust().note_upheaval(resource.empty() ? kKeysChecked : kAudited);
  hand.world().restore(*backup, resource);
  hand.trust().take_stock();
}

}  // namespace

void deletes_balancers(Hand& hand) {
  if (hand.chance(0.5)) {
    (void)hand.ask("DELETE", kBalancers);
    return;
  }
  const Value balancer = any_balancer(hand);
  if (!balancer.is_null()) (void)hand.ask("DELETE", kBalancers + "/" + name_of(balancer));
}

void edits_grants(Hand& hand) {
  const Value balancer = any_balancer(hand);
  const Value other = any_balancer(hand);
  if (balancer.is_null()) return;
  const Array* const found = wire::array_at(balancer, "/spec/grants");
  Array grants = found ? *found : Array{};
  if (grants.empty()) return;
  Object& one = grants[hand.dice().below(grants.size())].as_object();
  switch (hand.dice().below(5)) {
    case 0: grants.clear(); break;
    case 1:
      grants.erase(grants.begin() + static_cast<std::ptrdiff_t>(hand.dice().below(grants.size())));
      break;
    case 2: one["ownerUID"] = "uid-of-nobody"; break;
    case 3: one["endPort"] = one["startPort"]; break;
    default:
      if (const Array* const theirs = wire::array_at(other, "/spec/grants")) grants = *theirs;
      break;
  }
  (void)hand.ask("PATCH", kBalancers + "/" + name_of(balancer),
                 Object{{"spec", Object{{"grants", grants}}}});
}

void edits_a_balancer(Hand& hand) {
  const Value balancer = any_balancer(hand);
  if (balancer.is_null()) return;
  (void)hand.ask("PATCH", kBalancers + "/" + name_of(balancer) + "/status",
                 Object{{"status", Object{{"vips", Array{"192.0.2.1"}}, {"listenersUsed", 0}}}});
}

// As a backup would that somebody puts back by hand: under its name, with grants of another one, or
// beside it under a name that nobody looks for.
void writes_a_balancer(Hand& hand) {
  const Value balancer = any_balancer(hand);
  const Value other = any_balancer(hand);
  if (balancer.is_null() || other.is_null()) return;
  const bool is_beside = hand.chance(0.3);
  Object copy = fresh_copy(balancer, "", is_beside ? "edge.copied" : name_of(balancer));
  copy["metadata"].as_object().erase("namespace");
  if (hand.chance(0.5)) copy["spec"].as_object()["grants"] = *wire::find(other, "/spec/grants");
  if (!is_beside) (void)hand.ask("DELETE", kBalancers + "/" + name_of(balancer));
  (void)hand.ask("POST", kBalancers, copy);
}

// Deleted, and made again at once: as it was, or somebody else's.
void writes_the_lease(Hand& hand) {
  const auto lease = hand.world().cluster().ask("GET", kLease);
  if (!lease) return;
  Object copy = fresh_copy(*lease, "default", name_of(*lease));
  if (hand.chance(0.6))
    copy["spec"].as_object()["holderIdentity"] = hand.any_of({"somebody", "", "berth-0"});
  (void)hand.ask("DELETE", kLease);
  (void)hand.ask("POST", kLease.substr(0, kLease.rfind('/')), copy);
}

void takes_the_lease(Hand& hand) {
  switch (hand.dice().below(3)) {
    case 0: (void)hand.ask("DELETE", kLease); break;
    case 1:
      (void)hand.ask("PATCH", kLease, Object{{"spec", Object{{"holderIdentity", "somebody"}}}});
      break;
    default:
      (void)hand.ask("PATCH", kLease, Object{{"spec", Object{{"holderIdentity", ""}}}});
      break;
  }
}

void makes_a_backup(Hand& hand) { hand.make_backup(); }

void restores_a_kind(Hand& hand) {
  std::vector<std::string> kinds{"loadbalancers", "loadbalancers", "listeners", "portbindings"};
  if (has_some(hand.world(), *type_called("portblocks"))) kinds.emplace_back("portblocks");
  restore(hand, hand.any_of(std::span<const std::string>(kinds)));
}

void edits_a_pod_status(Hand& hand) {
  const Value pod = hand.any_in(hand.own_namespace(), "pods");
  if (pod.is_null()) return;
  const Object condition{{"type", api::kPortsReadyCondition},
                         {"status", hand.any_of({"True", "False"})}};
  (void)hand.ask("PATCH", path_of(pod) + "/status",
                 Object{{"status", Object{{"conditions", Array{condition}}}}});
}

void deletes_our_secret(Hand& hand) {
  const auto secrets = hand.world().cluster().list(path_in("default", "secrets"));
  for (const Value& secret : secrets ? *secrets : std::vector<Value>{})
    (void)hand.ask("DELETE", path_in("default", "secrets", name_of(secret)));
}

// Damaged, emptied, or with what belongs elsewhere.
void edits_our_secret(Hand& hand) {
  const auto secrets = hand.world().cluster().list(path_in("default", "secrets"));
  if (!secrets || secrets->empty()) return;
  const std::span<const Value> all(*secrets);
  const Value& secret = hand.any_of(all);
  const Value* const data = wire::find(secret, "/data");
  const Value* const others = wire::find(hand.any_of(all), "/data");
  if (!data || !data->is_object() || data->get_object().empty()) return;
  const auto any_of = [&hand](const Object& from) {
    return from.begin() + static_cast<std::ptrdiff_t>(hand.dice().below(from.size()));
  };
  Value next = "bm90IG91cnM=";
  if (hand.chance(0.3)) next = nullptr;
  if (hand.chance(0.3) && others && others->is_object() && !others->get_object().empty())
    next = any_of(others->get_object())->value();
  (void)hand.ask("PATCH", path_in("default", "secrets", name_of(secret)),
                 Object{{"data", Object{{any_of(data->get_object())->key(), next}}}});
}

void deletes_our_webhooks(Hand& hand) {
  (void)hand.ask(
      "DELETE",
      kHooks + hand.any_of({"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}) +
          "/berth");
}

void restores_everything(Hand& hand) { restore(hand, ""); }

// With its pools and rooms; and makes it again, as soon as that can be done.
void deletes_a_namespace(Hand& hand) {
  const std::string name = hand.any_of({kLobby, kAlley});
  hand.trust().note_namespace(name);
  if (!hand.ask("DELETE", "/api/v1/namespaces/" + name)) return;
  Object labels;
  if (name == kLobby) labels[api::kInjectLabel] = "true";
  const Object again{{"apiVersion", "v1"},
                     {"kind", "Namespace"},
                     {"metadata", Object{{"name", name}, {"labels", labels}}}};
  const std::uint64_t patience = hand.dice().below(40);
  for (std::uint64_t i = 0; i < patience; ++i) {
    (void)hand.world().cluster().pause(std::chrono::seconds{1}, {});
    if (hand.world().cluster().ask("GET", "/api/v1/namespaces/" + name)) continue;
    (void)hand.ask("POST", "/api/v1/namespaces", again);
    return;
  }
}

// With all objects of the kind. Not those that a tenant made, or on which his players are: single
// deeds have these (hostile_crd_scenarios_test.cpp).
void deletes_a_definition(Hand& hand) {
  std::vector<std::string> names;
  for (const kube::ResourceType& type : types_of_ours())
    if (type.plural != "listeners" && has_some(hand.world(), type))
      names.push_back(fmt::format("{}.{}", type.plural, type.group));
  if (names.empty()) return;
  (void)hand.ask("DELETE", kube::types::kCustomResourceDefinition.path(
                               "", hand.any_of(std::span<const std::string>(names))));
}

void takes_the_label_off(Hand& hand) {
  const std::string path = "/api/v1/namespaces/" + kGames;
  (void)hand.patch_meta(path, {{"labels", Object{{api::kInjectLabel, nullptr}}}});
  (void)hand.world().cluster().pause(std::chrono::seconds{hand.dice().below(10)}, {});
  (void)hand.patch_meta(path, {{"labels", Object{{api::kInjectLabel, "true"}}}});
}

}  // namespace berth::scenario
