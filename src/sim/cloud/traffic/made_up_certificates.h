// Certificates for the ids that listeners of a simulated cloud name: the cloud knows no contents,
// so each id gets one of its own, of one authority. Nobody but who asks with `curl -k` trusts them.
//
// Thread-safe; owned by the carrier.
#pragma once

#include <map>
#include <string>

#include "base/mutex.h"
#include "crypto/certificates.h"
#include "lb/certificates.h"

namespace berth::sim::traffic {

class MadeUpCertificates final : public lb::CertificateSource {
 public:
  Result<lb::CertificateBytes> certificate(const Context& context,
                                           const model::Certificate& wanted) override;
  Result<lb::CertificateBytes> authority(const Context& context,
                                         const model::Certificate& wanted) override;

 private:
  Result<crypto::KeyPair> own_authority(const Context& context) REQUIRES(mu_);

  Mutex mu_;
  std::optional<crypto::KeyPair> authority_ GUARDED_BY(mu_);
  std::map<std::string, lb::CertificateBytes> made_ GUARDED_BY(mu_);  // by id
};

}  // namespace berth::sim::traffic
