// Grantor writes grants into LoadBalancer objects by compare-and-swap. Used by the leader;
// thread-safe.
//
// What Listeners hold counts for more than what the object says: nothing is granted over another
// owner's Listeners, no grant leaves its owner's, and an object that is lost is rebuilt from them
// before anything is granted.
#pragma once

#include <string_view>
#include <vector>

#include "api/load_balancer.h"
#include "base/context.h"
#include "claims/seal.h"
#include "kube/cache/store.h"
#include "kube/client/client.h"
#include "ledger/grants.h"
#include "model/load_balancer.h"

namespace berth::claims {

using BalancerStore = kube::Store<api::LoadBalancer>;

// As its spec says.
Result<model::LoadBalancerRef> ref_of(const api::LoadBalancer& object);
std::vector<ledger::Grant> grants_of(const api::LoadBalancer& object);
// As it is written there.
api::Grant to_api(const ledger::Grant& grant);

class Grantor {
 public:
  Grantor(kube::Client& client, BalancerStore& balancers, const ListenerStore& listeners,
          const Sealer& sealer)
      : client_(client), balancers_(balancers), listeners_(listeners), sealer_(sealer) {}

  // What Listeners hold on a load balancer; those of an owner can be left out.
  std::vector<ledger::Holding> holdings(const model::LoadBalancerRef& lb,
                                        std::string_view but_of) const;

  // `conflict`: somebody else owns some of the ports; the error names them and the load balancer.
  Result<> grant(const Context& context, const model::LoadBalancerRef& lb,
                 const ledger::Grant& wanted);
  // What these Listeners stand on and somebody took away, if we made them and nobody else has it by
  // now: the edit of a grant costs no room its port.
  Result<> restore(const Context& context, const std::vector<ListenerPtr>& listeners);
  // Undoes `grant`: what the item had there before comes back.
  Result<> take_back(const Context& context, const model::LoadBalancerRef& lb,
                     const ledger::Grant& given, const std::vector<ledger::Grant>& before);
  // Of one item of the owner, or of all when `item` is empty; on every load balancer. Where one of
  // its Listeners lives, the grant stays.
  Result<> release(const Context& context, std::string_view owner_uid, std::string_view item);

 private:
  std::vector<ledger::Holding> holdings(std::string_view balancer,
                                        const std::vector<ledger::Grant>& grants) const;
  Result<> restore(const Context& context, const model::LoadBalancerRef& lb,
                   const std::vector<ledger::Holding>& own);
  Result<> create(const Context& context, const model::LoadBalancerRef& lb,
                  const std::vector<ledger::Grant>& grants);
  // `precondition`: somebody wrote in between.
  Result<> swap(const Context& context, const api::LoadBalancer& object,
                const std::vector<ledger::Grant>& grants);
  Result<> refresh(const Context& context, const std::string& name);
  void remember(const wire::Value& object);

  kube::Client& client_;
  BalancerStore& balancers_;
  const ListenerStore& listeners_;
  const Sealer& sealer_;
};

}  // namespace berth::claims
