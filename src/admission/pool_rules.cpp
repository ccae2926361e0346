#include "admission/pool_rules.h"

#include <algorithm>
#include <map>

#include "api/pool_access.h"

namespace berth::admission {
namespace {

using claims::SlotRequest;

constexpr Duration kSeenWait = std::chrono::seconds{2};
constexpr Duration kPollInterval = std::chrono::milliseconds{20};
// Handlers of the webhook are few: a namespace that floods one pool must not have them all.
constexpr int kMaxWaiting = 16;

std::map<kube::ObjectKey, std::size_t> ports_by_pool(const std::vector<SlotRequest>& wanted) {
  std::map<kube::ObjectKey, std::size_t> out;
  for (const SlotRequest& one : wanted) out[one.pool] += one.protocols.size();
  return out;
}

std::size_t ports_in(const api::PortPool& pool) {
  std::size_t out = 0;
  for (const api::PortPoolItem& item : pool.spec.pool_items) {
    const auto protocols = api::protocols_of(item);
    const auto slots = static_cast<std::size_t>(std::max<std::int64_t>(api::slot_count(item), 0));
    out += slots * (protocols ? protocols->size() : 1);
  }
  return out;
}

Error no_access(const api::PortPool& pool, const std::string& ns, std::string_view why) {
  return error_of(Code::forbidden, "Pods of namespace {} may not use it{}", ns, why)
      .about("PortPool " + pool.meta.key().to_string())
      .with_hint(fmt::format("its owner lists or selects namespaces in the annotations {} and {}",
                             api::kAllowedNamespacesAnnotation, api::kAllowedSelectorAnnotation));
}

}  // namespace

Result<> PoolRules::check_access(const Context& context, const std::string& ns,
                                 const std::vector<SlotRequest>& wanted) const {
  for (const SlotRequest& one : wanted) {
    const auto pool = pools_.get(one.pool);
    if (!pool) continue;
    if (Result<> may = admits(context, *pool, ns); !may) return may;
  }
  return {};
}

Result<> PoolRules::wait_until_seen(const Context& context, const std::string& ns,
                                    const std::vector<SlotRequest>& wanted) const {
  for (const auto& [key, ports] : ports_by_pool(wanted)) {
    const auto pool = pools_.get(key);
    if (!pool) continue;
    if (Result<> seen = wait_until_seen(context, *pool, ns); !seen) return seen;
  }
  return {};
}

Result<PoolRules::Share> PoolRules::reserve(const ledger::Claim& claim,
                                            const std::vector<SlotRequest>& wanted) const {
  Wanted ports = ports_by_pool(wanted);
  const MutexLock lock(mu_);
  for (const auto& [key, count] : ports) {
    const auto pool = pools_.get(key);
    if (!pool || !kube::has(pool->meta.annotations, api::kMaxPortsAnnotation)) continue;
    if (Result<> fits = check_bound(*pool, claim.ns, count, reserved_); !fits) return pass(fits);
  }
  reserved_.insert_or_assign(claim.token, Reserved{claim.ns, std::move(ports)});
  return Share(*this, claim.token);
}

void PoolRules::forget(const std::string& token) const {
  const MutexLock lock(mu_);
  reserved_.erase(token);
}

Result<> PoolRules::check_bound(const api::PortPool& pool, const std::string& ns, std::size_t wants,
                                const std::map<std::string, Reserved>& counted) const {
  const Result<api::PoolAccess> access = api::pool_access(pool.meta.annotations);
  if (!access || !access->max_ports) return {};
  const kube::ObjectKey key = pool.meta.key();
  std::size_t has = tenants_.held(
      key, ns, [&counted](const std::string& token) { return counted.contains(token); });
  for (const auto& [token, reserved] : counted) {
    const auto part = reserved.ports.find(key);
    if (reserved.ns == ns && part != reserved.ports.end()) has += part->second;
  }
  if (has + wants <= *access->max_ports) return {};
  return fail(
      error_of(Code::exhausted,
               "namespace {} has {} of the {} ports that it may have, and {} more are asked "
               "for",
               ns, has, *access->max_ports, wants)
          .about("PortPool " + key.to_string())
          .with_hint(
              fmt::format("the bound is the pool's annotation {}", api::kMaxPortsAnnotation)));
}

Result<> PoolRules::admits(const Context& context, const api::PortPool& pool,
                           const std::string& ns) const {
  if (ns == pool.meta.ns.view()) return {};
  const Result<api::PoolAccess> access = api::pool_access(pool.meta.annotations);
  // What was meant to keep somebody out keeps everybody out.
  if (!access)
    return fail(no_access(pool, ns, fmt::format(": its {} cannot be read", access.error().field)));
  if (access->lists(ns)) return {};
  if (access->selector.empty()) return fail(no_access(pool, ns, ""));
  const Result<bool> selected = namespaces_.fits(
      context, ns, [&](const Namespaces::Labels& labels) { return access->selects(labels); });
  if (!selected) return fail(selected.error());
  return *selected ? Result<>() : fail(no_access(pool, ns, ""));
}

Result<> PoolRules::wait_until_seen(const Context& context, const api::PortPool& pool,
                                    const std::string& ns) const {
  const kube::ObjectKey key = pool.meta.key();
  const std::size_t most = std::max(kMinUnseenPorts, ports_in(pool) / 2);
  const auto is_over = [&] { return tenants_.unseen(key, ns, most, has_pod_) >= most; };
  const Instant begin = context.tasks.now();
  if (!is_over()) return {};
  bool over = true;
  if (++waiting_ <= kMaxWaiting) {
    while (over && !context.expired() && context.tasks.now() - begin < kSeenWait) {
      (void)sleep_for(context.tasks, kPollInterval, context.stop);
      over = is_over();
    }
  }
  --waiting_;
  if (!over) return {};
  return fail(error_of(Code::unavailable,
                       "namespace {} was given {} ports for Pods that have not come", ns, most)
                  .about("PortPool " + key.to_string())
                  .with_hint("try again; ports of Pods that never come are free after a minute"));
}

}  // namespace berth::admission
