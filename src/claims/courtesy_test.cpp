#include "claims/courtesy.h"

#include <gtest/gtest.h>

#include <memory>

#include "sim/kernel/kernel.h"

namespace berth::claims {
namespace {

using namespace std::chrono_literals;

class CourtesyTest : public testing::Test {
 protected:
  // How long so many writes take that wait for nothing but admissions.
  Duration time_of(int writes, std::stop_token stop = {}) {
    const Instant begin = kernel_.now();
    bool done = false;
    const auto bulk = kernel_.world().spawn("bulk", [&](std::stop_token) {
      for (int i = 0; i < writes; ++i) courtesy_.give_way({.tasks = kernel_.world(), .stop = stop});
      done = true;
    });
    EXPECT_TRUE(kernel_.run_until([&] { return done; }));
    return kernel_.now() - begin;
  }
  std::unique_ptr<Courtesy::Guest> admission() {
    return std::make_unique<Courtesy::Guest>(courtesy_, kernel_.world());
  }

  sim::Kernel kernel_{1};
  Courtesy courtesy_;
};

TEST_F(CourtesyTest, BulkWorkDoesNotWaitForNobody) { EXPECT_EQ(time_of(1000), 0ms); }

TEST_F(CourtesyTest, WhileAnAdmissionIsUnderWayBulkWorkGoesOnOneByOne) {
  const auto guest = admission();
  const Duration took = time_of(100);
  EXPECT_GE(took, 100ms);
  EXPECT_LE(took, 1s) << "it is not stopped";
}

TEST_F(CourtesyTest, ItStaysSoForAMomentBecauseAdmissionsComeOneAfterTheOther) {
  admission().reset();
  EXPECT_GE(time_of(10), 10ms);
  EXPECT_LE(time_of(10'000), 1s) << "then it goes on at full speed";
  EXPECT_EQ(time_of(1000), 0ms);
}

TEST_F(CourtesyTest, AStopEndsTheWait) {
  const auto guest = admission();
  std::stop_source stopped;
  stopped.request_stop();
  EXPECT_EQ(time_of(1000, stopped.get_token()), 0ms);
}

}  // namespace
}  // namespace berth::claims
