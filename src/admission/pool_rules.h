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

class PoolRules {
 public:
  using HasPod = std::function<bool(const std::string& token)>;

  PoolRules(const claims::PoolStore& pools, const Namespaces& namespaces,
            const claims::Tenants& tenants, HasPod has_pod)
      : pools_(pools), namespaces_(namespaces), tenants_(tenants), has_pod_(std::move(has_pod)) {}

  // `forbidden`: not at all. A pool that is not known here has no rules, and no ports either.
  Result<> check_access(const Context& context, const std::string& ns,
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
  // may have. `unavailable`: Pods that were answered must be seen first. Of one pool a namespace
  // may have half, rounded up, for Pods that nobody has seen, or what a single Pod asks for. A Pod
  // is seen within moments; a creation waits that long.
  Result<Share> reserve(const Context& context, const ledger::Claim& claim,
                        const std::vector<claims::SlotRequest>& wanted) const;

 private:
  using Wanted = std::map<kube::ObjectKey, std::size_t>;  // ports by pool
  struct Reserved {
    std::string ns{};
    Wanted ports{};
  };
  using AllReserved = std::map<std::string, Reserved>;  // by token
  // Ports that admissions under way are about to take.
  static std::size_t reserved_for(const kube::ObjectKey& pool, const std::string& ns,
                                  const AllReserved& counted);
  void forget(const std::string& token) const;
  Result<> note(const std::string& token, const Reserved& wants) const;
  Result<> check_bound(const api::PortPool& pool, const std::string& ns, std::size_t wants,
                       const AllReserved& counted) const;
  Result<> check_unseen(const api::PortPool& pool, const std::string& ns, std::size_t wants,
                        const AllReserved& counted) const;
  Result<> admits(const Context& context, const api::PortPool& pool, const std::string& ns) const;

  const claims::PoolStore& pools_;
  const Namespaces& namespaces_;
  const claims::Tenants& tenants_;
  const HasPod has_pod_;
  mutable std::atomic<int> waiting_{0};
  mutable Mutex mu_;
  mutable AllReserved reserved_ GUARDED_BY(mu_);
};

}  // namespace berth::admission
