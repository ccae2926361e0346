// Pools and their Listeners as the API server has them, for tests. Free of GTest.
#pragma once

#include <algorithm>
#include <boost/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "api/keys.h"
#include "api/port_pool.h"
#include "api/walkers.h"
#include "claims/resolver.h"
#include "claims/seal.h"
#include "claims/slot.h"

namespace berth::claims::testing {

inline const WallTime kNow{std::chrono::sys_days{std::chrono::year{2026} / 1 / 2}};

// Into a map that is sorted by key.
inline void put(kube::StringMap& map, std::string_view key, std::string value) {
  const auto at =
      std::ranges::lower_bound(map, key, {}, [](const auto& entry) { return entry.first.view(); });
  if (at != map.end() && at->first.view() == key) {
    at->second = std::move(value);
  } else {
    map.emplace(at, kube::Interned(key), std::move(value));
  }
}

inline void put(kube::SharedMap& map, std::string_view key, std::string value) {
  kube::StringMap changed(map.begin(), map.end());
  put(changed, key, std::move(value));
  map = std::move(changed);
}

inline api::PortPool pool_with(std::vector<api::PortPoolItem> items) {
  api::PortPool pool;
  pool.meta = {.ns = kube::Interned("games"), .name = "rooms", .uid = "uid-of-rooms"};
  pool.meta.generation = 1;
  pool.spec.pool_items = std::move(items);
  return pool;
}

// `end` is the port behind the last.
inline api::PortPoolItem tcp_item(std::string name, std::int64_t start, std::int64_t end) {
  return {.item_name = std::move(name),
          .load_balancer_ids = {"edge:demo"},
          .protocol = "TCP",
          .start_port = start,
          .end_port = end};
}

// One key, from before everything that tests make.
inline const Sealer& sealer() {
  static const Sealer out([] {
    static const auto ring = std::make_shared<const crypto::KeyRing>(
        std::vector<crypto::Key>{{.id = "k1", .bytes = Secret(std::string(32, 'k'))}});
    return ring;
  });
  return out;
}
// With the seal of what it is now.
inline api::Listener sealed(api::Listener listener) {
  if (const auto identity = identity_without_seal(listener, {})) {
    const Marks marks = sealer().marks(*identity);
    put(listener.meta.annotations, kBalancerAnnotation, marks.balancer);
    put(listener.meta.annotations, kSealAnnotation, marks.seal);
  }
  return listener;
}

// By no defaults, of an item that stands nowhere yet.
inline const RefsOf kRefsOf = [](const api::PortPool&, const api::PortPoolItem& item) {
  return api::load_balancers_of(item, {});
};

// The load balancer has done what the spec says.
inline api::Listener applied(api::Listener listener) {
  put(listener.meta.annotations, kAppliedAnnotation, spec_hash(listener.spec));
  listener.status.listener_id = "id-of-" + listener.meta.name;
  return listener;
}

// Which Listener of pool "rooms" it is.
struct Place {
  std::string item = "item1";
  std::string lb = "demo";  // of the edge
  model::Protocol protocol = model::Protocol::tcp;
  model::PortRange ports{30000, 30000};
};

// Free and made, and nobody is reached through it. A lock has the annotation of the claim.
inline api::Listener peer_at(const Place& place) {
  api::Listener listener;
  listener.meta = {.ns = kube::Interned("games"),
                   .name = api::pool_listener_name({model::Provider::edge, "", place.lb},
                                                   place.protocol, place.ports)};
  listener.meta.uid = "uid-of-" + listener.meta.name;
  put(listener.meta.labels, api::kOwnerKindKey, std::string(kPoolOwner));
  put(listener.meta.labels, api::kOwnerNameKey, "rooms");
  put(listener.meta.annotations, kItemAnnotation, place.item);
  listener.meta.owners = {{.kind = kube::Interned(kPoolOwner),
                           .name = "rooms",
                           .uid = "uid-of-rooms",
                           .controller = true}};
  listener.spec = {.load_balancer_id = "edge:" + place.lb,
                   .port = place.ports.first,
                   .end_port = place.ports.size() > 1 ? place.ports.last : 0,
                   .protocol = std::string(api::pool_protocol_text(place.protocol))};
  return applied(sealed(std::move(listener)));
}

inline api::Listener with_claim(api::Listener listener, std::string text) {
  put(listener.meta.annotations, ledger::kClaimAnnotation, std::move(text));
  return listener;
}
inline api::Listener with_claim(api::Listener listener, const ledger::Claim& claim) {
  return with_claim(std::move(listener), ledger::encode(claim));
}

inline api::Listener lock_at(const Place& place) { return with_claim(peer_at(place), ""); }

// As bcs-ingress-controller leaves it: the same name and labels, and nothing of ours.
inline api::Listener foreign_at(const Place& place) {
  api::Listener listener = peer_at(place);
  listener.meta.annotations.clear();
  return listener;
}

inline api::Listener leading_to(api::Listener listener, std::string ip) {
  listener.spec.target_group =
      api::ListenerTargetGroup{.protocol = listener.spec.protocol,
                               .backends = {{.ip = std::move(ip), .port = 8000, .weight = 10}}};
  return listener;
}

inline wire::Object text_map(kube::MapView map) {
  wire::Object out;
  for (const auto& [key, value] : map) out[key.view()] = value;
  return out;
}
// As the API server has it.
inline wire::Object encoded(const kube::ObjectMeta& meta) {
  wire::Object out{{"namespace", meta.ns.view()},
                   {"name", meta.name},
                   {"uid", meta.uid},
                   {"resourceVersion", std::to_string(meta.resource_version)},
                   {"labels", text_map(meta.labels)},
                   {"annotations", text_map(meta.annotations)}};
  if (meta.created != WallTime{}) out["creationTimestamp"] = format_rfc3339(meta.created);
  if (meta.deleting) out["deletionTimestamp"] = "2026-01-02T00:00:00Z";
  wire::Array finalizers;
  for (const kube::Interned& finalizer : meta.finalizers) finalizers.emplace_back(finalizer.view());
  if (!finalizers.empty()) out["finalizers"] = std::move(finalizers);
  wire::Array owners;
  for (const kube::OwnerReference& owner : meta.owners)
    owners.push_back(wire::Object{{"apiVersion", "v1"},
                                  {"kind", owner.kind.view()},
                                  {"name", owner.name},
                                  {"uid", owner.uid},
                                  {"controller", owner.controller}});
  if (!owners.empty()) out["ownerReferences"] = std::move(owners);
  return out;
}
inline wire::Value encoded(const api::Listener& listener) {
  return wire::Object{{"metadata", encoded(listener.meta)},
                      {"spec", api::encode(listener.spec)},
                      {"status", api::encode(listener.status)}};
}

}  // namespace berth::claims::testing
