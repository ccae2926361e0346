// Which sites and rules can be carried, their certificates, and how they are said to HAProxy. Pure,
// but for `read_certificates`.
#pragma once

#include <map>

#include "edge/listener_table.h"
#include "lb/certificates.h"

namespace berth::edge {

// `invalid` or `unsupported`: such a listener cannot be.
Result<> check_site(const ForwardSpec& spec);
// The same of a rule of it.
Result<> check_rule(const ForwardSpec& site, const model::RuleKey& key,
                    const model::RuleAttributes& attributes);

// The bytes behind the references. Errors are the source's, or `invalid` when they are not what
// they should be.
Result<SiteCertificates> read_certificates(const Context& context, lb::CertificateSource* source,
                                           const Boxed<model::Tls>& wanted);

// What one call reads of a source, each once: hundreds of listeners of a pool have one certificate.
// For one thread, and no longer than the call.
class CertificatesOnce final : public lb::CertificateSource {
 public:
  // Null: none can be read.
  explicit CertificatesOnce(lb::CertificateSource* source) : source_(source) {}
  lb::CertificateSource* get() { return source_ ? this : nullptr; }

  Result<lb::CertificateBytes> certificate(const Context& context,
                                           const model::Certificate& wanted) override;
  Result<lb::CertificateBytes> authority(const Context& context,
                                         const model::Certificate& wanted) override;

 private:
  using Read = std::map<model::Certificate, Result<lb::CertificateBytes>>;

  lb::CertificateSource* const source_;
  Read certificates_;
  Read authorities_;
};

// It has sockets: of layer 7 with a rule, of TLS with a target.
bool is_wide_open(const ForwardSpec& spec);

// What HAProxy calls the listener and its rules: digests, so that no text of users is in a name.
std::string site_name(const ListenerRecord& record);
std::string route_name(const std::string& site, const model::RuleKey& key);
haproxy::Site site_of(const ListenerRecord& record, const LowPorts& low_ports);

}  // namespace berth::edge
