#include "claims/tenants.h"

#include <algorithm>

namespace berth::claims {
namespace {

// Keys: "<held or unseen> <pool> <namespace>"; neither has spaces in it.
constexpr std::string_view kTenantIndex = "tenant";

std::string key_of(std::string_view what, const kube::ObjectKey& pool, std::string_view ns) {
  return fmt::format("{} {} {}", what, pool.to_string(), ns);
}

}  // namespace

Tenants::Tenants(ListenerStore& store) : store_(store) {
  store.add_index(std::string(kTenantIndex), [](const api::Listener& listener, kube::EmitKey emit) {
    if (claim_text(listener).empty() || !belongs_to_pool(listener)) return;
    const auto claim = claim_of(listener);
    if (!claim || claim->state == ledger::SlotState::quarantined) return;
    const kube::ObjectKey pool = pool_of(listener);
    emit(key_of("held", pool, claim->ns));
    if (claim->state == ledger::SlotState::claimed && claim->pod_uid.empty())
      emit(key_of("unseen", pool, claim->ns));
  });
}

std::size_t Tenants::held(const kube::ObjectKey& pool, const std::string& ns,
                          const std::function<bool(const std::string& token)>& is_counted) const {
  const auto all = store_.by_index(kTenantIndex, key_of("held", pool, ns));
  return static_cast<std::size_t>(std::ranges::count_if(all, [&](const ListenerPtr& lock) {
    const auto claim = claim_of(*lock);
    return claim && !is_counted(claim->token);
  }));
}

std::size_t Tenants::unseen(const kube::ObjectKey& pool, const std::string& ns, std::size_t enough,
                            const std::function<bool(const std::string& token)>& has_pod) const {
  const auto all = store_.by_index(kTenantIndex, key_of("unseen", pool, ns));
  if (all.size() < enough) return all.size();
  return static_cast<std::size_t>(std::ranges::count_if(all, [&](const ListenerPtr& lock) {
    const auto claim = claim_of(*lock);
    return claim && !has_pod(claim->token);
  }));
}

}  // namespace berth::claims
