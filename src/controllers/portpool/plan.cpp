#include "controllers/portpool/plan.h"

#include <algorithm>
#include <boost/json.hpp>

#include "api/walkers.h"
#include "claims/slot.h"

namespace berth::controllers::portpool {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

constexpr std::int64_t kDefaultWeight = 10;

// For names of Listeners, which hold the id alone.
const model::LoadBalancerDefaults kDefaults{.provider = model::Provider::tencent};

Result<> add_slots(const api::PortPoolItem& item, model::Protocol protocol,
                   std::vector<WantedSlot>& out) {
  const std::string name(model::to_string(protocol));
  for (const std::string& lb : item.load_balancer_ids) {
    const Result<model::LoadBalancerRef> ref = model::parse_load_balancer(lb, kDefaults);
    if (!ref) return fail(ref.error());
    for (std::int64_t i = 0; i < api::slot_count(item); ++i) {
      const model::PortRange ports = api::slot_ports(item, i);
      out.push_back({.name = api::pool_listener_name(*ref, protocol, ports),
                     .item = item.item_name,
                     .spec = {.load_balancer_id = lb,
                              .port = ports.first,
                              .end_port = ports.size() > 1 ? ports.last : 0,
                              .protocol = name}});
    }
  }
  return {};
}

Result<std::vector<api::PortBindingItem>> bindings_of(const kube::Pod& pod) {
  return api::decode_pool_bindings(kube::get(pod.meta.annotations, api::kPoolBindingsAnnotation));
}

bool is_about(const api::PortBindingItem& binding, const api::Listener& listener) {
  return binding.start_port == listener.spec.port &&
         std::ranges::find(binding.load_balancer_ids, listener.spec.load_balancer_id) !=
             binding.load_balancer_ids.end() &&
         binding.protocol == listener.spec.protocol;
}

// The port inside the Pod that this slot was asked for.
std::optional<model::Port> container_port_of(const kube::Pod& pod, const api::Listener& listener) {
  const auto bindings = bindings_of(pod);
  if (!bindings) return std::nullopt;
  for (const api::PortBindingItem& binding : *bindings) {
    if (is_about(binding, listener)) return static_cast<model::Port>(binding.rs_start_port);
  }
  return std::nullopt;
}

api::ListenerSpec with_target(api::ListenerSpec spec, std::optional<model::Target> target) {
  spec.target_group.reset();
  if (target) {
    spec.target_group = api::ListenerTargetGroup{
        .protocol = spec.protocol,
        .backends = {{.ip = target->ip, .port = target->port, .weight = kDefaultWeight}}};
  }
  return spec;
}

// Pods that are ending keep their port until they are gone; Pods that have ended do not.
std::optional<model::Target> target_for(const kube::Pod& pod, const api::Listener& listener) {
  const auto port = container_port_of(pod, listener);
  if (!port || pod.ips.empty()) return std::nullopt;
  return model::Target{pod.ips.front(), *port};
}

api::ListenerSpec spec_for(const kube::Pod& pod, const api::Listener& listener) {
  return with_target(listener.spec, target_for(pod, listener));
}

bool leads_to(const kube::Pod& pod, const api::Listener& listener) {
  const api::ListenerSpec wanted = spec_for(pod, listener);
  return wanted.target_group && api::encode(wanted) == api::encode(listener.spec) &&
         claims::is_applied(listener);
}

bool belongs_to(const api::Listener& listener, const kube::Pod& pod) {
  const auto claim = ledger::decode_claim(claims::claim_text(listener));
  return claim && *claim && (*claim)->pod_uid == pod.meta.uid;
}

SlotStep free_it(const api::Listener& listener) {
  return {.swap = SlotStep::Swap{.claim = "", .spec = with_target(listener.spec, std::nullopt)}};
}

SlotStep bind_it(const api::Listener& listener, const ledger::Claim& claim, const kube::Pod& pod) {
  ledger::Claim bound = claim;
  bound.pod_name = pod.meta.name;
  bound.pod_uid = pod.meta.uid;
  return {.swap = SlotStep::Swap{.claim = ledger::encode(bound), .spec = spec_for(pod, listener)}};
}

SlotStep step_of_claimed(const api::Listener& listener, const ledger::Claim& claim,
                         const PodView& view, WallTime now) {
  if (view.pod) return bind_it(listener, claim, *view.pod);
  const Duration age = now - claim.since;
  if (age < ledger::kUnboundClaimLifetime) return {.wait = ledger::kUnboundClaimLifetime - age};
  if (!view.certain) return {.check_pod_is_gone = true};
  return free_it(listener);
}

SlotStep step_of_bound(const api::Listener& listener, const ledger::Claim& claim,
                       const PodView& view) {
  const bool same_pod = view.pod && view.pod->meta.uid == claim.pod_uid;
  if (!same_pod) return view.certain ? free_it(listener) : SlotStep{.check_pod_is_gone = true};
  if (view.pod->finished()) return free_it(listener);

  api::ListenerSpec wanted = spec_for(*view.pod, listener);
  if (api::encode(wanted) != api::encode(listener.spec)) {
    return {.swap = SlotStep::Swap{.claim = ledger::encode(claim), .spec = std::move(wanted)}};
  }
  const bool told =
      kube::get(view.pod->meta.annotations, api::kBindStatusAnnotation) == api::kReady;
  return {.announce_ready = leads_to(*view.pod, listener) && !told};
}

api::PortPoolItemStatus item_status(const api::PortPoolItem& item, std::size_t wanted,
                                    std::size_t ready) {
  return {
      .item_name = item.item_name,
      .load_balancer_ids = item.load_balancer_ids,
      .start_port = item.start_port,
      .end_port = item.end_port,
      .status = std::string(ready == wanted ? api::kReady : api::kNotReady),
      .message = ready == wanted ? "" : fmt::format("{} of {} listeners are ready", ready, wanted)};
}

}  // namespace

Result<std::vector<WantedSlot>> wanted_slots(const api::PortPool& pool) {
  std::vector<WantedSlot> out;
  for (const api::PortPoolItem& item : pool.spec.pool_items) {
    Result<std::vector<model::Protocol>> protocols = api::protocols_of(item);
    if (!protocols) return pass(protocols);
    for (const model::Protocol protocol : *protocols) {
      if (Result<> added = add_slots(item, protocol, out); !added) return pass(added);
    }
  }
  return out;
}

Value new_listener(const api::PortPool& pool, const WantedSlot& slot) {
  const auto& type = api::listener_kind().type;
  const auto& pool_type = api::port_pool_kind().type;
  const Object owner{{"apiVersion", pool_type.api_version()},
                     {"kind", pool_type.kind},
                     {"name", pool.meta.name},
                     {"uid", pool.meta.uid},
                     {"controller", true}};
  const Object labels{{claims::kOwnerKindLabel, claims::kPoolOwner},
                      {claims::kOwnerNameLabel, pool.meta.name}};
  const Object annotations{{ledger::kClaimAnnotation, ""}, {claims::kItemAnnotation, slot.item}};
  return Object{{"apiVersion", type.api_version()},
                {"kind", type.kind},
                {"metadata", Object{{"namespace", pool.meta.ns.view()},
                                    {"name", slot.name},
                                    {"labels", labels},
                                    {"annotations", annotations},
                                    {"ownerReferences", Array{owner}}}},
                {"spec", api::encode(slot.spec)},
                {"status", Object{{"status", "NotSynced"}, {"portpool", pool.meta.name}}}};
}

api::PortPoolStatus pool_status(
    const api::PortPool& pool, const std::vector<std::shared_ptr<const api::Listener>>& listeners) {
  api::PortPoolStatus status{.status = std::string(api::kReady)};
  for (const api::PortPoolItem& item : pool.spec.pool_items) {
    const auto protocols = api::protocols_of(item);
    const auto ports = static_cast<std::size_t>(api::slot_count(item));
    const std::size_t wanted =
        ports * item.load_balancer_ids.size() * (protocols ? protocols->size() : 0);
    const auto ready = std::ranges::count_if(listeners, [&](const auto& listener) {
      return kube::get(listener->meta.annotations, claims::kItemAnnotation) == item.item_name &&
             claims::is_applied(*listener);
    });
    status.pool_items.push_back(item_status(item, wanted, static_cast<std::size_t>(ready)));
    if (status.pool_items.back().status != api::kReady) status.status = std::string(api::kNotReady);
  }
  return status;
}

bool all_lead_to(const kube::Pod& pod,
                 const std::vector<std::shared_ptr<const api::Listener>>& slots) {
  const auto bindings = bindings_of(pod);
  if (!bindings) return false;
  return std::ranges::all_of(*bindings, [&](const api::PortBindingItem& binding) {
    return std::ranges::any_of(slots, [&](const auto& slot) {
      return is_about(binding, *slot) && belongs_to(*slot, pod) && leads_to(pod, *slot);
    });
  });
}

Result<SlotStep> next_step(const api::Listener& listener, const ledger::Claim* claim,
                           const PodView& view, WallTime now) {
  if (!claim) return SlotStep{};
  if (claim->state() == ledger::SlotState::claimed)
    return step_of_claimed(listener, *claim, view, now);
  return step_of_bound(listener, *claim, view);
}

}  // namespace berth::controllers::portpool
