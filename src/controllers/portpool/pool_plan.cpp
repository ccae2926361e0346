#include "controllers/portpool/pool_plan.h"

#include <algorithm>
#include <boost/json.hpp>

#include "api/keys.h"
#include "api/walkers.h"
#include "model/load_balancer_name.h"

namespace berth::controllers::portpool {
namespace {

using claims::RefsOf;
using model::LoadBalancerRef;
using wire::Array;
using wire::Object;
using wire::Value;

struct ItemParts {
  std::vector<LoadBalancerRef> lbs;
  std::vector<model::Transport> protocols;
};

Result<ItemParts> parts_of(const api::PortPool& pool, const api::PortPoolItem& item,
                           const RefsOf& refs_of) {
  Result<std::vector<LoadBalancerRef>> lbs = refs_of(pool, item);
  if (!lbs) return pass(lbs);
  Result<std::vector<model::Transport>> protocols = api::protocols_of(item);
  if (!protocols) return pass(protocols);
  return ItemParts{std::move(*lbs), std::move(*protocols)};
}

// What users see as `loadbalancerID`: the id without its region, which is in a label.
std::string shown_id(const std::string& text, const LoadBalancerRef& lb) {
  return lb.provider == model::Provider::edge && text.starts_with("edge:") ? text : lb.id;
}

std::string peer_names(const std::vector<LoadBalancerRef>& lbs, model::Transport protocol,
                       const model::PortRange& ports) {
  std::string names;
  for (std::size_t i = 1; i < lbs.size(); ++i)
    names += (names.empty() ? "" : ",") + api::pool_listener_name(lbs[i], protocol, ports);
  return names;
}

// The ports that slots use: a remainder that is shorter than a segment is nobody's.
model::PortRange used_ports(const api::PortPoolItem& item) {
  return {api::slot_ports(item, 0).first, api::slot_ports(item, api::slot_count(item) - 1).last};
}

bool is_older(const api::PortPool& a, const api::PortPool& b) {
  return std::tie(a.meta.created, a.meta.uid) < std::tie(b.meta.created, b.meta.uid);
}

bool wants_same(const api::PortPool& pool, const WantedGrant& wanted, const RefsOf& refs_of) {
  return std::ranges::any_of(pool.spec.pool_items, [&](const api::PortPoolItem& item) {
    const Result<std::vector<WantedGrant>> grants = wanted_grants(pool, item, refs_of, {});
    return grants && std::ranges::any_of(*grants, [&](const WantedGrant& other) {
             return other.lb == wanted.lb && other.grant.transport == wanted.grant.transport &&
                    other.grant.ports.overlaps(wanted.grant.ports);
           });
  });
}

api::LoadBalancerBrief brief_of(const std::string& text, const LoadBalancerRef& lb,
                                const api::LoadBalancer* object) {
  api::LoadBalancerBrief brief{.id = shown_id(text, lb), .region = lb.region};
  if (!object) return brief;
  brief.name = object->status.name;
  brief.type = object->status.type;
  brief.ips = object->status.vips;
  brief.dns_name = object->status.dns_name;
  return brief;
}

bool has_address(const api::LoadBalancer* object) {
  return object && (!object->status.vips.empty() || !object->status.dns_name.empty());
}

std::string missing_address(const LoadBalancerRef& lb, const api::LoadBalancer* object) {
  const bool failed = object && !object->status.last_error.empty();
  return fmt::format("load balancer {}: {}", model::to_string(lb),
                     failed ? object->status.last_error : "its address is not known yet");
}

void judge(const ItemReport& report, api::PortPoolItemStatus& status) {
  status.status = std::string(api::kNotReady);
  if (!report.problem.empty()) {
    status.message = report.problem;
  } else if (report.ready < report.wanted) {
    status.message = fmt::format("{} of {} listeners are ready", report.ready, report.wanted);
  } else {
    status.status = status.message = std::string(api::kReady);
  }
}

api::PortPoolItemStatus item_status(const api::PortPool& pool, const api::PortPoolItem& item,
                                    ItemReport report, const BalancerOf& balancer_of,
                                    const RefsOf& refs_of) {
  api::PortPoolItemStatus status{.item_name = item.item_name,
                                 .load_balancer_ids = item.load_balancer_ids,
                                 .start_port = item.start_port,
                                 .end_port = item.end_port,
                                 .segment_length = item.segment_length,
                                 .external = item.external};
  const Result<ItemParts> parts = parts_of(pool, item, refs_of);
  if (!parts) {
    report.problem = parts.error().to_string();
    judge(report, status);
    return status;
  }
  for (const model::Transport protocol : parts->protocols)
    status.protocol.emplace_back(model::to_string(protocol));
  for (std::size_t i = 0; i < parts->lbs.size(); ++i) {
    const auto object = balancer_of(parts->lbs[i]);
    // What Pods are told is read from here, and they are told ids.
    status.load_balancer_ids[i] = model::text_of_id(item.load_balancer_ids[i], parts->lbs[i]);
    status.pool_item_load_balancers.push_back(
        brief_of(item.load_balancer_ids[i], parts->lbs[i], object.get()));
    if (report.problem.empty() && !has_address(object.get()))
      report.problem = missing_address(parts->lbs[i], object.get());
  }
  judge(report, status);
  return status;
}

// An item that left the spec stays in the status, as it was, until nothing of it is left.
api::PortPoolItemStatus leaving_status(const api::PortPool& pool, const std::string& name,
                                       std::size_t listeners) {
  const auto it =
      std::ranges::find(pool.status.pool_items, name, &api::PortPoolItemStatus::item_name);
  api::PortPoolItemStatus status =
      it != pool.status.pool_items.end() ? *it : api::PortPoolItemStatus{.item_name = name};
  status.status = std::string(api::kDeleting);
  status.message = fmt::format("{} listeners are left", listeners);
  return status;
}

}  // namespace

Result<std::vector<WantedListener>> wanted_listeners(const api::PortPool& pool,
                                                     const api::PortPoolItem& item,
                                                     const RefsOf& refs_of) {
  const Result<ItemParts> parts = parts_of(pool, item, refs_of);
  if (!parts) return fail(parts.error());
  std::vector<WantedListener> out;
  for (std::int64_t slot = 0; slot < api::slot_count(item); ++slot) {
    const model::PortRange ports = api::slot_ports(item, slot);
    for (const model::Transport protocol : parts->protocols) {
      for (std::size_t i = 0; i < parts->lbs.size(); ++i) {
        const LoadBalancerRef& lb = parts->lbs[i];
        out.push_back({.name = api::pool_listener_name(lb, protocol, ports),
                       .item = item.item_name,
                       .lb = lb,
                       .spec = {.load_balancer_id = shown_id(item.load_balancer_ids[i], lb),
                                .port = ports.first,
                                .end_port = ports.size() > 1 ? ports.last : 0,
                                .protocol = std::string(model::to_string(protocol)),
                                .listener_attribute = pool.spec.listener_attribute,
                                .certificate = item.certificate},
                       .lock = i == 0
                                   ? std::string()
                                   : api::pool_listener_name(parts->lbs.front(), protocol, ports),
                       .peers = i == 0 ? peer_names(parts->lbs, protocol, ports) : std::string(),
                       .found_by = model::name_in(item.load_balancer_ids[i], lb)});
      }
    }
  }
  return out;
}

claims::Identity identity_of(const api::PortPool& pool, const WantedListener& wanted) {
  return {.ns = std::string(pool.meta.ns.view()),
          .name = wanted.name,
          .lb = wanted.lb,
          .protocol = model::parse_protocol(wanted.spec.protocol).value_or(model::Protocol::tcp),
          .ports = api::ports_of(wanted.spec),
          .owner_uid = pool.meta.uid,
          .item = wanted.item,
          .lock = wanted.lock,
          .peers = wanted.peers,
          .found_by = wanted.found_by};
}

claims::ListenerChange::Belonging belonging_of(const api::PortPool& pool,
                                               const claims::Identity& identity) {
  const auto& type = api::port_pool_kind().type;
  return {.labels = api::pool_listener_labels(pool.meta.name, identity.item, identity.lb,
                                              identity.ports.size() > 1),
          .owner = Object{{"apiVersion", type.api_version()},
                          {"kind", type.kind},
                          {"name", pool.meta.name},
                          {"uid", pool.meta.uid},
                          {"controller", true}}};
}

Value new_listener(const api::PortPool& pool, const WantedListener& wanted,
                   const claims::Marks& marks) {
  const auto& type = api::listener_kind().type;
  const auto belonging = belonging_of(pool, marks.identity);
  Object labels;
  for (const auto& [key, value] : belonging.labels) labels[key] = value;
  Object annotations{{claims::kItemAnnotation, wanted.item},
                     {claims::kBalancerAnnotation, marks.balancer},
                     {claims::kSealAnnotation, marks.seal}};
  if (wanted.is_lock()) {
    annotations[ledger::kClaimAnnotation] = "";
  } else {
    annotations[kLockAnnotation] = wanted.lock;
  }
  if (!wanted.peers.empty()) annotations[kPeersAnnotation] = wanted.peers;
  if (!wanted.found_by.empty()) annotations[claims::kFoundByAnnotation] = wanted.found_by;
  return Object{{"apiVersion", type.api_version()},
                {"kind", type.kind},
                {"metadata", Object{{"namespace", pool.meta.ns.view()},
                                    {"name", wanted.name},
                                    {"labels", labels},
                                    {"annotations", annotations},
                                    {"finalizers", Array{Value(api::kFinalizer)}},
                                    {"ownerReferences", Array{belonging.owner}}}},
                {"spec", api::encode(wanted.spec)},
                {"status", Object{{"status", api::kNotSynced}, {"portpool", pool.meta.name}}}};
}

Result<std::vector<WantedGrant>> wanted_grants(const api::PortPool& pool,
                                               const api::PortPoolItem& item, const RefsOf& refs_of,
                                               WallTime now) {
  const Result<ItemParts> parts = parts_of(pool, item, refs_of);
  if (!parts) return fail(parts.error());
  std::vector<WantedGrant> out;
  if (api::slot_count(item) == 0) return out;
  for (const LoadBalancerRef& lb : parts->lbs) {
    for (const model::Transport transport : parts->protocols) {
      out.push_back(
          {.lb = lb,
           .grant = {.transport = transport,
                     .ports = used_ports(item),
                     .owner = {std::string(claims::kPoolOwner), std::string(pool.meta.ns.view()),
                               pool.meta.name, pool.meta.uid},
                     .item = item.item_name,
                     .since = now}});
    }
  }
  return out;
}

std::shared_ptr<const api::PortPool> older_contender(
    const api::PortPool& pool, const WantedGrant& wanted,
    const std::vector<std::shared_ptr<const api::PortPool>>& pools, const RefsOf& refs_of) {
  for (const auto& other : pools) {
    if (other->meta.uid == pool.meta.uid || other->meta.deleting) continue;
    if (is_older(*other, pool) && wants_same(*other, wanted, refs_of)) return other;
  }
  return nullptr;
}

api::PortPoolStatus pool_status(const api::PortPool& pool,
                                const std::map<std::string, ItemReport>& reports,
                                const std::map<std::string, std::size_t>& leaving,
                                const BalancerOf& balancer_of, const RefsOf& refs_of) {
  api::PortPoolStatus status{.status = std::string(api::kReady)};
  for (const api::PortPoolItem& item : pool.spec.pool_items) {
    const auto it = reports.find(item.item_name);
    status.pool_items.push_back(item_status(
        pool, item, it != reports.end() ? it->second : ItemReport{}, balancer_of, refs_of));
  }
  for (const auto& [name, listeners] : leaving)
    status.pool_items.push_back(leaving_status(pool, name, listeners));
  const bool ready = std::ranges::all_of(
      status.pool_items, [](const auto& item) { return item.status == api::kReady; });
  if (!ready) status.status = std::string(api::kNotReady);
  return status;
}

bool is_stray(const api::Listener& lock, const api::Listener& listener) {
  return claims::claim_text(lock).empty() && claims::has_targets(listener.spec);
}

std::vector<std::string> peers_of(const api::Listener& lock) {
  std::vector<std::string> names;
  std::string_view rest = kube::get(lock.meta.annotations, kPeersAnnotation);
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    names.emplace_back(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return names;
}

std::vector<claims::ListenerPtr> peers_in(const claims::ListenerStore& listeners,
                                          const api::Listener& lock) {
  std::vector<claims::ListenerPtr> out;
  for (const std::string& name : peers_of(lock)) {
    claims::ListenerPtr peer = listeners.get(lock.meta.ns.view(), name);
    if (peer && claims::belongs_to_pool(*peer) && claims::pool_of(*peer) == claims::pool_of(lock))
      out.push_back(std::move(peer));
  }
  return out;
}

}  // namespace berth::controllers::portpool
