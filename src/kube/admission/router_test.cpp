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

}  // namespace
}  // namespace berth::kube
