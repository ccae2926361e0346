// The pure functions of the product on the small values of a house. What they answer is kept, for
// they are asked the same in millions of states.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "house_state.h"
#include "ledger/claim.h"
#include "ledger/grants.h"

namespace berth::house {

// Listeners of one load balancer, as somebody sees them: bits by pool and port.
struct Standing {
  std::size_t lb = 0;
  unsigned there = 0;
  unsigned forged = 0;

  static constexpr unsigned bit(std::size_t pool, std::size_t port) {
    return 1u << (pool * kPorts + port);
  }
};

// Lists of grants by number; 0 is the empty one.
class GrantBook {
 public:
  GrantBook();

  bool has_grant(GrantsId grants, std::size_t pool, model::PortRange ports);
  bool check_unheld(const Standing& standing, std::size_t pool, model::PortRange ports);
  // Nothing: somebody else has some of them.
  std::optional<GrantsId> with_grant(GrantsId grants, std::size_t pool, model::PortRange ports,
                                     const Standing& standing);
  GrantsId without_owner(GrantsId grants, std::size_t pool, const Standing& standing);
  GrantsId without_given(GrantsId grants, std::size_t pool, model::PortRange ports, GrantsId before,
                         const Standing& standing);
  GrantsId own_grants(GrantsId grants, std::size_t pool);
  GrantsId rebuilt(const Standing& standing);
  // The grants that the pool's own Listeners lack are among them again.
  GrantsId restored(GrantsId grants, std::size_t pool, const Standing& standing);

  // By a hand, whoever has the port.
  GrantsId with_written(GrantsId grants, std::size_t pool, std::size_t port);
  GrantsId without_written(GrantsId grants, std::size_t pool);

  // The pools that have the port, as bits.
  unsigned owners(GrantsId grants, std::size_t port);
  std::string to_string(GrantsId grants) const;

 private:
  using Grants = std::vector<ledger::Grant>;

  GrantsId number_of(const Grants& grants);
  const std::vector<ledger::Holding>& holdings(const Standing& standing);
  std::uint64_t once(std::uint64_t key, const std::function<std::uint64_t()>& work);

  std::vector<Grants> lists_;
  std::unordered_map<std::uint64_t, std::vector<ledger::Holding>> holdings_;
  std::unordered_map<std::uint64_t, std::uint64_t> known_;
};

// Claims by number; 0 is the free slot. All of them are made by the moves of the table.
class ClaimBook {
 public:
  ClaimBook();

  ClaimId admitted(std::size_t pod) const { return admitted_[pod]; }
  ledger::SlotState state(ClaimId claim) const;
  std::size_t pod(ClaimId claim) const { return pods_[claim]; }
  // Nothing happens to a claim that is bound already.
  ClaimId bound(ClaimId claim) const { return bound_[claim]; }
  // Of a Pod that has lost its claim.
  ClaimId bound_again(std::size_t pod) const { return bound_[admitted_[pod]]; }
  ClaimId abandoned(ClaimId claim, bool leads_nowhere) const {
    return leads_nowhere ? abandoned_at_rest_[claim] : abandoned_[claim];
  }
  ClaimId drained(ClaimId claim) const { return drained_[claim]; }

 private:
  ClaimId number_of(const std::optional<ledger::Claim>& claim, std::size_t pod);
  void add_moves(ClaimId claim);

  std::vector<std::optional<ledger::Claim>> claims_{std::nullopt};
  std::vector<std::size_t> pods_{kPods};
  std::array<ClaimId, kPods> admitted_{};
  std::array<ClaimId, 16> bound_{};
  std::array<ClaimId, 16> abandoned_{};
  std::array<ClaimId, 16> abandoned_at_rest_{};
  std::array<ClaimId, 16> drained_{};
};

}  // namespace berth::house
