// GrantLists writes the lists that grants lie in, each by compare-and-swap: those of LoadBalancer
// objects, and those of the PortBlocks that they hand ports on to. Decides nothing about owners.
// Used by Grantor; thread-safe.
//
// A block changes hands so that a crash or a late request at any point leaves one truth:
//
//   hand on   a new PortBlock gets copies of what lies in it, which nobody believes yet; one write
//             to the LoadBalancer object puts the block in the place of the originals.
//   call in   the PortBlock is closed, after which nobody writes to it; one write to the
//             LoadBalancer object puts what it has in its place; then it is deleted.
//
// Nobody but who made a PortBlock names it, and nobody writes to one that is not named: what was
// left by a crash is never used again. It is removed when no write that names it can be under way:
// such a write tests a version of the LoadBalancer object that is older than the PortBlock. Where
// the object still has such a version, it gets another one first.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "api/clients.h"
#include "base/context.h"
#include "claims/grant_book.h"
#include "kube/client/client.h"

namespace berth::claims {

// On LoadBalancer objects, when a PortBlock was removed that one of their writers had made and
// could still have named: its version.
inline constexpr std::string_view kUnnamedBlockAnnotation = "berth.dev/unnamed-block";

// A block that is named and not there, and what must have lain in it.
struct Rebuilt {
  ledger::Grant lost{};
  std::vector<ledger::Grant> grants{};
};

class GrantLists {
 public:
  // All of them outlive it.
  GrantLists(kube::Client& client, BalancerStore& balancers, BlockStore& blocks)
      : objects_(api::load_balancers(client, balancers)),
        block_objects_(api::port_blocks(client, blocks)) {}

  // `was_overtaken`: somebody wrote in between, or it is gone.
  Result<> swap(const Context& context, const api::LoadBalancer& object,
                const std::vector<ledger::Grant>& grants) const;
  Result<> swap(const Context& context, const api::PortBlock& block,
                const std::vector<ledger::Grant>& grants) const;
  // The object was not there. `already_exists`: somebody else has made it.
  Result<> create(const Context& context, const model::LoadBalancerRef& lb,
                  ledger::LaidOut grants) const;

  // No grant of the object cuts these. As many of the first as there is room for; `exhausted`: not
  // for one.
  Result<> hand_on(const Context& context, const api::LoadBalancer& object,
                   std::span<const ledger::BlockPorts> blocks) const;
  // The block is the one that `named` names. Where the object does not say so any more, nothing is
  // to be done, here and below.
  Result<> call_in(const Context& context, const api::LoadBalancer& object,
                   const ledger::Grant& named, const api::PortBlock& block) const;
  // In the place of blocks that are lost.
  Result<> replace(const Context& context, const api::LoadBalancer& object,
                   std::vector<Rebuilt> blocks) const;
  // Only as we know it. `was_overtaken` else.
  Result<> remove(const Context& context, const api::PortBlock& block) const;
  // Of these blocks of a LoadBalancer object, those that it does not name and never will. They were
  // known before `object` was read, which is null when the API server has none. False: somebody
  // wrote to one of them; it is for later.
  Result<bool> remove_unnamed(const Context& context, const std::vector<BlockPtr>& blocks,
                              BalancerPtr object) const;

  // As the API server has it now. Null: it has none.
  Result<BalancerPtr> read(const Context& context, const std::string& balancer) const;
  Result<BlockPtr> read_block(const Context& context, const std::string& name) const;

 private:
  // With the grants that name them added to `list`. Where the write that was to do so is refused,
  // they stay for `remove_unnamed`: a refusal may follow an answer that was lost.
  Result<> make(const Context& context, const std::string& balancer,
                const std::vector<ledger::NewBlock>& blocks,
                std::vector<ledger::Grant>& list) const;
  // The object, with a version that is younger than this one: whoever would write to the one that
  // he knows finds it changed.
  Result<BalancerPtr> renewed(const Context& context, const api::LoadBalancer& object,
                              kube::ResourceVersion than) const;

  const api::LoadBalancers objects_;
  const api::PortBlocks block_objects_;
};

}  // namespace berth::claims
