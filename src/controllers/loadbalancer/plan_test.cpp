#include "controllers/loadbalancer/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::controllers::loadbalancer {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

const WallTime kFirst{std::chrono::seconds{1'800'000'000}};
const WallTime kLater{std::chrono::seconds{1'800'000'060}};
const Result<model::LoadBalancerInfo> kDescribed(model::LoadBalancerInfo{.name = "rooms"});
const Look kNobodyLooked{};
const Look kSeen{Result<>{}};

Look unseen(Code code, const std::string& message = "no") {
  return Result<>(fail(error_of(code, "{}", message)));
}

api::LoadBalancer with(const api::LoadBalancerStatus& status) {
  api::LoadBalancer out;
  out.status = status;
  return out;
}

// What its object says after these looks, one after the other.
api::LoadBalancer after(const std::vector<Look>& looks,
                        const Result<model::LoadBalancerInfo>& answer = kDescribed) {
  api::LoadBalancer out;
  for (const Look& look : looks) out = with(status_of(out, answer, look, 0, kFirst));
  return out;
}

TEST(BalancerStatus, ListenersThatWereAlwaysSeenNeedNoWord) {
  for (const Look& look : {kNobodyLooked, kSeen}) {
    const api::LoadBalancer object = after({look});
    ASSERT_THAT(object.status.conditions, SizeIs(1));
    EXPECT_EQ(object.status.conditions[0].type, "Reachable");
    EXPECT_TRUE(is_told(object, look));
  }
}

TEST(BalancerStatus, ListenersThatCannotBeSeenAreAConditionAndTheLastError) {
  const std::pair<Code, std::string> kReasons[] = {{Code::throttled, "Throttled"},
                                                   {Code::forbidden, "NoPermission"},
                                                   {Code::unauthorized, "NoPermission"},
                                                   {Code::timeout, "ProviderUnavailable"},
                                                   {Code::unavailable, "ProviderUnavailable"}};
  for (const auto& [code, reason] : kReasons) {
    const api::LoadBalancer object = after({kSeen, unseen(code)});
    ASSERT_THAT(object.status.conditions, SizeIs(2));
    EXPECT_EQ(object.status.conditions[0].status, "True") << "it is described all the same";
    EXPECT_EQ(object.status.conditions[1].type, "Listed");
    EXPECT_EQ(object.status.conditions[1].status, "False");
    EXPECT_EQ(object.status.conditions[1].reason, reason);
    EXPECT_EQ(object.status.last_error, object.status.conditions[1].message);
    EXPECT_THAT(object.status.last_error, HasSubstr("no"));
    EXPECT_EQ(object.status.name, "rooms");
    EXPECT_TRUE(is_told(object, unseen(code)));
    EXPECT_FALSE(is_told(object, kSeen));
  }
}

TEST(BalancerStatus, WhatIsSeenAgainIsSaid) {
  const api::LoadBalancer failing = after({unseen(Code::throttled)});
  const api::LoadBalancer object = with(status_of(failing, kDescribed, kSeen, 0, kLater));
  ASSERT_THAT(object.status.conditions, SizeIs(2));
  EXPECT_EQ(object.status.conditions[1].status, "True");
  EXPECT_EQ(object.status.conditions[1].last_transition_time, format_rfc3339_micro(kLater));
  EXPECT_EQ(object.status.last_error, "");
  EXPECT_TRUE(is_told(object, kSeen));
}

// A leader that has just begun does not know better than the one before.
TEST(BalancerStatus, WhoHasNotLookedLeavesTheWordOfThoseWhoHave) {
  const api::LoadBalancer failing = after({unseen(Code::throttled)});
  EXPECT_EQ(status_of(failing, kDescribed, kNobodyLooked, 0, kLater), failing.status);
  EXPECT_TRUE(is_told(failing, kNobodyLooked));
}

TEST(BalancerStatus, TheSameFailureIsSaidOnce) {
  const api::LoadBalancer failing = after({unseen(Code::throttled)});
  EXPECT_EQ(status_of(failing, kDescribed, unseen(Code::throttled), 0, kLater), failing.status);
  EXPECT_FALSE(is_told(failing, unseen(Code::forbidden))) << "another one is news";
}

// What the provider says of the whole comes first.
TEST(BalancerStatus, OneThatIsMissingIsNotTheSameAsOneThatIsNotListed) {
  const Result<model::LoadBalancerInfo> missing(fail(Code::not_found, "lb-1 does not exist"));
  const api::LoadBalancer object = after({unseen(Code::throttled, "slow down")}, missing);
  EXPECT_THAT(object.status.last_error, HasSubstr("does not exist"));
  EXPECT_TRUE(was_missing(object));
  EXPECT_FALSE(was_missing(after({unseen(Code::not_found)})));
}

}  // namespace
}  // namespace berth::controllers::loadbalancer
