#include "kube/runtime/event_recorder.h"

#include <gtest/gtest.h>

#include "kube/client/test_fake_transport.h"
#include "sim/kernel/kernel.h"

namespace berth::kube {
namespace {

using namespace std::chrono_literals;

EventNote note(std::string reason) {
  return {.target = {"v1", "Pod", "games", "room-0", "u1"},
          .type = "Normal",
          .reason = std::move(reason),
          .message = "as it is"};
}

// A recorder whose task runs, on a clock that the test moves.
class EventRecorderTest : public ::testing::Test {
 protected:
  EventRecorderTest() { pass(0ms); }

  static std::shared_ptr<const ClusterConfig> cluster() {
    class NoCredentials final : public Credentials {
      Result<Identity> identity(const Context&) override { return Identity{}; }
      void rejected(const Identity&) override {}
    };
    auto config = std::make_shared<ClusterConfig>();
    config->server = "https://api:6443";
    config->credentials = std::make_shared<NoCredentials>();
    return config;
  }
  void pass(Duration span) {
    const Instant until = kernel_.now() + span;
    bool over = false;
    const auto sleeper = tasks_.spawn("clock", [&](std::stop_token stop) {
      (void)sleep_for(tasks_, until - kernel_.now(), stop);
      over = true;
    });
    EXPECT_TRUE(kernel_.run_until([&] { return over; }));
  }
  std::size_t sent() const { return transport_.requests.size(); }

  sim::Kernel kernel_{1};
  sim::Process& tasks_ = kernel_.start_process("berth");
  testing::FakeTransport transport_;
  metrics::Registry registry_;
  Client client_{transport_, cluster()};
  EventRecorder recorder_{tasks_, client_, "berth", registry_};
  std::unique_ptr<Task> writer_ = tasks_.spawn("events", [this](std::stop_token stop) {
    recorder_.write_all(Context{.tasks = tasks_, .stop = std::move(stop)});
  });
};

TEST_F(EventRecorderTest, WhatIsReportedGoesBeforeTheReport) {
  transport_.answer(201).answer(201);
  recorder_.record(note("CreateSuccess"));
  pass(EventRecorder::kGather / 2);
  recorder_.record(note("Ready"));
  EXPECT_EQ(sent(), 0u);
  pass(EventRecorder::kGather);
  ASSERT_EQ(sent(), 2u);
  EXPECT_EQ(transport_.requests[0].method, "POST");
  EXPECT_NE(transport_.requests[0].body.find("CreateSuccess"), std::string::npos);
}

TEST_F(EventRecorderTest, OneThatIsRepeatedIsCounted) {
  transport_.answer(201).answer(200);
  recorder_.record(note("Ready"));
  recorder_.record(note("Ready"));
  pass(1s);
  ASSERT_EQ(sent(), 2u);
  EXPECT_EQ(transport_.requests[1].method, "PATCH");
  EXPECT_NE(transport_.requests[1].body.find(R"("count":2)"), std::string::npos);
}

TEST_F(EventRecorderTest, AServerThatIsDownIsTriedAgain) {
  transport_.fail_with(Code::unavailable).answer(201);
  recorder_.record(note("Ready"));
  pass(1s);
  EXPECT_EQ(sent(), 1u);
  pass(EventRecorder::kRetryPause);
  EXPECT_EQ(sent(), 2u);
  EXPECT_TRUE(transport_.done());
}

TEST_F(EventRecorderTest, WhatDoesNotFitIsDroppedAndNobodyWaits) {
  for (std::size_t i = 0; i < EventRecorder::kMaxQueued + 3; ++i) recorder_.record(note("Ready"));
  EXPECT_EQ(
      registry_.counter("berth_events_dropped_total", "Events that were not written.").value(), 3);
}

}  // namespace
}  // namespace berth::kube
