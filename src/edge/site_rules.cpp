#include "edge/site_rules.h"

#include <algorithm>

#include "crypto/certificates.h"
#include "crypto/digest.h"
#include "edge/haproxy/config.h"
#include "edge/haproxy/words.h"

namespace berth::edge {
namespace {

// Of a digest as much as keeps two apart whatever users write.
constexpr std::size_t kNameDigits = 32;

std::string digits_of(std::string_view text) {
  return crypto::sha256_hex(text).substr(0, kNameDigits);
}

bool has_certificate(const Boxed<model::Tls>& tls) { return tls && !tls->certificates.empty(); }

std::string keep(SiteCertificates& into, const char* kind, std::string bytes) {
  std::string name = fmt::format("{}-{}.pem", kind, digits_of(bytes));
  into.files.emplace(name, std::make_shared<const Secret>(std::move(bytes)));
  return name;
}

Result<> check_health(const Boxed<model::HealthCheck>& check) {
  if (!check) return {};
  if (Result<> good = haproxy::check_path(check->http_path); !good) return good;
  if (Result<> good = haproxy::check_method(check->http_method); !good) return good;
  if (Result<std::string> codes = haproxy::check_codes(check->http_codes); !codes)
    return pass(codes);
  return {};
}

}  // namespace

Result<> check_site(const ForwardSpec& spec) {
  if (spec.ports.size() != 1)
    return fail(Code::unsupported, "a listener of {} has one port, not {}",
                model::to_string(spec.protocol), spec.ports.size());
  if (spec.protocol == model::Protocol::http) return {};
  const bool by_rule = spec.protocol == model::Protocol::https && spec.whole.by_server_name;
  if (by_rule || has_certificate(spec.whole.tls)) return {};
  return fail(error_of(Code::invalid, "a listener of {} needs a certificate",
                       model::to_string(spec.protocol))
                  .with_hint("name a Secret of type kubernetes.io/tls of its namespace"));
}

Result<> check_rule(const ForwardSpec& site, const model::RuleKey& key,
                    const model::RuleAttributes& attributes) {
  if (Result<> good = haproxy::check_domain(key.domain()); !good) return good;
  if (Result<> good = haproxy::check_path(key.path()); !good) return good;
  if (Result<> good = check_health(attributes.health_check); !good) return good;
  if (site.protocol != model::Protocol::https || !site.whole.by_server_name) return {};
  const bool chosen = has_certificate(attributes.tls);
  if (!chosen && has_certificate(site.whole.tls)) return {};
  if (!chosen) return fail(Code::invalid, "the rule for '{}' has no certificate", key.text());
  if (!key.domain().empty() && !key.domain().ends_with(".*")) return {};
  return fail(Code::invalid, "the rule for '{}' has a certificate that no name can choose",
              key.text());
}

Result<SiteCertificates> read_certificates(const Context& context, lb::CertificateSource* source,
                                           const Boxed<model::Tls>& wanted) {
  SiteCertificates out;
  if (!wanted) return out;
  if (source == nullptr && (!wanted->certificates.empty() || wanted->client_ca))
    return fail(Code::unsupported, "this load balancer reads no certificates");
  for (const model::Certificate& one : wanted->certificates) {
    Result<lb::CertificateBytes> bytes = source->certificate(context, one);
    if (!bytes) return pass(bytes);
    if (Result<> fits = crypto::check_key_pair(bytes->certificate_pem, bytes->key_pem); !fits)
      return fail(Error(fits.error()).about("certificate " + one.reference));
    std::string text = bytes->certificate_pem + "\n" + bytes->key_pem.reveal() + "\n";
    out.names.certificates.push_back(keep(out, "cert", std::move(text)));
  }
  if (!wanted->client_ca) return out;
  Result<lb::CertificateBytes> bytes = source->authority(context, *wanted->client_ca);
  if (!bytes) return pass(bytes);
  if (Result<crypto::CertificateInfo> info = crypto::describe_certificate(bytes->certificate_pem);
      !info)
    return fail(Error(info.error()).about("authority " + wanted->client_ca->reference));
  out.names.client_ca = keep(out, "ca", std::move(bytes->certificate_pem));
  return out;
}

Result<lb::CertificateBytes> CertificatesOnce::certificate(const Context& context,
                                                           const model::Certificate& wanted) {
  auto it = certificates_.find(wanted);
  if (it == certificates_.end())
    it = certificates_.emplace(wanted, source_->certificate(context, wanted)).first;
  return it->second;
}

Result<lb::CertificateBytes> CertificatesOnce::authority(const Context& context,
                                                         const model::Certificate& wanted) {
  auto it = authorities_.find(wanted);
  if (it == authorities_.end())
    it = authorities_.emplace(wanted, source_->authority(context, wanted)).first;
  return it->second;
}

bool is_wide_open(const ForwardSpec& spec) {
  if (model::is_layer7(spec.protocol)) return !spec.rules.empty();
  return std::ranges::any_of(spec.rules, [](const auto& rule) { return !rule.targets.empty(); });
}

std::string site_name(const ListenerRecord& record) {
  return "s-" + digits_of(fmt::format("{} {}", model::canonical(record.lb), record.id));
}

std::string route_name(const std::string& site, const model::RuleKey& key) {
  return fmt::format("{}-{}", site,
                     digits_of(fmt::format("{} {}", key.domain().size(), key.text())));
}

haproxy::Site site_of(const ListenerRecord& record, const LowPorts& low_ports) {
  haproxy::Site out{.name = site_name(record),
                    .protocol = record.spec.protocol,
                    .attributes = record.spec.whole,
                    .tls = record.site.whole.names};
  for (const SocketAddress& vip : record.vips)
    out.binds.push_back(vip.with_port(low_ports.opened_at(record.spec.ports.first)).to_target());
  for (const model::Rule& rule : record.spec.rules) {
    const auto own = record.site.by_rule.find(rule.key);
    out.routes.push_back(
        {.name = route_name(out.name, rule.key),
         .key = rule.key,
         .attributes = rule.attributes,
         .tls = own == record.site.by_rule.end() ? haproxy::SiteTls{} : own->second.names,
         .targets = rule.targets});
  }
  return out;
}

}  // namespace berth::edge
