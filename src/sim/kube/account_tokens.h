// Tokens of service accounts: the `token` subresource makes them, and requests that bear one are
// the account's. A token is a JSON Web Token with the claims of the real server's, signed with a
// key that nobody else has. Private to this folder; any handler may call it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/kube/core.h"
#include "sim/kube/writes.h"

namespace berth::sim::kube {

class AccountTokens {
 public:
  AccountTokens(Core& core, std::string key) : core_(core), key_(std::move(key)) {}

  // POST of a TokenRequest: the same, with the token in its status.
  Outcome<wire::Value> issue(const WriteRequest& request);

  // Whose token it is; nobody's when it is not ours, is over, is meant for others, or when the
  // account or what it was bound to is gone.
  std::optional<User> bearer(std::string_view token, WallTime now) const;

 private:
  // What the token is bound to, as a claim: {"pod": {name, uid}}.
  Outcome<wire::Object> bound_claims(const std::string& ns, std::string_view account,
                                     const wire::Value& reference) const REQUIRES(core_.mu);
  bool still_there(std::string_view kind, std::string_view ns, const wire::Value* claim) const
      REQUIRES(core_.mu);
  std::string signature_of(std::string_view text) const;

  Core& core_;
  const std::string key_;
};

// TokenRequest of authentication.k8s.io/v1.
const ServedKind& token_request_kind();

}  // namespace berth::sim::kube
