#include "claims/courtesy.h"

#include <gtest/gtest.h>

#include "base/threads.h"

namespace berth::claims {
namespace {

using std::chrono::milliseconds;

Duration time_of(int writes, Courtesy& courtesy) {
  ThreadTasks tasks;
  const Context context{.tasks = tasks};
  const Instant begin = tasks.now();
  for (int i = 0; i < writes; ++i) courtesy.give_way(context);
  return tasks.now() - begin;
}

TEST(Courtesy, BulkWorkDoesNotWaitForNobody) {
  Courtesy courtesy;
  EXPECT_LT(time_of(1000, courtesy), milliseconds{500});
}

TEST(Courtesy, WhileAnAdmissionIsUnderWayBulkWorkGoesOnOneByOne) {
  Courtesy courtesy;
  const Courtesy::Guest guest(courtesy);
  EXPECT_GE(time_of(10, courtesy), milliseconds{18});
}

TEST(Courtesy, AStopEndsTheWait) {
  Courtesy courtesy;
  const Courtesy::Guest guest(courtesy);
  ThreadTasks tasks;
  std::stop_source stopped;
  stopped.request_stop();
  for (int i = 0; i < 3; ++i)
    courtesy.give_way(Context{.tasks = tasks, .stop = stopped.get_token()});
}

}  // namespace
}  // namespace berth::claims
