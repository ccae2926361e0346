// Which sites and rules can be carried, their certificates, and how they are said to HAProxy. Pure,
// but for `read_certificates`.
#pragma once

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

// It has sockets: of layer 7 with a rule, of TLS with a target.
bool is_wide_open(const ForwardSpec& spec);

// What HAProxy calls the listener and its rules: digests, so that no text of users is in a name.
std::string site_name(const ListenerRecord& record);
std::string route_name(const std::string& site, const model::RuleKey& key);
haproxy::Site site_of(const ListenerRecord& record, const LowPorts& low_ports);

}  // namespace berth::edge
