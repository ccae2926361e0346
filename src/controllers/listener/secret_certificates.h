// Certificates from Secrets: read by name when they are wanted, never listed nor kept, and only in
// the namespace of the Listener that wants them. Thread-safe; owned by the composition root.
#pragma once

#include "kube/client/client.h"
#include "lb/certificates.h"

namespace berth::controllers::listener {

class SecretCertificates final : public lb::CertificateSource {
 public:
  explicit SecretCertificates(kube::Client& client) : client_(client) {}

  // A Secret of type kubernetes.io/tls with tls.crt and tls.key.
  Result<lb::CertificateBytes> certificate(const Context& context,
                                           const model::Certificate& wanted) override;
  // Of any type, with ca.crt.
  Result<lb::CertificateBytes> authority(const Context& context,
                                         const model::Certificate& wanted) override;

 private:
  kube::Client& client_;
};

}  // namespace berth::controllers::listener
