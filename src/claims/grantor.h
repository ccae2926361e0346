// Grantor writes grants by compare-and-swap, into LoadBalancer objects and, when one has many, into
// its PortBlocks. Used by the leader; thread-safe.
//
// What Listeners hold counts for more than what objects say: nothing is granted over another
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
#include "base/context.h"
#include "base/mutex.h"
#include "claims/grant_book.h"
#include "claims/grant_lists.h"
#include "claims/seal.h"
#include "kube/client/client.h"
#include "ledger/grants.h"
#include "model/load_balancer.h"

namespace berth::claims {

class Grantor {
 public:
  Grantor(kube::Client& client, BalancerStore& balancers, BlockStore& blocks,
          ListenerStore& listeners, const Sealer& sealer, ledger::Layout layout = {})
      : book_(balancers, blocks),
        lists_(client, balancers, blocks),
        listener_objects_(api::listeners(client, listeners)),
        blocks_(blocks),
        listeners_(listeners),
        sealer_(sealer),
        layout_(layout) {}

  // What our cache has of all grants.
  const GrantBook& book() const { return book_; }
  std::vector<ledger::Grant> grants(const model::LoadBalancerRef& lb) const;
  // What Listeners hold on a load balancer.
  std::vector<ledger::Holding> holdings(const model::LoadBalancerRef& lb,
                                        const WhichListeners& which) const;

  // `conflict`: somebody else owns some of the ports; the error names them and the load balancer.
  // All that wait for one load balancer at a moment go in one write for each object that has such
  // ports, the first to come first.
  Result<> grant(const Context& context, const model::LoadBalancerRef& lb,
                 const ledger::Grant& wanted);
  // What these Listeners stand on and somebody took away, if we made them and nobody else has it by
  // now: the edit of a grant costs no room its port.
  Result<> restore(const Context& context, const std::vector<ListenerPtr>& listeners);
  // Undoes `grant`: what the item had there before comes back.
  Result<> undo(const Context& context, const model::LoadBalancerRef& lb,
                const ledger::Grant& given, const std::vector<ledger::Grant>& before);
  // All of an owner, on every load balancer. Where one of its Listeners lives, the grant stays.
  Result<> release(const Context& context, std::string_view owner_uid);
  // These, of one owner, on the load balancer of this object. Where a Listener lives, it stays.
  Result<> release(const Context& context, const std::string& balancer,
                   const std::vector<ledger::Grant>& grants);
  // Takes back blocks in which nobody has anything, rebuilds lost ones, and removes what no
  // LoadBalancer object names. False: somebody is writing there; it is for later.
  Result<bool> tidy(const Context& context, const std::string& balancer);

 private:
  // One call of `grant`, while it waits. Whoever writes for it has it too, for it may leave first.
  struct Waiting {
    ledger::Grant wanted{};
    std::unique_ptr<Signal> changed{};
    std::optional<Result<>> answer{};
    bool writes = false;  // it is this one's turn to write for all
  };
  using WaitingPtr = std::shared_ptr<Waiting>;
  using Batch = std::vector<WaitingPtr>;
  using Answers = std::vector<std::optional<Result<>>>;  // of a batch
  // An object with a list of grants, as we know it.
  struct Home {
    BalancerPtr balancer{};
    BlockPtr block{};       // null: the list is the LoadBalancer object's own
    ledger::Grant named{};  // of a block: how the LoadBalancer object names it
    std::vector<ledger::Grant> grants{};
  };
  // Where each of several grants is to be written, and what must change first for that.
  struct Routes {
    std::vector<std::optional<std::string>> homes{};  // "": the list; or the name of a block
    std::vector<ledger::BlockPorts> to_hand_on{};
    std::vector<ledger::Grant> to_call_in{};
    std::vector<ledger::Grant> lost{};

    bool are_clear() const { return to_hand_on.empty() && to_call_in.empty() && lost.empty(); }
  };
  enum class Tried : std::uint8_t { done, again };

  // Whose turn it is to write grants of a load balancer.
  bool begin_turn(const std::string& balancer);
  Batch begin_write(const std::string& balancer);
  // Whoever came meanwhile writes next.
  void end_write(const std::string& balancer, const Batch& batch, Answers answers);
  Answers decide(const Context& context, const model::LoadBalancerRef& lb, const Batch& batch);
  Result<Tried> try_write(const Context& context, const model::LoadBalancerRef& lb,
                          const Batch& batch, Answers& answers);
  // What is known by now: that it is granted already, or that somebody has the ports.
  void answer_known(const model::LoadBalancerRef& lb, const std::vector<ledger::Holding>& held,
                    const Batch& batch, Answers& answers) const;
  // Whether what was written there counts.
  Result<bool> is_still_named(const Context& context, const Home& home) const;
  // What an item has elsewhere on the load balancer goes before it is granted its new ports. `open`
  // are those of the batch that are routed. True: something went, or its owner was answered.
  bool remove_former(const Context& context, const model::LoadBalancerRef& lb,
                     const BalancerPtr& object, const Routes& routes, const Batch& batch,
                     const std::vector<std::size_t>& open, Answers& answers);
  // `members` of the batch belong there. One without an answer afterwards is tried again.
  void write_home(const Context& context, const model::LoadBalancerRef& lb, const Home& home,
                  const std::vector<ledger::Holding>& held, const Batch& batch,
                  const std::vector<std::size_t>& members, Answers& answers);

  Routes route(const api::LoadBalancer& object,
               const std::vector<const ledger::Grant*>& wanted) const;
  // Makes the way clear.
  Result<> change_layout(const Context& context, const model::LoadBalancerRef& lb,
                         const api::LoadBalancer& object, const Routes& routes);
  // The way cannot be made clear for those who wait for that.
  static void answer_waiting(const model::LoadBalancerRef& lb, const Routes& routes,
                             const Error& error, const Batch& batch,
                             const std::vector<std::size_t>& open, Answers& answers);
  // "": the list.
  std::optional<Home> home_of(const BalancerPtr& object, const std::string& name) const;
  // The list, and the blocks in which this owner has something.
  std::vector<Home> homes_of(const BalancerPtr& object, std::string_view owner_uid) const;
  Result<> swap(const Context& context, const Home& home,
                const std::vector<ledger::Grant>& grants) const;

  std::vector<ledger::Holding> holdings(std::string_view balancer,
                                        const WhichListeners& which) const;
  Result<> restore(const Context& context, const model::LoadBalancerRef& lb,
                   const std::vector<ledger::Holding>& own);
  Result<Tried> try_restore(const Context& context, const model::LoadBalancerRef& lb,
                            const BalancerPtr& object, const std::vector<ledger::Holding>& own);
  // Of these, what somebody took away and nobody else has: the runs of ports of each item.
  std::vector<ledger::Grant> lost_of(std::string_view balancer,
                                     const std::vector<ledger::Holding>& own, WallTime now) const;
  // The object was never there, or somebody deleted it. In a turn.
  Result<> rebuild(const Context& context, const model::LoadBalancerRef& lb, const Batch& wanted);
  // The same of blocks that are named, and whose objects are gone or others.
  Result<> rebuild_blocks(const Context& context, const model::LoadBalancerRef& lb,
                          std::vector<ledger::Grant> lost);
  Result<bool> tidy_blocks(const Context& context, const std::string& balancer);
  // Those that our cache does not show yet are known then.
  Result<> list_listeners(const Context& context, const model::LoadBalancerRef& lb);
  // After a write that was overtaken. `unavailable`: it is gone, and our cache does not know yet.
  Result<> refresh(const Context& context, const std::string& balancer) const;
  Result<> refresh(const Context& context, const model::LoadBalancerRef& lb, const Home& home);

  const GrantBook book_;
  const GrantLists lists_;
  const api::Listeners listener_objects_;
  const BlockStore& blocks_;
  const ListenerStore& listeners_;
  const Sealer& sealer_;
  const ledger::Layout layout_;
  Mutex mu_;
  // By LoadBalancer object: who waits for it. There is an entry while somebody has the turn.
  std::map<std::string, Batch> waiting_ GUARDED_BY(mu_);
};

}  // namespace berth::claims
