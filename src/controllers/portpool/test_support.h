// A Pod with its slots and its PortBinding as the caches have them, for tests of the binding plan.
// What a plan says is carried out on it, as the controller would on the API server. Free of GTest.
#pragma once

#include <boost/json.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/decode.h"
#include "claims/test_support.h"
#include "controllers/portpool/binding_view.h"
#include "controllers/portpool/pod_index.h"
#include "controllers/portpool/pool_plan.h"
#include "wire/patch.h"

namespace berth::controllers::portpool::testing {

using claims::testing::kNow;
using claims::testing::put;

// What the Pod was told of one port; on the first of these load balancers is the lock.
inline api::PortBindingItem entry(std::int64_t port, std::vector<std::string> lbs = {"demo"}) {
  api::PortBindingItem out{.pool_name = "rooms",
                           .pool_namespace = "games",
                           .pool_item_name = "item1",
                           .protocol = "TCP",
                           .start_port = port,
                           .rs_start_port = port - 22000};
  for (const std::string& lb : lbs) {
    out.load_balancer_ids.push_back("edge:" + lb);
    out.pool_item_load_balancers.push_back({.id = "edge:" + lb, .ips = {"1.1.1.1"}});
  }
  return out;
}

class Room {
 public:
  // Of its admission.
  static inline const std::string kToken = ledger::make_token(kNow, 1, 1);

  // Admitted a moment ago: its slots are claimed with its token, and the Pod runs.
  explicit Room(const std::vector<api::PortBindingItem>& told = {entry(30000)}) : told_(told) {
    pod = new_pod("uid-1", kToken);
    for (std::size_t i = 0; i < told.size(); ++i) {
      ledger::Claim claim = admission(kToken);
      claim.entry = static_cast<int>(i);
      claim.pod_port.port = model::port_of(told[i].rs_start_port);
      add_slot(told[i], ledger::encode(claim));
    }
  }

  kube::Pod new_pod(std::string uid, std::string token) const {
    return new_pod(std::move(uid), std::move(token), told_);
  }
  kube::Pod new_pod(std::string uid, std::string token,
                    const std::vector<api::PortBindingItem>& told) const {
    kube::Pod out{.meta = {.ns = kube::Interned("games"),
                           .name = "room-0",
                           .uid = std::move(uid),
                           .created = now},
                  .ips = {"10.0.0.1"},
                  .phase = kube::PodPhase::running};
    put(out.meta.annotations, api::kPortPoolsAnnotation, "true");
    put(out.meta.annotations, api::kPoolBindingsAnnotation, api::encode_pool_bindings(told));
    give_token(out, std::move(token), told);
    return out;
  }
  // As our webhook would, with a seal of what it is told.
  void give_token(kube::Pod& to, std::string token) const {
    give_token(to, std::move(token), told_);
  }
  static void give_token(kube::Pod& to, std::string token,
                         const std::vector<api::PortBindingItem>& told) {
    put(to.meta.annotations, claims::kPortsSealAnnotation,
        claims::seal_ports(*claims::testing::sealer().ring(), {token, "games", told}, "request"));
    put(to.meta.labels, ledger::kTokenLabel, std::move(token));
  }
  static ledger::Claim admission(std::string token) {
    return {.token = std::move(token), .ns = "games", .request = "request", .since = kNow};
  }

  BindingPlan plan() const {
    Stores stores(*this);
    return plan_binding(view_in(stores));
  }
  // Plans, and writes what the plan says.
  BindingPlan step() {
    BindingPlan next = plan();
    carry_out(next);
    return next;
  }
  // The load balancers do what their Listeners say.
  void confirm() {
    for (auto& [name, one] : listeners) one = claims::testing::applied(one);
  }
  void confirm(const std::string& name) {
    listeners[name] = claims::testing::applied(listeners.at(name));
  }
  // Bound, and led to.
  void make_ready() {
    for (int i = 0; i < 3; ++i) {
      step();
      confirm();
    }
  }
  // The Pod is gone, and the server says so.
  void lose_pod() {
    pod.reset();
    server_uid = "";
  }

  ledger::Claim claim(const std::string& name = "demo-tcp-30000") const {
    return claims::claim_of(listeners.at(name)).value_or(ledger::Claim{.state = {}});
  }
  void set_claim(const ledger::Claim& claim, const std::string& name = "demo-tcp-30000") {
    listeners[name] = claims::testing::with_claim(listeners.at(name), claim);
  }
  void set_claim(const std::string& text, const std::string& name = "demo-tcp-30000") {
    listeners[name] = claims::testing::with_claim(listeners.at(name), text);
  }
  // "10.0.0.1:8000 w10"; empty when it leads nowhere.
  std::string target(const std::string& name = "demo-tcp-30000") const {
    const api::ListenerSpec& spec = listeners.at(name).spec;
    if (!claims::has_targets(spec)) return "";
    const api::ListenerBackend& backend = spec.target_group->backends.front();
    return fmt::format("{}:{} w{}", backend.ip, backend.port, backend.weight);
  }
  std::string pod_says(std::string_view annotation) const {
    return std::string(kube::get(pod->meta.annotations, annotation));
  }
  std::optional<api::PortBinding> binding() const {
    if (!object) return std::nullopt;
    return api::decode_port_binding(*object).value();
  }
  // Nothing when its PortBinding does not have the annotation.
  std::optional<std::string> binding_says(std::string_view annotation) const {
    const kube::StringMap annotations = binding()->meta.annotations;
    if (!kube::has(annotations, annotation)) return std::nullopt;
    return std::string(kube::get(annotations, annotation));
  }
  // "gone" when there is none.
  std::string status() const { return object ? binding()->status.status : "gone"; }

  std::optional<kube::Pod> pod;
  std::vector<kube::Pod> others;          // that are there beside it
  std::optional<std::string> server_uid;  // what the server answers when it is asked
  std::map<std::string, api::Listener> listeners;
  std::optional<wire::Value> object;  // the PortBinding
  std::optional<api::PortPool> pool;  // "rooms"
  WallTime now = kNow;
  const claims::Sealer* sealer = &claims::testing::sealer();
  Duration quarantine = std::chrono::seconds{10};

 private:
  void add_slot(const api::PortBindingItem& told, std::string claim) {
    const auto first = static_cast<model::Port>(told.start_port);
    std::string lock;
    std::string peers;
    for (const std::string& id : told.load_balancer_ids) {
      const claims::testing::Place place{.lb = id.substr(std::string_view("edge:").size()),
                                         .ports = {first, first}};
      api::Listener one = claims::testing::peer_at(place);
      if (lock.empty()) {
        lock = one.meta.name;
      } else {
        peers += (peers.empty() ? "" : ",") + one.meta.name;
        put(one.meta.annotations, kLockAnnotation, lock);
      }
      listeners[one.meta.name] = std::move(one);
    }
    listeners[lock] = claims::testing::with_claim(listeners[lock], std::move(claim));
    if (!peers.empty()) put(listeners[lock].meta.annotations, kPeersAnnotation, peers);
    for (auto& [name, one] : listeners) one = claims::testing::sealed(std::move(one));
  }

  // Caches that have just this.
  struct Stores {
    kube::Store<api::PortPool> pools;
    claims::ListenerStore listeners;
    kube::Store<api::LoadBalancer> balancers;
    kube::Store<api::PortBlock> blocks;
    kube::Store<api::PortBinding> bindings;
    kube::Store<kube::Pod> pods;

    explicit Stores(const Room& room) {
      claims::add_indexes(listeners, {});
      add_pod_indexes(pods);
      for (const auto& [name, listener] : room.listeners) put_into(listeners, listener);
      for (const kube::Pod& other : room.others) put_into(pods, other);
      if (room.pod) put_into(pods, *room.pod);
      if (room.object) put_into(bindings, *room.binding());
      if (room.pool) put_into(pools, *room.pool);
    }
    template <class T>
    static void put_into(kube::Store<T>& store, T object) {
      object.meta.resource_version = 1;
      store.put(std::move(object));
    }
  };
  BindingView view_in(Stores& stores) const {
    const auto age_of = [this](const api::Listener& lock) {
      const auto claim = claims::claim_of(lock);
      return claim ? now - claim->since : Duration::zero();
    };
    BindingView view =
        view_binding({"games", "room-0"},
                     {stores.pools, stores.listeners, stores.balancers, stores.blocks,
                      stores.bindings, stores.pods},
                     *sealer, {.now = now, .quarantine = quarantine, .age_of = age_of});
    view.server_uid = server_uid;
    if (pod) view.lost_for = now - pod->meta.created;
    return view;
  }

  void carry_out(const BindingPlan& plan) {
    for (const BindingPlan::Change& one : plan.changes) {
      api::Listener& listener = listeners.at(one.listener->meta.name);
      if (one.change.claim)
        put(listener.meta.annotations, ledger::kClaimAnnotation, *one.change.claim);
      if (!one.change.spec) continue;
      const std::string applied = claims::still_applied(listener, *one.change.spec);
      listener.spec = *one.change.spec;
      put(listener.meta.annotations, claims::kAppliedAnnotation, applied);
    }
    if (plan.create_binding) {
      object = plan.create_binding;
      wire::Object& meta = object->as_object()["metadata"].as_object();
      meta["uid"] = fmt::format("uid-of-binding-{}", ++bindings_made_);
      meta["resourceVersion"] = "1";
    }
    if (plan.patch_binding) object = wire::apply_merge_patch(*object, *plan.patch_binding);
    if (plan.binding_status) object = wire::apply_json_patch(*object, *plan.binding_status).value();
    if (plan.delete_binding) object.reset();
    if (!plan.pod_note.empty()) tell_pod(plan.pod_note);
  }
  void tell_pod(const PodNote& note) {
    if (note.status) put(pod->meta.annotations, api::kBindStatusAnnotation, *note.status);
    if (note.bindings) put(pod->meta.annotations, api::kPoolBindingsAnnotation, *note.bindings);
    if (note.seal) put(pod->meta.annotations, claims::kPortsSealAnnotation, *note.seal);
    if (!note.condition) return;
    pod->conditions = {
        {kube::Interned(api::kPortsReadyCondition),
         note.condition->ready ? kube::ConditionStatus::yes : kube::ConditionStatus::no}};
  }

  std::vector<api::PortBindingItem> told_;
  int bindings_made_ = 0;
};

// Nothing is written and nothing is said.
inline bool is_idle(const BindingPlan& plan) {
  return !plan.ask_server && plan.changes.empty() && !plan.create_binding && !plan.patch_binding &&
         !plan.delete_binding && !plan.binding_status && plan.binding_events.empty() &&
         plan.pod_note.empty() && plan.pod_events.empty();
}

inline std::vector<std::string> reasons(const std::vector<kube::EventNote>& events) {
  std::vector<std::string> out;
  for (const kube::EventNote& event : events) out.push_back(event.reason);
  return out;
}

}  // namespace berth::controllers::portpool::testing
