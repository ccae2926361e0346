#include "frontend/choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "frontend/test_support.h"

namespace berth::frontend {
namespace {

using model::Transport;
using ::testing::HasSubstr;
using testing::stage;

class ChoiceTest : public ::testing::Test {
 protected:
  static model::LoadBalancerRef lb(const std::string& id) {
    return {model::Provider::edge, "", id};
  }
  Result<Choice> result() const {
    return choose(
        mine_, want_,
        {.grants_on = [this](const auto& on) { return at(grants_, on.id); },
         .holdings_in = [this](const auto& on, const auto&) { return at(holdings_, on.id); },
         .has_room = [this](const auto& on, std::size_t) { return !full_.contains(on.id); }});
  }
  // "west 30001-30001"; or the error.
  std::string choice() const {
    const Result<Choice> found = result();
    if (!found) return found.error().to_string();
    return fmt::format("{} {}-{}", found->lb.id, found->ports.first, found->ports.last);
  }
  void grant(const std::string& on, const Owner& owner, model::PortRange ports,
             std::string part = "room-0:8000", Transport transport = Transport::tcp) {
    grants_[on].push_back({.transport = transport,
                           .ports = ports,
                           .owner = grant_owner(owner),
                           .item = std::move(part)});
  }
  template <class T>
  static T at(const std::map<std::string, T>& map, const std::string& key) {
    const auto it = map.find(key);
    return it == map.end() ? T{} : it->second;
  }

  const Owner mine_ = stage("mine");
  const Owner other_ = stage("other");
  OpenWant want_{.part = "room-0:8000",
                 .lbs = {lb("east"), lb("west")},
                 .transports = {Transport::tcp},
                 .range = {30000, 30003}};
  std::map<std::string, std::vector<ledger::Grant>> grants_;
  std::map<std::string, std::vector<ledger::Holding>> holdings_;
  std::set<std::string> full_;
};

TEST_F(ChoiceTest, TheLowestPortThatNobodyHas) {
  EXPECT_EQ(choice(), "east 30000-30000");
  grant("east", other_, {30000, 30000});
  grant("east", mine_, {30001, 30001}, "room-1:8000");
  grant("east", other_, {30002, 30002}, "x", Transport::udp);
  EXPECT_EQ(choice(), "east 30002-30002") << "a port of UDP is another port";
}

TEST_F(ChoiceTest, TheSamePartHasTheSameAgainWhereverItIs) {
  grant("west", mine_, {30002, 30002});
  EXPECT_EQ(choice(), "west 30002-30002");
  full_ = {"west"};
  EXPECT_EQ(choice(), "west 30002-30002") << "what it has needs no room";
  want_.range = {30003, 30003};
  EXPECT_EQ(choice(), "east 30003-30003") << "it fits no more";
}

TEST_F(ChoiceTest, APortForBothTransportsIsFreeForBoth) {
  want_.transports = {Transport::tcp, Transport::udp};
  grant("east", other_, {30000, 30000}, "x", Transport::udp);
  grant("east", other_, {30001, 30001}, "x", Transport::tcp);
  EXPECT_EQ(choice(), "east 30002-30002");
  grant("east", mine_, {30000, 30000});
  EXPECT_EQ(choice(), "east 30002-30002") << "it has half of what it wants, and cannot have all";
}

TEST_F(ChoiceTest, TheNextLoadBalancerWhenTheFirstIsFull) {
  grant("east", other_, {30000, 30003});
  EXPECT_EQ(choice(), "west 30000-30000");
  grants_.clear();
  full_ = {"east"};
  EXPECT_EQ(choice(), "west 30000-30000");
}

TEST_F(ChoiceTest, PortsInARow) {
  want_.length = 2;
  grant("east", other_, {30001, 30001});
  EXPECT_EQ(choice(), "east 30002-30003");
  grant("east", other_, {30003, 30003});
  EXPECT_EQ(choice(), "west 30000-30001");
}

// Somebody edited its grant away, or the cache does not show it.
TEST_F(ChoiceTest, WhatAListenerHoldsIsNotChosen) {
  holdings_["east"] = {{.ports = {30000, 30000}, .owner = grant_owner(other_)}};
  EXPECT_EQ(choice(), "east 30001-30001");
  grant("east", mine_, {30000, 30000});
  EXPECT_EQ(choice(), "east 30001-30001") << "not though it was granted";
}

TEST_F(ChoiceTest, NothingLeftIsSaidWithWhereItLooked) {
  grant("east", other_, {1, 65535});
  grant("west", other_, {1, 65535});
  EXPECT_THAT(choice(), HasSubstr("no port of 30000-30003 is free on edge:east, edge:west"));
  EXPECT_EQ(result().error().code, Code::exhausted);
}

TEST_F(ChoiceTest, TheLastPortOfAllIsOneToo) {
  want_.range = {65534, 65535};
  grant("east", other_, {65534, 65534});
  EXPECT_EQ(choice(), "east 65535-65535");
  grant("east", other_, {65535, 65535});
  EXPECT_EQ(choice(), "west 65534-65534");
}

}  // namespace
}  // namespace berth::frontend
