// A house of small size as one value: what the API server has, what the leader believes, what a
// former leader's last write may still do, and what the provider does. For the explorer of all its
// states.
//
// Versions and uids are not numbers here, for those never come back and no state would be met
// twice. A copy in a cache knows instead whether the object is still as it was copied (`current`)
// and still the same one (`same_uid`), which is all that a compare-and-swap asks.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/port.h"

namespace berth::house {

inline constexpr std::size_t kPools = 2;
inline constexpr std::size_t kBalancers = 2;
inline constexpr std::size_t kPorts = 3;
inline constexpr std::size_t kPods = 2;
inline constexpr std::size_t kPlaces = kPools * kBalancers * kPorts;

using Index = std::uint8_t;
using GrantsId = std::uint16_t;  // see GrantBook
using ClaimId = std::uint8_t;    // see ClaimBook

// One Listener at the most has the name of a port in the namespace of a pool.
struct Place {
  std::size_t pool = 0;
  std::size_t lb = 0;
  std::size_t port = 0;

  constexpr std::size_t index() const { return (pool * kBalancers + lb) * kPorts + port; }
  static constexpr Place at(std::size_t index) {
    return {index / (kBalancers * kPorts), index / kPorts % kBalancers, index % kPorts};
  }
};

struct Listener {
  bool there = false;
  bool forged = false;    // somebody wrote it: its seal is not ours
  bool deleting = false;  // its finalizer holds it
  bool made = false;      // the provider has been seen to have it
  bool applied = false;   // and to lead where it says
  ClaimId claim = 0;      // of nobody
  Index leads = 0;        // a Pod, from 1 on
  // Of a copy in a cache.
  bool current = false;
  bool same_uid = false;
  bool done = false;  // the provider has done what this copy says, and nobody has noted it yet

  friend bool operator==(const Listener&, const Listener&) = default;
};

struct Balancer {
  bool there = false;
  GrantsId grants = 0;
  bool current = false;  // of a copy in a cache

  friend bool operator==(const Balancer&, const Balancer&) = default;
};

// How far the leader is with a pool. One worker at a time has it.
struct Round {
  Index item = 0;       // what the pool wanted when it began, once something was written
  Index granted = 0;    // load balancers on which it got its ports in this round, as bits
  GrantsId before = 0;  // what it had on the first of them
  bool surveys = false;
  Index missing = 0;            // places that are to be made, as bits from the pool's first on
  Index orphan = 0;             // a peer whose lock was just removed: its place, from 1 on
  bool orphan_current = false;  // and it is as it was then

  bool has_begun() const { return granted != 0 || surveys; }
  friend bool operator==(const Round&, const Round&) = default;
};

struct Leader {
  std::array<Index, kPools> wanted{};  // index of the spec
  std::array<Balancer, kBalancers> lbs{};
  std::array<Listener, kPlaces> listeners{};
  std::array<Round, kPools> rounds{};

  friend bool operator==(const Leader&, const Leader&) = default;
};

enum class PodState : std::uint8_t { none, answered, alive, gone };
struct Pod {
  PodState state = PodState::none;
  Index told = 0;  // place of its lock, from 1 on
  bool ready = false;

  friend bool operator==(const Pod&, const Pod&) = default;
};

// A port at the provider: whose listener is there, and where it leads.
struct Door {
  Index owner = 0;  // a pool, from 1 on
  Index leads = 0;

  friend bool operator==(const Door&, const Door&) = default;
};

// A request of a leader, with all that the server tests.
struct Write {
  enum class Kind : std::uint8_t {
    none,
    make_balancer,
    swap_grants,
    make_listener,
    remove_listener,
    seal_listener,
    change_listener,
    confirm_listener,
    finish_listener,  // its finalizer goes
    note_pod,
  };
  Kind kind = Kind::none;
  Index target = 0;  // load balancer, place or Pod
  // Tested.
  bool current = false;
  bool same_uid = false;
  bool by_version = false;
  bool by_value = false;
  ClaimId claim_was = 0;
  Index leads_was = 0;
  // Written.
  GrantsId grants = 0;
  ClaimId claim = 0;
  Index leads = 0;  // of a Pod: whether it is ready

  friend bool operator==(const Write&, const Write&) = default;
};

struct State {
  std::array<Index, kPools> wanted{};
  std::array<Balancer, kBalancers> lbs{};
  std::array<Listener, kPlaces> listeners{};
  std::array<Pod, kPods> pods{};
  std::array<std::array<Door, kPorts>, kBalancers> doors{};
  Leader leader{};
  Write late{};  // of the former leader: on its way when it lost the lead
  Index hands = 0;
  // By a hand, for the rest of the life.
  Index touched = 0;          // ports whose Listener or claim it took, as bits
  bool hand_granted = false;  // it wrote a grant

  friend bool operator==(const State&, const State&) = default;
};

// What a pool can want: one range of ports on some load balancers.
struct Wanted {
  std::vector<std::size_t> lbs{};  // none: the item is not in the pool
  model::PortRange ports{};        // from 0 on

  bool has(std::size_t lb, std::size_t port) const;
};

struct Size {
  std::string name{};
  std::size_t balancers = 1;
  std::size_t ports = 1;
  std::size_t pods = 1;
  // Slots have a lock on the first load balancer and a peer on the second.
  bool paired = false;
  // By pool, what its item may become; the first is what it wants in the beginning.
  std::vector<std::vector<Wanted>> pools{};
  std::size_t hands = 0;  // edits in one life
  // A request of a leader may arrive when another leads and has listed everything.
  bool late_writes = true;
};

// Defects of the shells, planted to see that they are found.
enum class Plant : std::uint8_t {
  none,
  rebuild_from_cache,
  grant_without_holdings,
  release_without_listeners,
  lead_before_list,
  remove_without_version,
  claim_without_test,
  point_without_test,
  confirm_without_test,
  free_before_confirmed,
  give_away_beside_peers,
  ready_before_applied,
  act_on_forged,
  remove_peer_by_uid,
  note_peer_late,
  release_by_item,
};

}  // namespace berth::house
