#include "controllers/portpool/pool_survey.h"

#include <algorithm>
#include <map>

#include "api/keys.h"
#include "api/pod_ports.h"
#include "controllers/portpool/binding_plan.h"
#include "controllers/portpool/pod_index.h"
#include "controllers/portpool/targets.h"
#include "frontend/listener_object.h"
#include "model/load_balancer_name.h"

namespace berth::controllers::portpool {
namespace {

using claims::ListenerPtr;
using claims::ListenerStore;

bool has_claim_text(const api::Listener& listener) {
  return kube::has(listener.meta.annotations, ledger::kClaimAnnotation);
}

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

void survey_free(const ListenerPtr& lock, const ListenerStore& listeners,
                 const kube::Store<kube::Pod>& pods, SlotSurvey& out) {
  const auto look_at = [&](const ListenerPtr& one) {
    if (is_stray(*lock, *one) && !leads_to_its_pod(*lock, *one, pods)) out.strays.push_back(one);
  };
  look_at(lock);
  for (const ListenerPtr& peer : peers_in(listeners, *lock)) look_at(peer);
  if (!has_claim_text(*lock) && pods_told_of(*lock, pods).empty()) out.unlocked.push_back(lock);
}

bool is_of_free_slot(const api::Listener& listener, const ListenerStore& listeners) {
  const std::string_view lock = kube::get(listener.meta.annotations, kLockAnnotation);
  if (lock.empty()) return claims::claim_text(listener).empty();
  const ListenerPtr found = listeners.get(listener.meta.ns.view(), lock);
  return found && claims::claim_text(*found).empty();
}

// Its item has this port on this load balancer; an item may have come back with others.
bool is_of_item(const api::Listener& listener, const api::PortPool& pool,
                const model::LoadBalancerDefaults& defaults) {
  const auto item = std::ranges::find(pool.spec.pool_items, claims::item_of(listener),
                                      &api::PortPoolItem::item_name);
  if (item == pool.spec.pool_items.end()) return false;
  const std::int64_t segment = std::max<std::int64_t>(item->segment_length, 1);
  const std::int64_t offset = listener.spec.port - item->start_port;
  if (offset < 0 || offset % segment != 0 || offset / segment >= api::slot_count(*item))
    return false;
  const auto lb = claims::load_balancer_of(listener, defaults);
  if (!lb) return true;
  const model::Standing standing{*lb, std::string(claims::found_by(listener))};
  return std::ranges::any_of(item->load_balancer_ids, [&](const std::string& text) {
    return model::may_mean(text, standing);
  });
}

}  // namespace

bool concerns_pool(const kube::Change<api::Listener>& change, const api::PortPool* pool,
                   const ListenerStore& listeners, const model::LoadBalancerDefaults& defaults) {
  // Also what another controller made for it: when that goes, its name is free.
  const auto is_of_pool = [](const auto& listener) {
    return listener && kube::get(listener->meta.labels, api::kOwnerKindKey) == claims::kPoolOwner;
  };
  if (!is_of_pool(change.before) && !is_of_pool(change.after)) return false;
  if (!change.before || !change.after) return true;
  const api::Listener& a = *change.before;
  const api::Listener& b = *change.after;
  if (frontend::is_another(a, b)) return true;
  if (has_claim_text(a) != has_claim_text(b) || a.meta.deleting != b.meta.deleting ||
      a.status.listener_id.empty() != b.status.listener_id.empty())
    return true;
  // Why its load balancer does not take it is said by the pool, too.
  if (b.status.listener_id.empty() && a.status.message != b.status.message) return true;
  if (claims::has_targets(b.spec) && is_of_free_slot(b, listeners)) return true;
  if (!claims::claim_text(b).empty() || claims::claim_text(a).empty()) return false;
  // It is free now. Of an item that is leaving it may go; a peer may lead somewhere all the same.
  const bool stays = pool && !pool->meta.deleting && is_of_item(b, *pool, defaults);
  return !stays || std::ranges::any_of(peers_in(listeners, b), [](const ListenerPtr& peer) {
    return claims::has_targets(peer->spec);
  });
}

std::set<kube::ObjectKey> pools_left_by(const kube::Pod& pod, const ListenerStore& listeners) {
  std::set<kube::ObjectKey> out;
  const Result<std::vector<api::PortBindingItem>> told =
      api::decode_pool_bindings(kube::get(pod.meta.annotations, api::kPoolBindingsAnnotation));
  if (!told) return out;
  for (const api::PortBindingItem& entry : *told) {
    const ListenerPtr lock = lock_of(entry, listeners);
    if (!lock || !claims::claim_text(*lock).empty()) continue;
    const auto leads = [](const ListenerPtr& one) { return claims::has_targets(one->spec); };
    if (leads(lock) || std::ranges::any_of(peers_in(listeners, *lock), leads))
      out.insert(claims::pool_of(*lock));
  }
  return out;
}

SlotSurvey survey_slots(const frontend::Survey& survey, const ListenerStore& listeners,
                        const kube::Store<kube::Pod>& pods, const claims::Sealer& sealer) {
  SlotSurvey out;
  for (const auto& [wanted, listener] : survey.found) {
    if (!wanted->is_lock() && has_claim_text(*listener)) out.claimed_peers.push_back(listener);
    if (wanted->is_lock() && claims::claim_text(*listener).empty())
      survey_free(listener, listeners, pods, out);
  }
  for (const auto& [item, leaving] : survey.leaving) {
    for (const ListenerPtr& listener : leaving) {
      if (claims::is_peer(*listener) && has_claim_text(*listener) &&
          sealer.judge(*listener) == claims::Trust::ours)
        out.claimed_peers.push_back(listener);
    }
  }
  return out;
}

std::vector<frontend::ChangedListener> changes_of(const frontend::Survey& survey,
                                                  const SlotSurvey& slots,
                                                  const claims::Sealer& sealer) {
  std::map<std::string, frontend::ChangedListener> by_name;  // one may be several of these
  for (frontend::ChangedListener& one : frontend::changes_of(survey.outdated, sealer))
    by_name.emplace(one.listener->meta.name, std::move(one));
  const auto at = [&](const ListenerPtr& listener) -> claims::ListenerChange& {
    return by_name.try_emplace(listener->meta.name, frontend::ChangedListener{listener, {}})
        .first->second.change;
  };
  for (const ListenerPtr& listener : slots.strays) {
    claims::ListenerChange& change = at(listener);
    change.spec = without_target(change.spec ? *std::move(change.spec) : listener->spec);
  }
  for (const ListenerPtr& listener : slots.unlocked) at(listener).claim = "";
  for (const ListenerPtr& listener : slots.claimed_peers) at(listener).no_claim = true;
  std::vector<frontend::ChangedListener> out;
  for (auto& [name, one] : by_name) out.push_back(std::move(one));
  return out;
}

}  // namespace berth::controllers::portpool
