#include "controllers/portpool/pool_survey.h"

#include <algorithm>
#include <tuple>

#include "api/keys.h"
#include "api/pod_ports.h"
#include "controllers/portpool/binding_plan.h"
#include "controllers/portpool/pod_index.h"
#include "controllers/portpool/targets.h"
#include "model/load_balancer_name.h"

namespace berth::controllers::portpool {
namespace {

using claims::ListenerPtr;
using claims::ListenerStore;

bool has_claim_text(const api::Listener& listener) {
  return kube::has(listener.meta.annotations, ledger::kClaimAnnotation);
}

struct Sight {
  const api::PortPool& pool;
  const ListenerStore& listeners;
  const kube::Store<kube::Pod>& pods;
  const claims::Sealer& sealer;
  const claims::RefsOf& refs_of;
  const model::LoadBalancerDefaults& defaults;  // for Listeners of the version before seals
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

void survey_free(const ListenerPtr& lock, const Sight& sight, PoolSurvey& out) {
  const auto look_at = [&](const ListenerPtr& one) {
    if (is_stray(*lock, *one) && !leads_to_its_pod(*lock, *one, sight.pods))
      out.strays.push_back(one);
  };
  look_at(lock);
  for (const ListenerPtr& peer : peers_in(sight.listeners, *lock)) look_at(peer);
  if (!has_claim_text(*lock) && pods_told_of(*lock, sight.pods).empty())
    out.unlocked.push_back(lock);
}

bool is_its_own(const api::Listener& listener, const api::PortPool& pool) {
  return claims::belongs_to_pool(listener) && claims::pool_of(listener) == pool.meta.key();
}

bool names_owner(const api::Listener& listener, const api::PortPool& pool) {
  const kube::OwnerReference* const owner = listener.meta.controller();
  return owner && owner->uid == pool.meta.uid;
}

// A Listener under a name that the pool wants and whose ports it was granted: was it ours, and did
// somebody write something else on it? What we sealed for another is that one's.
bool was_changed(const api::Listener& listener, const Sight& sight) {
  if (!claims::has_marks(listener) || claims::is_foreign(listener)) return false;
  return sight.sealer.judge(listener) != claims::Trust::ours || names_owner(listener, sight.pool);
}

// One whose pool is gone goes with it, by the garbage collector.
bool may_be_sealed(const WantedListener& wanted, const api::Listener& listener,
                   const Sight& sight) {
  const bool is_right =
      sight.sealer.is_current(listener) && claims::found_by(listener) == wanted.found_by;
  if (!sight.sealer.is_ready() || is_right) return false;
  // What we sealed for another load balancer stays there, whatever the text means by now.
  return sight.sealer.judge(listener) != claims::Trust::ours ||
         claims::identity_of(listener)->lb == wanted.lb;
}

void survey_listener(const WantedListener& wanted, const ListenerPtr& listener, bool granted,
                     const Sight& sight, PoolSurvey& out) {
  if (listener->meta.deleting) return;
  const bool strange = !is_its_own(*listener, sight.pool) || !names_owner(*listener, sight.pool);
  const bool seal = granted && (strange || may_be_sealed(wanted, *listener, sight));
  api::ListenerSpec spec = seal ? wanted.spec : listener->spec;
  spec.protocol = wanted.spec.protocol;  // one that is spelt otherwise is no slot
  spec.listener_attribute = wanted.spec.listener_attribute;
  spec.certificate = wanted.spec.certificate;
  spec.target_group = listener->spec.target_group;
  spec.rules = listener->spec.rules;
  if (seal || spec != listener->spec) {
    out.outdated.push_back({listener, std::move(spec),
                            seal ? std::optional(identity_of(sight.pool, wanted)) : std::nullopt});
  }
  if (!wanted.is_lock() && has_claim_text(*listener)) out.claimed_peers.push_back(listener);
  if (wanted.is_lock() && claims::claim_text(*listener).empty()) survey_free(listener, sight, out);
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

// Listeners of other controllers on the load balancers of an item. Their names say nothing: what
// they take is a load balancer's port.
class Foreigners {
 public:
  explicit Foreigners(const ListenerStore& listeners) : listeners_(listeners) {}

  // One that takes a port of these, made before `mine`, which may be null.
  ListenerPtr on(const WantedListener& wanted, const api::Listener* mine) {
    const auto [it, is_new] = by_lb_.try_emplace(wanted.lb);
    if (is_new)
      it->second = listeners_.by_index(claims::kForeignIndex, model::object_name(wanted.lb));
    const auto ports = api::ports_of(wanted.spec);
    for (const ListenerPtr& one : it->second) {
      const bool shares = std::ranges::any_of(claims::transports_of(*one), [&](auto transport) {
        return model::to_string(transport) == wanted.spec.protocol;
      });
      if (!shares) continue;
      if (mine && mine->meta.created <= one->meta.created) continue;
      if (api::ports_of(one->spec).overlaps(ports)) return one;
    }
    return nullptr;
  }

 private:
  const ListenerStore& listeners_;
  std::map<model::LoadBalancerRef, std::vector<ListenerPtr>> by_lb_;
};

void note_occupied(Occupied& occupied, const ListenerPtr& listener) {
  if (occupied.count++ == 0) occupied.first = listener;
}

void survey_item(const api::PortPoolItem& item, const Sight& sight, ItemReport& report,
                 std::set<std::string>& names, PoolSurvey& out) {
  const Result<std::vector<WantedListener>> wanted =
      wanted_listeners(sight.pool, item, sight.refs_of);
  if (!wanted) return;  // said already
  report.wanted = wanted->size();
  const bool granted = report.problem.empty();  // that somebody else owns the ports says more
  Occupied occupied;
  Foreigners foreigners(sight.listeners);
  for (const WantedListener& one : *wanted) {
    const ListenerPtr listener = sight.listeners.get(sight.pool.meta.ns.view(), one.name);
    if (const ListenerPtr foreign = foreigners.on(one, listener.get())) {
      note_occupied(occupied, foreign);
      continue;  // what is there of ours goes when nobody has it
    }
    names.insert(one.name);
    if (!listener) {
      if (granted) out.missing.push_back(one);
      continue;
    }
    // A Listener of that name that is another's: an Ingress, a pool of this namespace, or this pool
    // under another controller.
    const bool changed = granted && was_changed(*listener, sight);
    if (!is_its_own(*listener, sight.pool) && !changed) {
      note_occupied(occupied, listener);
      continue;
    }
    // Another item had the port, and is leaving; unless somebody wrote that.
    if (claims::item_of(*listener) != item.item_name &&
        sight.sealer.judge(*listener) != claims::Trust::forged) {
      if (report.problem.empty())
        report.problem =
            fmt::format("Listener {} is still of item {}", one.name, claims::item_of(*listener));
      continue;
    }
    if (!listener->status.listener_id.empty() && !listener->meta.deleting) ++report.ready;
    survey_listener(one, listener, granted, sight, out);
  }
  if (granted && occupied.count > 0) report.problem = problem_with(occupied);
}

// Of the version before us, of an item that has left.
bool is_left_unsealed(const api::Listener& listener, const Sight& sight) {
  return !listener.meta.deleting && sight.sealer.may_seal_again(listener) &&
         !claims::claim_text(listener).empty();
}

void survey_leaving(const ListenerPtr& listener, const Sight& sight, PoolSurvey& out) {
  out.leaving[std::string(claims::item_of(*listener))].push_back(listener);
  if (claims::is_peer(*listener) && has_claim_text(*listener) &&
      sight.sealer.judge(*listener) == claims::Trust::ours)
    out.claimed_peers.push_back(listener);
  if (!is_left_unsealed(*listener, sight)) return;
  if (auto identity = claims::identity_without_seal(*listener, sight.defaults))
    out.outdated.push_back({listener, listener->spec, std::move(*identity)});
}

// Somebody changed what never changes.
bool is_another(const api::Listener& a, const api::Listener& b) {
  for (const std::string_view key :
       {claims::kSealAnnotation, claims::kBalancerAnnotation, claims::kItemAnnotation,
        claims::kLockAnnotation, claims::kPeersAnnotation, claims::kFoundByAnnotation}) {
    if (kube::get(a.meta.annotations, key) != kube::get(b.meta.annotations, key)) return true;
  }
  return std::tie(a.spec.load_balancer_id, a.spec.protocol, a.spec.port, a.spec.end_port) !=
             std::tie(b.spec.load_balancer_id, b.spec.protocol, b.spec.port, b.spec.end_port) ||
         a.meta.owners != b.meta.owners || claims::pool_of(a) != claims::pool_of(b) ||
         kube::get(a.meta.labels, api::kOwnerKindKey) !=
             kube::get(b.meta.labels, api::kOwnerKindKey);
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
  if (is_another(a, b)) return true;
  if (has_claim_text(a) != has_claim_text(b) || a.meta.deleting != b.meta.deleting ||
      a.status.listener_id.empty() != b.status.listener_id.empty())
    return true;
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

PoolSurvey survey_pool(const api::PortPool& pool, std::map<std::string, ItemReport> reports,
                       const ListenerStore& listeners, const kube::Store<kube::Pod>& pods,
                       const claims::Sealer& sealer, const claims::RefsOf& refs_of,
                       const model::LoadBalancerDefaults& defaults) {
  PoolSurvey out{.reports = std::move(reports)};
  const Sight sight{pool, listeners, pods, sealer, refs_of, defaults};
  std::map<std::string, std::set<std::string>> names;  // by item: of its Listeners
  for (const api::PortPoolItem& item : pool.spec.pool_items)
    survey_item(item, sight, out.reports[item.item_name], names[item.item_name], out);
  for (const ListenerPtr& listener :
       listeners.by_index(claims::kPoolIndex, pool.meta.key().to_string())) {
    const std::string item(claims::item_of(*listener));
    const auto wanted = names.find(item);
    if (wanted != names.end()) out.present.insert(item);
    // Of an item that cannot be read, nothing is known.
    const bool stays = wanted != names.end() &&
                       (wanted->second.empty() || wanted->second.contains(listener->meta.name));
    if (!stays) survey_leaving(listener, sight, out);
  }
  return out;
}

std::vector<RefreshedListener> refreshed_listeners(const api::PortPool& pool,
                                                   const PoolSurvey& survey,
                                                   const claims::Sealer& sealer) {
  struct Next {
    ListenerPtr listener{};
    api::ListenerSpec spec{};
    claims::ListenerChange change{};
  };
  std::map<std::string, Next> by_name;  // one may be several of these
  const auto at = [&](const ListenerPtr& listener) -> Next& {
    return by_name.emplace(listener->meta.name, Next{listener, listener->spec}).first->second;
  };
  for (const OutdatedListener& one : survey.outdated) {
    Next& next = at(one.listener);
    next.spec = one.spec;
    if (!one.to_seal) continue;
    next.change.marks = sealer.marks(*one.to_seal);
    if (!names_owner(*one.listener, pool) || !is_its_own(*one.listener, pool))
      next.change.belonging = belonging_of(pool, *one.to_seal);
  }
  for (const ListenerPtr& listener : survey.strays)
    at(listener).spec = without_target(std::move(at(listener).spec));
  for (const ListenerPtr& listener : survey.unlocked) at(listener).change.claim = "";
  for (const ListenerPtr& listener : survey.claimed_peers) at(listener).change.no_claim = true;
  std::vector<RefreshedListener> out;
  for (auto& [name, next] : by_name) {
    if (next.spec != next.listener->spec) next.change.spec = std::move(next.spec);
    out.push_back({std::move(next.listener), std::move(next.change)});
  }
  return out;
}

std::vector<ListenerPtr> removable(const std::vector<ListenerPtr>& listeners) {
  std::vector<ListenerPtr> out;
  std::set<std::string> led;  // peers that go with a lock
  for (const ListenerPtr& listener : listeners) {
    if (!claims::is_lock(*listener)) continue;
    for (std::string& peer : peers_of(*listener)) led.insert(std::move(peer));
    if (claims::claim_text(*listener).empty()) out.push_back(listener);
  }
  for (const ListenerPtr& listener : listeners) {
    // A claim on what says that it is a peer: one of the two was written by somebody.
    const bool is_clean = !claims::is_lock(*listener) && claims::claim_text(*listener).empty();
    if (is_clean && !led.contains(listener->meta.name)) out.push_back(listener);
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
