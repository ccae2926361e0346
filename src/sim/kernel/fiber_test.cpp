#include "sim/kernel/fiber.h"

#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace berth::sim {
namespace {

// A fiber that runs a lambda.
class Lambda {
 public:
  explicit Lambda(std::function<void(Fiber&)> body)
      : body_(std::move(body)), fiber_(&Lambda::run, this) {}
  Fiber& fiber() { return fiber_; }

 private:
  static void run(void* self) {
    auto& lambda = *static_cast<Lambda*>(self);
    lambda.body_(lambda.fiber_);
  }

  std::function<void(Fiber&)> body_;
  Fiber fiber_;
};

TEST(Fiber, StopsInTheMiddleAndGoesOn) {
  std::string log;
  Lambda lambda([&](Fiber& self) {
    log += "a";
    self.suspend();
    log += "b";
  });
  lambda.fiber().resume();
  log += "-";
  EXPECT_FALSE(lambda.fiber().finished());
  lambda.fiber().resume();
  EXPECT_TRUE(lambda.fiber().finished());
  EXPECT_EQ(log, "a-b");
}

TEST(Fiber, ThousandsUseStacksAgain) {
  constexpr int kFibers = 3'000;  // without reuse: 750 MiB of mappings
  int finished = 0;
  for (int i = 0; i < kFibers; ++i) {
    Lambda lambda([&](Fiber& self) {
      std::vector<int> numbers(100, i);
      self.suspend();
      finished += numbers.back() == i ? 1 : 0;
    });
    lambda.fiber().resume();
    lambda.fiber().resume();
  }
  EXPECT_EQ(finished, kFibers);
}

// On one thread the runtime has one stack of caught exceptions: two handlers that interleave would
// pop each other's.
TEST(Fiber, HandlersMayInterleave) {
  const auto thrower = [](std::string text, std::string& seen) {
    return [text = std::move(text), &seen](Fiber& self) {
      try {
        throw std::runtime_error(text);
      } catch (const std::exception&) {
        self.suspend();
        try {
          std::rethrow_exception(std::current_exception());
        } catch (const std::exception& error) {
          seen = error.what();
        }
      }
    };
  };
  std::string first_seen;
  std::string second_seen;
  Lambda first(thrower("first", first_seen));
  Lambda second(thrower("second", second_seen));
  first.fiber().resume();
  second.fiber().resume();
  first.fiber().resume();
  second.fiber().resume();
  EXPECT_EQ(first_seen, "first");
  EXPECT_EQ(second_seen, "second");
  EXPECT_FALSE(std::current_exception());
}

}  // namespace
}  // namespace berth::sim
