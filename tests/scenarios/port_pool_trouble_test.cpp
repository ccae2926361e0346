// Random lives: everything that may go wrong does, at moments that a seed chooses.
#include <gtest/gtest.h>

#include "pool_trouble.h"

namespace berth::scenario {
namespace {

using std::chrono::seconds;

TEST(PortPoolTrouble, PromisesAreKept) {
  TroubleCount count;
  const auto swept =
      sim::sweep(sweep_for("port pools in trouble", seconds{120}, 400),
                 [&](std::uint64_t seed) { return live_in_trouble(seed, {}, &count); });
  ASSERT_TRUE(swept) << swept.error().message;
  fmt::print(
      "port pools in trouble: {} Pods were told Ready, {} kept names came back, {} houses "
      "were emptied\n",
      count.ready, count.came_back, count.closed);
  EXPECT_GE(count.ready, swept->seeds);
}

}  // namespace
}  // namespace berth::scenario
