#include "controllers/listener/secret_certificates.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/encoding.h"
#include "crypto/certificates.h"
#include "crypto/digest.h"

namespace berth::controllers::listener {
namespace {

using kube::ObjectKey;
using wire::Value;

constexpr std::string_view kTlsType = "kubernetes.io/tls";
constexpr std::string_view kCertificate = "tls.crt";
constexpr std::string_view kKey = "tls.key";
constexpr std::string_view kAuthority = "ca.crt";
// As names of objects are.
constexpr std::size_t kMaxName = 253;

std::string about(const ObjectKey& secret) { return "Secret " + secret.to_string(); }

bool is_object_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxName && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
}

// The Secret that is meant. The first part of a reference is ours; what follows, somebody wrote.
Result<ObjectKey> secret_of(const model::Certificate& wanted, std::string_view field) {
  const std::string_view reference = wanted.reference;
  const std::size_t slash = std::min(reference.find('/'), reference.size());
  const std::string_view ns = reference.substr(0, slash);
  std::string_view name = reference.substr(std::min(slash + 1, reference.size()));
  const std::string_view written = name;
  if (const std::size_t second = name.find('/'); second != std::string_view::npos) {
    if (name.substr(0, second) != ns) {
      return fail(error_of(Code::invalid,
                           "'{}' names a Secret of namespace '{}', and only those of the "
                           "Listener's own, '{}', are read",
                           written, name.substr(0, second), ns)
                      .about(fmt::format("Listener in namespace {}", ns))
                      .at(std::string(field))
                      .with_hint("copy the Secret there, and write its name alone"));
    }
    name.remove_prefix(second + 1);
  }
  if (!is_object_name(ns) || !is_object_name(name)) {
    return fail(error_of(Code::invalid, "'{}' is not the name of a Secret", written)
                    .about(fmt::format("Listener in namespace {}", ns))
                    .at(std::string(field))
                    .with_hint("lower-case letters, digits, '-' and '.'"));
  }
  return ObjectKey{std::string(ns), std::string(name)};
}

Result<Value> read_secret(const Context& context, kube::Client& client, const ObjectKey& key) {
  Result<Value> found = client.get(context, kube::types::kSecret, key);
  if (found) return found;
  Error error = std::move(found.error()).about(about(key));
  if (error.code == Code::forbidden)
    error.hint = "give the controller's service account `get` on this Secret: docs/security.md";
  if (error.code == Code::not_found) {
    error.hint = fmt::format(
        "kubectl create secret tls {} -n {} --cert=FILE --key=FILE; a client's authority is a "
        "Secret with ca.crt",
        key.name, key.ns);
  }
  return fail(std::move(error));
}

Result<Secret> entry(const Value& secret, const ObjectKey& key, std::string_view name) {
  const std::string_view encoded =
      wire::string_at(secret, "/data/" + wire::escape_pointer_step(name));
  const auto at = [&](Error error) {
    return fail(std::move(error).about(about(key)).at(fmt::format("data[{}]", name)));
  };
  if (encoded.empty()) return at(error_of(Code::invalid, "is missing"));
  Result<std::string> bytes = base64_decode(encoded);
  if (!bytes) return at(error_of(Code::invalid, "is not base64"));
  return Secret(std::move(*bytes));
}

// Each part with its length before it, so that no two contents look alike.
std::string version_of(std::string_view certificate, const Secret& key) {
  const Secret all(fmt::format("{}:{}{}:{}", certificate.size(), certificate, key.reveal().size(),
                               key.reveal()));
  return crypto::sha256_hex(all.reveal());
}

}  // namespace

Result<lb::CertificateBytes> SecretCertificates::certificate(const Context& context,
                                                             const model::Certificate& wanted) {
  const Result<ObjectKey> key = secret_of(wanted, "certificate.certID");
  if (!key) return fail(key.error());
  const Result<Value> secret = read_secret(context, client_, *key);
  if (!secret) return fail(secret.error());
  const std::string_view type = wire::string_at(*secret, "/type");
  if (type != kTlsType) {
    return fail(error_of(Code::invalid, "is '{}', and a certificate must be {}", type, kTlsType)
                    .about(about(*key))
                    .at("type")
                    .with_hint("kubectl create secret tls"));
  }
  Result<Secret> pem = entry(*secret, *key, kCertificate);
  if (!pem) return pass(pem);
  Result<Secret> private_key = entry(*secret, *key, kKey);
  if (!private_key) return pass(private_key);
  if (Result<> fits = crypto::check_key_pair(pem->reveal(), *private_key); !fits)
    return fail(std::move(fits.error()).about(about(*key)).at("data"));
  std::string version = version_of(pem->reveal(), *private_key);
  return lb::CertificateBytes{pem->reveal(), std::move(*private_key), std::move(version)};
}

Result<lb::CertificateBytes> SecretCertificates::authority(const Context& context,
                                                           const model::Certificate& wanted) {
  const Result<ObjectKey> key = secret_of(wanted, "certificate.certCaID");
  if (!key) return fail(key.error());
  const Result<Value> secret = read_secret(context, client_, *key);
  if (!secret) return fail(secret.error());
  Result<Secret> pem = entry(*secret, *key, kAuthority);
  if (!pem) return pass(pem);
  if (Result<crypto::CertificateInfo> read = crypto::describe_certificate(pem->reveal()); !read)
    return fail(std::move(read.error()).about(about(*key)).at("data[ca.crt]"));
  return lb::CertificateBytes{pem->reveal(), {}, version_of(pem->reveal(), {})};
}

}  // namespace berth::controllers::listener
