// Grantor writes grants into LoadBalancer objects by compare-and-swap, and makes the object when it
// is not there. Used by the leader; thread-safe.
#pragma once

#include <optional>
#include <string_view>

#include "api/load_balancer.h"
#include "base/context.h"
#include "kube/cache/store.h"
#include "kube/client/client.h"
#include "ledger/grants.h"
#include "model/load_balancer.h"

namespace berth::claims {

using BalancerStore = kube::Store<api::LoadBalancer>;

std::vector<ledger::Grant> grants_of(const api::LoadBalancer& object);

class Grantor {
 public:
  Grantor(kube::Client& client, BalancerStore& balancers)
      : client_(client), balancers_(balancers) {}

  // `conflict`: somebody else owns some of the ports; the error names them and the load balancer.
  Result<> grant(const Context& context, const model::LoadBalancerRef& lb,
                 const ledger::Grant& wanted);
  // Undoes `grant`: what the item had there before comes back.
  Result<> take_back(const Context& context, const model::LoadBalancerRef& lb,
                     const ledger::Grant& given, const std::optional<ledger::Grant>& before);
  // Of one item of the owner, or of all when `item` is empty; on every load balancer.
  Result<> release(const Context& context, std::string_view owner_uid, std::string_view item);

 private:
  Result<> create(const Context& context, const model::LoadBalancerRef& lb,
                  const ledger::Grant& first);
  // `precondition`: somebody wrote in between.
  Result<> swap(const Context& context, const api::LoadBalancer& object,
                const std::vector<ledger::Grant>& grants);
  Result<> refresh(const Context& context, const std::string& name);
  void remember(const wire::Value& object);

  kube::Client& client_;
  BalancerStore& balancers_;
};

}  // namespace berth::claims
