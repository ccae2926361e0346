#include "sim/cloud/traffic/made_up_certificates.h"

namespace berth::sim::traffic {
namespace {

constexpr Duration kLifetime = std::chrono::hours{24 * 365};
// Clocks of who looks at it may be behind.
constexpr Duration kEarlier = std::chrono::hours{1};

}  // namespace

Result<crypto::KeyPair> MadeUpCertificates::own_authority(const Context& context) {
  if (!authority_) {
    Result<crypto::KeyPair> made =
        crypto::make_authority({.common_name = "simulated cloud",
                                .not_before = context.tasks.wall_time() - kEarlier,
                                .lifetime = kLifetime});
    if (!made) return made;
    authority_ = std::move(*made);
  }
  return *authority_;
}

Result<lb::CertificateBytes> MadeUpCertificates::certificate(const Context& context,
                                                             const model::Certificate& wanted) {
  const MutexLock lock(mu_);
  if (const auto known = made_.find(wanted.reference); known != made_.end()) return known->second;
  Result<crypto::KeyPair> authority = own_authority(context);
  if (!authority) return pass(authority);
  const std::string name = wanted.reference.substr(0, crypto::kMaxNameLength);
  Result<crypto::KeyPair> made =
      crypto::issue_certificate(*authority, {.common_name = name,
                                             .dns_names = {"localhost"},
                                             .not_before = context.tasks.wall_time() - kEarlier,
                                             .lifetime = kLifetime});
  if (!made) return pass(made);
  return made_.emplace(wanted.reference, lb::CertificateBytes{made->certificate_pem, made->key_pem})
      .first->second;
}

Result<lb::CertificateBytes> MadeUpCertificates::authority(const Context& context,
                                                           const model::Certificate&) {
  const MutexLock lock(mu_);
  Result<crypto::KeyPair> authority = own_authority(context);
  if (!authority) return pass(authority);
  return lb::CertificateBytes{.certificate_pem = authority->certificate_pem};
}

}  // namespace berth::sim::traffic
