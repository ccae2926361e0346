#include "report/explain.h"

#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "admission/pod_patch.h"
#include "admission/port_wishes.h"
#include "claims/exhausted.h"
#include "controllers/portpool/pool_plan.h"

namespace berth::report {
namespace {

using admission::annotation_of;
using admission::has_annotation;
using wire::Array;
using wire::Value;

constexpr std::string_view kPodPortsHook = "pod-ports.berth.dev";

std::string name_of(const Value& object) {
  return fmt::format("{} {}", wire::string_at(object, "/kind"),
                     wire::string_at(object, "/metadata/name"));
}

// One telling. A step that is bad or has to be waited for ends it: what follows depends on it.
class Teller {
 public:
  explicit Teller(const ExplainView& view) : view_(view) {
    out_.object = fmt::format("{} {}", view.kind, view.key.to_string());
    if (view.pod.is_object()) {
      asking_ = &view.pod;
    } else if (const Value* pods = wire::find(view.workload, "/spec/template")) {
      asking_ = pods;
    }
  }

  Explanation tell() {
    if (has_ports()) {
      (void)(pod_lives() && controller_runs() && ports_lead_there() && said_so());
    } else {
      (void)(asks() && namespace_allows() && annotation_reads() && webhook_is_there() &&
             controller_runs() && pools_have_room() && was_asked());
    }
    return std::move(out_);
  }

 private:
  bool good(std::string what) {
    out_.steps.push_back({Verdict::good, std::move(what), {}});
    return true;
  }
  bool bad(std::string what, std::string fix) {
    out_.steps.push_back({Verdict::bad, std::move(what), std::move(fix)});
    return false;
  }
  bool wait(std::string what) {
    out_.steps.push_back({Verdict::wait, std::move(what), {}});
    return false;
  }

  bool has_ports() const {
    return view_.pod.is_object() && has_annotation(view_.pod, api::kPoolBindingsAnnotation);
  }

  // The annotation that asks, in the right place.
  bool asks() {
    if (!asking_) return bad(view_.kind + " has no template of Pods", "ask about another object");
    const bool on_template =
        view_.workload.is_object() && wire::find(view_.workload, "/spec/template") &&
        has_annotation(*wire::find(view_.workload, "/spec/template"), api::kPortPoolsAnnotation);
    if (has_annotation(*asking_, api::kPortPoolsAnnotation)) {
      if (annotation_of(*asking_, api::kPortPoolsAnnotation) == "false")
        return bad(fmt::format("annotation {} is \"false\": no ports are given",
                               api::kPortPoolsAnnotation),
                   "set it to \"true\"");
      return good("asks for ports of a pool");
    }
    if (view_.workload.is_object() && has_annotation(view_.workload, api::kPortPoolsAnnotation) &&
        !on_template)
      return bad(fmt::format("annotation {} is on {} itself, not on its template",
                             api::kPortPoolsAnnotation, name_of(view_.workload)),
                 "put it, and ports.portpools..., into spec.template.metadata.annotations");
    if (on_template)
      return bad(fmt::format("the Pod is older than the annotation in the template of {}",
                             name_of(view_.workload)),
                 "delete the Pod: the one that comes in its place has it");
    return bad(
        fmt::format("annotation {} is missing: nobody asked for ports", api::kPortPoolsAnnotation),
        view_.workload.is_object()
            ? fmt::format("add it to spec.template.metadata.annotations of {}",
                          name_of(view_.workload))
            : std::string("create the Pod with it"));
  }

  bool namespace_allows() {
    if (view_.ns.is_null()) return true;  // not for us to see
    if (admission::label_of(view_.ns, api::kInjectLabel) == "true")
      return good(fmt::format("namespace {} lets its Pods use port pools", view_.key.ns));
    return bad(fmt::format("namespace {} has no label {}=true", view_.key.ns, api::kInjectLabel),
               fmt::format("kubectl label namespace {} {}=true, and create the Pod again",
                           view_.key.ns, api::kInjectLabel));
  }

  bool annotation_reads() {
    kube::AdmissionRequest request;
    request.ns = view_.key.ns;
    request.object = *asking_;
    Result<admission::PortWishes> wishes = admission::wishes_of(request);
    if (!wishes) {
      const Error& error = wishes.error();
      return bad(error.field.empty() ? error.message : error.field + ": " + error.message,
                 error.hint.empty() ? "POOL PROTOCOL PORT, one for each line" : error.hint);
    }
    wishes_ = std::move(*wishes);
    return good(fmt::format("the ports annotation asks for {} port{}", wishes_.ports.size(),
                            wishes_.ports.size() == 1 ? "" : "s"));
  }

  bool webhook_is_there() {
    const Array* hooks = wire::array_at(view_.cluster.webhooks, "/webhooks");
    const Value* found = nullptr;
    for (std::size_t i = 0; hooks && i < hooks->size(); ++i) {
      if (wire::string_at((*hooks)[i], "/name") == kPodPortsHook) found = &(*hooks)[i];
    }
    if (!found)
      return bad("the webhook configuration is missing: Pods are created without their ports",
                 "start the controller: it installs it");
    const std::string_view bundle = wire::string_at(*found, "/clientConfig/caBundle");
    if (!view_.cluster.ca_bundle.empty() && bundle != view_.cluster.ca_bundle)
      return bad("the webhook configuration has another caBundle than the controller's certificate",
                 "start the controller: it puts it right; see that nothing else writes it");
    return good("the webhook is installed");
  }

  bool controller_runs() {
    const Leader leader = leader_of(view_.cluster);
    if (leader.alive) return good(fmt::format("the controller runs: {}", leader.holder));
    return bad(
        leader.holder.empty()
            ? fmt::format("no controller leads: lease {}/berth has no holder", view_.cluster.ns)
            : fmt::format("the controller is gone: {} was last seen {} ago", leader.holder,
                          age(leader.since)),
        "see the Pods of the controller and their logs");
  }

  const api::PortPool* pool_of(const kube::ObjectKey& key) const {
    for (const api::PortPool& pool : view_.cluster.pools)
      if (pool.meta.key() == key) return &pool;
    return nullptr;
  }

  bool pools_have_room() {
    for (const admission::PortWish& wish : wishes_.ports) {
      const std::string name = wish.slot.pool.to_string();
      const api::PortPool* const pool = pool_of(wish.slot.pool);
      if (!pool)
        return bad(fmt::format("there is no PortPool {}", name),
                   "create it, or name another: NAME, or NAME.NAMESPACE for one elsewhere");
      if (!has_room(*pool, wish)) return false;
    }
    return good("the pools have free ports");
  }

  bool has_room(const api::PortPool& pool, const admission::PortWish& wish) {
    std::vector<claims::ListenerPtr> taken;
    std::size_t all = 0;
    std::size_t unready = 0;
    for (const claims::ListenerPtr& listener : view_.cluster.listeners) {
      const auto protocol = claims::protocol_of(*listener);
      const bool fits = claims::pool_of(*listener) == pool.meta.key() && protocol &&
                        std::ranges::count(wish.slot.protocols, *protocol) != 0 &&
                        (wish.slot.item.empty() || claims::item_of(*listener) == wish.slot.item);
      if (!fits || !kube::has(listener->meta.annotations, ledger::kClaimAnnotation)) continue;
      ++all;
      if (!claims::claim_text(*listener).empty()) {
        taken.push_back(listener);
      } else if (listener->status.listener_id.empty() || listener->meta.deleting) {
        ++unready;
      }
    }
    if (taken.size() + unready < all) return true;
    const std::string name = pool.meta.key().to_string();
    if (all > 0 && unready == 0)
      return bad(fmt::format("PortPool {} is full: {} of {} in use, by {}", name, taken.size(), all,
                             claims::name_holders(taken)),
                 "raise endPort of an item, add an item, or delete Pods that need no port");
    std::string why;
    for (const api::PortPoolItemStatus& item : pool.status.pool_items) {
      if (item.status != api::kReady)
        why += fmt::format("{}{}: {}", why.empty() ? "" : "; ", item.item_name, item.message);
    }
    return bad(fmt::format("PortPool {} is not ready: {}", name,
                           why.empty() ? "it has no ports that fit" : why),
               "see kubectl describe portpool, and berth status for its load balancers");
  }

  // Nothing stands in the way; what happened so far?
  bool was_asked() {
    if (view_.pod.is_object())
      return bad("the Pod has no ports: it was created before all of this was so",
                 "delete the Pod: the one that comes in its place gets its ports");
    if (!view_.failures.empty())
      return bad(fmt::format("the last Pod was refused: {}", view_.failures.back()),
                 "if the reason is gone, its next try succeeds by itself");
    return wait("no Pod has been created yet");
  }

  bool pod_lives() {
    const std::string_view phase = wire::string_at(view_.pod, "/status/phase");
    if (phase == "Succeeded" || phase == "Failed")
      return bad(fmt::format("the Pod has ended ({}): its ports were given back", phase),
                 "delete it, or look why it ended");
    return good("was given ports when it was created");
  }

  const api::Listener* lock_of(const api::PortBindingItem& entry) const {
    for (const claims::ListenerPtr& listener : view_.cluster.listeners) {
      if (kube::has(listener->meta.annotations, ledger::kClaimAnnotation) &&
          claims::pool_of(*listener) == api::pool_of(entry) &&
          claims::item_of(*listener) == entry.pool_item_name &&
          listener->spec.protocol == entry.protocol && listener->spec.port == entry.start_port)
        return listener.get();
    }
    return nullptr;
  }

  bool ports_lead_there() {
    const auto entries =
        api::decode_pool_bindings(annotation_of(view_.pod, api::kPoolBindingsAnnotation));
    if (!entries)
      return bad("its poolbindings annotation cannot be read: somebody changed it",
                 "delete the Pod: the one that comes in its place gets ports of its own");
    return std::ranges::all_of(*entries, [this](const auto& entry) { return leads(entry); });
  }

  bool leads(const api::PortBindingItem& entry) {
    const std::string port = fmt::format("{} {}", entry.protocol, api::public_address(entry));
    const api::Listener* const lock = lock_of(entry);
    if (!lock)
      return bad(fmt::format("{}: its Listener is gone", port),
                 "see whether the pool was deleted; then delete the Pod");
    if (!is_held(*lock, port)) return false;
    if (wire::string_at(view_.pod, "/status/podIP").empty())
      return wait(fmt::format("{}: waits for the Pod's IP; its phase is {}", port,
                              wire::string_at(view_.pod, "/status/phase")));
    if (claims::claim_of(*lock)->state == ledger::SlotState::claimed)
      return wait(fmt::format("{}: claimed, not yet bound to the Pod", port));
    return is_synced(*lock, port);
  }

  // Its claim is this Pod's.
  bool is_held(const api::Listener& lock, const std::string& port) {
    const auto claim = claims::claim_of(lock);
    const std::string_view uid = wire::string_at(view_.pod, "/metadata/uid");
    const std::string_view token = admission::label_of(view_.pod, ledger::kTokenLabel);
    if (claim && (claim->pod_uid == uid || (!token.empty() && claim->token == token))) return true;
    const std::string holder = !claim
                                   ? "nobody"
                                   : (claim->pod_name.empty() ? "a Pod of " + claim->ns
                                                              : claim->ns + "/" + claim->pod_name);
    return bad(fmt::format("ClaimLost: {} is held by {}", port, holder),
               "delete the Pod: the one that comes in its place gets a port of its own");
  }

  bool is_synced(const api::Listener& lock, const std::string& port) {
    std::vector<std::string> names = controllers::portpool::peers_of(lock);
    names.push_back(lock.meta.name);
    for (const claims::ListenerPtr& listener : view_.cluster.listeners) {
      if (listener->meta.ns != lock.meta.ns ||
          std::ranges::find(names, listener->meta.name) == names.end())
        continue;
      if (listener->status.status == api::kSynced && claims::has_targets(listener->spec)) continue;
      const std::string about = fmt::format("{}: Listener {} on {}", port, listener->meta.name,
                                            listener->spec.load_balancer_id);
      if (!listener->status.message.empty())
        return bad(fmt::format("{} is not synced: {}", about, listener->status.message),
                   "repair what the load balancer complains about; it is tried again by itself");
      return wait(fmt::format("{} is being synced", about));
    }
    return good(fmt::format("{} leads to the Pod", port));
  }

  bool said_so() {
    if (annotation_of(view_.pod, api::kBindStatusAnnotation) == api::kReady)
      return good("Ready: the Pod knows it");
    return wait("every port leads to the Pod; its status annotation follows");
  }

  const ExplainView& view_;
  const Value* asking_ = nullptr;  // the Pod, or the template
  admission::PortWishes wishes_;
  Explanation out_;
};

std::string_view to_word(Verdict verdict) {
  switch (verdict) {
    case Verdict::good: return "ok";
    case Verdict::wait: return "wait";
    case Verdict::bad: break;
  }
  return "no";
}

}  // namespace

bool Explanation::ready() const {
  return !steps.empty() &&
         std::ranges::all_of(steps, [](const Step& step) { return step.verdict == Verdict::good; });
}

Explanation explain(const ExplainView& view) { return Teller(view).tell(); }

std::string to_text(const Explanation& explanation) {
  std::string out = explanation.object + "\n";
  for (const Step& step : explanation.steps) {
    out += fmt::format("  {:<4}  {}\n", to_word(step.verdict), step.what);
    if (!step.fix.empty()) out += fmt::format("        to do: {}\n", step.fix);
  }
  return out;
}

Value to_json(const Explanation& explanation) {
  Array steps;
  for (const Step& step : explanation.steps) {
    steps.push_back(
        wire::Object{{"verdict", to_word(step.verdict)}, {"what", step.what}, {"fix", step.fix}});
  }
  return wire::Object{
      {"object", explanation.object}, {"ready", explanation.ready()}, {"steps", std::move(steps)}};
}

}  // namespace berth::report
