// Whether Pods of a namespace may have ports of a pool, and how many: what the pool's owner says
// (api/pool_access.h), and what keeps posts without Pods from emptying it. Thread-safe; works on
// every replica.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "admission/namespaces.h"
#include "api/port_pool.h"
#include "base/mutex.h"
#include "claims/slot_index.h"
#include "claims/tenants.h"

namespace berth::admission {

// Ports of one pool that one namespace may have been answered with before a Pod of any of these
// answers is seen: half of the pool, and at least so many. A Pod is seen within moments; a creation
// waits that long.
inline constexpr std::size_t kMinUnseenPorts = 8;

class PoolRules {
 public:
  using HasPod = std::function<bool(const std::string& token)>;

  PoolRules(const claims::PoolStore& pools, const Namespaces& namespaces,
            const claims::Tenants& tenants, HasPod has_pod)
      : pools_(pools), namespaces_(namespaces), tenants_(tenants), has_pod_(std::move(has_pod)) {}

  // `forbidden`: not at all. A pool that is not known here has no rules, and no ports either.
  Result<> check_access(const Context& context, const std::string& ns,
                        const std::vector<claims::SlotRequest>& wanted) const;
  // `unavailable`: Pods that were answered must be seen first.
  Result<> wait_until_seen(const Context& context, const std::string& ns,
                           const std::vector<claims::SlotRequest>& wanted) const;

  // What an admission of this replica is about to take; counted while it lives.
  class Share {
   public:
    Share(const PoolRules& rules, std::string token) : rules_(&rules), token_(std::move(token)) {}
    Share(Share&& other) noexcept : rules_(std::exchange(other.rules_, nullptr)) {
      token_ = std::move(other.token_);
    }
    Share& operator=(Share&&) = delete;
    ~Share() {
      if (rules_) rules_->forget(token_);
    }

   private:
    const PoolRules* rules_;
    std::string token_;
  };
  // Before something is taken, until it is in the store. `exhausted`: the namespace has all that it
  // may have.
  Result<Share> reserve(const ledger::Claim& claim,
                        const std::vector<claims::SlotRequest>& wanted) const;

 private:
  using Wanted = std::map<kube::ObjectKey, std::size_t>;  // ports by pool
  struct Reserved {
    std::string ns{};
    Wanted ports{};
  };
  void forget(const std::string& token) const;
  Result<> check_bound(const api::PortPool& pool, const std::string& ns, std::size_t wants,
                       const std::map<std::string, Reserved>& counted) const;
  Result<> admits(const Context& context, const api::PortPool& pool, const std::string& ns) const;
  Result<> wait_until_seen(const Context& context, const api::PortPool& pool,
                           const std::string& ns) const;

  const claims::PoolStore& pools_;
  const Namespaces& namespaces_;
  const claims::Tenants& tenants_;
  const HasPod has_pod_;
  mutable std::atomic<int> waiting_{0};
  mutable Mutex mu_;
  mutable std::map<std::string, Reserved> reserved_ GUARDED_BY(mu_);  // by token
};

}  // namespace berth::admission
