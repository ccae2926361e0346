// GrantBook: who has which ports of a load balancer, read from where it is written: in LoadBalancer
// objects, and in the PortBlocks that they hand ports on to. The one place that joins the two.
//
// A PortBlock counts only while the LoadBalancer object names its uid, and only on the ports that
// it names it for; so every answer hangs on one object that is written by compare-and-swap. A block
// that is named and not to be found is lost: until it is rebuilt, its ports are somebody's.
//
// References to two stores: a value, as thread-safe as they are.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/load_balancer.h"
#include "api/port_block.h"
#include "kube/cache/store.h"
#include "ledger/grant_layout.h"
#include "model/load_balancer.h"

namespace berth::claims {

using BalancerStore = kube::Store<api::LoadBalancer>;
using BlockStore = kube::Store<api::PortBlock>;
using BalancerPtr = BalancerStore::Ptr;
using BlockPtr = BlockStore::Ptr;

// Names of indexes on both stores: by the uid of each owner of a grant, and by his name
// (`grant_owner_name`). On PortBlocks alone: by LoadBalancer object.
inline constexpr std::string_view kGrantOwnerIndex = "grant-owner";
inline constexpr std::string_view kGrantOwnerNameIndex = "grant-owner-name";
inline constexpr std::string_view kBlockBalancerIndex = "block-balancer";
std::string grant_owner_name(std::string_view kind, const kube::ObjectKey& key);
// Before the informers start.
void add_indexes(BalancerStore& store);
void add_indexes(BlockStore& store);

// As its spec says.
Result<model::LoadBalancerRef> ref_of(const api::LoadBalancer& object);
ledger::Grant from_api(const api::Grant& grant);
// As it is written there.
api::Grant to_api(const ledger::Grant& grant);

// What is written in the object itself: a block that it hands on is one grant.
std::vector<ledger::Grant> list_of(const api::LoadBalancer& object);
// Whether the block is the one that this grant of the LoadBalancer object names. It may be null.
bool counts(std::string_view balancer, const api::Grant& named, const api::PortBlock* block);
// What of a block that counts does count.
std::vector<ledger::Grant> list_of(const api::PortBlock& block, const ledger::Grant& named);
// Nothing is granted in it any more.
inline bool is_closed(const api::PortBlock& block) {
  return block.spec.closed || block.meta.deleting;
}

// All grants of a load balancer; of a lost block, the block itself.
using FindBlock = std::function<BlockPtr(const std::string& name)>;
std::vector<ledger::Grant> grants_of(const api::LoadBalancer& object, const FindBlock& find);

class GrantBook {
 public:
  // Both outlive it.
  GrantBook(const BalancerStore& balancers, const BlockStore& blocks)
      : balancers_(&balancers), blocks_(&blocks) {}

  const BalancerStore& balancers() const { return *balancers_; }

  // Cost of each answer about a load balancer: its list (512 grants at the most), and the grants of
  // the blocks that are entered: all of them for `on` without ports, else those that lie there. Of
  // answers about an owner: the same on the load balancers where he has something, by index.

  // All, on the load balancer of this object.
  std::vector<ledger::Grant> on(std::string_view balancer) const;
  // Those that lie on these ports.
  std::vector<ledger::Grant> on(std::string_view balancer, const model::PortRange& ports) const;
  // Those that matter to one who wants these ports: what lies on them, and what its owner has.
  std::vector<ledger::Grant> around(std::string_view balancer, std::string_view owner_uid,
                                    const model::PortRange& ports) const;
  // Whether anybody has a port on it.
  bool has_any(std::string_view balancer) const;
  // What an owner has, by LoadBalancer object.
  std::map<std::string, std::vector<ledger::Grant>> of_owner(std::string_view owner_uid) const;
  // Uids of all to whom something is granted under this name.
  std::vector<std::string> uids_of(std::string_view kind, const kube::ObjectKey& owner) const;
  // The block that this grant of the LoadBalancer object names. Null: it is lost.
  BlockPtr block_of(std::string_view balancer, const ledger::Grant& named) const;

 private:
  using Which = std::function<bool(const api::Grant& grant)>;
  // `enters` says of a block that is handed on whether one of its grants may be asked for.
  std::vector<ledger::Grant> collect(std::string_view balancer, const Which& enters,
                                     const Which& which) const;
  std::vector<std::string> balancers_with(std::string_view index, std::string_view key) const;

  const BalancerStore* balancers_;
  const BlockStore* blocks_;
};

}  // namespace berth::claims
