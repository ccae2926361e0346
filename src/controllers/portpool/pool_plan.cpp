#include "controllers/portpool/pool_plan.h"

#include <algorithm>

#include "api/keys.h"
#include "api/walkers.h"
#include "frontend/balancers.h"
#include "model/load_balancer_name.h"

namespace berth::controllers::portpool {
namespace {

using claims::RefsOf;
using frontend::brief_of;
using frontend::has_address;
using frontend::missing_address;
using frontend::shown_id;
using model::LoadBalancerRef;

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

std::string progress_of(const frontend::PartReport& report) {
  return fmt::format("{} of {} listeners are ready", report.ready, report.wanted);
}

void judge(const frontend::PartReport& report, api::PortPoolItemStatus& status) {
  status.status = std::string(api::kNotReady);
  if (!report.problem.empty()) {
    status.message = report.problem;
  } else if (report.ready < report.wanted) {
    status.message = progress_of(report);
  } else {
    status.status = status.message = std::string(api::kReady);
  }
}

api::PortPoolItemStatus item_status(const api::PortPool& pool, const api::PortPoolItem& item,
                                    frontend::PartReport report, const BalancerOf& balancer_of,
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

// A slot on each of its load balancers, for one transport. The first is the lock.
void add_slot(const api::PortPool& pool, const api::PortPoolItem& item, const ItemParts& parts,
              const std::vector<std::shared_ptr<const frontend::Labels>>& labels,
              const model::PortRange& ports, model::Transport protocol,
              std::vector<frontend::WantedListener>& out) {
  for (std::size_t i = 0; i < parts.lbs.size(); ++i) {
    const LoadBalancerRef& lb = parts.lbs[i];
    out.push_back({.name = api::pool_listener_name(lb, protocol, ports),
                   .part = item.item_name,
                   .lb = lb,
                   .spec = {.load_balancer_id = shown_id(item.load_balancer_ids[i], lb),
                            .port = ports.first,
                            .end_port = ports.size() > 1 ? ports.last : 0,
                            .protocol = std::string(model::to_string(protocol)),
                            .listener_attribute = pool.spec.listener_attribute,
                            .certificate = item.certificate},
                   .labels = labels[i],
                   .leads = frontend::Leads::by_claim,
                   .lock = i == 0 ? std::string()
                                  : api::pool_listener_name(parts.lbs.front(), protocol, ports),
                   .peers = i == 0 ? peer_names(parts.lbs, protocol, ports) : std::string(),
                   .found_by = model::name_in(item.load_balancer_ids[i], lb)});
  }
}

std::vector<frontend::WantedListener> listeners_of(const api::PortPool& pool,
                                                   const api::PortPoolItem& item,
                                                   const ItemParts& parts) {
  std::vector<std::shared_ptr<const frontend::Labels>> labels;  // by load balancer
  for (const LoadBalancerRef& lb : parts.lbs)
    labels.push_back(std::make_shared<const frontend::Labels>(
        api::pool_listener_labels(pool.meta.name, item.item_name, lb, item.segment_length > 1)));
  std::vector<frontend::WantedListener> out;
  for (std::int64_t slot = 0; slot < api::slot_count(item); ++slot)
    for (const model::Transport protocol : parts.protocols)
      add_slot(pool, item, parts, labels, api::slot_ports(item, slot), protocol, out);
  return out;
}

std::vector<frontend::WantedGrant> grants_of(const api::PortPool& pool,
                                             const api::PortPoolItem& item, const ItemParts& parts,
                                             WallTime now) {
  std::vector<frontend::WantedGrant> out;
  if (api::slot_count(item) == 0) return out;
  for (const LoadBalancerRef& lb : parts.lbs) {
    for (const model::Transport transport : parts.protocols) {
      out.push_back({.lb = lb,
                     .grant = {.transport = transport,
                               .ports = used_ports(item),
                               .owner = frontend::grant_owner(owner_of(pool)),
                               .item = item.item_name,
                               .since = now}});
    }
  }
  return out;
}

}  // namespace

frontend::Owner owner_of(const api::PortPool& pool) {
  return frontend::owner_of(api::port_pool_kind().type, pool.meta, {});
}

std::vector<frontend::WantedGrant> wanted_grants(const api::PortPool& pool, const RefsOf& refs_of,
                                                 WallTime now) {
  std::vector<frontend::WantedGrant> out;
  for (const api::PortPoolItem& item : pool.spec.pool_items) {
    const Result<ItemParts> parts = parts_of(pool, item, refs_of);
    if (parts) std::ranges::move(grants_of(pool, item, *parts, now), std::back_inserter(out));
  }
  return out;
}

PoolWants wants_of(const api::PortPool& pool, const RefsOf& refs_of, WallTime now) {
  PoolWants out;
  for (const api::PortPoolItem& item : pool.spec.pool_items) {
    frontend::WantedPart& part = out.parts.emplace_back();
    part.name = item.item_name;
    const Result<ItemParts> parts = parts_of(pool, item, refs_of);
    if (!parts) {
      out.unreadable[item.item_name] = {.problem = parts.error().to_string()};
      continue;
    }
    part.grants = grants_of(pool, item, *parts, now);
    part.listeners = listeners_of(pool, item, *parts);
  }
  return out;
}

api::PortPoolStatus pool_status(const api::PortPool& pool,
                                const std::map<std::string, frontend::PartReport>& reports,
                                const std::map<std::string, std::size_t>& leaving,
                                const BalancerOf& balancer_of, const RefsOf& refs_of) {
  api::PortPoolStatus status{.status = std::string(api::kReady)};
  for (const api::PortPoolItem& item : pool.spec.pool_items) {
    const auto it = reports.find(item.item_name);
    status.pool_items.push_back(
        item_status(pool, item, it != reports.end() ? it->second : frontend::PartReport{},
                    balancer_of, refs_of));
  }
  for (const auto& [name, listeners] : leaving)
    status.pool_items.push_back(leaving_status(pool, name, listeners));
  const bool ready = std::ranges::all_of(
      status.pool_items, [](const auto& item) { return item.status == api::kReady; });
  if (!ready) status.status = std::string(api::kNotReady);
  return status;
}

void add_reasons(const frontend::Survey& survey, api::PortPoolStatus& status) {
  std::map<std::string_view, const api::Listener*> first;  // by item
  for (const frontend::FoundListener& one : survey.found) {
    const api::Listener& listener = *one.listener;
    if (listener.status.listener_id.empty() && !listener.status.message.empty())
      first.try_emplace(one.wanted->part, &listener);
  }
  for (api::PortPoolItemStatus& item : status.pool_items) {
    const auto listener = first.find(item.item_name);
    const auto report = survey.reports.find(item.item_name);
    if (listener == first.end() || report == survey.reports.end() ||
        item.message != progress_of(report->second))
      continue;
    item.message += fmt::format("; Listener {}: {}", listener->second->meta.name,
                                listener->second->status.message);
  }
}

bool is_stray(const api::Listener& lock, const api::Listener& listener) {
  return claims::claim_text(lock).empty() && claims::has_targets(listener.spec);
}

}  // namespace berth::controllers::portpool
