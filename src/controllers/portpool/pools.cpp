#include "controllers/portpool/pools.h"

#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "api/walkers.h"
#include "claims/finalizer.h"
#include "controllers/portpool/events.h"
#include "controllers/portpool/failures.h"
#include "controllers/portpool/overtaken.h"
#include "controllers/portpool/pool_survey.h"

namespace berth::controllers::portpool {
namespace {

using kube::ObjectKey;
using kube::Requeue;
using wire::Array;
using wire::Object;

// Pools do not wait for each other.
constexpr int kWorkers = 4;
// A storm of Listener changes is one look at the pool.
constexpr Duration kGather = std::chrono::milliseconds{100};
// A conflict over ports, or a load balancer that does not answer, may be over by then.
constexpr Duration kTryAgain = std::chrono::seconds{10};

// Pools that have a grant in the object, or had.
template <class T>
std::set<ObjectKey> pools_in(const kube::Change<T>& change) {
  std::set<ObjectKey> out;
  for (const auto& object : {change.before, change.after}) {
    if (!object) continue;
    for (const api::Grant& grant : object->spec.grants)
      if (grant.owner_kind == claims::kPoolOwner)
        out.insert({grant.owner_namespace, grant.owner_name});
  }
  return out;
}

}  // namespace

PoolController::PoolController(Tasks& tasks, kube::Client& client, Caches caches,
                               frontend::Keeper& keeper, const claims::Sealer& sealer,
                               const claims::Resolver& resolver, kube::EventRecorder& events,
                               model::LoadBalancerDefaults defaults, metrics::Registry* registry)
    : objects_(api::port_pools(client, caches.pools)),
      caches_(caches),
      keeper_(keeper),
      sealer_(sealer),
      events_(events),
      refs_of_([&resolver](const api::PortPool& pool, const api::PortPoolItem& item) {
        return resolver.load_balancers_of(pool, item);
      }),
      defaults_(std::move(defaults)),
      controller_(tasks, counting_failures("portpool", kWorkers, registry),
                  [this](const Context& c, const PoolKey& k) { return reconcile(c, k); }) {
  watch();
}

void PoolController::watch() {
  controller_.at_start([this] { keeper_.forget_contenders(objects_.type()); });
  controller_.watch(caches_.pools, [this](const auto& change, const auto& emit) {
    // Before it is looked at: those that want the same may be looked at first.
    const api::PortPool& pool = change.object();
    const bool wants = change.after && !pool.meta.deleting;
    keeper_.contend(owner_of(pool),
                    wants ? wanted_grants(pool, refs_of_) : std::vector<frontend::WantedGrant>{});
    emit(PoolKey::of(pool));
  });
  controller_.watch(
      caches_.listeners,
      [this](const auto& change, const auto& emit) {
        const ObjectKey pool = claims::pool_of(change.object());
        if (!concerns_pool(change, caches_.pools.get(pool).get(), caches_.listeners, defaults_))
          return;
        emit(PoolKey(pool));
        // Somebody may have written another name on it.
        const ObjectKey before = change.before ? claims::pool_of(*change.before) : pool;
        if (before != pool) emit(PoolKey(before));
      },
      kGather);
  // A Pod that lost its claim, and could not have it again, may still be led to. Most Pods have
  // theirs when they go, and their binding takes the port back.
  controller_.watch(caches_.pods, [this](const auto& change, const auto& emit) {
    if (change.after && !change.after->finished()) return;
    for (const ObjectKey& pool : pools_left_by(change.object(), caches_.listeners))
      emit(PoolKey(pool));
  });
  // An address or an error of a load balancer shows in the pools that use it. A pool that has just
  // given an item's ports back may have another item that waits for them.
  controller_.watch(caches_.balancers, [this](const auto& change, const auto& emit) {
    std::set<ObjectKey> pools = pools_in(change);
    const claims::GrantBook book(caches_.balancers, caches_.blocks);
    for (const ledger::Grant& grant : book.on(change.object().meta.name))
      if (grant.owner.kind == claims::kPoolOwner) pools.insert({grant.owner.ns, grant.owner.name});
    for (const ObjectKey& pool : pools) emit(PoolKey(pool));
  });
  controller_.watch(caches_.blocks, [](const auto& change, const auto& emit) {
    for (const ObjectKey& pool : pools_in(change)) emit(PoolKey(pool));
  });
}

void PoolController::look_at_all() {
  for (const auto& pool : caches_.pools.all()) controller_.add(PoolKey::of(*pool));
}

void PoolController::look_at_those_with(const model::LoadBalancerRef& named) {
  for (const auto& pool : caches_.pools.all()) {
    const bool has = std::ranges::any_of(pool->spec.pool_items, [&](const auto& item) {
      const auto refs = api::load_balancers_of(item, defaults_);
      return refs && std::ranges::find(*refs, named) != refs->end();
    });
    if (has) controller_.add(PoolKey::of(*pool));
  }
}

Result<Requeue> PoolController::reconcile(const Context& context, const PoolKey& key) {
  const auto pool = caches_.pools.get(key.object);
  frontend::Round round;
  if (Result<> settled = keeper_.settle_grants(context, objects_.type(), key.object,
                                               pool ? pool->meta.uid : "", round);
      !settled)
    return pass(settled);
  if (round.overtaken) return Requeue{.after = kCatchUp};
  if (!pool) return Requeue{};
  if (pool->meta.deleting) return let_go(context, *pool);
  if (claims::has_our_finalizer(pool->meta)) return keep(context, *pool);
  const auto taken = objects_.patch(context, key.object, kube::PatchType::json,
                                    claims::finalizer_patch(pool->meta, true));
  if (taken) return Requeue{};  // our own write brings it back
  if (was_overtaken(taken.error())) return Requeue{.after = kCatchUp};
  return fail(taken.error());
}

Result<Requeue> PoolController::keep(const Context& context, const api::PortPool& pool) {
  PoolWants wants = wants_of(pool, refs_of_, context.tasks.wall_time());
  Result<std::map<std::string, frontend::PartReport>> reports = ensure_grants(context, pool, wants);
  if (!reports) return pass(reports);
  const frontend::Owner owner = owner_of(pool);
  const frontend::Survey found = keeper_.survey_of(owner, wants.parts, std::move(*reports));
  const SlotSurvey slots = survey_slots(found, caches_.listeners, caches_.pods, sealer_);
  const bool troubled = std::ranges::any_of(
      found.reports, [](const auto& one) { return !one.second.problem.empty(); });
  frontend::Round round;
  if (Result<> written = write_status(context, pool, found, round); !written) return pass(written);
  if (Result<> done = keeper_.carry_out(context, owner, wants.parts, found,
                                        changes_of(found, slots, sealer_), round);
      !done)
    return pass(done);
  if (round.goes_on) return Requeue{.after = Duration{1}};
  if (round.overtaken) return Requeue{.after = kCatchUp};
  return Requeue{.after = troubled ? std::optional(kTryAgain) : std::nullopt};
}

Result<std::map<std::string, frontend::PartReport>> PoolController::ensure_grants(
    const Context& context, const api::PortPool& pool, PoolWants& wants) {
  const frontend::Owner owner = owner_of(pool);
  keeper_.contend(owner, wanted_grants(pool, refs_of_));
  std::map<std::string, frontend::PartReport> reports = std::move(wants.unreadable);
  for (const frontend::WantedPart& part : wants.parts) {
    if (reports.contains(part.name)) continue;
    Result<frontend::PartReport> report = keeper_.ensure_grants(
        context, owner, part,
        [&](const Error& error) { events_.record(pool_failed(pool, error)); });
    if (!report) return pass(report);
    reports[part.name] = std::move(*report);
  }
  return reports;
}

Result<> PoolController::write_status(const Context& context, const api::PortPool& pool,
                                      const frontend::Survey& survey, frontend::Round& round) {
  std::map<std::string, std::size_t> leaving;
  for (const auto& [item, listeners] : survey.leaving)
    if (!survey.reports.contains(item)) leaving[item] = listeners.size();
  const BalancerOf balancer_of = [this](const model::LoadBalancerRef& lb) {
    return caches_.balancers.get({"", model::object_name(lb)});
  };
  const api::PortPoolStatus status =
      pool_status(pool, survey.reports, leaving, balancer_of, refs_of_);
  const Object wanted = api::encode(status);
  if (wanted == api::encode(pool.status)) return {};
  const Array patch{Object{{"op", "test"}, {"path", "/metadata/uid"}, {"value", pool.meta.uid}},
                    Object{{"op", "add"}, {"path", "/status"}, {"value", wanted}}};
  const auto written =
      objects_.patch_status(context, pool.meta.key(), kube::PatchType::json, patch);
  if (!written && was_overtaken(written.error())) {
    round.overtaken = true;
    return {};
  }
  if (!written) return fail(written.error());
  if (status.status == api::kReady && pool.status.status != api::kReady)
    events_.record(pool_is_ready(pool));
  return {};
}

Result<Requeue> PoolController::let_go(const Context& context, const api::PortPool& pool) {
  if (!claims::has_our_finalizer(pool.meta)) return Requeue{};
  frontend::Round round;
  Result<bool> gone = keeper_.let_go(context, owner_of(pool), round);
  if (!gone) return pass(gone);
  if (!*gone) return Requeue{.after = round.overtaken ? std::optional(kCatchUp) : std::nullopt};
  Result<> freed = objects_.patch_away(context, pool.meta.key(), kube::PatchType::json,
                                       claims::finalizer_patch(pool.meta, false));
  if (!freed && was_overtaken(freed.error())) return Requeue{.after = kCatchUp};
  if (!freed) return pass(freed);
  return Requeue{};
}

}  // namespace berth::controllers::portpool
