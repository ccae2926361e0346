// What `berth explain` says of ports of pools.
#include <algorithm>
#include <boost/json.hpp>

#include "admission/pod_patch.h"
#include "admission/port_wishes.h"
#include "admission/webhooks.h"
#include "api/decode.h"
#include "claims/exhausted.h"
#include "controllers/portpool/pool_plan.h"
#include "modules/port_pools/report.h"
#include "report/teller.h"

namespace berth::modules::port_pools {
namespace {

using admission::annotation_of;
using admission::has_annotation;
using wire::Value;

// " (open at 61080)", or nothing.
std::string opened(const report::ClusterView& view, const api::PortBindingItem& entry) {
  const auto& lbs = entry.pool_item_load_balancers;
  if (lbs.empty() || lbs.front().ips.empty()) return {};
  return report::opened_elsewhere(view, lbs.front().ips.front(), entry.start_port);
}

// "TCP 192.0.2.1:31000", from the PortBinding that stays as long; else the port alone.
std::string address_of(const report::ClusterView& view, const kube::ObjectKey& pod,
                       const api::Listener& listener) {
  for (const api::PortBinding& binding :
       report::objects_of(view, api::port_binding_kind(), api::decode_port_binding)) {
    if (binding.meta.key() != pod) continue;
    for (const api::PortBindingItem& entry : binding.spec.port_binding_list) {
      if (api::pool_of(entry) == claims::pool_of(listener) &&
          entry.protocol == listener.spec.protocol && entry.start_port == listener.spec.port)
        return fmt::format("{} {}{}", entry.protocol, api::public_address(entry),
                           opened(view, entry));
    }
  }
  return fmt::format("{} port {} of PortPool {}", listener.spec.protocol, listener.spec.port,
                     claims::pool_of(listener).to_string());
}

class PoolTeller : private report::Teller {
 public:
  PoolTeller(const report::ExplainView& view, report::Explanation& out)
      : Teller(view, out),
        pools_(report::objects_of(view.cluster, api::port_pool_kind(), api::decode_port_pool)) {}

  void tell() {
    if (has_ports()) {
      (void)(pod_lives() && controller_runs() && ports_lead_there() && said_so());
    } else {
      (void)(asks() && namespace_allows() && annotation_reads() && is_hooked() &&
             controller_runs() && pools_have_room() && was_asked("ports"));
    }
  }

 private:
  bool has_ports() const {
    return view_.pod.is_object() && has_annotation(view_.pod, api::kPoolBindingsAnnotation);
  }

  bool asks() {
    if (asking_ && annotation_of(*asking_, api::kPortPoolsAnnotation) == "false") {
      return bad(
          fmt::format("annotation {} is \"false\": no ports are given", api::kPortPoolsAnnotation),
          "set it to \"true\"");
    }
    return is_asked(api::kPortPoolsAnnotation, "ports of a pool", "ports.portpools...");
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
    if (!has_annotation(*asking_, api::kPortsAnnotation)) {
      return is_spelt() &&
             bad(fmt::format("annotation {} is missing: it says which ports",
                             api::kPortsAnnotation),
                 "add it, for example \"rooms TCP 8000\": POOL PROTOCOL PORT, one for each line");
    }
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

  bool is_hooked() {
    return webhook_is_there(admission::kPodPortsHook, "Pods are created without their ports");
  }

  const api::PortPool* pool_of(const kube::ObjectKey& key) const {
    for (const api::PortPool& pool : pools_)
      if (pool.meta.key() == key) return &pool;
    return nullptr;
  }

  bool pools_have_room() {
    for (const claims::SlotRequest& wish : wishes_.ports) {
      const api::PortPool* const pool = pool_of(wish.pool);
      if (const auto misfit = claims::misfit(pool, wish)) return bad(misfit->message, misfit->hint);
      if (!has_room(*pool, wish)) return false;
    }
    return good("the pools have free ports");
  }

  bool has_room(const api::PortPool& pool, const claims::SlotRequest& wish) {
    std::vector<claims::ListenerPtr> taken;
    std::size_t all = 0;
    std::size_t unready = 0;
    for (const claims::ListenerPtr& listener : view_.cluster.listeners) {
      const auto protocol = claims::protocol_of(*listener);
      const bool fits = claims::pool_of(*listener) == pool.meta.key() && protocol &&
                        std::ranges::count(wish.protocols, *protocol) != 0 &&
                        (wish.item.empty() || claims::item_of(*listener) == wish.item);
      if (!fits || !claims::is_lock(*listener)) continue;
      ++all;
      if (!claims::claim_text(*listener).empty()) {
        taken.push_back(listener);
      } else if (listener->status.listener_id.empty() || listener->meta.deleting) {
        ++unready;
      }
    }
    if (taken.size() + unready < all) return true;
    const std::string name = pool.meta.key().to_string();
    if (all > 0 && unready == 0) return is_full(name, taken, all);
    std::string why;
    for (const api::PortPoolItemStatus& item : pool.status.pool_items) {
      if (item.status != api::kReady)
        why += fmt::format("{}{}: {}", why.empty() ? "" : "; ", item.item_name, item.message);
    }
    return bad(fmt::format("PortPool {} is not ready: {}", name,
                           why.empty() ? "it has no ports that fit" : why),
               "see kubectl describe portpool, and berth status for its load balancers");
  }

  // Pods that are gone cannot be deleted: what their names keep is given up otherwise.
  bool is_full(const std::string& pool, const std::vector<claims::ListenerPtr>& taken,
               std::size_t all) {
    const claims::Takers takers = claims::takers_of(taken);
    std::string fix = "raise endPort of an item, or add an item";
    if (takers.of_pods != 0) fix += ", or delete Pods that need no port";
    if (const std::string advice = takers.advice(); !advice.empty()) fix += "; " + advice;
    return bad(fmt::format("PortPool {} is full: {} of {} in use{}", pool, taken.size(), all,
                           takers.to_string()),
               fix);
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
    const std::string port = fmt::format("{} {}{}", entry.protocol, api::public_address(entry),
                                         opened(view_.cluster, entry));
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
        return refused(about + " is not synced", listener->status.message);
      return wait(fmt::format("{} is being synced", about));
    }
    return good(fmt::format("{} leads to the Pod", port));
  }

  bool said_so() {
    if (annotation_of(view_.pod, api::kBindStatusAnnotation) == api::kReady)
      return good("Ready: the Pod knows it");
    return wait("every port leads to the Pod; its status annotation follows");
  }

  const std::vector<api::PortPool> pools_;
  admission::PortWishes wishes_;
};

}  // namespace

bool is_asked(const report::ExplainView& view) {
  const auto says = [](const Value* object) {
    if (!object || !object->is_object()) return false;
    if (has_annotation(*object, api::kPoolBindingsAnnotation)) return true;
    return admission::asks_for_ports(*object);
  };
  return says(&view.pod) || says(&view.workload) ||
         says(wire::find(view.workload, "/spec/template"));
}

void tell(const report::ExplainView& view, report::Explanation& out) {
  PoolTeller(view, out).tell();
}

std::optional<bool> is_served(const Value& pod) {
  if (!has_annotation(pod, api::kPortPoolsAnnotation) &&
      !has_annotation(pod, api::kBindStatusAnnotation))
    return std::nullopt;
  return annotation_of(pod, api::kBindStatusAnnotation) == api::kReady;
}

std::vector<claims::ListenerPtr> listeners_of(const report::ExplainView& view) {
  std::vector<claims::ListenerPtr> out;
  const std::string_view uid = wire::string_at(view.pod, "/metadata/uid");
  if (uid.empty()) return out;
  const auto is_its = [&](const api::Listener& lock) {
    const auto claim = claims::claim_of(lock);
    return claim && claim->pod_uid == uid;
  };
  for (const claims::ListenerPtr& lock : view.cluster.listeners) {
    if (!is_its(*lock)) continue;
    std::vector<std::string> names = controllers::portpool::peers_of(*lock);
    names.push_back(lock->meta.name);
    for (const claims::ListenerPtr& one : view.cluster.listeners)
      if (one->meta.ns == lock->meta.ns && std::ranges::find(names, one->meta.name) != names.end())
        out.push_back(one);
  }
  return out;
}

std::string kept_for(const report::ClusterView& view, const kube::ObjectKey& pod) {
  std::string addresses;
  WallTime until{};
  for (const claims::ListenerPtr& listener : view.listeners) {
    const auto claim = claims::claim_of(*listener);
    if (!claim || claim->state != ledger::SlotState::kept || claim->ns != pod.ns ||
        claim->pod_name != pod.name)
      continue;
    if (addresses.empty() || claim->until < until) until = claim->until;
    addresses +=
        fmt::format("{}{}", addresses.empty() ? "" : ", ", address_of(view, pod, *listener));
  }
  if (addresses.empty()) return {};
  return fmt::format("{} kept for a Pod of this name until {}", addresses, format_rfc3339(until));
}

}  // namespace berth::modules::port_pools
