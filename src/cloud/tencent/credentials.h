// Whose keys a call is signed with. Implementations are thread-safe; what they give is in no log.
#pragma once

#include <functional>

#include "base/context.h"
#include "crypto/signers.h"
#include "model/load_balancer.h"

namespace berth::cloud::tencent {

class CredentialSource {
 public:
  virtual ~CredentialSource() = default;

  // Of the process itself, if the id is empty. May block, and obeys the context. `forbidden`: there
  // are none, or they cannot be used.
  virtual Result<crypto::CloudCredentials> credentials(const Context& context,
                                                       const model::CredentialId& id) = 0;
};

// Those of the process as they are given; those of others by a function.
class GivenCredentials final : public CredentialSource {
 public:
  using Lookup = std::function<Result<crypto::CloudCredentials>(const Context& context,
                                                                const model::CredentialId& id)>;

  explicit GivenCredentials(crypto::CloudCredentials own, Lookup others = {})
      : own_(std::move(own)), others_(std::move(others)) {}

  Result<crypto::CloudCredentials> credentials(const Context& context,
                                               const model::CredentialId& id) override;

 private:
  const crypto::CloudCredentials own_;
  const Lookup others_;
};

// `forbidden`: some are missing, or have bytes that no header can carry, as a Secret has that was
// not written in base64.
Result<> check_credentials(const crypto::CloudCredentials& credentials);

}  // namespace berth::cloud::tencent
