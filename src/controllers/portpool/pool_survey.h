// What one look at a pool's slots found beside what the kit sees, and what is written because of
// it. Pure over the caches.
#pragma once

#include <set>
#include <vector>

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

struct SlotSurvey {
  std::vector<claims::ListenerPtr> strays{};         // of free slots, and they lead somewhere
  std::vector<claims::ListenerPtr> unlocked{};       // locks whose claim annotation was taken off
  std::vector<claims::ListenerPtr> claimed_peers{};  // peers on which somebody wrote a claim
};
SlotSurvey survey_slots(const frontend::Survey& survey, const claims::ListenerStore& listeners,
                        const kube::Store<kube::Pod>& pods, const claims::Sealer& sealer);

// What leads somewhere from a free slot is taken back; a lock has the annotation of its claim, and
// a peer has none; the rest is as the kit has it. What a living Pod was told of is for its binding
// to put right.
std::vector<frontend::ChangedListener> changes_of(const frontend::Survey& survey,
                                                  const SlotSurvey& slots,
                                                  const claims::Sealer& sealer);

}  // namespace berth::controllers::portpool
