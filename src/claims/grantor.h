// Grantor writes grants into LoadBalancer objects by compare-and-swap. Used by the leader;
// thread-safe.
//
// What Listeners hold counts for more than what the object says: nothing is granted over another
// owner's Listeners, no grant leaves its owner's, and an object that is lost is rebuilt from them
// before anything is granted. Our cache may not show yet what was made last, so they are listed
// before an object is made.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/clients.h"
#include "api/load_balancer.h"
#include "base/context.h"
#include "base/mutex.h"
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
  Grantor(kube::Client& client, BalancerStore& balancers, ListenerStore& listeners,
          const Sealer& sealer)
      : objects_(api::load_balancers(client, balancers)),
        listener_objects_(api::listeners(client, listeners)),
        balancers_(balancers),
        listeners_(listeners),
        sealer_(sealer) {}

  // As our cache has them.
  std::vector<ledger::Grant> grants(const model::LoadBalancerRef& lb) const;
  // What Listeners hold on a load balancer.
  std::vector<ledger::Holding> holdings(const model::LoadBalancerRef& lb,
                                        const WhichListeners& which = {}) const;

  // `conflict`: somebody else owns some of the ports; the error names them and the load balancer.
  // All that wait for one load balancer at a moment go in one write, the first to come first.
  Result<> grant(const Context& context, const model::LoadBalancerRef& lb,
                 const ledger::Grant& wanted);
  // What these Listeners stand on and somebody took away, if we made them and nobody else has it by
  // now: the edit of a grant costs no room its port.
  Result<> restore(const Context& context, const std::vector<ListenerPtr>& listeners);
  // Undoes `grant`: what the item had there before comes back.
  Result<> take_back(const Context& context, const model::LoadBalancerRef& lb,
                     const ledger::Grant& given, const std::vector<ledger::Grant>& before);
  // All of an owner, on every load balancer. Where one of its Listeners lives, the grant stays.
  Result<> release(const Context& context, std::string_view owner_uid);
  // These, of one owner, on the load balancer of this object. Where a Listener lives, it stays.
  Result<> release(const Context& context, const std::string& balancer,
                   const std::vector<ledger::Grant>& grants);

 private:
  // One call of `grant`, while it waits.
  struct Waiting {
    const ledger::Grant& wanted;
    std::unique_ptr<Signal> changed;
    std::optional<Result<>> answer{};
    bool writes = false;  // it is this one's turn to write for all
  };
  using Batch = std::vector<Waiting*>;
  using Answers = std::vector<std::optional<Result<>>>;  // of a batch

  Batch begin_write(const std::string& balancer);
  // Whoever came meanwhile writes next.
  void end_write(const std::string& balancer, const Batch& batch, Answers answers);
  Answers decide(const Context& context, const model::LoadBalancerRef& lb, const Batch& batch);
  // False: it must be tried again for those that have no answer.
  Result<bool> try_write(const Context& context, const model::LoadBalancerRef& lb,
                         const Batch& batch, Answers& answers);
  // The grants with what can be had of the batch, which is answered where nothing is to be written;
  // `added` says which ones are new.
  std::vector<ledger::Grant> with_batch(const model::LoadBalancerRef& lb,
                                        const std::vector<ledger::Grant>& grants,
                                        const Batch& batch, Answers& answers,
                                        std::vector<std::size_t>& added) const;

  std::vector<ledger::Holding> holdings(std::string_view balancer,
                                        const std::vector<ledger::Grant>& grants,
                                        const WhichListeners& which = {}) const;
  Result<> restore(const Context& context, const model::LoadBalancerRef& lb,
                   const std::vector<ledger::Holding>& own);
  // The object was never there, or somebody deleted it.
  Result<> rebuild(const Context& context, const model::LoadBalancerRef& lb, const Batch& wanted);
  // Those that our cache does not show yet are known then.
  Result<> list_listeners(const Context& context, const model::LoadBalancerRef& lb);
  Result<> create(const Context& context, const model::LoadBalancerRef& lb,
                  const std::vector<ledger::Grant>& grants);
  // `precondition`: somebody wrote in between.
  Result<> swap(const Context& context, const api::LoadBalancer& object,
                const std::vector<ledger::Grant>& grants);
  Result<> refresh(const Context& context, const std::string& name);

  const api::LoadBalancers objects_;
  const api::Listeners listener_objects_;
  const BalancerStore& balancers_;
  const ListenerStore& listeners_;
  const Sealer& sealer_;
  Mutex mu_;
  // By LoadBalancer object: who waits for it. There is an entry while somebody writes.
  std::map<std::string, Batch> waiting_ GUARDED_BY(mu_);
};

}  // namespace berth::claims
