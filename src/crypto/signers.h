// Request signatures of the clouds: AWS Signature Version 4 and Tencent's TC3-HMAC-SHA256.
//
// Both have the same shape (canonical request, string to sign, a key derived from the secret), so
// one canonicaliser serves two profiles. Pure functions; any thread may call them. A server checks
// a request by signing what it received and comparing.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/secret.h"
#include "base/time.h"

namespace berth::crypto {

using HeaderField = std::pair<std::string, std::string>;

// A request as it will be sent.
struct RequestParts {
  std::string method = "POST";
  std::string host{};                  // with the port, if the Host header has one
  std::string path = "/";              // without dot segments
  std::string query{};                 // without the question mark
  std::vector<HeaderField> headers{};  // those to be signed, beside Host and the signer's own
  std::string body{};
};

struct CloudCredentials {
  std::string id{};
  Secret key{};
  Secret token{};  // of temporary credentials; empty for lasting ones
};

struct SignedRequest {
  std::vector<HeaderField> headers{};  // to be added to the request
  // What was signed: servers show theirs when a signature does not match.
  std::string canonical_request{};
  std::string string_to_sign{};
};

// Adds X-Amz-Date, X-Amz-Security-Token where there is one, and Authorization. Services other than
// S3, which encodes paths differently. For the driver of AWS, which is to come.
SignedRequest sign_aws(const RequestParts& request, const CloudCredentials& credentials,
                       std::string_view region, std::string_view service, WallTime at);

// Adds X-TC-Timestamp, X-TC-Token where there is one, and Authorization. Content-Type must be among
// the headers to be signed.
SignedRequest sign_tencent(const RequestParts& request, const CloudCredentials& credentials,
                           std::string_view service, WallTime at);

}  // namespace berth::crypto
