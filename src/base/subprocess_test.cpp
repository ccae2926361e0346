#include "base/subprocess.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>

#include <filesystem>

#include "base/fd.h"
#include "base/file.h"
#include "base/threads.h"

namespace berth {
namespace {

using namespace std::chrono_literals;

Command shell(std::string script) { return {.program = "sh", .args = {"-c", std::move(script)}}; }

class SubprocessTest : public ::testing::Test {
 protected:
  ThreadTasks tasks_;
  Context context_{.tasks = tasks_};
};

TEST_F(SubprocessTest, GivesBothOutputsAndTheExitCode) {
  const auto result = run_command(context_, shell("echo out; echo err >&2; exit 3"));
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(result->exit_code, 3);
  EXPECT_EQ(result->out, "out\n");
  EXPECT_EQ(result->err, "err\n");
  EXPECT_FALSE(result->truncated);
}

TEST_F(SubprocessTest, ASignalCountsAsShellsCountIt) {
  const auto result = run_command(context_, shell("kill -TERM $$"));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exit_code, 128 + SIGTERM);
}

TEST_F(SubprocessTest, FeedsInputOfAnySize) {
  Command command = shell("wc -c");
  command.input = std::string(1'000'000, 'x');
  EXPECT_EQ(run_command(context_, command).value().out, "1000000\n");
}

TEST_F(SubprocessTest, InputThatIsNotReadIsNoError) {
  Command command = shell("exit 0");
  command.input = std::string(1'000'000, 'x');
  EXPECT_EQ(run_command(context_, command).value().exit_code, 0);
  EXPECT_EQ(run_command(context_, shell("cat")).value().out, "");
}

TEST_F(SubprocessTest, ExtraEnvironmentIsAddedAndWins) {
  Command command = shell("echo \"$BERTH_A|$HOME|${PATH:+path}\"");
  command.extra_env = {{"BERTH_A", "a=b c"}, {"HOME", "/elsewhere"}};
  EXPECT_EQ(run_command(context_, command).value().out, "a=b c|/elsewhere|path\n");
}

TEST_F(SubprocessTest, KeepsTheBeginningOfALongOutput) {
  Command command = shell("head -c 300000 /dev/zero | tr '\\0' x; echo done >&2");
  command.max_output_bytes = 10;
  const auto result = run_command(context_, command);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exit_code, 0);
  EXPECT_EQ(result->out, "xxxxxxxxxx");
  EXPECT_EQ(result->err, "done\n");
  EXPECT_TRUE(result->truncated);
}

TEST_F(SubprocessTest, AMissingProgramIsNamed) {
  const auto result = run_command(context_, {.program = "berth-no-such-program"});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::not_found);
  EXPECT_EQ(result.error().message,
            "cannot start berth-no-such-program: No such file or directory");
}

TEST_F(SubprocessTest, TheDeadlineEndsTheRun) {
  const auto result = run_command(context_.within(50ms), shell("sleep 600"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::timeout);
  EXPECT_EQ(result.error().message, "sh was ended before it finished: the deadline passed");
}

TEST_F(SubprocessTest, AStopKillsTheProgramAndItsHelpers) {
  std::string folder = ::testing::TempDir() + "/berth-subprocess-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string pid_file = folder + "/pid";
  std::stop_source source;
  context_.stop = source.get_token();
  Fd helper;
  // Stops the run once the helper is there.
  const auto stopper = tasks_.spawn("stopper", [&](std::stop_token) {
    Result<std::string> pid = read_file(pid_file, 100);
    for (; !pid; pid = read_file(pid_file, 100)) (void)sleep_for(tasks_, 5ms, {});
    helper = Fd(static_cast<int>(::syscall(SYS_pidfd_open, std::stoi(*pid), 0)));
    source.request_stop();
  });
  // The helper inherits the outputs: only killing the group ends it.
  const auto result = run_command(
      context_,
      shell(fmt::format("sleep 600 & echo $! > {0}.new; mv {0}.new {0}; sleep 600", pid_file)));
  stopper->join();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::stopped);
  ASSERT_TRUE(helper.valid());
  pollfd ended{helper.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&ended, 1, 30'000), 1) << "the helper lives on";
  std::filesystem::remove_all(folder);
}

TEST_F(SubprocessTest, ADaemonLeftBehindDoesNotHoldTheCallUp) {
  const auto result = run_command(context_.within(10s), shell("echo early; sleep 20 & exit 0"));
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(result->out, "early\n");
}

}  // namespace
}  // namespace berth
