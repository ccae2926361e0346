#include "kube/admission/certificate_keeper.h"

#include <boost/json.hpp>

#include "base/encoding.h"
#include "base/log.h"

namespace berth::kube {
namespace {

using wire::Object;
using wire::Value;

// The keys of a kubernetes.io/tls Secret, and beside them the authority.
constexpr std::string_view kCertKey = "tls.crt";
constexpr std::string_view kKeyKey = "tls.key";
constexpr std::string_view kAuthorityCertKey = "ca.crt";
constexpr std::string_view kAuthorityKeyKey = "ca.key";
constexpr std::string_view kBundleKey = "ca-bundle.crt";

// Clocks of API servers may lag behind ours.
constexpr Duration kBackdate = std::chrono::hours{1};
// How often a replica tries again when another one wrote in between.
constexpr int kMaxRounds = 4;

Result<std::string> data_at(const Value& secret, std::string_view key) {
  const std::string_view text = wire::string_at(secret, "/data/" + wire::escape_pointer_step(key));
  Result<std::string> decoded = base64_decode(text);
  if (!decoded)
    return fail(
        error_of(Code::invalid, "{}", decoded.error().message).at(fmt::format("data[{}]", key)));
  return decoded;
}

Result<WebhookCertificate> read_secret(const Value& secret) {
  std::string fields[5];
  const std::string_view keys[5] = {kCertKey, kKeyKey, kAuthorityCertKey, kAuthorityKeyKey,
                                    kBundleKey};
  for (std::size_t i = 0; i < 5; ++i) {
    Result<std::string> text = data_at(secret, keys[i]);
    if (!text) return pass(text);
    fields[i] = std::move(*text);
  }
  WebhookCertificate found{.serving = {fields[0], Secret(fields[1])},
                           .authority = {fields[2], Secret(fields[3])},
                           .ca_bundle = fields[4]};
  if (Result<> ok = crypto::check_key_pair(found.serving.certificate_pem, found.serving.key_pem);
      !ok)
    return pass(ok);
  if (Result<> ok =
          crypto::check_key_pair(found.authority.certificate_pem, found.authority.key_pem);
      !ok)
    return pass(ok);
  return found;
}

// True while more than a third of the life is left.
bool is_fresh(std::string_view certificate_pem, WallTime now) {
  const auto info = crypto::describe_certificate(certificate_pem);
  if (!info) return false;
  return info->not_after - now > (info->not_after - info->not_before) / 3;
}

bool serves(std::string_view certificate_pem, const CertificateKeeperOptions& options) {
  const auto info = crypto::describe_certificate(certificate_pem);
  return info && info->dns_names == options.dns_names && info->ip_addresses == options.ip_addresses;
}

}  // namespace

CertificateKeeper::CertificateKeeper(Client& client, CertificateKeeperOptions options)
    : client_(client), options_(std::move(options)) {}

std::shared_ptr<const WebhookCertificate> CertificateKeeper::current() const {
  const MutexLock lock(mu_);
  return current_;
}

Result<> CertificateKeeper::ensure(const Context& context) {
  for (int round = 0; round < kMaxRounds; ++round) {
    const WallTime now = context.tasks.wall_time();
    Result<Value> secret = client_.get(context, types::kSecret, options_.secret);
    if (!secret && secret.error().code != Code::not_found) return pass(secret);

    std::optional<WebhookCertificate> found;
    if (secret) {
      Result<WebhookCertificate> read = read_secret(*secret);
      if (read) {
        found = std::move(*read);
      } else {
        log_warn("webhook certificate made anew: the Secret cannot be used",
                 {{"object", options_.secret.to_string()}, {"error", read.error().to_string()}});
      }
    }
    const bool usable = found && is_fresh(found->authority.certificate_pem, now) &&
                        is_fresh(found->serving.certificate_pem, now) &&
                        serves(found->serving.certificate_pem, options_);
    if (usable) {
      publish(std::move(*found));
      return {};
    }
    Result<WebhookCertificate> made = renewed(found ? &*found : nullptr, now);
    if (!made) return pass(made);
    Result<> stored = store(context, *made, secret ? &*secret : nullptr);
    if (stored) {
      publish(std::move(*made));
      return {};
    }
    const Code code = stored.error().code;
    if (code != Code::conflict && code != Code::already_exists) return stored;
  }
  return fail(Code::conflict, "other replicas keep changing the Secret {}",
              options_.secret.to_string());
}

Result<WebhookCertificate> CertificateKeeper::renewed(const WebhookCertificate* old,
                                                      WallTime now) const {
  WebhookCertificate made;
  if (old && is_fresh(old->authority.certificate_pem, now)) {
    made.authority = old->authority;
    made.ca_bundle = old->ca_bundle;
  } else {
    Result<crypto::KeyPair> authority =
        crypto::make_authority({.common_name = "berth webhook authority",
                                .not_before = now - kBackdate,
                                .lifetime = options_.authority_lifetime});
    if (!authority) return pass(authority);
    made.authority = std::move(*authority);
    made.ca_bundle =
        made.authority.certificate_pem + (old ? old->authority.certificate_pem : std::string());
  }
  const std::string name = options_.dns_names.empty() ? "berth" : options_.dns_names.front();
  Result<crypto::KeyPair> serving = crypto::issue_certificate(
      made.authority, {.common_name = name.substr(0, crypto::kMaxNameLength),
                       .dns_names = options_.dns_names,
                       .ip_addresses = options_.ip_addresses,
                       .not_before = now - kBackdate,
                       .lifetime = options_.certificate_lifetime});
  if (!serving) return pass(serving);
  made.serving = std::move(*serving);
  return made;
}

Result<> CertificateKeeper::store(const Context& context, const WebhookCertificate& made,
                                  const Value* existing) {
  const Object data{{kCertKey, base64_encode(made.serving.certificate_pem)},
                    {kKeyKey, base64_encode(made.serving.key_pem.reveal())},
                    {kAuthorityCertKey, base64_encode(made.authority.certificate_pem)},
                    {kAuthorityKeyKey, base64_encode(made.authority.key_pem.reveal())},
                    {kBundleKey, base64_encode(made.ca_bundle)}};
  if (existing) {
    Value secret =
        *existing;  // with its resourceVersion: another replica's write in between is a conflict
    secret.as_object()["data"] = data;
    Result<Value> written = client_.update(context, types::kSecret, secret);
    if (!written) return pass(written);
    return {};
  }
  const Value secret = Object{
      {"apiVersion", "v1"},
      {"kind", "Secret"},
      {"type", "kubernetes.io/tls"},
      {"metadata", Object{{"namespace", options_.secret.ns}, {"name", options_.secret.name}}},
      {"data", data}};
  Result<Value> written = client_.create(context, types::kSecret, secret);
  if (!written) return pass(written);
  return {};
}

void CertificateKeeper::publish(WebhookCertificate certificate) {
  auto next = std::make_shared<const WebhookCertificate>(std::move(certificate));
  {
    const MutexLock lock(mu_);
    const bool same = current_ &&
                      current_->serving.certificate_pem == next->serving.certificate_pem &&
                      current_->ca_bundle == next->ca_bundle;
    if (same) return;
    current_ = next;
  }
  if (on_change_) on_change_(*next);
}

void CertificateKeeper::keep(const Context& context, Duration period) {
  while (sleep_for(context.tasks, period, context.stop)) {
    if (Result<> ensured = ensure(context); !ensured) {
      log_warn("webhook certificate not checked", {{"error", ensured.error().to_string()}});
    }
  }
}

}  // namespace berth::kube
