// Grants: which front end object owns which ports of a load balancer. Listeners exist only inside a
// grant. Where grants are written is in grant_layout.h. Pure values and functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/port.h"

namespace berth::ledger {

struct GrantOwner {
  std::string kind{};  // "PortPool"
  std::string ns{};
  std::string name{};
  std::string uid{};

  std::string to_string() const { return kind + " " + ns + "/" + name; }
  friend bool operator==(const GrantOwner&, const GrantOwner&) = default;
};

struct Grant {
  model::Transport transport = model::Transport::tcp;
  model::PortRange ports{};
  GrantOwner owner{};
  std::string item{};  // the part of the owner that uses it
  WallTime since{};

  friend bool operator==(const Grant&, const Grant&) = default;
};

// Of the same item of the same owner, for the same transport.
bool is_same_place(const Grant& a, const Grant& b);

// Ports that a listener of some owner takes, whatever the grants say. As long as it lives, nobody
// else gets them.
struct Holding {
  model::Transport transport = model::Transport::tcp;
  model::PortRange ports{};
  GrantOwner owner{};
  std::string item{};
  std::string holder{};  // for people: "Listener games/lb-1-tcp-30000"

  friend bool operator==(const Holding&, const Holding&) = default;
};

// The grants with this one among them. Those that the same item of the owner has for that transport
// are replaced, unless one of its listeners lives outside of what is wanted: then they stay, and it
// is a `conflict`, as when somebody else has or holds some of the ports, or another item of the
// owner, whose listeners must go first. The error names them.
Result<std::vector<Grant>> with_grant(std::vector<Grant> grants, Grant wanted,
                                      std::span<const Holding> holdings);
// Of these, those are gone in which their owner holds nothing.
std::vector<Grant> without_unused(std::vector<Grant> grants, std::span<const Grant> these,
                                  std::span<const Holding> holdings);
// What was given is gone again: what the same item had `before` is back. It stays where one of its
// listeners lives by now.
std::vector<Grant> without_given(std::vector<Grant> grants, const Grant& given,
                                 const std::vector<Grant>& before,
                                 std::span<const Holding> holdings);
// The grants that these holdings stand for, when those that were written are lost: of each item the
// runs of ports that it holds. Where two owners hold the same port, the one that comes first in
// `holdings` has it.
std::vector<Grant> rebuilt(std::span<const Holding> holdings, WallTime now);
// The grants, and again those that `own` holdings stand on and somebody took away. What another has
// or holds by now (`all`) stays his.
std::vector<Grant> with_holdings(std::vector<Grant> grants, std::span<const Holding> own,
                                 std::span<const Holding> all, WallTime now);
// `conflict`: another owner's listener takes one of the ports, whatever is granted.
Result<> check_unheld(std::span<const Holding> holdings, const Grant& wanted);
// Inside a grant of the same item of the same owner.
bool has_grant(std::span<const Grant> grants, const Grant& wanted);
// It has more than that for its transport, and nothing of it lives there: others may have the rest.
bool may_shrink(std::span<const Grant> grants, const Grant& wanted,
                std::span<const Holding> holdings);
// What an item of an owner stands on. A view: who asks for many writes nothing out for it.
struct Stand {
  std::string_view owner_uid{};
  std::string_view owner_ns{};
  std::string_view item{};
  model::Transport transport = model::Transport::tcp;
  model::PortRange ports{};
};
inline Stand stand_of(const Holding& holding) {
  return {holding.owner.uid, holding.owner.ns, holding.item, holding.transport, holding.ports};
}
// Inside a grant of the same item of its owner.
bool is_granted(std::span<const Grant> grants, const Stand& stand);
// What the same item of the owner has for that transport: one range, or several after a rebuild.
std::vector<Grant> own_grants(std::span<const Grant> grants, const Grant& wanted);

}  // namespace berth::ledger
