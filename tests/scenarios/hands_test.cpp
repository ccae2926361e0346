// Random lives with people about: what tenants do costs nobody else anything, and what operators
// and administrators do costs what hands_house.h says.
#include <gtest/gtest.h>

#include "hands_house.h"

namespace berth::scenario {
namespace {

using std::chrono::seconds;

void live_with(world::Role role, Duration cpu_time, std::uint64_t seeds, const Plant& house = {}) {
  HandsCount count;
  const std::string name =
      fmt::format("hands of {}s{}", to_string(role), house ? " in a wide house" : "");
  const auto swept = sim::sweep(sweep_for(name, cpu_time, seeds), [&](std::uint64_t seed) {
    return live_with_hands(seed, role, house, &count);
  });
  ASSERT_TRUE(swept) << swept.error().message;
  fmt::print("{}: {} moves, {} Pods were told Ready\n", name, count.moves, count.words);
  EXPECT_GE(count.words, swept->seeds);
  EXPECT_GE(count.moves, swept->seeds);
}

TEST(Hands, OfTenants) { live_with(world::Role::tenant, seconds{20}, 20); }

TEST(Hands, OfOperators) { live_with(world::Role::operator_of_ours, seconds{10}, 12); }

TEST(Hands, OfAdministrators) { live_with(world::Role::administrator, seconds{10}, 12); }

// With Ingresses beside the pools, and grants in blocks.
TEST(HandsInAWideHouse, OfTenants) {
  live_with(world::Role::tenant, seconds{6}, 5, in_a_wide_house());
}

TEST(HandsInAWideHouse, OfOperators) {
  live_with(world::Role::operator_of_ours, seconds{6}, 5, in_a_wide_house());
}

TEST(HandsInAWideHouse, OfAdministrators) {
  live_with(world::Role::administrator, seconds{6}, 5, in_a_wide_house());
}

}  // namespace
}  // namespace berth::scenario
