#include "kube/admission/certificate_keeper.h"

#include <boost/json.hpp>

#include "base/encoding.h"
#include "base/log.h"
#include "kube/admission/certificate_plan.h"

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
  return WebhookCertificate{.serving = {fields[0], Secret(fields[1])},
                            .authority = {fields[2], Secret(fields[3])},
                            .ca_bundle = fields[4]};
}

Result<> check_keys(const WebhookCertificate& found) {
  if (Result<> ok = crypto::check_key_pair(found.serving.certificate_pem, found.serving.key_pem);
      !ok)
    return ok;
  return crypto::check_key_pair(found.authority.certificate_pem, found.authority.key_pem);
}

bool same(const crypto::KeyPair& a, const crypto::KeyPair& b) {
  return a.certificate_pem == b.certificate_pem && a.key_pem.reveal() == b.key_pem.reveal();
}

bool same(const WebhookCertificate& a, const WebhookCertificate& b) {
  return same(a.serving, b.serving) && same(a.authority, b.authority) && a.ca_bundle == b.ca_bundle;
}

}  // namespace

CertificateKeeper::CertificateKeeper(Client& client, CertificateKeeperOptions options)
    : client_(client), options_(std::move(options)) {}

std::shared_ptr<const WebhookCertificate> CertificateKeeper::current() const {
  const MutexLock lock(mu_);
  return current_;
}

std::optional<WebhookCertificate> CertificateKeeper::usable_part(
    const Result<Value>& secret) const {
  const auto known = current();
  if (!secret) return known ? std::optional(*known) : std::nullopt;
  Result<WebhookCertificate> read = read_secret(*secret);
  const Result<> usable = !read                          ? Result<>(fail(read.error()))
                          : known && same(*read, *known) ? Result<>()
                                                         : check_keys(*read);
  if (usable) return std::move(*read);
  log_warn("webhook certificate made anew: the Secret cannot be used",
           {{"object", options_.secret.to_string()}, {"error", usable.error().to_string()}});
  return std::nullopt;
}

Result<> CertificateKeeper::ensure(const Context& context) {
  for (int round = 0; round < kMaxRounds; ++round) {
    const WallTime now = context.tasks.wall_time();
    const Instant begun = context.tasks.now();
    const Result<Value> secret = client_.get(context, types::kSecret, options_.secret);
    if (!secret && secret.error().code != Code::not_found) return fail(secret.error());
    const std::optional<WebhookCertificate> found = usable_part(secret);
    const RenewalPlan plan = plan_renewal(found ? &*found : nullptr, options_, now);
    if (secret && !plan.authority && !plan.serving) {
      publish(*found);
      return {};
    }
    Result<WebhookCertificate> made = renewed(found ? &*found : nullptr, plan, now);
    if (!made) return pass(made);
    Result<> stored = store(context, *made, secret ? &*secret : nullptr);
    if (stored) {
      if (!secret && !current()) made_at_ = begun;
      publish(std::move(*made));
      return {};
    }
    const Code code = stored.error().code;
    if (code != Code::conflict && code != Code::already_exists) return stored;
  }
  return fail(Code::conflict, "other replicas keep changing the Secret {}",
              options_.secret.to_string());
}

Result<WebhookCertificate> CertificateKeeper::renewed(const WebhookCertificate* found,
                                                      RenewalPlan plan, WallTime now) const {
  WebhookCertificate made = found ? *found : WebhookCertificate{};
  if (plan.authority) {
    Result<crypto::KeyPair> authority =
        crypto::make_authority({.common_name = "berth webhook authority",
                                .not_before = now - kBackdate,
                                .lifetime = options_.authority_lifetime});
    if (!authority) return pass(authority);
    made.ca_bundle = authority->certificate_pem + made.authority.certificate_pem;
    made.authority = std::move(*authority);
  }
  if (plan.serving) {
    const std::string name = options_.dns_names.empty() ? "berth" : options_.dns_names.front();
    Result<crypto::KeyPair> serving = crypto::issue_certificate(
        made.authority, {.common_name = name.substr(0, crypto::kMaxNameLength),
                         .dns_names = options_.dns_names,
                         .ip_addresses = options_.ip_addresses,
                         .not_before = now - kBackdate,
                         .lifetime = options_.certificate_lifetime});
    if (!serving) return pass(serving);
    made.serving = std::move(*serving);
  }
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
    if (current_ && same(*current_, *next)) return;
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
