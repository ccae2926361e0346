#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/threads.h"

namespace berth {
namespace {

using testing::MatchesRegex;

class Log : public testing::Test {
 protected:
  void SetUp() override {
    set_log_sink([this](std::string_view line) { lines_.emplace_back(line); });
  }
  void TearDown() override {
    set_log_level(LogLevel::info);
    set_log_sink({});
  }
  std::vector<std::string> lines_;
};

constexpr const char* kTime = "[0-9]+-[0-9]+-[0-9]+T[0-9]+:[0-9]+:[0-9]+\\.[0-9]+Z";

TEST_F(Log, IsOneJsonObjectALineWithKeysInOrder) {
  log_warn("port taken", {{"lb", "lb-1"}, {"object", "Pod games/room-0"}});
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_THAT(lines_[0], MatchesRegex(std::string("\\{\"ts\":\"") + kTime +
                                      "\",\"level\":\"warn\",\"msg\":\"port taken\","
                                      "\"lb\":\"lb-1\",\"object\":\"Pod games/room-0\"\\}"));
}

TEST_F(Log, TextCannotLeaveItsLine) {
  log_error("a\nb", {{"k\"ey", "v\\al\x01ue\xff"}});
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_THAT(lines_[0],
              testing::EndsWith("\"msg\":\"a\\nb\",\"k\\\"ey\":\"v\\\\al\\u0001ue\uFFFD\"}"));
}

TEST_F(Log, LevelsBelowTheChosenOneAreDropped) {
  log_debug("not shown");
  log_info("shown");
  EXPECT_EQ(lines_.size(), 1u);
  set_log_level(LogLevel::error);
  EXPECT_FALSE(log_enabled(LogLevel::warn));
  EXPECT_TRUE(log_enabled(LogLevel::error));
  log_warn("not shown");
  EXPECT_EQ(lines_.size(), 1u);
  set_log_level(LogLevel::debug);
  log_debug("shown");
  EXPECT_EQ(lines_.size(), 2u);
}

TEST_F(Log, LinesOfSeveralTasksStayWhole) {
  ThreadTasks tasks;
  std::vector<std::unique_ptr<Task>> running;
  running.reserve(4);
  for (int i = 0; i < 4; ++i) {
    running.push_back(tasks.spawn("writer", [i](const std::stop_token&) {
      for (int n = 0; n < 200; ++n) log_info("line", {{"task", std::to_string(i)}});
    }));
  }
  for (const auto& task : running) task->join();
  ASSERT_EQ(lines_.size(), 800u);
  for (const auto& line : lines_)
    EXPECT_THAT(line, testing::AllOf(testing::StartsWith("{\"ts\""), testing::EndsWith("\"}")));
}

TEST_F(Log, GoesToStandardErrorWithoutASink) {
  set_log_sink({});
  testing::internal::CaptureStderr();
  log_info("hello");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, testing::EndsWith("\"msg\":\"hello\"}\n"));
}

}  // namespace
}  // namespace berth
