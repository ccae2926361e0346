#include "crypto/jwt.h"

#include <openssl/ec.h>

#include <array>

#include "base/encoding.h"
#include "crypto/openssl_support.h"

namespace berth::crypto {
namespace {

constexpr int kMinRsaBits = 2048;                 // RFC 7518, section 3.3
constexpr std::size_t kP256ScalarBytes = 32;      // the two halves of an ES256 signature
constexpr std::string_view kP256 = "prime256v1";  // how OpenSSL calls it

using DigestContext = Handle<EVP_MD_CTX, EVP_MD_CTX_free>;
using EcSignature = Handle<ECDSA_SIG, ECDSA_SIG_free>;

std::string curve_of(const EVP_PKEY* key) {
  std::array<char, 64> name{};
  std::size_t size = 0;
  if (EVP_PKEY_get_group_name(key, name.data(), name.size(), &size) != 1) return "unknown";
  return {name.data(), size};
}

Result<std::string> algorithm_of(const EVP_PKEY* key) {
  if (EVP_PKEY_is_a(key, "RSA")) {
    const int bits = EVP_PKEY_get_bits(key);
    if (bits >= kMinRsaBits) return "RS256";
    return fail(Code::invalid, "the RSA key has {} bits, at least {} are needed", bits,
                kMinRsaBits);
  }
  if (EVP_PKEY_is_a(key, "EC")) {
    const std::string curve = curve_of(key);
    if (curve == kP256) return "ES256";
    return fail(Code::invalid, "the EC key is on curve {}, only P-256 is supported", curve);
  }
  const char* type = EVP_PKEY_get0_type_name(key);
  return fail(Code::invalid, "a key of type {} cannot sign tokens: RSA or EC on P-256 can",
              type ? type : "unknown");
}

// Appends `"key":"value",`. Objects start with '{' and `close` ends them.
void append_text(std::string& json, std::string_view key, std::string_view value) {
  if (value.empty()) return;
  append_json_string(json, key);
  json += ':';
  append_json_string(json, value);
  json += ',';
}

std::string header_json(std::string_view algorithm, std::string_view key_id) {
  std::string json = "{";
  append_text(json, "kid", key_id);
  append_text(json, "typ", "JWT");
  append_json_string(json, "alg");
  json += ':';
  append_json_string(json, algorithm);
  return json + "}";
}

std::string claims_json(const JwtClaims& claims) {
  const auto seconds = [](WallTime at) {
    return std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
  };
  std::string json = "{";
  append_text(json, "iss", claims.issuer);
  append_text(json, "sub", claims.subject);
  append_text(json, "aud", claims.audience);
  append_text(json, "scope", claims.scope);
  return json + fmt::format("\"iat\":{},\"exp\":{}}}", seconds(claims.issued_at),
                            seconds(claims.issued_at + claims.lifetime));
}

// In the form of the key's type: PKCS#1 for RSA, a DER sequence for EC.
Result<std::string> sign(EVP_PKEY* key, std::string_view text) {
  const DigestContext context(EVP_MD_CTX_new());
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t size = 0;
  if (!context || EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) != 1)
    return openssl_failure(Code::internal, "the token could not be signed");
  std::string out(size, '\0');
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size, bytes,
                     text.size()) != 1)
    return openssl_failure(Code::internal, "the token could not be signed");
  out.resize(size);
  return out;
}

// JWT wants both numbers of an EC signature at full length, one after the other.
Result<std::string> raw_ec_signature(std::string_view der) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
  const EcSignature signature(d2i_ECDSA_SIG(nullptr, &bytes, static_cast<long>(der.size())));
  std::array<unsigned char, 2 * kP256ScalarBytes> raw{};
  const int half = static_cast<int>(kP256ScalarBytes);
  if (!signature || BN_bn2binpad(ECDSA_SIG_get0_r(signature.get()), raw.data(), half) != half ||
      BN_bn2binpad(ECDSA_SIG_get0_s(signature.get()), raw.data() + half, half) != half)
    return openssl_failure(Code::internal, "an EC signature could not be read");
  return std::string(reinterpret_cast<const char*>(raw.data()), raw.size());
}

}  // namespace

Result<std::string> sign_jwt(const JwtClaims& claims, const std::string& key_id,
                             const Secret& key_pem) {
  auto key = read_private_key(key_pem);
  if (!key) return pass(key);
  auto algorithm = algorithm_of(key->get());
  if (!algorithm) return algorithm;
  const std::string text = base64url_encode(header_json(*algorithm, key_id)) + "." +
                           base64url_encode(claims_json(claims));
  auto signature = sign(key->get(), text);
  if (signature && *algorithm == "ES256") signature = raw_ec_signature(*signature);
  if (!signature) return signature;
  return text + "." + base64url_encode(*signature);
}

}  // namespace berth::crypto
