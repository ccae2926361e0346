// Whether Pods of a namespace may have ports of a pool, and how many: what the pool's owner says
// (api/pool_access.h), and what keeps posts without Pods from emptying it. Thread-safe; works on
// every replica.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "admission/namespaces.h"
#include "api/port_pool.h"
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
  // Before something is taken. `exhausted`: it has all that it may have; `unavailable`: Pods that
  // were answered must be seen first.
  Result<> check_share(const Context& context, const std::string& ns,
                       const std::vector<claims::SlotRequest>& wanted) const;
  // After it: of admissions at one moment on one replica, those that came first have their ports.
  Result<> check_taken(const ledger::Claim& claim,
                       const std::vector<claims::SlotRequest>& wanted) const;

 private:
  Result<> admits(const Context& context, const api::PortPool& pool, const std::string& ns) const;
  Result<> wait_until_seen(const Context& context, const api::PortPool& pool,
                           const std::string& ns) const;

  const claims::PoolStore& pools_;
  const Namespaces& namespaces_;
  const claims::Tenants& tenants_;
  const HasPod has_pod_;
  mutable std::atomic<int> waiting_{0};
};

}  // namespace berth::admission
