#include "frontend/contenders.h"

#include <gtest/gtest.h>

#include "frontend/test_support.h"

namespace berth::frontend {
namespace {

using std::chrono::seconds;
using testing::grant_on;
using testing::kNow;
using testing::stage;

class ContendersTest : public ::testing::Test {
 protected:
  void wants(const Owner& owner, const std::string& lb, model::PortRange ports) {
    contenders_.put(owner, {grant_on(lb, owner, ports)});
  }
  // Whom an owner that was made now, and wants 30000 to 30009 of demo, goes behind; empty: nobody.
  std::string rival() const {
    const auto found = contenders_.older_than(mine_, grant_on("demo", mine_, {30000, 30009}));
    return found ? found->key.name : "";
  }

  const Owner mine_ = stage("mine");
  Contenders contenders_;
};

TEST_F(ContendersTest, TheOlderGoesFirst) {
  wants(mine_, "demo", {30000, 30009});
  EXPECT_EQ(rival(), "") << "oneself is no rival";
  wants(stage("younger", kNow + seconds{1}), "demo", {30005, 30020});
  EXPECT_EQ(rival(), "");
  wants(stage("older", kNow - seconds{1}), "demo", {30005, 30020});
  EXPECT_EQ(rival(), "older");
  wants(stage("oldest", kNow - seconds{9}), "demo", {30009, 30009});
  EXPECT_EQ(rival(), "oldest");
}

TEST_F(ContendersTest, OfTwoThatAreEquallyOldExactlyOneGoesFirst) {
  wants(stage("a"), "demo", {30000, 30000});
  EXPECT_EQ(rival(), "a");
  contenders_.erase("uid-of-a");
  wants(stage("z"), "demo", {30000, 30000});
  EXPECT_EQ(rival(), "") << "uid-of-mine lies between";
}

TEST_F(ContendersTest, KindsDoNotMatter) {
  Owner arena = stage("dome", kNow - seconds{1});
  arena.type = testing::kArena;
  arena.key.ns = "";
  wants(arena, "demo", {30000, 30000});
  const auto found = contenders_.older_than(mine_, grant_on("demo", mine_, {30000, 30009}));
  ASSERT_TRUE(found);
  EXPECT_EQ(to_string(*found), "Arena dome");
}

TEST_F(ContendersTest, OneThatWantsOtherPortsIsNone) {
  const Owner older = stage("older", kNow - seconds{1});
  wants(older, "west", {30000, 30009});
  EXPECT_EQ(rival(), "");
  wants(older, "demo", {30010, 30020});
  EXPECT_EQ(rival(), "");
  WantedGrant udp = grant_on("demo", older, {30000, 30009});
  udp.grant.transport = model::Transport::udp;
  contenders_.put(older, {udp});
  EXPECT_EQ(rival(), "");
}

TEST_F(ContendersTest, WhatIsWantedNoMoreHoldsNobodyBack) {
  const Owner older = stage("older", kNow - seconds{1});
  wants(older, "demo", {30000, 30000});
  wants(older, "west", {30000, 30000});
  EXPECT_EQ(rival(), "") << "it changed its mind";
  wants(older, "demo", {30000, 30000});
  contenders_.put(older, {});
  EXPECT_EQ(rival(), "") << "it is being deleted";
}

// It went while somebody was looking at it, and was told of once more.
TEST_F(ContendersTest, WhoIsGoneHoldsNobodyBack) {
  wants(stage("older", kNow - seconds{1}), "demo", {30000, 30000});
  contenders_.erase_former("Stage", {"games", "older"}, "uid-of-older");
  EXPECT_EQ(rival(), "older");
  contenders_.erase_former("Stage", {"games", "older"}, "");
  EXPECT_EQ(rival(), "");
}

TEST_F(ContendersTest, AKindIsForgottenAsAWhole) {
  Owner arena = stage("dome", kNow - seconds{1});
  arena.type = testing::kArena;
  wants(arena, "demo", {30000, 30000});
  wants(stage("older", kNow - seconds{2}), "demo", {30000, 30000});
  contenders_.forget("Stage");
  EXPECT_EQ(rival(), "dome");
}

}  // namespace
}  // namespace berth::frontend
