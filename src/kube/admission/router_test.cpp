#include "kube/admission/router.h"

#include <gtest/gtest.h>

#include "sim/kernel/kernel.h"

namespace berth::kube {
namespace {

const char* const kReview =
    R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u1",
  "operation":"DELETE","resource":{"group":"","version":"v1","resource":"pods"}}})";

class AdmissionRouterTest : public testing::Test {
 protected:
  AdmissionRouterTest() {
    router_.add("/admit",
                [this](const Context& context, const AdmissionRequest&) -> Result<AdmissionAnswer> {
                  time_left_ = context.deadline - context.tasks.now();
                  if (refuse_) return fail(Code::invalid, "no");
                  return AdmissionAnswer{};
                });
  }
  net::Reply post(const std::string& url, const std::string& body) {
    return router_.handle({.method = "POST", .url = url, .body = body}, {});
  }

  sim::Kernel kernel_{1};  // its time stands still while nobody waits
  metrics::Registry registry_;
  AdmissionRouter router_{kernel_.world(), registry_};
  Duration time_left_{};
  bool refuse_ = false;
};

TEST_F(AdmissionRouterTest, TheHandlersDeadlineLiesBelowTheServers) {
  EXPECT_EQ(post("/admit?timeout=5s", kReview).status, 200);
  EXPECT_EQ(time_left_, std::chrono::seconds{4});
  EXPECT_EQ(post("/admit?timeout=nonsense", kReview).status, 200);
  EXPECT_EQ(time_left_, std::chrono::seconds{8});
}

TEST_F(AdmissionRouterTest, AnErrorOfTheHandlerIsARefusalNotAFailure) {
  refuse_ = true;
  const net::Reply reply = post("/admit", kReview);
  EXPECT_EQ(reply.status, 200);
  EXPECT_NE(reply.body.find("\"allowed\":false"), std::string::npos);
}

TEST_F(AdmissionRouterTest, WhatIsNoReviewIsNeverAdmitted) {
  EXPECT_EQ(post("/admit", "garbage").status, 400);
  EXPECT_EQ(post("/elsewhere", kReview).status, 404);
  EXPECT_EQ(router_.handle({.method = "GET", .url = "/admit"}, {}).status, 405);
  EXPECT_NE(registry_.text().find(
                "controller_runtime_webhook_requests_total{code=\"400\",webhook=\"/admit\"} 1"),
            std::string::npos);
}

class GuardedRouterTest : public testing::Test {
 protected:
  GuardedRouterTest() {
    guard_.use(ring());
    router_.add("/admit", [this](const Context&, const AdmissionRequest&) {
      ++answered_;
      return Result<AdmissionAnswer>(AdmissionAnswer{});
    });
  }
  static crypto::KeyRing ring() {
    return crypto::KeyRing({{.id = "a", .bytes = Secret("one"), .made = WallTime{}},
                            {.id = "b", .bytes = Secret("two"), .made = WallTime{} + hours{1}}});
  }
  int post(const std::string& url) {
    return router_.handle({.method = "POST", .url = url, .body = kReview}, {}).status;
  }
  bool counted(const std::string& line) { return registry_.text().find(line) != std::string::npos; }

  using hours = std::chrono::hours;
  sim::Kernel kernel_{1};
  metrics::Registry registry_;
  PathGuard guard_;
  AdmissionRouter router_{kernel_.world(), registry_, &guard_};
  int answered_ = 0;
};

TEST_F(GuardedRouterTest, OnlyWhoKnowsTheEndOfThePathIsHeard) {
  const std::vector<std::string> words = ring().words("webhook path");
  ASSERT_EQ(words.size(), 2u);
  EXPECT_EQ(guard_.segment(), words.front());
  for (const std::string& word : words) EXPECT_EQ(post("/admit/" + word + "?timeout=5s"), 200);
  EXPECT_EQ(answered_, 2);
  for (const std::string& url :
       {std::string("/admit"), std::string("/admit/"), "/admit/" + std::string(32, '0'),
        "/" + words.front(), "/admit/" + words.front() + "/", "/elsewhere/" + words.front(),
        "/admit?" + words.front(), std::string()})
    EXPECT_EQ(post(url), 404) << url;
  EXPECT_EQ(router_.handle({.method = "POST", .url = "/admit", .body = "garbage"}, {}).status, 404)
      << "it is not read";
  EXPECT_EQ(answered_, 2);
  EXPECT_TRUE(counted("berth_webhook_strangers_total 9")) << registry_.text();
  EXPECT_FALSE(counted(words.front())) << "it is no label of a metric";
}

TEST_F(GuardedRouterTest, PathsOfTheVersionBeforeAreAnsweredWhileTheyAreInUse) {
  guard_.allow_plain(true);
  EXPECT_EQ(post("/admit"), 200);
  EXPECT_EQ(post("/admit/" + guard_.segment()), 200);
  EXPECT_EQ(post("/admit/" + std::string(32, '0')), 404);
  guard_.allow_plain(false);
  EXPECT_EQ(post("/admit"), 404);
}

}  // namespace
}  // namespace berth::kube
