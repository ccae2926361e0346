#include "controllers/portpool/pools.h"

#include <algorithm>
#include <boost/json.hpp>

#include "controllers/portpool/events.h"
#include "controllers/portpool/pool_survey.h"
#include "frontend/failures.h"
#include "frontend/steps.h"

namespace berth::controllers::portpool {
namespace {

using frontend::kCatchUp;
using kube::ObjectKey;
using kube::Requeue;

// Pools do not wait for each other.
constexpr int kWorkers = 4;
// A storm of Listener changes is one look at the pool.
constexpr Duration kGather = std::chrono::milliseconds{100};
// A conflict over ports, or a load balancer that does not answer, may be over by then.
constexpr Duration kTryAgain = std::chrono::seconds{10};

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
      balancer_of_([&balancers = caches.balancers](const model::LoadBalancerRef& lb) {
        return balancers.get({"", model::object_name(lb)});
      }),
      defaults_(std::move(defaults)),
      controller_(tasks, frontend::counting_failures("portpool", kWorkers, registry),
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
    const claims::GrantBook book(caches_.balancers, caches_.blocks);
    for (const ObjectKey& pool : frontend::owners_on(change, objects_.type(), book))
      emit(PoolKey(pool));
  });
  controller_.watch(caches_.blocks, [this](const auto& change, const auto& emit) {
    for (const ObjectKey& pool : frontend::owners_in(change, objects_.type())) emit(PoolKey(pool));
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
  const auto over = frontend::begin(context, keeper_, objects_, key.object, pool.get());
  if (!over) return fail(over.error());
  if (*over) return **over;
  if (pool->meta.deleting)
    return frontend::let_go(context, keeper_, objects_, *pool, owner_of(*pool));
  return keep(context, *pool);
}

Result<Requeue> PoolController::keep(const Context& context, const api::PortPool& pool) {
  PoolWants wants = wants_of(pool, refs_of_, context.tasks.wall_time());
  leave_out_impossible(pool, refs_of_, balancer_of_, wants);
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
  return frontend::ensure_all(
      context, keeper_, owner, wants.parts, std::move(wants.unreadable),
      [&](const Error& error) { events_.record(pool_failed(pool, error)); });
}

Result<> PoolController::write_status(const Context& context, const api::PortPool& pool,
                                      const frontend::Survey& survey, frontend::Round& round) {
  std::map<std::string, std::size_t> leaving;
  for (const auto& [item, listeners] : survey.leaving)
    if (!survey.reports.contains(item)) leaving[item] = listeners.size();
  const api::PortPoolStatus status =
      pool_status(pool, survey.reports, leaving, balancer_of_, refs_of_);
  const Result<bool> written =
      frontend::write_status(context, objects_, api::port_pool_kind(), pool, status);
  if (!written) return fail(written.error());
  if (!*written) {
    round.overtaken = true;
    return {};
  }
  if (status.status == api::kReady && pool.status.status != api::kReady)
    events_.record(pool_is_ready(pool));
  return {};
}

}  // namespace berth::controllers::portpool
