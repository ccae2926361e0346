// Whose time as the leader has run out sends nothing that only a leader may write: not what it was
// about to send, and not what it hears of before it notices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fence_watch.h"

namespace berth::scenario {
namespace {

using ::testing::IsEmpty;

TEST(Fence, NobodySendsWhatOnlyTheLeaderMayWrite) {
  FenceWatch watch;
  const Result<> lived = live_with_lost_leases(1, watch);
  ASSERT_TRUE(lived) << lived.error().to_string();
  EXPECT_THAT(watch.late(), IsEmpty());
  for (const char* resource :
       {"loadbalancers", "listeners", "portpools", "portbindings", "pods", "ingresses"})
    EXPECT_GT(watch.in_time().contains(resource) ? watch.in_time().at(resource) : 0, 10u)
        << resource << ": there was something to watch";
}

}  // namespace
}  // namespace berth::scenario
