#include "providers/tencent_credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/encoding.h"
#include "kube/client/test_fake_transport.h"

namespace berth::providers {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using wire::Object;
using namespace std::chrono_literals;

const std::string kOfGames =
    "/api/v1/namespaces/games/secrets/ingress-secret.networkextension.bkbcs.tencent.com";

const std::string kConfigOfGames =
    "/apis/networkextension.bkbcs.tencent.com/v1/namespaces/games/controllerconfigs/"
    "ingress-config.networkextension.bkbcs.tencent.com";

const std::string kGone =
    R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404})";
const std::string kRefused =
    R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403})";

class TencentSecrets : public ::testing::Test {
 protected:
  void use(TencentCredentials sources) {
    source_ = tencent_credentials(transport_, kube::fixed_config("https://api:6443", {}),
                                  std::move(sources));
  }
  static std::string secret(const std::string& id, const std::string& key,
                            const std::string& version = "1") {
    return wire::to_json(Object{{"metadata", Object{{"resourceVersion", version}}},
                                {"data", Object{{"TENCENTCLOUD_ACCESS_KEY_ID", base64_encode(id)},
                                                {"TENCENTCLOUD_ACESS_KEY", base64_encode(key)}}}});
  }
  static std::string ns(const std::string& uid, bool leaving) {
    Object meta{{"uid", uid}};
    if (leaving) meta["deletionTimestamp"] = "2026-01-02T00:00:00Z";
    return wire::to_json(Object{{"metadata", std::move(meta)}});
  }
  Result<crypto::CloudCredentials> get(const std::string& of = "") {
    return source_->credentials({.tasks = tasks_}, model::CredentialId(of));
  }
  std::string last_url() const { return transport_.requests.back().url; }

  kube::testing::JumpingTasks tasks_;
  kube::testing::FakeTransport transport_;
  std::shared_ptr<cloud::tencent::CredentialSource> source_;
};

TEST_F(TencentSecrets, OfTheEnvironmentNobodyIsAsked) {
  use({.given = {.id = "AKIDa", .key = Secret("key")}});
  EXPECT_EQ(get()->id, "AKIDa");
  EXPECT_THAT(transport_.requests, SizeIs(0));
  const auto of_games = get("games");
  ASSERT_FALSE(of_games) << "the process's own are for nobody else";
  EXPECT_EQ(of_games.error().code, Code::forbidden);
}

TEST_F(TencentSecrets, OfTheProcessAreReadByNameAndFollowed) {
  use({.secret = "tencent", .ns = "berth-system"});
  transport_.answer(200, secret("AKIDa", "key"));
  EXPECT_EQ(get()->id, "AKIDa");
  EXPECT_EQ(transport_.requests.back().method, "GET");
  EXPECT_THAT(last_url(), EndsWith("/api/v1/namespaces/berth-system/secrets/tencent"));
  EXPECT_EQ(get()->id, "AKIDa");
  EXPECT_THAT(transport_.requests, SizeIs(1));
  tasks_.advance(10s);
  transport_.answer(200, secret("AKIDb", "key"));
  EXPECT_EQ(get()->id, "AKIDb");
}

TEST_F(TencentSecrets, ThatAreWrongAreToldByNameAndEntryAndNeverShown) {
  use({.secret = "tencent", .ns = "berth-system"});
  transport_.answer(200, secret("AKIDa", "hidden\n"));
  const auto wrong = get();
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Code::forbidden);
  EXPECT_THAT(wrong.error().to_string(),
              HasSubstr("Secret berth-system/tencent: TENCENTCLOUD_ACESS_KEY"));
  EXPECT_THAT(wrong.error().to_string(), HasSubstr("echo -n"));
  EXPECT_THAT(wrong.error().to_string(), Not(HasSubstr("hidden")));
  EXPECT_THAT(wrong.error().to_string(), Not(HasSubstr(base64_encode("hidden\n"))));
}

TEST_F(TencentSecrets, OfANamespaceAreThoseOfItsOwnSecret) {
  use({.given = {.id = "AKIDp", .key = Secret("key")}, .of_namespaces = true});
  transport_.answer(200, secret("AKIDg", "key")).answer(200, ns("uid-1", false));
  EXPECT_EQ(get("games")->id, "AKIDg");
  EXPECT_THAT(transport_.requests.front().url, EndsWith(kOfGames));
  EXPECT_EQ(get()->id, "AKIDp");
}

TEST_F(TencentSecrets, ANamespaceWithoutItsSecretIsToldHowToMakeIt) {
  use({.given = {.id = "AKIDp", .key = Secret("key")}, .of_namespaces = true});
  transport_.answer(404, kGone).answer(404, kGone).answer(200, ns("uid-1", false));
  const auto none = get("games");
  ASSERT_FALSE(none) << "never with those of the process";
  EXPECT_EQ(none.error().code, Code::forbidden);
  EXPECT_THAT(none.error().to_string(), HasSubstr("kubectl -n games create secret generic "
                                                  "ingress-secret.networkextension.bkbcs.tencent."
                                                  "com"));
  tasks_.advance(1s);
  transport_.answer(403, kRefused);
  EXPECT_THAT(get("games").error().to_string(), HasSubstr("give the controller's service account"));
}

// As bcs-ingress-controller has it: the Secret counts first.
TEST_F(TencentSecrets, OfANamespaceWithoutASecretAreThoseOfItsControllerConfig) {
  const auto config = [](const std::string& id) {
    return wire::to_json(Object{
        {"metadata", Object{{"resourceVersion", "7"}}},
        {"spec", Object{{"secret", Object{{"TENCENTCLOUD_ACCESS_KEY_ID", base64_encode(id)},
                                          {"TENCENTCLOUD_ACESS_KEY", base64_encode("key")}}}}}});
  };
  use({.of_namespaces = true});
  transport_.answer(404, kGone).answer(200, config("AKIDc")).answer(200, ns("uid-1", false));
  const auto read = get("games");
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(read->id, "AKIDc");
  ASSERT_THAT(transport_.requests, SizeIs(3));
  EXPECT_THAT(transport_.requests[1].url, EndsWith(kConfigOfGames));
  tasks_.advance(10min);
  transport_.answer(200, secret("AKIDg", "key")).answer(200, ns("uid-1", false));
  EXPECT_EQ(get("games")->id, "AKIDg");
  tasks_.advance(10min);
  transport_.answer(404, kGone).answer(200, config("AKID\n"));
  const auto wrong = get("games");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().to_string(),
              HasSubstr("ControllerConfig games/ingress-config.networkextension.bkbcs.tencent.com: "
                        "TENCENTCLOUD_ACCESS_KEY_ID"));
}

// Most clusters do not know that kind, and a role of the version before has no right to it.
TEST_F(TencentSecrets, AControllerConfigThatCannotBeIsNone) {
  use({.of_namespaces = true});
  transport_.answer(404, kGone).answer(403, kRefused).answer(200, ns("uid-1", false));
  EXPECT_THAT(get("games").error().to_string(),
              HasSubstr("kubectl -n games create secret generic"));
  tasks_.advance(10min);
  transport_.answer(404, kGone).answer(404, "404 page not found\n").answer(200, ns("uid-1", false));
  EXPECT_THAT(get("games").error().to_string(),
              HasSubstr("kubectl -n games create secret generic"));
}

// Its Listeners have something at the cloud that nobody else could remove.
TEST_F(TencentSecrets, OfANamespaceThatGoesStayAsLongAsItGoes) {
  use({.of_namespaces = true});
  transport_.answer(200, secret("AKIDg", "key")).answer(200, ns("uid-1", false));
  EXPECT_EQ(get("games")->id, "AKIDg");
  for (int i = 0; i < 3; ++i) {
    tasks_.advance(10min);
    transport_.answer(404, kGone).answer(404, kGone).answer(200, ns("uid-1", true));
    const auto still = get("games");
    ASSERT_TRUE(still) << still.error().to_string();
    EXPECT_EQ(still->id, "AKIDg");
  }
  tasks_.advance(10s);
  transport_.answer(404, kGone).answer(404, kGone).answer(200, ns("uid-2", true));
  EXPECT_FALSE(get("games")) << "another one of that name";
}

TEST_F(TencentSecrets, WithdrawnFromANamespaceThatStaysAreNotUsedAgain) {
  use({.of_namespaces = true});
  transport_.answer(200, secret("AKIDg", "key")).answer(200, ns("uid-1", false));
  EXPECT_TRUE(get("games"));
  tasks_.advance(10s);
  transport_.answer(404, kGone).answer(404, kGone).answer(200, ns("uid-1", false));
  EXPECT_EQ(get("games").error().code, Code::forbidden);
}

TEST_F(TencentSecrets, StayWhileTheApiServerIsAway) {
  use({.of_namespaces = true});
  transport_.answer(200, secret("AKIDg", "key")).answer(200, ns("uid-1", false));
  EXPECT_TRUE(get("games"));
  tasks_.advance(1h);
  EXPECT_EQ(get("games")->id, "AKIDg");
}

}  // namespace
}  // namespace berth::providers
