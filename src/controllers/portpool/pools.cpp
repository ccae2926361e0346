#include "controllers/portpool/pools.h"

#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "api/decode.h"
#include "api/keys.h"
#include "api/walkers.h"
#include "base/parallel.h"
#include "claims/finalizer.h"
#include "controllers/portpool/events.h"
#include "controllers/portpool/failures.h"
#include "controllers/portpool/grant_plan.h"
#include "controllers/portpool/overtaken.h"

namespace berth::controllers::portpool {
namespace {

using claims::ListenerPtr;
using kube::ObjectKey;
using kube::Requeue;
using wire::Array;
using wire::Object;
using wire::Value;

// Pools do not wait for each other.
constexpr int kWorkers = 4;
// Writes of one pool at one time. The API server gives our bulk work seats of its own; more would
// only queue there.
constexpr std::size_t kWritesAtOnce = 16;
// Then the status shows how far it is.
constexpr std::size_t kCreationsPerPass = 1000;
// A storm of Listener changes is one look at the pool.
constexpr Duration kGather = std::chrono::milliseconds{100};
// A conflict over ports, or a load balancer that does not answer, may be over by then.
constexpr Duration kTryAgain = std::chrono::seconds{10};

Result<> note(std::atomic<bool>& overtaken) {
  overtaken = true;
  return {};
}

}  // namespace

PoolController::PoolController(Tasks& tasks, kube::Client& client, Caches caches,
                               claims::Claimer& claimer, claims::Grantor& grantor,
                               const claims::Sealer& sealer, claims::Courtesy& courtesy,
                               const claims::Resolver& resolver, kube::EventRecorder& events,
                               model::LoadBalancerDefaults defaults, metrics::Registry* registry)
    : client_(client),
      caches_(caches),
      claimer_(claimer),
      grantor_(grantor),
      sealer_(sealer),
      courtesy_(courtesy),
      events_(events),
      refs_of_([&resolver](const api::PortPool& pool, const api::PortPoolItem& item) {
        return resolver.load_balancers_of(pool, item);
      }),
      defaults_(std::move(defaults)),
      controller_(tasks, counting_failures("portpool", kWorkers, registry),
                  [this](const Context& c, const ObjectKey& k) { return reconcile(c, k); }) {
  watch();
}

void PoolController::watch() {
  controller_.watch(caches_.pools,
                    [](const auto& change, const auto& emit) { emit(change.object().meta.key()); });
  controller_.watch(
      caches_.listeners,
      [this](const auto& change, const auto& emit) {
        const ObjectKey pool = claims::pool_of(change.object());
        if (!concerns_pool(change, caches_.pools.get(pool).get(), caches_.listeners, defaults_))
          return;
        emit(pool);
        // Somebody may have written another name on it.
        const ObjectKey before = change.before ? claims::pool_of(*change.before) : pool;
        if (before != pool) emit(before);
      },
      kGather);
  // A Pod that lost its claim, and could not have it again, may still be led to. Most Pods have
  // theirs when they go, and their binding takes the port back.
  controller_.watch(caches_.pods, [this](const auto& change, const auto& emit) {
    if (change.after && !change.after->finished()) return;
    for (const ObjectKey& pool : pools_left_by(change.object(), caches_.listeners)) emit(pool);
  });
  // An address or an error of a load balancer shows in the pools that use it. A pool that has just
  // given an item's ports back may have another item that waits for them.
  controller_.watch(caches_.balancers, [](const auto& change, const auto& emit) {
    std::set<ObjectKey> owners;
    for (const auto& object : {change.before, change.after}) {
      if (!object) continue;
      for (const api::Grant& grant : object->spec.grants)
        owners.insert({grant.owner_namespace, grant.owner_name});
    }
    for (const ObjectKey& owner : owners) emit(owner);
  });
}

void PoolController::look_at_all() {
  for (const auto& pool : caches_.pools.all()) controller_.queue().add(pool->meta.key());
}

void PoolController::look_at_those_with(const model::LoadBalancerRef& named) {
  for (const auto& pool : caches_.pools.all()) {
    const bool has = std::ranges::any_of(pool->spec.pool_items, [&](const auto& item) {
      const auto refs = api::load_balancers_of(item, defaults_);
      return refs && std::ranges::find(*refs, named) != refs->end();
    });
    if (has) controller_.queue().add(pool->meta.key());
  }
}

Result<Requeue> PoolController::reconcile(const Context& context, const ObjectKey& key) {
  const auto pool = caches_.pools.get(key);
  // First, and of all items: one that has left the pool asks for none.
  Result<> restored =
      grantor_.restore(context, caches_.listeners.by_index(claims::kPoolIndex, key.to_string()));
  if (!restored &&
      (was_overtaken(restored.error()) || restored.error().code == Code::already_exists))
    return Requeue{.after = kCatchUp};
  if (!restored) return pass(restored);
  if (Result<> released = release_gone(context, key, pool ? pool->meta.uid : ""); !released)
    return pass(released);
  if (!pool) return Requeue{};
  if (pool->meta.deleting) return let_go(context, *pool);
  if (!claims::has_our_finalizer(pool->meta)) {
    Overtaken overtaken{false};
    if (Result<> taken = take_in(context, *pool, overtaken); !taken) return pass(taken);
    // Our own write brings it back.
    return Requeue{.after = overtaken ? std::optional(kCatchUp) : std::nullopt};
  }
  std::map<std::string, ItemReport> reports;
  for (const api::PortPoolItem& item : pool->spec.pool_items) {
    Result<ItemReport> report = ensure_grants(context, *pool, item);
    if (!report) return pass(report);
    reports[item.item_name] = std::move(*report);
  }
  const PoolSurvey found = survey_pool(*pool, std::move(reports), caches_.listeners, caches_.pods,
                                       sealer_, refs_of_, defaults_);
  const bool troubled = std::ranges::any_of(
      found.reports, [](const auto& one) { return !one.second.problem.empty(); });
  Overtaken overtaken{false};
  if (Result<> written = write_status(context, *pool, found, overtaken); !written)
    return pass(written);
  if (Result<> made = create_missing(context, *pool, found.missing); !made) return pass(made);
  if (Result<> done =
          refresh_listeners(context, refreshed_listeners(*pool, found, sealer_), overtaken);
      !done)
    return pass(done);
  if (Result<> released = release_left(context, *pool, found); !released) return pass(released);
  for (const auto& [item, listeners] : found.leaving) {
    if (Result<> removed = remove_free(context, listeners, overtaken); !removed)
      return pass(removed);
  }
  if (found.missing.size() > kCreationsPerPass) return Requeue{.after = Duration{1}};
  if (overtaken) return Requeue{.after = kCatchUp};
  return Requeue{.after = troubled ? std::optional(kTryAgain) : std::nullopt};
}

Result<> PoolController::take_in(const Context& context, const api::PortPool& pool,
                                 Overtaken& overtaken) {
  Result<Value> written =
      client_.patch(context, api::port_pool_kind().type, pool.meta.key(), kube::PatchType::json,
                    claims::finalizer_patch(pool.meta, true));
  if (!written && was_overtaken(written.error())) return note(overtaken);
  if (!written) return pass(written);
  if (Result<api::PortPool> next = api::decode_port_pool(*written))
    caches_.pools.put(std::move(*next));
  return {};
}

Result<ItemReport> PoolController::ensure_grants(const Context& context, const api::PortPool& pool,
                                                 const api::PortPoolItem& item) {
  const Result<std::vector<WantedGrant>> wanted =
      wanted_grants(pool, item, refs_of_, context.tasks.wall_time());
  if (!wanted) return ItemReport{.problem = wanted.error().to_string()};
  const GrantPlan plan = plan_grants(
      pool, *wanted, balancer_of(),
      [this](const model::LoadBalancerRef& lb, std::string_view but_of) {
        return grantor_.holdings(lb, but_of);
      },
      caches_.pools.all(), refs_of_);
  if (!plan.waits_for.empty()) return ItemReport{.problem = plan.waits_for, .refused = true};
  if (plan.refused) return refused(pool, *plan.refused);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const WantedGrant& one = plan.steps[i].wanted;
    Result<> granted = grantor_.grant(context, one.lb, one.grant);
    if (granted) continue;
    if (granted.error().code != Code::conflict) return pass(granted);
    // The cache was behind. What others may want is not held for an item that cannot be used.
    for (const GrantStep& step : std::span(plan.steps).first(i)) {
      if (Result<> back =
              grantor_.take_back(context, step.wanted.lb, step.wanted.grant, step.before);
          !back)
        return pass(back);
    }
    return refused(pool, granted.error());
  }
  for (const WantedGrant& one : *wanted) {
    std::string twin = same_address(one, caches_.balancers.all());
    if (!twin.empty()) return ItemReport{.problem = std::move(twin)};
  }
  return ItemReport{};
}

ItemReport PoolController::refused(const api::PortPool& pool, const Error& error) {
  events_.record(pool_failed(pool, error));
  return {.problem = error.to_string(), .refused = true};
}

BalancerOf PoolController::balancer_of() const {
  return [this](const model::LoadBalancerRef& lb) {
    return caches_.balancers.get({"", model::object_name(lb)});
  };
}

// A pool whose finalizer somebody took off went without giving back its ports; one of the same name
// may be there by now. Where a Listener of it is left, the grant stays; its end brings us back.
Result<> PoolController::release_gone(const Context& context, const ObjectKey& key,
                                      const std::string& uid) {
  std::set<std::string> gone;
  for (const auto& balancer : caches_.balancers.all()) {
    for (const api::Grant& grant : balancer->spec.grants) {
      const bool is_its = grant.owner_kind == claims::kPoolOwner &&
                          grant.owner_namespace == key.ns && grant.owner_name == key.name;
      if (is_its && grant.owner_uid != uid) gone.insert(grant.owner_uid);
    }
  }
  for (const std::string& former : gone) {
    Result<> released = grantor_.release(context, former, "");
    if (!released && !was_overtaken(released.error())) return released;
    if (!released) return fail(Code::unavailable, "grants of a former pool are not released yet");
  }
  return {};
}

Result<> PoolController::create_missing(const Context& context, const api::PortPool& pool,
                                        const std::vector<WantedListener>& missing) {
  const std::size_t count = std::min(missing.size(), kCreationsPerPass);
  return for_each_parallel(
      context, count, kWritesAtOnce, [&](const Context& own, std::size_t i) -> Result<> {
        courtesy_.give_way(own);
        Result<Value> created = client_.create(
            own, api::listener_kind().type,
            new_listener(pool, missing[i], sealer_.marks(identity_of(pool, missing[i]))));
        if (!created && created.error().code == Code::already_exists) return {};  // cache is behind
        if (!created) return pass(created);
        if (Result<api::Listener> listener = api::decode_listener(*created))
          caches_.listeners.put(std::move(*listener));
        return {};
      });
}

Result<> PoolController::refresh_listeners(const Context& context,
                                           const std::vector<RefreshedListener>& list,
                                           Overtaken& overtaken) {
  return for_each_parallel(
      context, list.size(), kWritesAtOnce, [&](const Context& own, std::size_t i) -> Result<> {
        courtesy_.give_way(own);
        Result<> changed = claimer_.change(own, *list[i].listener, list[i].change);
        if (!changed && was_overtaken(changed.error())) return note(overtaken);
        return changed;
      });
}

// Slots that nobody has; the others are waited for.
Result<> PoolController::remove_free(const Context& context,
                                     const std::vector<ListenerPtr>& listeners,
                                     Overtaken& overtaken) {
  const std::vector<ListenerPtr> locks = removable(listeners);
  return for_each_parallel(context, locks.size(), kWritesAtOnce,
                           [&](const Context& own, std::size_t i) {
                             courtesy_.give_way(own);
                             return remove_slot(own, *locks[i], overtaken);
                           });
}

// The lock first, and only as we know it: from then on nobody can claim the slot.
Result<> PoolController::remove_slot(const Context& context, const api::Listener& lock,
                                     Overtaken& overtaken) {
  Result<> removed = remove_listener(context, lock, true);
  if (!removed && removed.error().code == Code::not_found) removed = {};
  if (!removed && was_overtaken(removed.error())) return note(overtaken);
  if (!removed) return removed;
  for (const ListenerPtr& peer : peers_in(caches_.listeners, lock)) {
    Result<> gone = remove_listener(context, *peer, false);
    if (gone || gone.error().code == Code::not_found) continue;
    if (!was_overtaken(gone.error())) return gone;
    overtaken = true;
  }
  return {};
}

Result<> PoolController::remove_listener(const Context& context, const api::Listener& listener,
                                         bool as_known) {
  if (listener.meta.deleting) return {};
  return client_.remove(
      context, api::listener_kind().type, listener.meta.key(),
      {.uid = listener.meta.uid,
       .resource_version =
           as_known ? std::to_string(listener.meta.resource_version) : std::string()});
}

// Nothing is left of an item that has gone, or half of one was granted: its ports are for others.
Result<> PoolController::release_left(const Context& context, const api::PortPool& pool,
                                      const PoolSurvey& survey) {
  for (const std::string& item : items_to_release(pool, survey, caches_.balancers.all())) {
    if (Result<> released = grantor_.release(context, pool.meta.uid, item); !released)
      return released;
  }
  return {};
}

Result<> PoolController::write_status(const Context& context, const api::PortPool& pool,
                                      const PoolSurvey& survey, Overtaken& overtaken) {
  std::map<std::string, std::size_t> leaving;
  for (const auto& [item, listeners] : survey.leaving)
    if (!survey.reports.contains(item)) leaving[item] = listeners.size();
  const api::PortPoolStatus status =
      pool_status(pool, survey.reports, leaving, balancer_of(), refs_of_);
  const Object wanted = api::encode(status);
  if (wanted == api::encode(pool.status)) return {};
  const Array patch{Object{{"op", "test"}, {"path", "/metadata/uid"}, {"value", pool.meta.uid}},
                    Object{{"op", "add"}, {"path", "/status"}, {"value", wanted}}};
  Result<Value> written = client_.patch(context, api::port_pool_kind().type, pool.meta.key(),
                                        kube::PatchType::json, patch, {.subresource = "status"});
  if (!written && was_overtaken(written.error())) return note(overtaken);
  if (!written) return pass(written);
  if (Result<api::PortPool> next = api::decode_port_pool(*written))
    caches_.pools.put(std::move(*next));
  if (status.status == api::kReady && pool.status.status != api::kReady)
    events_.record(pool_is_ready(pool));
  return {};
}

Result<Requeue> PoolController::let_go(const Context& context, const api::PortPool& pool) {
  if (!claims::has_our_finalizer(pool.meta)) return Requeue{};
  const auto listeners =
      caches_.listeners.by_index(claims::kPoolIndex, pool.meta.key().to_string());
  Overtaken overtaken{false};
  if (!listeners.empty()) {
    if (Result<> removed = remove_free(context, listeners, overtaken); !removed)
      return pass(removed);
    // The last Listener's end brings it back.
    return Requeue{.after = overtaken ? std::optional(kCatchUp) : std::nullopt};
  }
  if (Result<> released = grantor_.release(context, pool.meta.uid, ""); !released)
    return pass(released);
  Result<Value> written =
      client_.patch(context, api::port_pool_kind().type, pool.meta.key(), kube::PatchType::json,
                    claims::finalizer_patch(pool.meta, false));
  if (!written && was_overtaken(written.error())) return Requeue{.after = kCatchUp};
  if (!written) return pass(written);
  return Requeue{};
}

}  // namespace berth::controllers::portpool
