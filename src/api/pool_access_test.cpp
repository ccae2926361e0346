#include "api/pool_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::api {
namespace {

using ::testing::HasSubstr;

Result<PoolAccess> with(std::string_view key, std::string value) {
  return pool_access({{kube::Interned(key), std::move(value)}});
}

TEST(PoolAccess, WithoutAnnotationsEverybodyMay) {
  const PoolAccess access = pool_access({}).value();
  EXPECT_TRUE(access.lists("anywhere"));
  EXPECT_FALSE(access.max_ports);
}

TEST(PoolAccess, AListLetsInWhomItNames) {
  const PoolAccess access = with(kAllowedNamespacesAnnotation, " games, studios ").value();
  EXPECT_TRUE(access.lists("games"));
  EXPECT_TRUE(access.lists("studios"));
  EXPECT_FALSE(access.lists("studio"));
  EXPECT_FALSE(access.selects({}));
}

TEST(PoolAccess, AllTermsOfASelectorMustHold) {
  const PoolAccess access =
      with(kAllowedSelectorAnnotation, "team=x, tier!=test, example.com/games, !frozen").value();
  EXPECT_FALSE(access.lists("games"));
  EXPECT_TRUE(access.selects({{"team", "x"}, {"example.com/games", ""}}));
  EXPECT_FALSE(access.selects({{"team", "x"}}));
  EXPECT_FALSE(access.selects({{"team", "y"}, {"example.com/games", ""}}));
  EXPECT_FALSE(access.selects({{"team", "x"}, {"example.com/games", ""}, {"tier", "test"}}));
  EXPECT_FALSE(access.selects({{"team", "x"}, {"example.com/games", ""}, {"frozen", "no"}}));
  EXPECT_TRUE(with(kAllowedSelectorAnnotation, "team==x").value().selects({{"team", "x"}}));
}

TEST(PoolAccess, WhatCannotBeReadIsAnErrorThatSaysWhatIsAllowed) {
  for (const char* text : {"", "games,", "Games", "a/b", "*"}) {
    const auto access = with(kAllowedNamespacesAnnotation, text);
    ASSERT_FALSE(access) << text;
    EXPECT_THAT(access.error().to_string(),
                HasSubstr("metadata.annotations[berth.dev/allowed-namespaces]"));
    EXPECT_THAT(access.error().hint, HasSubstr("games,studios"));
  }
  for (const char* text : {"", "team in (a)", "=x", "team=a b", "!", "a=b,,c"})
    EXPECT_FALSE(with(kAllowedSelectorAnnotation, text)) << text;
  for (const char* text : {"", "-1", "1.5", "many", "99999999999999999999999"})
    EXPECT_FALSE(with(kMaxPortsAnnotation, text)) << text;
  EXPECT_EQ(with(kMaxPortsAnnotation, "20").value().max_ports, 20u);
}

}  // namespace
}  // namespace berth::api
