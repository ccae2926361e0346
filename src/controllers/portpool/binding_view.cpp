#include "controllers/portpool/binding_view.h"

#include <algorithm>

#include "controllers/portpool/pod_index.h"
#include "controllers/portpool/pool_plan.h"
#include "controllers/portpool/told.h"

namespace berth::controllers::portpool {
namespace {

using claims::ListenerPtr;
using kube::ObjectKey;

class Viewer {
 public:
  Viewer(const Caches& caches, const claims::Sealer& sealer, const Circumstances& circumstances)
      : caches_(caches), sealer_(sealer), circumstances_(circumstances) {}

  BindingView view_of(const ObjectKey& key) const {
    BindingView view{
        .key = key,
        .pod = caches_.pods.get(key),
        .binding = caches_.bindings.get(key),
        .pool_of = [&pools = caches_.pools](const ObjectKey& pool) { return pools.get(pool); },
        .now = circumstances_.now,
        .quarantine = circumstances_.quarantine,
        .max_keep = circumstances_.max_keep};
    add_slots(view);
    add_told(view, sealer_.ring());
    add_lost(view);
    return view;
  }

 private:
  // By the Pod's name, and by its token where the claim does not know the name yet.
  std::vector<ListenerPtr> locks_of(const BindingView& view) const {
    std::vector<ListenerPtr> locks =
        caches_.listeners.by_index(claims::kPodIndex, view.key.to_string());
    if (view.pod) {
      const std::string_view token = kube::get(view.pod->meta.labels, ledger::kTokenLabel);
      const auto unbound = token.empty() ? std::vector<ListenerPtr>{}
                                         : caches_.listeners.by_index(claims::kTokenIndex, token);
      locks.insert(locks.end(), unbound.begin(), unbound.end());
    }
    const auto key_of = [](const ListenerPtr& lock) { return lock->meta.key(); };
    std::ranges::sort(locks, {}, key_of);
    const auto same = std::ranges::unique(locks, {}, key_of);
    locks.erase(same.begin(), same.end());
    return locks;
  }

  void add_slots(BindingView& view) const {
    for (ListenerPtr& lock : locks_of(view)) {
      HeldSlot slot = slot_of(std::move(lock), view.key);
      // A token that a Pod of another namespace carries is no claim of it.
      if (slot.claim.ns == view.key.ns) view.slots.push_back(std::move(slot));
    }
  }

  HeldSlot slot_of(ListenerPtr lock, const ObjectKey& pod) const {
    HeldSlot slot{.peers = peers_in(caches_.listeners, *lock),
                  .claim = claims::claim_of(*lock).value_or(ledger::Claim{}),
                  .seen_for = circumstances_.age_of(*lock),
                  .is_changed = sealer_.judge(*lock) == claims::Trust::forged && is_wanted(*lock),
                  .is_contested = is_contested(*lock, pod)};
    slot.lock = std::move(lock);
    return slot;
  }

  // Its pool will put it right.
  bool is_wanted(const api::Listener& lock) const {
    const auto pool = caches_.pools.get(claims::pool_of(lock));
    return pool && !pool->meta.deleting &&
           std::ranges::find(pool->spec.pool_items, claims::item_of(lock),
                             &api::PortPoolItem::item_name) != pool->spec.pool_items.end();
  }

  bool is_contested(const api::Listener& lock, const ObjectKey& pod) const {
    return std::ranges::any_of(pods_told_of(lock, caches_.pods), [&](const auto& other) {
      return other->meta.key() != pod &&
             other->condition(api::kPortsReadyCondition) == kube::ConditionStatus::yes &&
             may_be_told_by_us(*other);
    });
  }

  // What somebody wrote on a Pod contests nothing: what we tell a Pod of is sealed.
  bool may_be_told_by_us(const kube::Pod& pod) const {
    const auto ring = sealer_.ring();
    if (!ring) return true;
    const crypto::SealVerdict verdict = proof_of(pod, *ring).verdict;
    return verdict != crypto::SealVerdict::forged && verdict != crypto::SealVerdict::absent;
  }

  // What the Pod was told of and does not hold.
  void add_lost(BindingView& view) const {
    if (!view.pod || view.pod->finished()) return;
    for (const api::PortBindingItem& entry : view.told) {
      const auto lock = lock_of(entry, caches_.listeners);
      if (!lock) {
        view.misses_lock = true;
        continue;
      }
      if (claims::is_foreign(*lock)) view.is_foreign = true;
      if (!claims::belongs_to_pool(*lock)) continue;
      if (claims::is_unreadable(*lock)) view.is_unreadable = true;
      const bool held = std::ranges::any_of(view.slots, [&](const HeldSlot& slot) {
        return slot.lock->meta.key() == lock->meta.key();
      });
      if (!held) view.lost.push_back(slot_of(lock, view.key));
    }
    // One that we admitted has a claim or its token, whatever people do to its Listeners.
    if (!view.slots.empty() || kube::has(view.pod->meta.labels, ledger::kTokenLabel))
      view.is_foreign = false;
  }

  const Caches& caches_;
  const claims::Sealer& sealer_;
  const Circumstances& circumstances_;
};

}  // namespace

BindingView view_binding(const ObjectKey& key, const Caches& caches, const claims::Sealer& sealer,
                         const Circumstances& circumstances) {
  return Viewer(caches, sealer, circumstances).view_of(key);
}

}  // namespace berth::controllers::portpool
