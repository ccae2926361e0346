#include "crypto/certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>

#include "crypto/openssl_support.h"

namespace berth::crypto {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

const WallTime kStart = parse_rfc3339("2026-03-01T00:00:00Z").value();

KeyPair authority(std::string name = "berth-test-ca") {
  return make_authority(
             {.common_name = std::move(name), .not_before = kStart, .lifetime = 24h * 365})
      .value();
}

CertificateRequest webhook_request() {
  return {.common_name = "berth-webhook",
          .organizations = {"berth", "platform"},
          .dns_names = {"berth.berth-system.svc", "*.example.test"},
          .ip_addresses = {"127.0.0.1", "2001:db8::1"},
          .not_before = kStart,
          .lifetime = 24h * 30};
}

TEST(Certificates, AuthorityDescribesItself) {
  const auto info = describe_certificate(authority().certificate_pem).value();
  EXPECT_EQ(info.common_name, "berth-test-ca");
  EXPECT_TRUE(info.is_authority);
  EXPECT_EQ(info.not_before, kStart);
  EXPECT_EQ(info.not_after, kStart + 24h * 365);
}

TEST(Certificates, IssuedCertificateCarriesWhatWasAsked) {
  const KeyPair issued = issue_certificate(authority(), webhook_request()).value();
  const auto info = describe_certificate(issued.certificate_pem).value();
  EXPECT_EQ(info.common_name, "berth-webhook");
  EXPECT_THAT(info.organizations, ElementsAre("berth", "platform"));
  EXPECT_THAT(info.dns_names, ElementsAre("berth.berth-system.svc", "*.example.test"));
  EXPECT_THAT(info.ip_addresses, ElementsAre("127.0.0.1", "2001:db8::1"));
  EXPECT_EQ(info.not_after, kStart + 24h * 30);
  EXPECT_FALSE(info.is_authority);
}

// What a TLS peer makes of it.
CertificateHandle parsed(const std::string& pem) {
  const BioHandle in = reader_of(pem).value();
  return CertificateHandle(PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr));
}

TEST(Certificates, AServersIsNoClientsAndTheOtherWayRound) {
  const KeyPair ca = authority();
  CertificateRequest request = webhook_request();
  for (const bool client : {false, true}) {
    request.client = client;
    const auto certificate = parsed(issue_certificate(ca, request)->certificate_pem);
    EXPECT_EQ(X509_check_purpose(certificate.get(), X509_PURPOSE_SSL_CLIENT, 0), client ? 1 : 0);
    EXPECT_EQ(X509_check_purpose(certificate.get(), X509_PURPOSE_SSL_SERVER, 0), client ? 0 : 1);
  }
}

TEST(Certificates, NamesAndKeyIdentifiersLeadToTheAuthority) {
  const KeyPair ca = authority();
  const auto issuer = parsed(ca.certificate_pem);
  const auto issued = parsed(issue_certificate(ca, webhook_request())->certificate_pem);
  EXPECT_EQ(X509_check_issued(issuer.get(), issued.get()), X509_V_OK);
  ASSERT_TRUE(X509_get0_authority_key_id(issued.get()));
  EXPECT_EQ(ASN1_OCTET_STRING_cmp(X509_get0_authority_key_id(issued.get()),
                                  X509_get0_subject_key_id(issuer.get())),
            0);
  EXPECT_TRUE(X509_get0_subject_key_id(issued.get()));
  EXPECT_EQ(X509_check_host(issued.get(), "berth.berth-system.svc", 0, 0, nullptr), 1);
  EXPECT_EQ(X509_check_host(issued.get(), "other.berth-system.svc", 0, 0, nullptr), 0);
  EXPECT_EQ(X509_check_ip_asc(issued.get(), "2001:db8::1", 0), 1);
  EXPECT_EQ(X509_check_ip_asc(issued.get(), "127.0.0.2", 0), 0);
}

TEST(Certificates, EachOneIsNew) {
  const KeyPair ca = authority();
  const KeyPair one = issue_certificate(ca, webhook_request()).value();
  const KeyPair two = issue_certificate(ca, webhook_request()).value();
  EXPECT_NE(one.certificate_pem, two.certificate_pem);
  EXPECT_NE(one.key_pem.reveal(), two.key_pem.reveal());
}

TEST(Certificates, TimesAreCutToSeconds) {
  const KeyPair ca =
      make_authority({.common_name = "x", .not_before = kStart + 700ms, .lifetime = 1h}).value();
  EXPECT_EQ(describe_certificate(ca.certificate_pem)->not_before, kStart);
}

TEST(Certificates, VerifiesAgainstItsAuthorityOnly) {
  const KeyPair ca = authority();
  const KeyPair other = authority();  // the same name, another key
  const KeyPair issued = issue_certificate(ca, webhook_request()).value();
  EXPECT_TRUE(verify_signed_by(issued.certificate_pem, ca.certificate_pem, kStart));

  const auto wrong = verify_signed_by(issued.certificate_pem, other.certificate_pem, kStart);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("certificate 'berth-webhook' is not trusted"));

  // Rotation: both authorities in one bundle.
  EXPECT_TRUE(
      verify_signed_by(issued.certificate_pem, other.certificate_pem + ca.certificate_pem, kStart));
}

TEST(Certificates, ALeafIsNoAuthority) {
  const KeyPair ca = authority();
  const KeyPair leaf = issue_certificate(ca, webhook_request()).value();
  const auto issued = issue_certificate(leaf, webhook_request());
  ASSERT_FALSE(issued);
  EXPECT_EQ(issued.error().message,
            "certificate 'berth-webhook' is not an authority, it cannot sign others");
  EXPECT_FALSE(verify_signed_by(leaf.certificate_pem, leaf.certificate_pem, kStart));
}

TEST(Certificates, ValidityIsCheckedAtTheGivenTime) {
  const KeyPair ca = authority();
  const KeyPair issued = issue_certificate(ca, webhook_request()).value();
  const auto verify_at = [&](WallTime at) {
    return verify_signed_by(issued.certificate_pem, ca.certificate_pem, at);
  };
  EXPECT_TRUE(verify_at(kStart + 24h * 30 - 1s));
  const auto late = verify_at(kStart + 24h * 30 + 1s);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().message,
            "certificate 'berth-webhook' is valid until 2026-03-31T00:00:00Z, the time is "
            "2026-03-31T00:00:01Z");
  const auto early = verify_at(kStart - 1s);
  ASSERT_FALSE(early);
  EXPECT_THAT(early.error().message, HasSubstr("is valid from 2026-03-01T00:00:00Z"));
}

TEST(Certificates, KeyMustBelongToCertificate) {
  const KeyPair ca = authority();
  const KeyPair issued = issue_certificate(ca, webhook_request()).value();
  EXPECT_TRUE(check_key_pair(issued.certificate_pem, issued.key_pem));
  const auto mixed = check_key_pair(issued.certificate_pem, ca.key_pem);
  ASSERT_FALSE(mixed);
  EXPECT_EQ(mixed.error().code, Code::invalid);
  EXPECT_THAT(mixed.error().message,
              HasSubstr("the private key does not belong to certificate 'berth-webhook'"));
  EXPECT_FALSE(
      issue_certificate({ca.certificate_pem, issued.key_pem}, webhook_request()).has_value());
}

TEST(Certificates, RefusesBadRequests) {
  const KeyPair ca = authority();
  const auto refusal = [&](auto change) {
    CertificateRequest request = webhook_request();
    change(request);
    const auto issued = issue_certificate(ca, request);
    return issued ? std::string("issued") : issued.error().field + ": " + issued.error().message;
  };
  EXPECT_EQ(refusal([](auto& r) { r.common_name = ""; }),
            "common_name: '' has 0 characters, 1-64 are allowed");
  EXPECT_THAT(refusal([](auto& r) { r.common_name = std::string(65, 'x'); }),
              HasSubstr("has 65 characters"));
  EXPECT_THAT(refusal([](auto& r) { r.lifetime = 0s; }), HasSubstr("lifetime: "));
  EXPECT_THAT(refusal([](auto& r) { r.lifetime = Duration::max(); }), HasSubstr("lifetime: "));
  EXPECT_EQ(refusal([](auto& r) { r.ip_addresses = {"300.0.0.1"}; }),
            "ip_addresses: '300.0.0.1' is not an IP address");
  // OpenSSL's configuration syntax would read this as two names.
  EXPECT_EQ(refusal([](auto& r) { r.dns_names = {"a.test,DNS:b.test"}; }),
            "dns_names: 'a.test,DNS:b.test' is not a DNS name");
  EXPECT_THAT(refusal([](auto& r) { r.organizations = {std::string(65, 'o')}; }),
              HasSubstr("organizations: "));
}

TEST(Certificates, RefusesWhatIsNotPem) {
  const KeyPair ca = authority();
  EXPECT_EQ(describe_certificate("").error().to_string(),
            "invalid: no certificate: caused by invalid: the PEM text is empty");
  EXPECT_THAT(describe_certificate(std::string(2u << 20, 'x')).error().to_string(),
              HasSubstr("has 2097152 bytes, at most 1048576 are allowed"));
  EXPECT_THAT(describe_certificate("hello").error().message, HasSubstr("not a certificate in PEM"));
  EXPECT_THAT(describe_certificate(ca.key_pem.reveal()).error().message,
              HasSubstr("not a certificate in PEM"));
  std::string torn = ca.certificate_pem;
  torn.replace(torn.size() / 2, 4, "!!!!");
  EXPECT_THAT(describe_certificate(torn).error().message, HasSubstr("not a certificate in PEM"));
  // A bundle whose second part is damaged must not pass as its first part.
  EXPECT_FALSE(describe_certificate(ca.certificate_pem + torn));
  EXPECT_EQ(check_key_pair(ca.certificate_pem, Secret()).error().to_string(),
            "invalid: no private key: caused by invalid: the PEM text is empty");
  EXPECT_THAT(check_key_pair(ca.certificate_pem, Secret(ca.certificate_pem)).error().message,
              HasSubstr("not a private key in PEM"));
}

// Self-signed, until 9999-12-31T23:59:59Z: what RFC 5280 writes for "no end".
constexpr const char* kEndless = R"(-----BEGIN CERTIFICATE-----
MIHSMIGFoAMCAQICAQcwBQYDK2VwMBIxEDAOBgNVBAMMB2ZvcmV2ZXIwIBcNMjYw
MTAxMDAwMDAwWhgPOTk5OTEyMzEyMzU5NTlaMBIxEDAOBgNVBAMMB2ZvcmV2ZXIw
KjAFBgMrZXADIQCf675v6ZO5TGV4zraO445dA64xOzulmFcN80A6UpuljTAFBgMr
ZXADQQBcjSUrQ5ds/jYFHTTj4xo3AlSAnlgMZZOfaom4QQYzJLfm8MPCa8FPGFLx
rZNZUiHZQ0xuMt9F1HCmzc7GBgoI
-----END CERTIFICATE-----
)";

TEST(Certificates, ADateBeyondTheRangeIsHeldAtItsEnd) {
  const auto info = describe_certificate(kEndless);
  ASSERT_TRUE(info) << info.error().to_string();
  EXPECT_EQ(info->common_name, "forever");
  EXPECT_EQ(info->not_after, std::chrono::floor<std::chrono::seconds>(WallTime::max()));
}

// The same key behind a passphrase.
Secret encrypted(const Secret& key_pem) {
  const KeyHandle key = read_private_key(key_pem).value();
  const BioHandle out(BIO_new(BIO_s_mem()));
  EXPECT_EQ(PEM_write_bio_PKCS8PrivateKey(out.get(), key.get(), EVP_aes_128_cbc(), "pass", 4,
                                          nullptr, nullptr),
            1);
  return Secret(text_of(out.get()));
}

TEST(Certificates, AnEncryptedKeyIsRefusedWithoutAsking) {
  const KeyPair ca = authority();
  const auto checked = check_key_pair(ca.certificate_pem, encrypted(ca.key_pem));
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("the private key is encrypted"));
}

}  // namespace
}  // namespace berth::crypto
