// X.509 for our own endpoints: a small authority, the certificates it signs, and checks on both.
//
// Keys are ECDSA on P-256. Pure functions but for the random keys and serial numbers; any thread
// may call them. Every certificate and key travels as PEM text. Owned by whoever holds the KeyPair.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/secret.h"
#include "base/time.h"

namespace berth::crypto {

// X.520 gives a common name and an organization this many characters.
inline constexpr std::size_t kMaxNameLength = 64;

struct KeyPair {
  std::string certificate_pem{};
  Secret key_pem{};
};

// Times are cut to whole seconds: X.509 has no finer ones.
struct AuthorityRequest {
  std::string common_name{};
  WallTime not_before{};
  Duration lifetime{};
};

struct CertificateRequest {
  std::string common_name{};
  std::vector<std::string> organizations{};  // a client's groups, as Kubernetes reads them
  std::vector<std::string> dns_names{};
  std::vector<std::string> ip_addresses{};
  WallTime not_before{};
  Duration lifetime{};
  bool client = false;  // for proving who a client is; otherwise for a server
};

struct CertificateInfo {
  std::string common_name{};
  std::vector<std::string> organizations{};
  std::vector<std::string> dns_names{};
  std::vector<std::string> ip_addresses{};
  WallTime not_before{};
  WallTime not_after{};  // a date past WallTime's range is held at its end
  bool is_authority = false;
};

// A self-signed certificate that may sign others, but no other authority.
Result<KeyPair> make_authority(const AuthorityRequest& request);

Result<KeyPair> issue_certificate(const KeyPair& authority, const CertificateRequest& request);

// Of the first certificate in the text.
Result<CertificateInfo> describe_certificate(std::string_view certificate_pem);

// The key belongs to the first certificate in the text.
Result<> check_key_pair(std::string_view certificate_pem, const Secret& key_pem);

// The first certificate leads to one of the authorities and is valid at that time. Further
// certificates of the first text may be used as links in between.
Result<> verify_signed_by(std::string_view certificate_pem, std::string_view authority_pem,
                          WallTime at);

}  // namespace berth::crypto
