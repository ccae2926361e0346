#include "claims/slot_index.h"

#include <algorithm>
#include <span>

#include "model/load_balancer_name.h"

namespace berth::claims {
namespace {

// Slots that are settled under one lock: admissions of other pools wait for no more than these.
constexpr std::size_t kSettledAtOnce = 256;

// The bits change only with the shape of the pool: what its items are, not how they stand.
bool has_same_shape(const api::PortPool& a, const api::PortPool& b) {
  return a.meta.generation == b.meta.generation && a.meta.deleting == b.meta.deleting &&
         a.meta.uid == b.meta.uid;
}

ledger::ItemShape shape_of(const api::PortPoolItem& item, std::size_t load_balancers) {
  return {.name = item.item_name,
          .first_port = static_cast<model::Port>(item.start_port),
          .segment = static_cast<std::uint32_t>(std::max<std::int64_t>(item.segment_length, 1)),
          .slots = static_cast<std::uint32_t>(api::slot_count(item)),
          .load_balancers = static_cast<std::uint32_t>(load_balancers),
          .protocols = api::protocols_of(item).value_or(std::vector<model::Protocol>{})};
}

}  // namespace

SlotIndex::SlotIndex(ListenerStore& listeners, PoolStore& pools, IsOurs is_ours)
    : listeners_(listeners), is_ours_(std::move(is_ours)) {
  listeners.on_change([this](const kube::Change<api::Listener>& change) { on_listener(change); });
  pools.on_change([this](const kube::Change<api::PortPool>& change) { on_pool(change); });
}

void SlotIndex::on_pool(const kube::Change<api::PortPool>& change) {
  if (change.before && change.after && has_same_shape(*change.before, *change.after)) return;
  const kube::ObjectKey key = change.object().meta.key();
  bool room = false;
  {
    const MutexLock lock(mu_);
    // Nothing is given from a pool that is going away.
    if (!change.after || change.after->meta.deleting) {
      pools_.erase(key);
      return;
    }
    auto& pool = pools_[key];
    const std::uint32_t before = pool ? free_slots(*pool) : 0;
    pool = build(*change.after);
    room = free_slots(*pool) > before;
  }
  if (room && on_room_) on_room_(key);
}

std::unique_ptr<SlotIndex::Pool> SlotIndex::build(const api::PortPool& pool) const {
  auto out = std::make_unique<Pool>();
  std::vector<ledger::ItemShape> shapes;
  for (const api::PortPoolItem& item : pool.spec.pool_items) {
    // An item that cannot be read is refused at admission; one that is there all the same gives
    // nothing.
    const auto refs = api::load_balancers_of(item, {});
    if (!refs || refs->empty() || refs->size() > ledger::kMaxItemLoadBalancers) continue;
    shapes.push_back(shape_of(item, refs->size()));
    out->load_balancers.push_back({item.load_balancer_ids, refs->front()});
  }
  const auto policy = pool.spec.allocate_policy == api::kAveragePolicy ? ledger::Policy::average
                                                                       : ledger::Policy::in_order;
  out->slots = std::make_unique<ledger::SlotTable>(std::move(shapes), policy);
  for (const ListenerPtr& listener : listeners_.by_index(kOwnerIndex, pool_key(pool.meta.key()))) {
    note(*out, *listener, true);
  }
  return out;
}

std::optional<std::size_t> SlotIndex::text_for(const Balancers& balancers,
                                               const api::Listener& listener,
                                               const model::LoadBalancerRef& ref) const {
  const auto index_of = [&](const auto& means) -> std::optional<std::size_t> {
    const auto it = std::ranges::find_if(balancers.texts, means);
    if (it == balancers.texts.end()) return std::nullopt;
    return static_cast<std::size_t>(it - balancers.texts.begin());
  };
  if (auto by_id = index_of([&](const std::string& text) { return model::may_mean(text, ref); }))
    return by_id;
  const model::Standing standing{ref, std::string(found_by(listener))};
  const auto by_name =
      index_of([&](const std::string& text) { return model::may_mean(text, standing); });
  return by_name && is_ours_(listener) ? by_name : std::nullopt;
}

void SlotIndex::on_listener(const kube::Change<api::Listener>& change) {
  const api::Listener& listener = change.object();
  if (!belongs_to_pool(listener)) return;
  const kube::ObjectKey key = pool_of(listener);
  bool room = false;
  {
    const MutexLock lock(mu_);
    const auto it = pools_.find(key);
    if (it == pools_.end()) return;
    const std::uint32_t before = free_slots(*it->second);
    note(*it->second, listener, change.after != nullptr);
    room = free_slots(*it->second) > before;
  }
  if (room && on_room_) on_room_(key);
}

void SlotIndex::refresh() {
  std::vector<kube::ObjectKey> roomier;
  {
    const MutexLock lock(mu_);
    for (const auto& [key, pool] : pools_) {
      const std::uint32_t before = free_slots(*pool);
      for (const ListenerPtr& listener : listeners_.by_index(kOwnerIndex, pool_key(key)))
        note(*pool, *listener, true);
      if (free_slots(*pool) > before) roomier.push_back(key);
    }
  }
  if (!on_room_) return;
  for (const kube::ObjectKey& key : roomier) on_room_(key);
}

void SlotIndex::note(Pool& pool, const api::Listener& listener, bool present) const {
  const auto protocol = protocol_of(listener);
  const auto ref = load_balancer_of(listener, {});
  if (!protocol || !ref) return;
  const auto place =
      pool.slots->find(item_of(listener), *protocol, static_cast<model::Port>(listener.spec.port));
  if (!place) return;
  Balancers& balancers = pool.load_balancers[place->item];
  const auto text = text_for(balancers, listener, *ref);
  if (!text) return;
  const bool there = present && !listener.meta.deleting;
  pool.slots->set_listener(
      *place, static_cast<std::uint32_t>(*text),
      {.made = there && !listener.status.listener_id.empty(),
       .empty = there && !listener.status.listener_id.empty() && leads_nowhere(listener)});
  if (*text != 0) return;
  if (!model::may_mean(balancers.texts.front(), *ref)) balancers.first = *ref;
  const bool claimable = kube::has(listener.meta.annotations, ledger::kClaimAnnotation);
  pool.slots->set_taken(*place, present && (!claimable || !claim_text(listener).empty()));
}

std::uint32_t SlotIndex::free_slots(const Pool& pool) {
  std::uint32_t free = 0;
  for (std::uint32_t i = 0; i < pool.slots->items().size(); ++i)
    for (const model::Protocol protocol : pool.slots->items()[i].protocols)
      free += pool.slots->usage(i, protocol).free;
  return free;
}

SlotChoice SlotIndex::choice_at(const Pool& pool, const SlotRequest& request,
                                const ledger::SlotPlace& place) {
  const ledger::ItemShape& item = pool.slots->items()[place.item];
  SlotChoice choice{.item = item.name, .ports = item.ports_of(place.slot)};
  for (const model::Protocol protocol : request.protocols) {
    choice.locks.push_back(
        {request.pool.ns,
         api::pool_listener_name(pool.load_balancers[place.item].first, protocol, choice.ports)});
  }
  return choice;
}

std::optional<SlotChoice> SlotIndex::choose(const SlotRequest& request, std::uint32_t start) const {
  const MutexLock lock(mu_);
  const auto it = pools_.find(request.pool);
  if (it == pools_.end()) return std::nullopt;
  const Pool& pool = *it->second;
  const auto place = pool.slots->choose(request.item, request.protocols, start);
  if (!place) return std::nullopt;
  return choice_at(pool, request, *place);
}

std::optional<SlotChoice> SlotIndex::reserve(const SlotRequest& request, std::uint32_t start) {
  const MutexLock lock(mu_);
  const auto it = pools_.find(request.pool);
  if (it == pools_.end()) return std::nullopt;
  Pool& pool = *it->second;
  const auto place = pool.slots->choose(request.item, request.protocols, start);
  if (!place) return std::nullopt;
  for (const model::Protocol protocol : request.protocols)
    pool.slots->set_taken({place->item, protocol, place->slot}, true);
  SlotChoice choice = choice_at(pool, request, *place);
  pool.reserved.insert(choice.locks.begin(), choice.locks.end());
  return choice;
}

void SlotIndex::settle(Pool& pool, const kube::ObjectKey& lock) const {
  if (pool.reserved.erase(lock) == 0) return;
  if (const ListenerPtr listener = listeners_.get(lock)) note(pool, *listener, true);
}

void SlotIndex::settle(const kube::ObjectKey& pool, const SlotChoice& choice) {
  const MutexLock lock(mu_);
  const auto it = pools_.find(pool);
  if (it == pools_.end()) return;
  for (const kube::ObjectKey& one : choice.locks) settle(*it->second, one);
}

void SlotIndex::settle_all(const kube::ObjectKey& pool) {
  const std::vector<ListenerPtr> all = listeners_.by_index(kOwnerIndex, pool_key(pool));
  {
    const MutexLock lock(mu_);
    if (const auto it = pools_.find(pool); it != pools_.end()) it->second->reserved.clear();
  }
  for (std::size_t begin = 0; begin < all.size(); begin += kSettledAtOnce) {
    const MutexLock lock(mu_);
    const auto it = pools_.find(pool);
    if (it == pools_.end()) return;
    const std::size_t end = std::min(begin + kSettledAtOnce, all.size());
    for (const ListenerPtr& one : std::span(all).subspan(begin, end - begin)) {
      // As it is now: what came meanwhile has been noted already.
      if (const ListenerPtr now = listeners_.get(one->meta.ns.view(), one->meta.name))
        note(*it->second, *now, true);
    }
  }
}

void SlotIndex::add_usage(const kube::ObjectKey& key, const Pool& pool,
                          std::vector<ItemUsage>& out) {
  for (std::uint32_t i = 0; i < pool.slots->items().size(); ++i) {
    const ledger::ItemShape& item = pool.slots->items()[i];
    for (const model::Protocol protocol : item.protocols)
      out.push_back({key, item.name, protocol, pool.slots->usage(i, protocol)});
  }
}

std::vector<ItemUsage> SlotIndex::usage_of(const kube::ObjectKey& pool) const {
  std::vector<ItemUsage> out;
  const MutexLock lock(mu_);
  if (const auto it = pools_.find(pool); it != pools_.end()) add_usage(pool, *it->second, out);
  return out;
}

std::vector<ItemUsage> SlotIndex::usage() const {
  std::vector<ItemUsage> out;
  const MutexLock lock(mu_);
  for (const auto& [key, pool] : pools_) add_usage(key, *pool, out);
  return out;
}

}  // namespace berth::claims
