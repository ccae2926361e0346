// Pods that carry what others were given, or that ask for what is not theirs.

#include <boost/json.hpp>

#include "api/port_pool.h"
#include "attack.h"

namespace berth::adversary {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using wire::Array;
using wire::Object;
using wire::Value;

constexpr auto kPatience = 60s;
constexpr int kDryRuns = 20;
// Nobody keeps a port for a name longer than this.
constexpr Duration kLongKeep = std::chrono::hours{24 * 365};

// The victim's Pod as `kubectl get -o yaml` shows it, without its owner, which is elsewhere.
Value copied_pod(Scene& scene, const std::string& ns) {
  Value pod = copy_of(scene.victim().pod, ns, "copy");
  pod.as_object()["metadata"].as_object().erase("ownerReferences");
  pod.as_object().erase("status");
  return pod;
}

// What a Pod on this port of the victim's pool is told.
std::string bindings_on(Scene& scene, const Value& listener) {
  api::PortBindingItem item = scene.victim().rooms.front().ports.front();
  item.start_port = wire::int_at(listener, "/spec/port").value_or(0);
  return api::encode_pool_bindings({item});
}

std::string fresh_token(Scene& scene) {
  return ledger::make_token(scene.cluster().tasks().wall_time(), 0x1234, 0x5678);
}

// As if it had just passed admission with this port.
Value forged_pod(Scene& scene, const Value& listener) {
  Value pod = copied_pod(scene, scene.tenant.plain());
  Object& metadata = pod.as_object()["metadata"].as_object();
  metadata["labels"] = Object{{ledger::kTokenLabel, fresh_token(scene)}};
  metadata["annotations"].as_object()[api::kPoolBindingsAnnotation] = bindings_on(scene, listener);
  return pod;
}

std::string stays_out(Scene& scene, const Value& pod) {
  if (auto why = worked(scene.tenant.create(pods(), pod)); !why.empty()) return why;
  if (auto why = scene.fence(); !why.empty()) return why;
  return scene.not_ready(std::string(wire::string_at(pod, "/metadata/namespace")), name_of(pod));
}

// A room of the tenant's own, on the tenant's own pool, whatever else the Pod says.
std::string has_own_port(Scene& scene, const Value& pod) {
  Tenant& tenant = scene.tenant;
  if (auto why = worked(tenant.create(pods(), pod)); !why.empty()) return why;
  if (auto why = tenant.wait_for_room(name_of(pod)); !why.empty()) return why;
  const Room room = tenant.room(name_of(pod));
  if (room.token == scene.victim().rooms.front().token) return "it has the victim's token";
  for (const api::PortBindingItem& port : room.ports)
    if (port.start_port < tenant.item().start || port.start_port >= tenant.item().end)
      return fmt::format("it has port {}", port.start_port);
  return {};
}

std::string edit_own(Scene& scene, const Value& patch) {
  const std::string address = scene.own_address();
  Tenant& tenant = scene.tenant;
  if (auto why = worked(tenant.merge(pods(), tenant.ns(), "own", patch)); !why.empty()) return why;
  if (auto why = scene.fence(); !why.empty()) return why;
  // Its annotation says what the tenant wrote, or what is so; the port is where it was.
  const bool kept = eventually(kPatience, [&] {
    for (const auto& [name, claim] : claims_in(scene.cluster(), tenant.ns()))
      if (claim.pod_uid == tenant.room("own").uid && claim.state == ledger::SlotState::bound)
        return true;
    return false;
  });
  return kept ? "" : "the room has lost its port";
}

std::string annotation_off(Scene& scene) {
  Tenant& tenant = scene.tenant;
  const Value patch = take_off(api::kPortPoolsAnnotation);
  if (auto why = worked(tenant.merge(pods(), tenant.ns(), "own", patch)); !why.empty()) return why;
  scene.ends_here();
  const bool freed = eventually(kPatience, [&] {
    return claims_in(scene.cluster(), tenant.ns()).empty() && !tenant.room("own").gate_open;
  });
  return freed ? "" : "its port is not given back";
}

std::string says_ready(Scene& scene) {
  Value pod = copied_pod(scene, scene.tenant.plain());
  if (auto why = worked(scene.tenant.create(pods(), pod)); !why.empty()) return why;
  if (auto why = scene.fence(); !why.empty()) return why;
  const Room room = room_of(scene.cluster().get(pods(), scene.tenant.plain(), "copy").value());
  return room.gate_open || room.ready ? "it is Ready" : "";
}

std::string status_by_hand(Scene& scene) {
  const Value patch = Object{{"status", Object{{"podIP", scene.victim().rooms.front().ip}}}};
  scene.ends_here();
  return refused(scene.tenant.merge(pods(), scene.tenant.ns(), "own", patch, "status"),
                 Code::forbidden, "cannot patch");
}

std::string asks_for(Scene& scene, const std::string& ports) {
  const Value pod = bare_room(scene.tenant.ns(), "guest", ports);
  scene.ends_here();
  const Result<Value> made = scene.tenant.create(pods(), pod);
  return made ? "the neighbour's pool was given to a stranger" : "";
}

std::string ten_years(Scene& scene) {
  Tenant& tenant = scene.tenant;
  Value pod = bare_room(tenant.ns(), "keeper");
  pod.as_object()["metadata"].as_object()["annotations"].as_object()[api::kKeepDurationAnnotation] =
      "87600h";
  const Result<Value> made = tenant.create(pods(), pod);
  scene.ends_here();
  if (!made) return refused(made, made.error().code, "keep");
  if (auto why = tenant.wait_for_room("keeper"); !why.empty()) return why;
  for (const auto& [name, claim] : claims_in(scene.cluster(), tenant.ns()))
    if (claim.keep > kLongKeep) return "its port would be kept for ten years";
  return {};
}

// What our webhook answers is not the last word: who is asked after it refuses the Pod.
struct LaterRefusal {
  std::string says;  // a part of it
  std::function<Result<Value>(Scene&)> begin;
  std::function<void(Scene&)> end;
};

const LaterRefusal& by_quota() {
  static const LaterRefusal kQuota{
      .says = "exceeded quota",
      .begin =
          [](Scene& s) {
            return s.cluster().create(
                Object{{"apiVersion", "v1"},
                       {"kind", "ResourceQuota"},
                       {"metadata", Object{{"namespace", s.tenant.ns()}, {"name", "none"}}},
                       {"spec", Object{{"hard", Object{{"pods", "0"}}}}}});
          },
      .end = [](Scene& s) { (void)s.cluster().remove(quota_type(), s.tenant.ns(), "none"); }};
  return kQuota;
}

Result<Value> set_pod_security(Scene& scene, const Value& level) {
  const Object labels{{"pod-security.kubernetes.io/enforce", level}};
  return scene.cluster().merge(kube::types::kNamespace, "", scene.tenant.ns(),
                               Object{{"metadata", Object{{"labels", labels}}}});
}

const LaterRefusal& by_pod_security() {
  static const LaterRefusal kPodSecurity{
      .says = "violates PodSecurity",
      .begin = [](Scene& s) { return set_pod_security(s, "restricted"); },
      .end = [](Scene& s) { (void)set_pod_security(s, nullptr); }};
  return kPodSecurity;
}

Value keeper(Scene& scene, const std::string& name) {
  Value pod = bare_room(scene.tenant.ns(), name);
  pod.as_object()["metadata"].as_object()["annotations"].as_object()[api::kKeepDurationAnnotation] =
      "24h";
  return pod;
}

// All ports of the pool, for names that never become a Pod.
std::string keeps_what_is_refused(Scene& scene, const LaterRefusal& later) {
  Tenant& tenant = scene.tenant;
  if (auto why = worked(later.begin(scene)); !why.empty()) return why;
  const bool known = eventually(kPatience, [&] {
    const auto tried = tenant.client().create(scene.cluster().context(), pods(),
                                              keeper(scene, "probe"), {.dry_run = true});
    return !tried && tried.error().to_string().find(later.says) != std::string::npos;
  });
  if (!known) return "the server does not refuse by itself";
  for (int i = 0; i < tenant.place().ports; ++i) {
    const auto made = tenant.create(pods(), keeper(scene, fmt::format("keeper-{}", i)));
    if (auto why = refused(made, Code::forbidden, later.says); !why.empty()) return why;
  }
  const bool taken = !claims_in(scene.cluster(), tenant.ns()).empty();
  later.end(scene);
  if (!taken) return "our webhook was not asked before";
  scene.ends_here();
  const bool freed =
      eventually(kPatience, [&] { return claims_in(scene.cluster(), tenant.ns()).empty(); });
  if (!freed) return "a port is kept for a name that was no Pod";
  const bool let_in = eventually(
      kPatience, [&] { return tenant.create(pods(), keeper(scene, "late")).has_value(); });
  return let_in ? tenant.wait_for_room("late") : "nobody is let in any more";
}

std::string huge_wish(Scene& scene) {
  std::string lines;
  while (lines.size() < 200'000) lines += "rooms TCP 8000\n";
  scene.ends_here();
  if (scene.tenant.create(pods(), bare_room(scene.tenant.ns(), "greedy", lines)))
    return "it was let in";
  return scene.fence();
}

std::string long_name(Scene& scene) {
  std::string name(253, 'a');
  for (std::size_t i = 60; i < name.size(); i += 61) name[i] = '.';
  const Result<Value> made = scene.tenant.create(pods(), bare_room(scene.tenant.ns(), name));
  scene.ends_here();
  return made ? scene.tenant.wait_for_room(name) : "";
}

std::string dry_runs(Scene& scene) {
  for (int i = 0; i < kDryRuns; ++i) {
    const Value pod = bare_room(scene.tenant.ns(), fmt::format("maybe-{}", i));
    const Result<Value> made =
        scene.tenant.client().create(scene.cluster().context(), pods(), pod, {.dry_run = true});
    if (!made) return worked(made);
  }
  scene.ends_here();
  return claims_in(scene.cluster(), scene.tenant.ns()).empty() ? "" : "a dry run took a port";
}

// All Pods of it carry one token, which the template says.
std::string token_in_template(Scene& scene) {
  Tenant& tenant = scene.tenant;
  Value work = workload({.kind = "Deployment", .ns = tenant.ns(), .name = "twins", .replicas = 2});
  Object& labels = work.as_object()["spec"]
                       .as_object()["template"]
                       .as_object()["metadata"]
                       .as_object()["labels"]
                       .as_object();
  labels[ledger::kTokenLabel] = scene.victim().rooms.front().token;
  if (auto why = worked(tenant.create(kube::types::kDeployment, work)); !why.empty()) return why;
  scene.ends_here();
  return settle(scene.cluster(), tenant.ns(), 2, 60s);
}

Value named_as_victims(Scene& scene) {
  return bare_room(scene.tenant.ns(), scene.victim().rooms.front().name);
}

Value told_at_birth(Scene& scene) {
  Value pod = bare_room(scene.tenant.ns(), "told");
  Object& metadata = pod.as_object()["metadata"].as_object();
  metadata["annotations"].as_object()[api::kPoolBindingsAnnotation] =
      bindings_on(scene, scene.victim().free_listener);
  metadata["labels"] = Object{{ledger::kTokenLabel, fresh_token(scene)}};
  return pod;
}

Value label_own(std::string_view key, const std::string& value) {
  return Object{{"metadata", Object{{"labels", Object{{key, value}}}}}};
}

}  // namespace

std::vector<Attack> pod_attacks() {
  const std::string who = "tenant";
  const std::string own = "gets a port of one's own pool and a token of its own";
  const std::string out = "is not given the port, and is not Ready";
  const std::string same = "the room keeps the port that it has";
  const auto told = [](Scene& s, const Value& listener) {
    return edit_own(s, annotate(api::kPoolBindingsAnnotation, bindings_on(s, listener)));
  };
  return {
      {"PodCopied", who,
       "a neighbour's Pod copied with its token and its ports, where our webhook is asked", own,
       Needs::pool, Walls::no_matter,
       [](Scene& s) { return has_own_port(s, copied_pod(s, s.tenant.ns())); }},
      {"PodCopiedPastAdmission", who, "the same in a namespace without the label", out,
       Needs::nothing, Walls::no_matter,
       [](Scene& s) { return stays_out(s, copied_pod(s, s.tenant.plain())); }},
      {"PodWithAMadeUpToken", who,
       "a Pod in a namespace without the label, with a token of this second and a free port of a "
       "neighbour's pool",
       out, Needs::nothing, Walls::no_matter,
       [](Scene& s) { return stays_out(s, forged_pod(s, s.victim().free_listener)); }},
      {"PodWithAMadeUpTokenOnABusyPort", who, "the same with a port that a neighbour's room has",
       out, Needs::nothing, Walls::no_matter,
       [](Scene& s) { return stays_out(s, forged_pod(s, s.victim().listener)); }},
      {"PodToldAtBirth", who, "a Pod that comes to our webhook with a token and a neighbour's port",
       own, Needs::pool, Walls::no_matter,
       [](Scene& s) { return has_own_port(s, told_at_birth(s)); }},
      {"PodOfTheSameName", who, "a Pod with the name of a neighbour's", own, Needs::pool,
       Walls::no_matter, [](Scene& s) { return has_own_port(s, named_as_victims(s)); }},
      {"PodTokenInTheTemplate", who, "a neighbour's token in the template of a Deployment",
       "each Pod gets a port and a token of its own", Needs::pool, Walls::no_matter,
       token_in_template},
      {"PodToldANeighboursPort", who,
       "the ports annotation of one's own room edited to a neighbour's", same, Needs::room,
       Walls::no_matter, [told](Scene& s) { return told(s, s.victim().listener); }},
      {"PodToldAFreePort", who, "the same to a free port of a neighbour's pool", same, Needs::room,
       Walls::no_matter, [told](Scene& s) { return told(s, s.victim().free_listener); }},
      {"PodToldNonsense", who, "the same to a text that is no JSON", same, Needs::room,
       Walls::no_matter,
       [](Scene& s) { return edit_own(s, annotate(api::kPoolBindingsAnnotation, "[{")); }},
      {"PodWithANeighboursToken", who, "the token of one's own room changed to a neighbour's", same,
       Needs::room, Walls::no_matter,
       [](Scene& s) {
         return edit_own(s, label_own(ledger::kTokenLabel, s.victim().rooms.front().token));
       }},
      {"PodWithoutItsAnnotation", who, "`portpools` taken off a living Pod",
       "its port is given back, and it is not Ready", Needs::room, Walls::no_matter,
       annotation_off},
      {"PodSaysReady", who, "a Pod that says by annotation that its port is Ready",
       "its readiness gate stays closed", Needs::nothing, Walls::no_matter, says_ready},
      {"PodStatusByHand", who, "another address in the status of one's own Pod", "refused by RBAC",
       Needs::room, Walls::no_matter, status_by_hand},
      {"PodOnANeighboursPool", who,
       "a Pod that asks for `POOL.NAMESPACE` of a pool that lets nobody in", "refused",
       Needs::nothing, Walls::no_matter,
       [](Scene& s) { return asks_for(s, fmt::format("rooms.{} TCP 8000", s.victim().ns)); }},
      {"PodOnANeighboursItem", who, "the same with the item named", "refused", Needs::nothing,
       Walls::no_matter,
       [](Scene& s) { return asks_for(s, fmt::format("rooms/item1.{} TCP 8000", s.victim().ns)); }},
      {"PodThatKeepsForTenYears", who, "a Pod whose name keeps its port for ten years",
       "refused, or kept for a bounded time", Needs::pool, Walls::no_matter, ten_years},
      {"PodThatKeepsAndIsRefusedByAQuota", who,
       "Pods whose names keep their ports, refused by a quota after our answer",
       "their ports are free again soon; nothing is kept for a name that was no Pod", Needs::pool,
       Walls::no_matter, [](Scene& s) { return keeps_what_is_refused(s, by_quota()); }},
      {"PodThatKeepsAndIsRefusedByPodSecurity", who, "the same, refused by PodSecurity",
       "their ports are free again soon; nothing is kept for a name that was no Pod", Needs::pool,
       Walls::no_matter, [](Scene& s) { return keeps_what_is_refused(s, by_pod_security()); }},
      {"PodWithAHugeWish", who, "a ports annotation of 200 kB", "refused; others are served",
       Needs::pool, Walls::no_matter, huge_wish},
      {"PodOfALongName", who, "a Pod whose name has 253 characters, dots among them",
       "is served like any other, or refused", Needs::pool, Walls::no_matter, long_name},
      {"PodDryRuns", who, "twenty dry runs on a pool of three ports", "take no port", Needs::pool,
       Walls::no_matter, dry_runs},
  };
}

}  // namespace berth::adversary
