#include "controllers/portpool/pool_survey.h"

#include <algorithm>

#include "api/keys.h"

namespace berth::controllers::portpool {
namespace {

using claims::ListenerPtr;
using claims::ListenerStore;

bool is_lock(const api::Listener& listener) {
  return kube::has(listener.meta.annotations, ledger::kClaimAnnotation);
}

void survey_listener(const WantedListener& wanted, const ListenerPtr& listener,
                     const ListenerStore& listeners, PoolSurvey& out) {
  if (listener->meta.deleting) return;
  if (listener->spec.listener_attribute != wanted.spec.listener_attribute ||
      listener->spec.certificate != wanted.spec.certificate) {
    out.outdated.push_back(listener);
  }
  if (!wanted.is_lock() || !claims::claim_text(*listener).empty()) return;
  if (is_stray(*listener, *listener)) out.strays.push_back(listener);
  for (const ListenerPtr& peer : peers_in(listeners, *listener))
    if (is_stray(*listener, *peer)) out.strays.push_back(peer);
}

// Names that the item needs and that Listeners of others have.
struct Occupied {
  ListenerPtr first{};
  std::size_t count = 0;
};

std::string problem_with(const Occupied& occupied) {
  const api::Listener& listener = *occupied.first;
  const std::string owner =
      fmt::format("{} {}", kube::get(listener.meta.labels, api::kOwnerKindKey),
                  kube::get(listener.meta.labels, api::kOwnerNameKey));
  const std::string more =
      occupied.count > 1 ? fmt::format(" (and {} more like it)", occupied.count - 1) : "";
  if (!claims::is_foreign(listener))
    return fmt::format("Listener {} belongs to {}{}", listener.meta.name, owner, more);
  return fmt::format(
      "Listener {} was made by another controller, for {}{}: it is left alone, and its port is not "
      "given out; stop that controller and delete its Listeners, then they are made anew",
      listener.meta.name, owner, more);
}

void survey_item(const api::PortPool& pool, const api::PortPoolItem& item,
                 const ListenerStore& listeners, const model::LoadBalancerDefaults& defaults,
                 ItemReport& report, PoolSurvey& out) {
  const Result<std::vector<WantedListener>> wanted = wanted_listeners(pool, item, defaults);
  if (!wanted) return;  // said already
  report.wanted = wanted->size();
  const bool granted = report.problem.empty();  // that somebody else owns the ports says more
  Occupied occupied;
  for (const WantedListener& one : *wanted) {
    const ListenerPtr listener = listeners.get(pool.meta.ns.view(), one.name);
    if (!listener) {
      if (granted) out.missing.push_back(one);
      continue;
    }
    // A Listener of that name that is another's: an Ingress, a pool of this namespace, or this pool
    // under another controller.
    if (!claims::belongs_to_pool(*listener) || claims::pool_of(*listener) != pool.meta.key()) {
      if (occupied.count++ == 0) occupied.first = listener;
      continue;
    }
    // Another item had the port, and is leaving.
    if (claims::item_of(*listener) != item.item_name) {
      if (report.problem.empty())
        report.problem =
            fmt::format("Listener {} is still of item {}", one.name, claims::item_of(*listener));
      continue;
    }
    if (!listener->status.listener_id.empty() && !listener->meta.deleting) ++report.ready;
    survey_listener(one, listener, listeners, out);
  }
  if (granted && occupied.count > 0) report.problem = problem_with(occupied);
}

}  // namespace

PoolSurvey survey_pool(const api::PortPool& pool, std::map<std::string, ItemReport> reports,
                       const ListenerStore& listeners,
                       const model::LoadBalancerDefaults& defaults) {
  PoolSurvey out{.reports = std::move(reports)};
  for (const api::PortPoolItem& item : pool.spec.pool_items)
    survey_item(pool, item, listeners, defaults, out.reports[item.item_name], out);
  for (const ListenerPtr& listener :
       listeners.by_index(claims::kPoolIndex, pool.meta.key().to_string())) {
    const std::string item(claims::item_of(*listener));
    if (out.reports.contains(item)) {
      out.present.insert(item);
    } else {
      out.leaving[item].push_back(listener);
    }
  }
  return out;
}

std::vector<RefreshedListener> refreshed_listeners(const api::PortPool& pool,
                                                   const PoolSurvey& survey) {
  std::map<std::string, RefreshedListener> by_name;  // one may be both
  for (const ListenerPtr& listener : survey.outdated) {
    api::ListenerSpec spec = listener->spec;
    spec.listener_attribute = pool.spec.listener_attribute;
    const auto item = std::ranges::find(pool.spec.pool_items, claims::item_of(*listener),
                                        &api::PortPoolItem::item_name);
    if (item != pool.spec.pool_items.end()) spec.certificate = item->certificate;
    by_name.emplace(listener->meta.name, RefreshedListener{listener, std::move(spec)});
  }
  for (const ListenerPtr& listener : survey.strays) {
    const auto at =
        by_name.emplace(listener->meta.name, RefreshedListener{listener, listener->spec}).first;
    at->second.spec.target_group.reset();
  }
  std::vector<RefreshedListener> out;
  for (auto& [name, one] : by_name) out.push_back(std::move(one));
  return out;
}

std::vector<ListenerPtr> removable(const std::vector<ListenerPtr>& listeners) {
  std::vector<ListenerPtr> out;
  std::set<std::string> led;  // peers that go with a lock
  for (const ListenerPtr& listener : listeners) {
    if (!is_lock(*listener)) continue;
    for (std::string& peer : peers_of(*listener)) led.insert(std::move(peer));
    if (claims::claim_text(*listener).empty()) out.push_back(listener);
  }
  for (const ListenerPtr& listener : listeners) {
    if (!is_lock(*listener) && !led.contains(listener->meta.name)) out.push_back(listener);
  }
  return out;
}

std::set<std::string> items_to_release(
    const api::PortPool& pool, const PoolSurvey& survey,
    const std::vector<std::shared_ptr<const api::LoadBalancer>>& balancers) {
  std::set<std::string> left;
  for (const auto& object : balancers) {
    for (const api::Grant& grant : object->spec.grants) {
      const auto report = survey.reports.find(grant.item);
      const bool wanted = report != survey.reports.end() && !report->second.refused;
      const bool used =
          wanted || survey.present.contains(grant.item) || survey.leaving.contains(grant.item);
      if (grant.owner_uid == pool.meta.uid && !used) left.insert(grant.item);
    }
  }
  return left;
}

}  // namespace berth::controllers::portpool
