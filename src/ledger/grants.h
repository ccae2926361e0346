// Grants: which front end object owns which ports of a load balancer. They live in the LoadBalancer
// object; listeners exist only inside a grant. Pure values and functions.
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
  model::Protocol protocol = model::Protocol::tcp;
  model::PortRange ports{};
  GrantOwner owner{};
  std::string item{};  // the part of the owner that uses it
  WallTime since{};

  friend bool operator==(const Grant&, const Grant&) = default;
};

// The grants with this one among them; one that the same item of the owner has for that protocol is
// replaced. `conflict`: somebody else has some of the ports, or another item of the owner, whose
// listeners must go first; the error names them.
Result<std::vector<Grant>> with_grant(std::vector<Grant> grants, Grant wanted);
// Those of an owner are gone: of one item, or of all when `item` is empty.
std::vector<Grant> without_owner(std::vector<Grant> grants, std::string_view owner_uid,
                                 std::string_view item);
// What was given is gone again: what the same item had `before` is back, if it had something.
std::vector<Grant> without_given(std::vector<Grant> grants, const Grant& given,
                                 const std::optional<Grant>& before);
// Inside a grant of the same item of the same owner.
bool has_grant(std::span<const Grant> grants, const Grant& wanted);
// What the same item of the owner has for that protocol.
std::optional<Grant> own_grant(std::span<const Grant> grants, const Grant& wanted);
// Inside a grant of this owner, whichever item has it.
bool is_granted(std::span<const Grant> grants, std::string_view owner_uid, model::Protocol protocol,
                const model::PortRange& ports);

}  // namespace berth::ledger
