// What one look at a pool's Listeners found, and what is to be done about it: pure over the caches.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/load_balancer.h"
#include "claims/claimer.h"
#include "claims/seal.h"
#include "controllers/portpool/pool_plan.h"
#include "kube/cache/pod.h"

namespace berth::controllers::portpool {

// Whether the pool must be looked at after this change: its status, and which Listeners there are,
// depend on it. A look goes through all of them, so one that changes hands, as most do, is none.
// `pool` is what its Listeners name; null: it is not known.
bool concerns_pool(const kube::Change<api::Listener>& change, const api::PortPool* pool,
                   const claims::ListenerStore& listeners,
                   const model::LoadBalancerDefaults& defaults = {});

// Pools of free slots that lead somewhere, of those that this Pod was told of: it has gone.
std::set<kube::ObjectKey> pools_left_by(const kube::Pod& pod,
                                        const claims::ListenerStore& listeners);

// A Listener that is not as the pool wants it.
struct OutdatedListener {
  claims::ListenerPtr listener{};
  api::ListenerSpec spec{};  // as it should be; where it leads to is not the pool's to say
  std::optional<claims::Identity> to_seal{};
};

struct PoolSurvey {
  std::map<std::string, ItemReport> reports{};  // by item
  std::vector<WantedListener> missing{};
  std::vector<OutdatedListener> outdated{};
  std::vector<claims::ListenerPtr> strays{};
  std::vector<claims::ListenerPtr> unlocked{};       // locks whose claim annotation was taken off
  std::vector<claims::ListenerPtr> claimed_peers{};  // peers on which somebody wrote a claim
  // By item: of those that left the pool, and of those that came back with other ports.
  std::map<std::string, std::vector<claims::ListenerPtr>> leaving{};
  std::set<std::string> present{};  // items of the pool that have a Listener
};

// `reports` has the problem of each item whose ports are not granted: its Listeners are not missed.
PoolSurvey survey_pool(const api::PortPool& pool, std::map<std::string, ItemReport> reports,
                       const claims::ListenerStore& listeners, const kube::Store<kube::Pod>& pods,
                       const claims::Sealer& sealer, const claims::RefsOf& refs_of,
                       const model::LoadBalancerDefaults& defaults);

// Attributes follow the pool; what people changed of a Listener is put right, and sealed; what
// leads somewhere from a free slot is taken back; a lock has the annotation of its claim, and a
// peer has none. What a living Pod was told of is for its binding to put right.
struct RefreshedListener {
  claims::ListenerPtr listener{};
  claims::ListenerChange change{};
};
std::vector<RefreshedListener> refreshed_listeners(const api::PortPool& pool,
                                                   const PoolSurvey& survey,
                                                   const claims::Sealer& sealer);

// Of Listeners that shall go, those that may: locks of slots that nobody has, with which their
// peers go, and peers whose lock is gone because a removal was interrupted.
std::vector<claims::ListenerPtr> removable(const std::vector<claims::ListenerPtr>& listeners);

// Items of which there is nothing but grants: those that left the pool, and those that were granted
// some of their ports before others were refused.
std::set<std::string> items_to_release(
    const api::PortPool& pool, const PoolSurvey& survey,
    const std::vector<std::shared_ptr<const api::LoadBalancer>>& balancers);

}  // namespace berth::controllers::portpool
