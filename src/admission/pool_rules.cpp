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

Result<PoolRules::Share> PoolRules::reserve(const Context& context, const ledger::Claim& claim,
                                            const std::vector<SlotRequest>& wanted) const {
  const Reserved wants{claim.ns, ports_by_pool(wanted)};
  const Instant begin = context.tasks.now();
  Result<> noted = note(claim.token, wants);
  const auto must_wait = [&noted] { return !noted && noted.error().code == Code::unavailable; };
  if (must_wait()) {
    const bool may_wait = ++waiting_ <= kMaxWaiting;
    while (may_wait && must_wait() && !context.expired() &&
           context.tasks.now() - begin < kSeenWait) {
      (void)sleep_for(context.tasks, kPollInterval, context.stop);
      noted = note(claim.token, wants);
    }
    --waiting_;
  }
  if (!noted) return pass(noted);
  return Share(*this, claim.token);
}

// Those that come at once count each other.
Result<> PoolRules::note(const std::string& token, const Reserved& wants) const {
  const MutexLock lock(mu_);
  for (const auto& [key, count] : wants.ports) {
    const auto pool = pools_.get(key);
    if (!pool) continue;
    Result<> fits = check_bound(*pool, wants.ns, count, reserved_);
    if (fits) fits = check_unseen(*pool, wants.ns, count, reserved_);
    if (!fits) return fits;
  }
  reserved_.insert_or_assign(token, wants);
  return {};
}

void PoolRules::forget(const std::string& token) const {
  const MutexLock lock(mu_);
  reserved_.erase(token);
}

std::size_t PoolRules::reserved_for(const kube::ObjectKey& pool, const std::string& ns,
                                    const AllReserved& counted) {
  std::size_t out = 0;
  for (const auto& [token, reserved] : counted) {
    const auto part = reserved.ports.find(pool);
    if (reserved.ns == ns && part != reserved.ports.end()) out += part->second;
  }
  return out;
}

Result<> PoolRules::check_bound(const api::PortPool& pool, const std::string& ns, std::size_t wants,
                                const AllReserved& counted) const {
  if (!kube::has(pool.meta.annotations, api::kMaxPortsAnnotation)) return {};
  const Result<api::PoolAccess> access = api::pool_access(pool.meta.annotations);
  if (!access || !access->max_ports) return {};
  const kube::ObjectKey key = pool.meta.key();
  const std::size_t has = tenants_.held(key, ns, [&counted](const std::string& token) {
    return counted.contains(token);
  }) + reserved_for(key, ns, counted);
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

// A Pod that is alone may want more than half of a small pool.
Result<> PoolRules::check_unseen(const api::PortPool& pool, const std::string& ns,
                                 std::size_t wants, const AllReserved& counted) const {
  const kube::ObjectKey key = pool.meta.key();
  const std::size_t most = (ports_in(pool) + 1) / 2;
  const std::size_t begun = reserved_for(key, ns, counted);
  const std::size_t room = most > begun + wants ? most - begun - wants : 0;
  const std::size_t has = begun + tenants_.unseen(key, ns, room + 1, [&](const std::string& token) {
    return counted.contains(token) || has_pod_(token);
  });
  if (has == 0 || has + wants <= most) return {};
  return fail(error_of(Code::unavailable,
                       "namespace {} was given {} ports for Pods that have not come", ns, has)
                  .about("PortPool " + key.to_string())
                  .with_hint("try again; ports of Pods that never come are free after a minute"));
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

}  // namespace berth::admission
