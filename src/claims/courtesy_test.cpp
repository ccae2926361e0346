#include "claims/courtesy.h"

#include <gtest/gtest.h>

#include "sim/kernel/kernel.h"

namespace berth::claims {
namespace {

using std::chrono::milliseconds;

// In virtual time: how long is what the code waits, and nothing else.
class CourtesyTest : public testing::Test {
 protected:
  // How long this many writes of bulk work take, if nobody stops them.
  Duration time_of(int writes, std::stop_token stop = {}) {
    sim::Process& process = kernel_.world();
    bool ended = false;
    const Instant begin = kernel_.now();
    const auto task = process.spawn("bulk work", [&](std::stop_token) {
      const Context context{.tasks = process, .stop = stop};
      for (int i = 0; i < writes; ++i) courtesy_.give_way(context);
      ended = true;
    });
    EXPECT_TRUE(kernel_.run_until([&] { return ended; }));
    return kernel_.now() - begin;
  }

  sim::Kernel kernel_{1};
  Courtesy courtesy_;
};

TEST_F(CourtesyTest, BulkWorkDoesNotWaitForNobody) { EXPECT_EQ(time_of(1000), Duration::zero()); }

TEST_F(CourtesyTest, WhileAnAdmissionIsUnderWayBulkWorkGoesOnOneByOne) {
  const Courtesy::Guest guest(courtesy_);
  EXPECT_EQ(time_of(10), milliseconds{18}) << "one at once, and one at each turn";
}

TEST_F(CourtesyTest, WhenTheLastAdmissionHasEndedNobodyWaits) {
  {
    const Courtesy::Guest guest(courtesy_);
  }
  EXPECT_EQ(time_of(1000), Duration::zero());
}

TEST_F(CourtesyTest, AStopEndsTheWait) {
  const Courtesy::Guest guest(courtesy_);
  std::stop_source stopped;
  stopped.request_stop();
  EXPECT_LT(time_of(10, stopped.get_token()), milliseconds{2});
}

}  // namespace
}  // namespace berth::claims
