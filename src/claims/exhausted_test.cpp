#include "claims/exhausted.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "claims/test_support.h"

namespace berth::claims {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace berth::claims::testing;

class ExhaustedTest : public ::testing::Test {
 protected:
  ExhaustedTest() { add_indexes(store_, {}); }

  void hold(const ledger::Claim& claim) { put(with_claim(lock_at({.ports = next()}), claim)); }
  void put(api::Listener listener) {
    listener.meta.resource_version = 1;
    store_.put(std::move(listener));
  }
  model::PortRange next() {
    const model::PortRange ports{port_, port_};
    ++port_;
    return ports;
  }
  Error told(const Asker& asker) {
    return exhausted({.pool = {"games", "rooms"}, .protocols = {model::Protocol::tcp}}, store_,
                     asker);
  }

  ListenerStore store_;
  model::Port port_ = 30000;
};

ledger::Claim bound(const std::string& ns, const std::string& pod, const std::string& token = "t") {
  return {.state = ledger::SlotState::bound, .token = token, .ns = ns, .pod_name = pod};
}

ledger::Claim kept(const std::string& ns, const std::string& pod, WallTime until) {
  return {
      .state = ledger::SlotState::kept, .token = "t", .ns = ns, .pod_name = pod, .until = until};
}

TEST_F(ExhaustedTest, NamesPodsOfTheAskersNamespaceAlone) {
  hold(bound("games", "room-0"));
  EXPECT_EQ(told({.ns = "games"}).message, "no free TCP port: 1 of 1 in use by games/room-0");
  hold(bound("secret", "boss"));
  EXPECT_EQ(told({.ns = "games"}).message,
            "no free TCP port: 2 of 2 in use by games/room-0 and 1 Pod in other namespaces");
  EXPECT_EQ(told({.ns = "else"}).message,
            "no free TCP port: 2 of 2 in use by 2 Pods in other namespaces");
}

TEST_F(ExhaustedTest, NamesAFewAndCountsTheRest) {
  for (int i = 0; i < 7; ++i) hold(bound("games", fmt::format("room-{}", i)));
  hold(bound("secret", "boss"));
  EXPECT_THAT(told({.ns = "games"}).message,
              HasSubstr("games/room-4, 2 more and 1 Pod in other namespaces"));
}

TEST_F(ExhaustedTest, AdvisesToGiveUpOnlyWhatTheAskerCanReach) {
  hold(kept("secret", "boss", kNow));
  EXPECT_THAT(told({.ns = "games"}).message,
              HasSubstr("1 kept for 1 Pod in other namespaces, which is gone"));
  EXPECT_THAT(told({.ns = "games"}).hint, Not(HasSubstr("portbinding")));
  hold(kept("games", "room-0", kNow + std::chrono::hours{1}));
  EXPECT_THAT(told({.ns = "games"}).hint,
              HasSubstr("kubectl delete portbinding room-0 -n games gives up"));
  EXPECT_THAT(told({.ns = "games"}).hint, Not(HasSubstr("boss")));
}

TEST_F(ExhaustedTest, WhatWasTakenForTheAskerIsNobodyElses) {
  hold(bound("games", "greedy", "mine"));
  hold(bound("games", "room-0", "other"));
  EXPECT_EQ(told({.ns = "games", .token = "mine"}).message,
            "no free TCP port: 1 of 2 in use by games/room-0, 1 would be this Pod's");
}

TEST_F(ExhaustedTest, APoolWithoutPortsIsNotFull) {
  EXPECT_EQ(told({.ns = "games"}).message, "no free TCP port: the pool has none yet");
  EXPECT_EQ(without_counts(told({.ns = "games"})), "no free TCP port");
}

TEST(UnreadyItems, AreThoseThatFitAndAreNotReady) {
  api::PortPool pool = pool_with({tcp_item("a", 100, 110), tcp_item("b", 110, 120)});
  pool.status.pool_items = {
      {.item_name = "a", .status = "Ready", .message = "Ready"},
      {.item_name = "b", .status = "NotReady", .message = "2 of 10 listeners are ready"}};
  EXPECT_EQ(unready_items(pool, {.pool = {"games", "rooms"}}), "b: 2 of 10 listeners are ready");
  EXPECT_EQ(unready_items(pool, {.pool = {"games", "rooms"}, .item = "a"}), "");
}

}  // namespace
}  // namespace berth::claims
