// CertificateSource: where drivers get the bytes of certificates from, of which wishes have only
// the reference. For providers that keep no certificates themselves.
//
// A reference is "<namespace of the Listener>/<what its owner wrote>"; what was written is the name
// of a Secret in that namespace, alone or once more with the namespace before it. Calls block and
// obey the context; thread-safe.
#pragma once

#include <string>

#include "base/context.h"
#include "base/secret.h"
#include "model/listener.h"

namespace berth::lb {

struct CertificateBytes {
  std::string certificate_pem{};  // with the certificates that lead to its authority, if any
  Secret key_pem{};               // of a server's; none of an authority
  // Of the content: the same bytes have the same version.
  std::string version{};
};

class CertificateSource {
 public:
  virtual ~CertificateSource() = default;

  // A server's certificate with the key that fits it. `invalid`: the reference or what it names is
  // wrong, and says how; `not_found`, `forbidden`: as the API server says.
  virtual Result<CertificateBytes> certificate(const Context& context,
                                               const model::Certificate& wanted) = 0;
  // The authorities that sign clients' certificates.
  virtual Result<CertificateBytes> authority(const Context& context,
                                             const model::Certificate& wanted) = 0;
};

}  // namespace berth::lb
