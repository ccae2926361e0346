#include "model/provider.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace berth::model {
namespace {

TEST(Provider, EachHasARowUnderItsOwnName) {
  for (const std::string_view name : {"edge", "tencent", "aws", "gcp"}) {
    const Result<Provider> provider = parse_provider(name);
    ASSERT_TRUE(provider) << name;
    EXPECT_EQ(to_string(*provider), name);
    EXPECT_FALSE(traits_of(*provider).title.empty());
    const Abilities& able = traits_of(*provider).abilities;
    EXPECT_GE(std::min({able.create_batch, able.remove_batch, able.rule_batch, able.target_batch}),
              1u);
    // A name has a cluster id, something readable and a digest.
    EXPECT_GE(able.max_listener_name, 60u);
    EXPECT_TRUE(able.has_ranges || !able.has_open_ranges);
  }
}

// Who writes nothing must not be refused for it.
TEST(Provider, WhatIsUsedWhereNothingIsSaidIsAllowed) {
  for (const Provider provider :
       {Provider::edge, Provider::tencent, Provider::aws, Provider::gcp}) {
    const ProviderTraits& traits = traits_of(provider);
    for (const AttributeLimits& limits : {traits.layer4, traits.layer7}) {
      EXPECT_TRUE(limits.probe_timeout.contains(limits.default_timeout)) << traits.name;
      EXPECT_TRUE(limits.probe_interval.contains(limits.default_interval)) << traits.name;
      EXPECT_TRUE(
          limits.default_timeout < limits.default_interval ||
          (limits.timeout_may_be_interval && limits.default_timeout == limits.default_interval))
          << traits.name;
      EXPECT_FALSE(limits.session_seconds.contains(0)) << traits.name;
    }
  }
}

TEST(Provider, WhatIsNoneIsQuotedWithThoseThatAre) {
  const Result<Provider> bad = parse_provider("azure");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message, "provider 'azure' is not one of edge, tencent, aws, gcp");
}

TEST(Provider, AListenerOfAwsHasOnePortAndOneProtocol) {
  EXPECT_FALSE(traits_of(Provider::aws).abilities.has_ranges);
  EXPECT_FALSE(traits_of(Provider::aws).abilities.has_both_protocols);
  EXPECT_TRUE(traits_of(Provider::edge).abilities.has_both_protocols);
}

}  // namespace
}  // namespace berth::model
