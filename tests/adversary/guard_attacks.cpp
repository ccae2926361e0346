// The guard by itself: what it says, and whom it lets pass.

#include <boost/json.hpp>

#include "api/keys.h"
#include "attack.h"

namespace berth::adversary {
namespace {

using namespace std::chrono_literals;
using testing::CommandResult;
using testing::eventually;
using wire::Array;
using wire::Object;
using wire::Value;

constexpr auto kPatience = 60s;

std::string told(const CommandResult& result, std::initializer_list<std::string> parts) {
  if (result.ok()) return "it succeeded: " + result.out;
  for (const std::string& part : parts)
    if (result.err.find(part) == std::string::npos)
      return fmt::format("no '{}' in: {}", part, result.err);
  return {};
}
std::string fine(const CommandResult& result) { return result.ok() ? "" : result.err; }

// kubectl as this user, whatever that one may do by RBAC.
CommandResult kubectl_as(Scene& scene, const std::string& user, std::vector<std::string> args) {
  args.insert(args.begin(), {"--as=" + user, "--namespace", scene.tenant.ns()});
  return scene.cluster().plane().kubectl(std::move(args));
}

std::string edited_by_kubectl(Scene& scene) {
  const std::string name = name_of(scene.tenant.listener_of("own"));
  const auto result = scene.tenant.kubectl(
      {"patch", "listener", name, "--type=merge", "-p",
       R"({"metadata":{"annotations":{"berth.dev/claim":""}},"spec":{"port":30001}})"});
  scene.ends_here();
  return told(result, {"(Forbidden)", fmt::format("Listener {}/{}", scene.tenant.ns(), name),
                       "metadata.annotations[berth.dev/claim]", "spec", "by Berth alone",
                       "change its owner (a PortPool, an Ingress) or the Pod instead",
                       "verb repair on listeners."});
}

std::string deleted_by_kubectl(Scene& scene) {
  const auto result = scene.tenant.kubectl({"delete", "listeners", "--all", "--wait=false"});
  scene.ends_here();
  return told(result, {"(Forbidden)", "is deleted by Berth alone", "delete its owner (a PortPool",
                       "verb repair on listeners."});
}

std::string labelled(Scene& scene) {
  const std::string name = name_of(scene.tenant.listener_of("own"));
  const std::string address = scene.own_address();
  if (auto why = fine(scene.tenant.kubectl({"label", "listener", name, "team=blue"})); !why.empty())
    return why;
  if (auto why = fine(scene.tenant.kubectl({"annotate", "listener", name, "note=ours"}));
      !why.empty())
    return why;
  return scene.keeps(address);
}

Value upstreams_listener(Scene& scene) {
  return Object{
      {"apiVersion", listeners().api_version()},
      {"kind", listeners().kind},
      {"metadata",
       Object{{"namespace", scene.tenant.ns()},
              {"name", "lb-up-42001"},
              {"labels", Object{{api::kOwnerKindKey, "Ingress"}, {api::kOwnerNameKey, "web"}}},
              {"finalizers", Array{Value(api::kFinalizer)}}}},
      {"spec", Object{{"loadbalancerID", "lb-up"}, {"port", 42001}, {"protocol", "TCP"}}}};
}

std::string upstreams_life(Scene& scene) {
  Tenant& tenant = scene.tenant;
  const Value mine = upstreams_listener(scene);
  if (auto why = worked(tenant.create(listeners(), mine)); !why.empty()) return why;
  const Object change{{"metadata", Object{{"finalizers", nullptr}}},
                      {"spec", Object{{"targetGroup", target_group("10.0.0.1", 80)}}},
                      {"status", Object{{"status", "Synced"}, {"listenerID", "lbl-1"}}}};
  if (auto why = worked(tenant.merge(listeners(), tenant.ns(), "lb-up-42001", change));
      !why.empty())
    return why;
  return worked(tenant.remove(listeners(), tenant.ns(), "lb-up-42001"));
}

// The rights of the tenant, and the verb.
std::string repairs(Scene& scene) {
  Tenant& tenant = scene.tenant;
  const auto admin = [&](std::vector<std::string> args) {
    args.insert(args.begin(), {"--namespace", tenant.ns()});
    return fine(scene.cluster().plane().kubectl(std::move(args)));
  };
  const std::string resource = "listeners.networkextension.bkbcs.tencent.com";
  const std::string user = fmt::format("system:serviceaccount:{}:mallory", tenant.ns());
  if (auto why = admin({"create", "role", "repair", "--verb=repair", "--resource=" + resource});
      !why.empty())
    return why;
  if (auto why = admin({"create", "rolebinding", "repair", "--role=repair",
                        fmt::format("--serviceaccount={}:mallory", tenant.ns())});
      !why.empty())
    return why;
  const std::string address = scene.own_address();
  const std::string name = name_of(tenant.listener_of("own"));
  // RBAC learns of it a moment later.
  Result<Value> done =
      tenant.merge(listeners(), tenant.ns(), name, annotate(ledger::kClaimAnnotation, ""));
  const bool let = eventually(kPatience, [&] {
    if (!done)
      done = tenant.merge(listeners(), tenant.ns(), name, annotate(ledger::kClaimAnnotation, ""));
    return done.has_value();
  });
  return let ? scene.keeps(address) : worked(done);
}

std::string namesake_account(Scene& scene) {
  const std::string ns = scene.tenant.ns();
  const std::string user = fmt::format("system:serviceaccount:{}:berth", ns);
  const auto bound = scene.cluster().plane().kubectl(
      {"--namespace", ns, "create", "rolebinding", "namesake", "--role=mallory",
       fmt::format("--serviceaccount={}:berth", ns)});
  if (!bound.ok()) return bound.err;
  scene.ends_here();
  const std::string name = name_of(scene.tenant.listener_of("own"));
  std::string why;
  (void)eventually(kPatience, [&] {
    why = told(
        kubectl_as(scene, user, {"annotate", "listener", name, "--overwrite", "berth.dev/claim="}),
        {"by Berth alone"});
    return why.empty();
  });
  return why;
}

std::string cleaners(Scene& scene) {
  const std::string address = scene.own_address();
  for (const Value& listener : scene.tenant.listeners()) {
    if (!annotation(listener, ledger::kClaimAnnotation).empty()) continue;
    return fine(kubectl_as(scene, "system:serviceaccount:kube-system:generic-garbage-collector",
                           {"delete", "listener", name_of(listener), "--wait=false"}));
  }
  return "no free Listener";
}

std::string namespace_goes(Scene& scene) {
  BerthCluster& cluster = scene.cluster();
  (void)cluster.remove(kube::types::kNamespace, "", scene.tenant.ns());
  scene.ends_here();
  const bool gone = eventually(
      kPatience, [&] { return !cluster.get(kube::types::kNamespace, "", scene.tenant.ns()); });
  return gone ? "" : "the namespace does not go";
}

}  // namespace

std::vector<Attack> guard_attacks() {
  const Walls guard = Walls::guard_only;
  return {
      {"GuardSpeaks", "tenant", "claim and port of one's own Listener changed with kubectl",
       "refused; the message names object, fields and what to do", Needs::room, guard,
       edited_by_kubectl},
      {"GuardOnDeletion", "tenant", "`kubectl delete listeners --all`",
       "refused; the message says what to delete instead", Needs::room, guard, deleted_by_kubectl},
      {"GuardLetsLabelsPass", "tenant", "labels and annotations of one's own on a Listener",
       "allowed", Needs::room, guard, labelled},
      {"GuardIsNotForUpstream", "another controller",
       "the life of a Listener without marks of ours", "allowed", Needs::nothing, guard,
       upstreams_life},
      {"GuardLetsRepair", "operator with the verb `repair`", "a claim emptied by hand",
       "allowed; the room gets it back", Needs::room, guard, repairs},
      {"GuardKnowsUs", "tenant", "the same as a service account of our name in one's own namespace",
       "refused", Needs::room, guard, namesake_account},
      {"GuardLetsCleanersPass", "garbage collector", "a Listener deleted",
       "allowed; it is made again", Needs::room, guard, cleaners},
      {"GuardLetsNamespacesGo", "namespace controller", "a namespace with pool and room deleted",
       "goes", Needs::room, guard, namespace_goes},
  };
}

}  // namespace berth::adversary
