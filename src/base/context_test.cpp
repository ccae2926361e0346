#include "base/context.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

using namespace std::chrono_literals;

// A clock that stands where the test puts it.
class StandingClock final : public Tasks {
 public:
  Instant now() override { return now_; }
  WallTime wall_time() override { return WallTime{now_.time_since_epoch()}; }
  std::unique_ptr<Signal> signal() override { return nullptr; }
  bool wait(Signal&, Instant, std::stop_token) override { return false; }
  [[nodiscard]] std::unique_ptr<Task> spawn(std::string,
                                            std::function<void(std::stop_token)>) override {
    return nullptr;
  }
  Instant now_{100s};
};

TEST(Context, HasNoEndUnlessGivenOne) {
  StandingClock clock;
  const Context context{.tasks = clock};
  clock.now_ = kNever - 1ns;
  EXPECT_FALSE(context.expired());
}

TEST(Context, WithinOnlyShortens) {
  StandingClock clock;
  const Context context{.tasks = clock};
  const Context short_one = context.within(10s);
  EXPECT_EQ(short_one.deadline, Instant{110s});
  EXPECT_EQ(short_one.within(20s).deadline, Instant{110s});
  EXPECT_EQ(short_one.within(5s).deadline, Instant{105s});
  EXPECT_EQ(context.within(Duration::max()).deadline, kNever);
  EXPECT_EQ(context.deadline, kNever);
}

TEST(Context, TheDeadlineIsTheFirstMomentTooLate) {
  StandingClock clock;
  const Context context = Context{.tasks = clock}.within(10s);
  clock.now_ = Instant{110s} - 1ns;
  EXPECT_FALSE(context.expired());
  clock.now_ = Instant{110s};
  EXPECT_TRUE(context.expired());
  EXPECT_EQ(context.end_error().code, Code::timeout);
}

TEST(Context, AStopCountsBeforeTheDeadline) {
  StandingClock clock;
  std::stop_source source;
  const Context context{.tasks = clock, .stop = source.get_token(), .deadline = Instant{0s}};
  EXPECT_EQ(context.end_error().code, Code::timeout);
  source.request_stop();
  EXPECT_TRUE(context.expired());
  EXPECT_EQ(context.end_error().code, Code::stopped);
}

TEST(Context, FieldsAreAddedToACopy) {
  StandingClock clock;
  const Context context{.tasks = clock};
  const Context more = context.with({"lb", "lb-1"}).with({"object", "Pod games/room-0"});
  EXPECT_EQ(more.fields, (LogFields{{"lb", "lb-1"}, {"object", "Pod games/room-0"}}));
  EXPECT_TRUE(context.fields.empty());
}

}  // namespace
}  // namespace berth
