// SlotIndex: which slot to try first. What the caches of this replica know, as bits; the truth is
// on the API server, and a claim tests it.
//
// Fed by the changes of the Listener and PortPool stores. Thread-safe; owned by the composition
// root, which attaches it before the informers start.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/port_pool.h"
#include "base/mutex.h"
#include "claims/slot.h"
#include "ledger/slot_table.h"

namespace berth::claims {

using PoolStore = kube::Store<api::PortPool>;

struct SlotRequest {
  kube::ObjectKey pool{};
  std::string item{};                        // empty: any
  std::vector<model::Protocol> protocols{};  // all on the same port, TCP before UDP
  model::PodPort pod_port{};                 // where they lead
};

// A slot with the Listeners that are its locks, one per protocol in the order of the request.
struct SlotChoice {
  std::string item{};
  model::PortRange ports{};
  std::vector<kube::ObjectKey> locks{};
};

struct ItemUsage {
  kube::ObjectKey pool{};
  std::string item{};
  model::Protocol protocol = model::Protocol::tcp;
  ledger::SlotUsage usage{};
};

class SlotIndex {
 public:
  // Whether we made a Listener: others may not say what a name means.
  using IsOurs = std::function<bool(const api::Listener& listener)>;
  SlotIndex(ListenerStore& listeners, PoolStore& pools, IsOurs is_ours);

  // `start` spreads replicas: see ledger::SlotTable, whose cost it has. A change of a Listener
  // costs one look at its bits; a change of a pool, all of its Listeners.
  std::optional<SlotChoice> choose(const SlotRequest& request, std::uint32_t start) const;
  // The same, and until `settle` no other call is given that slot: admissions of one process that
  // run side by side would all try the lowest one.
  std::optional<SlotChoice> reserve(const SlotRequest& request, std::uint32_t start);
  // The slot is what the caches say of it.
  void settle(const kube::ObjectKey& pool, const SlotChoice& choice);
  // The same with all slots of the pool, before it is said that none is left: a reservation is no
  // claim, and changes of the caches may still be on their way here.
  void settle_all(const kube::ObjectKey& pool);
  // Which Listeners we made may be judged in another way by now.
  void refresh();
  // Every item of the pool, by protocol. Empty: the pool is not known.
  std::vector<ItemUsage> usage_of(const kube::ObjectKey& pool) const;
  std::vector<ItemUsage> usage() const;

  // Called without a lock when a slot of the pool can be had that could not before.
  void on_room(std::function<void(const kube::ObjectKey& pool)> callback) {
    on_room_ = std::move(callback);
  }

 private:
  // The load balancers of an item. Which ones its texts mean, its Listeners say.
  struct Balancers {
    std::vector<std::string> texts;
    model::LoadBalancerRef first;  // for names of Listeners, in which no region is
  };
  struct Pool {
    std::unique_ptr<ledger::SlotTable> slots;
    std::vector<Balancers> load_balancers;  // by item
    std::set<kube::ObjectKey> reserved;     // locks
  };

  void on_listener(const kube::Change<api::Listener>& change);
  void on_pool(const kube::Change<api::PortPool>& change);
  std::unique_ptr<Pool> build(const api::PortPool& pool) const;
  void note(Pool& pool, const api::Listener& listener, bool present) const;
  static SlotChoice choice_at(const Pool& pool, const SlotRequest& request,
                              const ledger::SlotPlace& place);
  void settle(Pool& pool, const kube::ObjectKey& lock) const;
  static std::uint32_t free_slots(const Pool& pool);
  static void add_usage(const kube::ObjectKey& key, const Pool& pool, std::vector<ItemUsage>& out);

  // Which of the texts means the load balancer of this Listener.
  std::optional<std::size_t> text_for(const Balancers& balancers, const api::Listener& listener,
                                      const model::LoadBalancerRef& ref) const;

  ListenerStore& listeners_;
  const IsOurs is_ours_;
  std::function<void(const kube::ObjectKey&)> on_room_;
  mutable Mutex mu_;
  std::map<kube::ObjectKey, std::unique_ptr<Pool>> pools_ GUARDED_BY(mu_);
};

}  // namespace berth::claims
