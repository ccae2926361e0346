#include "controllers/listener/secret_certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/encoding.h"
#include "crypto/certificates.h"
#include "kube/client/test_fake_transport.h"

namespace berth::controllers::listener {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using wire::Object;

crypto::KeyPair server_pair(const std::string& name) {
  const WallTime now{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};
  const crypto::KeyPair authority =
      crypto::make_authority({"authority", now, std::chrono::hours{24}}).value();
  return crypto::issue_certificate(authority, {.common_name = name,
                                               .dns_names = {name},
                                               .not_before = now,
                                               .lifetime = std::chrono::hours{24}})
      .value();
}

class SecretCertificatesTest : public ::testing::Test {
 protected:
  static Object secret(const crypto::KeyPair& pair, std::string_view type = "kubernetes.io/tls") {
    return {{"type", type},
            {"data", Object{{"tls.crt", base64_encode(pair.certificate_pem)},
                            {"tls.key", base64_encode(pair.key_pem.reveal())}}}};
  }
  Result<lb::CertificateBytes> read(const Object& answer, std::string reference = "games/web") {
    transport_.answer(200, wire::to_json(answer));
    return source_.certificate(context_, {.reference = std::move(reference)});
  }

  const crypto::KeyPair pair_ = server_pair("rooms.example");
  kube::testing::JumpingTasks tasks_;
  kube::testing::FakeTransport transport_;
  kube::Client client_{transport_, kube::fixed_config("https://api:6443", {})};
  SecretCertificates source_{client_};
  const Context context_{.tasks = tasks_};
};

TEST_F(SecretCertificatesTest, AreReadByNameFromTheListenersNamespace) {
  for (const std::string reference : {"games/web", "games/games/web"}) {
    const auto bytes = read(secret(pair_), reference);
    ASSERT_TRUE(bytes) << bytes.error().to_string();
    EXPECT_EQ(bytes->certificate_pem, pair_.certificate_pem);
    EXPECT_EQ(bytes->key_pem.reveal(), pair_.key_pem.reveal());
    EXPECT_EQ(transport_.requests.back().method, "GET");
    EXPECT_THAT(transport_.requests.back().url,
                ::testing::EndsWith("/api/v1/namespaces/games/secrets/web"));
  }
}

TEST_F(SecretCertificatesTest, OfAnotherNamespaceNothingIsRead) {
  for (const std::string reference :
       {"games/other/web", "games/../kube-system/web", "games//web"}) {
    const auto bytes = source_.certificate(context_, {.reference = reference});
    ASSERT_FALSE(bytes) << reference;
    EXPECT_EQ(bytes.error().code, Code::invalid);
  }
  EXPECT_EQ(source_.certificate(context_, {.reference = "games/other/web"}).error().to_string(),
            "invalid: Listener in namespace games: certificate.certID: 'other/web' names a Secret "
            "of namespace 'other', and only those of the Listener's own, 'games', are read (hint: "
            "copy the Secret there, and write its name alone)");
  EXPECT_TRUE(transport_.requests.empty());
}

TEST_F(SecretCertificatesTest, WhatIsNoNameIsNotAskedFor) {
  for (const std::string reference : {"", "games", "games/", "games/Web", "games/web?x", "/web"}) {
    const auto bytes = source_.certificate(context_, {.reference = reference});
    ASSERT_FALSE(bytes) << reference;
    EXPECT_EQ(bytes.error().code, Code::invalid);
  }
  EXPECT_TRUE(transport_.requests.empty());
}

TEST_F(SecretCertificatesTest, TheSameBytesAreTheSameVersion) {
  const std::string first = read(secret(pair_))->version;
  Object touched = secret(pair_);
  touched["metadata"] = Object{{"resourceVersion", "77"}};
  EXPECT_EQ(read(touched)->version, first);
  EXPECT_NE(read(secret(server_pair("rooms.example")))->version, first);
}

TEST_F(SecretCertificatesTest, WhatIsWrongIsNamedAndNoneOfItsBytes) {
  const auto refused = [&](const Object& answer, std::string_view field, std::string_view what) {
    const auto bytes = read(answer);
    ASSERT_FALSE(bytes);
    const std::string text = bytes.error().to_string();
    EXPECT_THAT(text, HasSubstr("Secret games/web"));
    EXPECT_THAT(text, HasSubstr(std::string(field)));
    EXPECT_THAT(text, HasSubstr(std::string(what)));
    EXPECT_THAT(text, Not(HasSubstr("BEGIN")));
  };
  refused(secret(pair_, "Opaque"), "type", "'Opaque'");
  Object without_key = secret(pair_);
  without_key["data"].as_object().erase("tls.key");
  refused(without_key, "data[tls.key]", "is missing");
  Object garbled = secret(pair_);
  garbled["data"].as_object()["tls.crt"] = "%%%";
  refused(garbled, "data[tls.crt]", "base64");
  refused(secret({pair_.certificate_pem, server_pair("other").key_pem}), "data", "key");
}

TEST_F(SecretCertificatesTest, WithoutTheRightItSaysWhoseToGive) {
  transport_.answer(403, R"({"kind":"Status","status":"Failure","reason":"Forbidden","code":403})");
  const auto bytes = source_.certificate(context_, {.reference = "games/web"});
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, Code::forbidden);
  EXPECT_THAT(bytes.error().to_string(), HasSubstr("docs/security.md"));
}

TEST_F(SecretCertificatesTest, AnAuthorityHasNoKey) {
  transport_.answer(200, wire::to_json(Object{
                             {"type", "Opaque"},
                             {"data", Object{{"ca.crt", base64_encode(pair_.certificate_pem)}}}}));
  const auto bytes = source_.authority(context_, {.reference = "games/clients"});
  ASSERT_TRUE(bytes) << bytes.error().to_string();
  EXPECT_TRUE(bytes->key_pem.empty());
  EXPECT_FALSE(bytes->version.empty());
}

}  // namespace
}  // namespace berth::controllers::listener
