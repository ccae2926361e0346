#include "controllers/portpool/pool_survey.h"

#include <algorithm>

#include "api/keys.h"
#include "api/pod_ports.h"
#include "controllers/portpool/binding_plan.h"
#include "controllers/portpool/pod_index.h"
#include "controllers/portpool/targets.h"

namespace berth::controllers::portpool {
namespace {

using claims::ListenerPtr;
using claims::ListenerStore;

bool is_lock(const api::Listener& listener) {
  return kube::has(listener.meta.annotations, ledger::kClaimAnnotation);
}

struct Caches {
  const ListenerStore& listeners;
  const kube::Store<kube::Pod>& pods;
};

// Somebody took the claim off, and the Pod that it leads to has it again in a moment.
bool leads_to_its_pod(const api::Listener& lock, const api::Listener& listener,
                      const kube::Store<kube::Pod>& pods) {
  return std::ranges::any_of(pods_told_of(lock, pods), [&](const auto& pod) {
    const Result<std::vector<api::PortBindingItem>> told =
        api::decode_pool_bindings(kube::get(pod->meta.annotations, api::kPoolBindingsAnnotation));
    const api::PortBindingItem* const entry = told ? entry_for(*told, lock) : nullptr;
    return entry && names(listener.spec, *pod, *entry);
  });
}

void survey_free(const ListenerPtr& lock, const Caches& caches, PoolSurvey& out) {
  const auto look_at = [&](const ListenerPtr& one) {
    if (is_stray(*lock, *one) && !leads_to_its_pod(*lock, *one, caches.pods))
      out.strays.push_back(one);
  };
  look_at(lock);
  for (const ListenerPtr& peer : peers_in(caches.listeners, *lock)) look_at(peer);
  if (!is_lock(*lock) && pods_told_of(*lock, caches.pods).empty()) out.unlocked.push_back(lock);
}

void survey_listener(const WantedListener& wanted, const ListenerPtr& listener,
                     const Caches& caches, PoolSurvey& out) {
  if (listener->meta.deleting) return;
  if (listener->spec.listener_attribute != wanted.spec.listener_attribute ||
      listener->spec.certificate != wanted.spec.certificate) {
    out.outdated.push_back(listener);
  }
  if (wanted.is_lock() && claims::claim_text(*listener).empty()) survey_free(listener, caches, out);
}

bool is_of_free_slot(const api::Listener& listener, const ListenerStore& listeners) {
  const std::string_view lock = kube::get(listener.meta.annotations, kLockAnnotation);
  if (lock.empty()) return claims::claim_text(listener).empty();
  const ListenerPtr found = listeners.get(listener.meta.ns.view(), lock);
  return found && claims::claim_text(*found).empty();
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

void survey_item(const api::PortPool& pool, const api::PortPoolItem& item, const Caches& caches,
                 const model::LoadBalancerDefaults& defaults, ItemReport& report, PoolSurvey& out) {
  const Result<std::vector<WantedListener>> wanted = wanted_listeners(pool, item, defaults);
  if (!wanted) return;  // said already
  report.wanted = wanted->size();
  const bool granted = report.problem.empty();  // that somebody else owns the ports says more
  Occupied occupied;
  for (const WantedListener& one : *wanted) {
    const ListenerPtr listener = caches.listeners.get(pool.meta.ns.view(), one.name);
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
    survey_listener(one, listener, caches, out);
  }
  if (granted && occupied.count > 0) report.problem = problem_with(occupied);
}

}  // namespace

bool concerns_pool(const kube::Change<api::Listener>& change, const api::PortPool* pool,
                   const ListenerStore& listeners) {
  // Also what another controller made for it: when that goes, its name is free.
  if (kube::get(change.object().meta.labels, api::kOwnerKindKey) != claims::kPoolOwner)
    return false;
  if (!change.before || !change.after) return true;
  const api::Listener& a = *change.before;
  const api::Listener& b = *change.after;
  if (is_lock(a) != is_lock(b) || a.meta.deleting != b.meta.deleting ||
      a.status.listener_id.empty() != b.status.listener_id.empty())
    return true;
  if (claims::has_targets(b.spec) && is_of_free_slot(b, listeners)) return true;
  if (!claims::claim_text(b).empty() || claims::claim_text(a).empty()) return false;
  // It is free now. Of an item that is leaving it may go; a peer may lead somewhere all the same.
  const bool stays =
      pool && !pool->meta.deleting &&
      std::ranges::find(pool->spec.pool_items, claims::item_of(b), &api::PortPoolItem::item_name) !=
          pool->spec.pool_items.end();
  return !stays || std::ranges::any_of(peers_in(listeners, b), [](const ListenerPtr& peer) {
    return claims::has_targets(peer->spec);
  });
}

PoolSurvey survey_pool(const api::PortPool& pool, std::map<std::string, ItemReport> reports,
                       const ListenerStore& listeners, const kube::Store<kube::Pod>& pods,
                       const model::LoadBalancerDefaults& defaults) {
  PoolSurvey out{.reports = std::move(reports)};
  for (const api::PortPoolItem& item : pool.spec.pool_items)
    survey_item(pool, item, {listeners, pods}, defaults, out.reports[item.item_name], out);
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
  std::map<std::string, RefreshedListener> by_name;  // one may be several of these
  const auto at = [&](const ListenerPtr& listener) -> RefreshedListener& {
    return by_name.emplace(listener->meta.name, RefreshedListener{listener, listener->spec})
        .first->second;
  };
  for (const ListenerPtr& listener : survey.outdated) {
    api::ListenerSpec& spec = at(listener).spec;
    spec.listener_attribute = pool.spec.listener_attribute;
    const auto item = std::ranges::find(pool.spec.pool_items, claims::item_of(*listener),
                                        &api::PortPoolItem::item_name);
    if (item != pool.spec.pool_items.end()) spec.certificate = item->certificate;
  }
  for (const ListenerPtr& listener : survey.strays) at(listener).spec.target_group.reset();
  for (const ListenerPtr& listener : survey.unlocked) at(listener).claim = "";
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
