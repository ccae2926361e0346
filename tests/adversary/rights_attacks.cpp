// What RBAC keeps from a tenant, and what may lie in a tenant's namespace without meaning anything.

#include <boost/json.hpp>

#include "api/load_balancer.h"
#include "attack.h"

namespace berth::adversary {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

const std::string kOurNamespace = "default";  // of the controller of these tests
const std::string kOurSecret = "berth-webhook-certificate";

std::string grants(Scene& scene) {
  const auto& type = api::load_balancer_kind().type;
  const auto lb = model::parse_load_balancer(scene.victim().load_balancer, {});
  const std::string name = model::object_name(*lb);
  const Value patch = Object{{"spec", Object{{"grants", Array{}}}}};
  scene.ends_here();
  if (auto why =
          refused(scene.tenant.merge(type, "", name, patch), Code::forbidden, "cannot patch");
      !why.empty())
    return why;
  return refused(scene.tenant.remove(type, "", name), Code::forbidden, "cannot delete");
}

std::string our_secret(Scene& scene) {
  scene.ends_here();
  return refused(scene.tenant.get(kube::types::kSecret, kOurNamespace, kOurSecret), Code::forbidden,
                 "cannot get");
}

std::string our_lease(Scene& scene) {
  scene.ends_here();
  return refused(scene.tenant.remove(kube::types::kLease, kOurNamespace, "berth"), Code::forbidden,
                 "cannot delete");
}

std::string webhooks(Scene& scene) {
  scene.ends_here();
  return refused(scene.tenant.remove(kube::types::kMutatingWebhookConfiguration, "", "berth"),
                 Code::forbidden, "cannot delete");
}

std::string label_of_namespace(Scene& scene) {
  const Value patch = Object{{"metadata", Object{{"labels", Object{{api::kInjectLabel, "true"}}}}}};
  scene.ends_here();
  return refused(scene.tenant.merge(kube::types::kNamespace, "", scene.tenant.plain(), patch),
                 Code::forbidden, "cannot patch");
}

std::string neighbours_pod(Scene& scene) {
  const Value patch = take_off(api::kPortPoolsAnnotation);
  scene.ends_here();
  return refused(scene.tenant.merge(pods(), scene.victim().ns, "room-0", patch), Code::forbidden,
                 "cannot patch");
}

// In one's own namespace they are somebody else's Secret, Lease and account.
std::string namesakes(Scene& scene) {
  Tenant& tenant = scene.tenant;
  const std::optional<std::size_t> leader = scene.cluster().leader();
  const Object secret{{"metadata", Object{{"namespace", tenant.ns()}, {"name", kOurSecret}}},
                      {"data", Object{{"tls.key", "AAAA"}, {"tls.crt", "AAAA"}}}};
  const Object lease{
      {"metadata", Object{{"namespace", tenant.ns()}, {"name", "berth"}}},
      {"spec", Object{{"holderIdentity", "mallory"}, {"leaseDurationSeconds", 3600}}}};
  const Object account{{"metadata", Object{{"namespace", tenant.ns()}, {"name", "berth"}}}};
  if (auto why = worked(tenant.create(kube::types::kSecret, secret)); !why.empty()) return why;
  if (auto why = worked(tenant.create(kube::types::kLease, lease)); !why.empty()) return why;
  if (auto why = worked(tenant.create(kube::types::kServiceAccount, account)); !why.empty())
    return why;
  if (auto why = scene.fence(); !why.empty()) return why;
  return scene.cluster().leader() == leader ? "" : "another one leads";
}

// What a refusal tells somebody who may not read the neighbour's Pods.
std::string gossip(Scene& scene) {
  Tenant& tenant = scene.tenant;
  for (const char* name : {"first", "second", "third"})
    if (auto why = worked(tenant.ask_for_room(name)); !why.empty()) return why;
  const std::string elsewhere = scene.cluster().make_namespace(tenant.ns() + "-curious");
  const Result<Value> made = scene.cluster().create(
      bare_room(elsewhere, "guest", fmt::format("rooms.{} TCP 8000", tenant.ns())));
  scene.ends_here();
  if (made) return "a full pool gave a port";
  const std::string said = made.error().to_string();
  for (const char* name : {"first", "second", "third"})
    if (said.find(fmt::format("{}/{}", tenant.ns(), name)) != std::string::npos)
      return "the refusal names Pods of another namespace: " + said;
  return {};
}

}  // namespace

std::vector<Attack> rights_attacks() {
  const std::string who = "tenant";
  const std::string rbac = "refused by RBAC";
  return {
      {"RightsOnGrants", who, "grants of a LoadBalancer object edited, and the object deleted",
       rbac, Needs::nothing, Walls::no_matter, grants},
      {"RightsOnOurSecret", who, "our Secret read", rbac, Needs::nothing, Walls::no_matter,
       our_secret},
      {"RightsOnOurLease", who, "our Lease deleted", rbac, Needs::nothing, Walls::no_matter,
       our_lease},
      {"RightsOnWebhooks", who, "our webhook configuration deleted", rbac, Needs::nothing,
       Walls::no_matter, webhooks},
      {"RightsOnNamespaces", who, "one's own namespace labelled for pools", rbac, Needs::nothing,
       Walls::no_matter, label_of_namespace},
      {"RightsOnANeighboursPod", who, "annotations of a neighbour's Pod taken off", rbac,
       Needs::nothing, Walls::no_matter, neighbours_pod},
      {"Namesakes", who,
       "a Secret, a Lease and a service account with our names in one's own namespace",
       "mean nothing", Needs::nothing, Walls::no_matter, namesakes},
      {"Gossip", who, "a Pod refused by a full pool of another namespace",
       "is not told the names of Pods there", Needs::pool, Walls::no_matter, gossip},
  };
}

}  // namespace berth::adversary
