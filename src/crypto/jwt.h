// Signed JSON Web Tokens, as Google takes them in exchange for an access token: for its driver,
// which is to come. Pure functions.
#pragma once

#include <string>

#include "base/result.h"
#include "base/secret.h"
#include "base/time.h"

namespace berth::crypto {

// An empty text leaves the claim out.
struct JwtClaims {
  std::string issuer{};
  std::string subject{};
  std::string audience{};
  std::string scope{};
  WallTime issued_at{};
  Duration lifetime{};
};

// The key decides the algorithm: RSA of 2048 bits or more signs RS256, EC on P-256 signs ES256. The
// key id tells the receiver which of its keys to verify with; it may be empty.
Result<std::string> sign_jwt(const JwtClaims& claims, const std::string& key_id,
                             const Secret& key_pem);

}  // namespace berth::crypto
