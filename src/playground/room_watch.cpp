#include "playground/room_watch.h"

#include <algorithm>

#include "api/decode.h"
#include "api/pod_ports.h"
#include "claims/slot.h"
#include "playground/natural_order.h"

namespace berth::playground {
namespace {

kube::Projection<kube::Pod> projection() {
  return kube::pod_projection(
      {.annotations = kube::KeyFilter::only({std::string(api::kBindStatusAnnotation)}),
       .owners = false});
}

}  // namespace

RoomWatch::RoomWatch(Tasks& tasks, kube::Client& client, Random random)
    : tasks_(tasks),
      pods_(tasks, client, projection(), random.fork()),
      pools_(tasks, client, api::port_pool_projection(), random.fork()),
      listeners_(tasks, client, api::listener_projection(), random.fork()) {
  pods_.store().on_change([this](const kube::Change<kube::Pod>& change) { note(change); });
  claims::add_indexes(listeners_.store(), {});
}

RoomWatch::~RoomWatch() {
  pods_.core().stop();
  pools_.core().stop();
  listeners_.core().stop();
}

Result<> RoomWatch::start(const Context& context) {
  pods_.start({});
  pools_.start({});
  listeners_.start({});
  for (kube::InformerCore* cache : {&pods_.core(), &pools_.core(), &listeners_.core()}) {
    if (Result<> synced = cache->wait_synced(context); !synced) return synced;
  }
  return {};
}

void RoomWatch::note(const kube::Change<kube::Pod>& change) {
  const Instant now = tasks_.now();
  const MutexLock lock(mu_);
  const kube::Pod& pod = change.object();
  if (!change.after) {
    waits_.erase(pod.meta.uid);
    return;
  }
  Wait& wait = waits_[pod.meta.uid];
  if (!change.before && !change.initial) wait.created = now;
  const bool ready = kube::get(pod.meta.annotations, api::kBindStatusAnnotation) == api::kReady;
  if (ready && !wait.ready) wait.ready = now;
}

std::optional<Duration> RoomWatch::took(const std::string& pod_uid) const {
  const MutexLock lock(mu_);
  const auto it = waits_.find(pod_uid);
  if (it == waits_.end() || !it->second.created || !it->second.ready) return std::nullopt;
  return *it->second.ready - *it->second.created;
}

std::vector<PoolRow> RoomWatch::pools() const {
  std::vector<PoolRow> rows;
  for (const auto& pool : pools_.store().all()) {
    PoolRow row{.pool = pool->meta.key().to_string(), .status = pool->status.status};
    for (const auto& listener :
         listeners_.store().by_index(claims::kOwnerIndex, claims::pool_key(pool->meta.key()))) {
      // The claim lives on one Listener of a slot; those on the other load balancers have none.
      if (!kube::has(listener->meta.annotations, ledger::kClaimAnnotation)) continue;
      const std::int64_t count = api::ports_of(listener->spec).size();  // of a segment: all
      row.ports[listener->spec.protocol] += count;
      row.used[listener->spec.protocol] += claims::claim_text(*listener).empty() ? 0 : count;
    }
    rows.push_back(std::move(row));
  }
  std::ranges::sort(rows, NaturalOrder(), &PoolRow::pool);
  return rows;
}

}  // namespace berth::playground
