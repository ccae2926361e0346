#include "crypto/jwt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/pem.h>

#include <algorithm>
#include <vector>

#include "base/encoding.h"
#include "crypto/certificates.h"
#include "crypto/openssl_support.h"

namespace berth::crypto {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Secret pem_of(EVP_PKEY* key) {
  const BioHandle out(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(out.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return Secret(text_of(out.get()));
}

JwtClaims google_claims() {
  return {.issuer = "berth@project.iam.example.test",
          .audience = "https://oauth2.example.test/token",
          .scope = "https://www.example.test/auth/compute",
          .issued_at = parse_rfc3339("2026-03-01T00:00:00.9Z").value(),
          .lifetime = 1h};
}

std::string decode64url(std::string text) {
  std::ranges::replace(text, '-', '+');
  std::ranges::replace(text, '_', '/');
  text.append((4 - text.size() % 4) % 4, '=');
  return base64_decode(text).value();
}

struct Token {
  std::string header, claims, signed_text, signature;
};

Token split(const std::string& token) {
  const auto first = token.find('.');
  const auto last = token.rfind('.');
  return {decode64url(token.substr(0, first)),
          decode64url(token.substr(first + 1, last - first - 1)), token.substr(0, last),
          decode64url(token.substr(last + 1))};
}

// With OpenSSL's own verifier, which takes EC signatures as DER.
bool verifies(EVP_PKEY* key, const std::string& text, std::string signature) {
  const auto bytes = [](const std::string& s) {
    return reinterpret_cast<const unsigned char*>(s.data());
  };
  if (EVP_PKEY_is_a(key, "EC")) {
    if (signature.size() != 64) return false;
    const Handle<ECDSA_SIG, ECDSA_SIG_free> numbers(ECDSA_SIG_new());
    ECDSA_SIG_set0(numbers.get(), BN_bin2bn(bytes(signature), 32, nullptr),
                   BN_bin2bn(bytes(signature) + 32, 32, nullptr));
    std::vector<unsigned char> der(static_cast<std::size_t>(i2d_ECDSA_SIG(numbers.get(), nullptr)));
    unsigned char* at = der.data();
    i2d_ECDSA_SIG(numbers.get(), &at);
    signature.assign(der.begin(), der.end());
  }
  const Handle<EVP_MD_CTX, EVP_MD_CTX_free> context(EVP_MD_CTX_new());
  return EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key) == 1 &&
         EVP_DigestVerify(context.get(), bytes(signature), signature.size(), bytes(text),
                          text.size()) == 1;
}

TEST(Jwt, RsaKeySignsRs256) {
  const KeyHandle key(EVP_RSA_gen(2048));
  const auto signed_token = sign_jwt(google_claims(), "key-7", pem_of(key.get()));
  ASSERT_TRUE(signed_token) << signed_token.error().to_string();
  const Token token = split(*signed_token);
  EXPECT_EQ(token.header, R"({"kid":"key-7","typ":"JWT","alg":"RS256"})");
  EXPECT_EQ(
      token.claims,
      R"({"iss":"berth@project.iam.example.test","aud":"https://oauth2.example.test/token",)"
      R"("scope":"https://www.example.test/auth/compute","iat":1772323200,"exp":1772326800})");
  EXPECT_TRUE(verifies(key.get(), token.signed_text, token.signature));
  EXPECT_FALSE(verifies(key.get(), token.signed_text + "x", token.signature));
}

TEST(Jwt, EcKeySignsEs256) {
  const KeyHandle key(EVP_EC_gen("P-256"));
  // Both halves keep their leading zeros: about one signature in 128 has some.
  for (int i = 0; i < 150; ++i) {
    const Token token = split(sign_jwt(google_claims(), "", pem_of(key.get())).value());
    ASSERT_EQ(token.header, R"({"typ":"JWT","alg":"ES256"})");
    ASSERT_TRUE(verifies(key.get(), token.signed_text, token.signature)) << "attempt " << i;
  }
}

TEST(Jwt, TextIsEscaped) {
  const KeyHandle key(EVP_EC_gen("P-256"));
  JwtClaims claims = google_claims();
  claims.subject = "a\"b\\c";
  const Token token = split(sign_jwt(claims, "", pem_of(key.get())).value());
  EXPECT_THAT(token.claims, HasSubstr(R"("sub":"a\"b\\c")"));
}

TEST(Jwt, RefusesKeysThatReceiversWouldRefuse) {
  const auto refusal = [](EVP_PKEY* made) {
    const KeyHandle key(made);
    const auto token = sign_jwt(google_claims(), "", pem_of(key.get()));
    return token ? std::string("signed") : token.error().message;
  };
  EXPECT_EQ(refusal(EVP_RSA_gen(1024)), "the RSA key has 1024 bits, at least 2048 are needed");
  EXPECT_EQ(refusal(EVP_EC_gen("P-384")),
            "the EC key is on curve secp384r1, only P-256 is supported");
  EXPECT_EQ(refusal(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")),
            "a key of type ED25519 cannot sign tokens: RSA or EC on P-256 can");
  EXPECT_THAT(sign_jwt(google_claims(), "", Secret("nonsense")).error().message,
              HasSubstr("not a private key in PEM"));
}

}  // namespace
}  // namespace berth::crypto
