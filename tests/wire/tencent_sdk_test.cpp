// Tencent's own SDK on `berth sim tencent`: every action is called, and answered.
#include <gtest/gtest.h>
#include <signal.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/file.h"
#include "sim/cloud/tencent/actions.h"
#include "support/eventually.h"
#include "support/scratch_dir.h"
#include "support/subprocess.h"
#include "wire/value.h"

namespace berth::testing {
namespace {

using namespace std::chrono_literals;

constexpr int kCannotBeMade = 77;
constexpr auto kPatience = 60s;
constexpr std::size_t kMaxLog = 64u << 20;

std::filesystem::path tests_folder() {
  return std::filesystem::path(std::getenv("BERTH_SOURCE_DIR")) / "tests";
}

std::vector<std::string> environment(std::initializer_list<const char*> names) {
  std::vector<std::string> out;
  for (const char* name : names) {
    if (const char* value = std::getenv(name)) out.push_back(std::string(name) + "=" + value);
  }
  return out;
}

std::vector<std::string> lines_of(const std::filesystem::path& log) {
  std::vector<std::string> out;
  const std::string text = read_file(log.string(), kMaxLog).value_or("");
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) break;  // still being written
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

class TencentSdk : public ::testing::Test {
 protected:
  // Installing goes over the network, so it may need what the user has set up for that.
  void SetUp() override {
    auto env = environment({"HOME", "PATH", "BERTH_CACHE", "PIP_CONFIG_FILE", "PIP_INDEX_URL",
                            "HTTPS_PROXY", "https_proxy", "SSL_CERT_FILE"});
    const CommandResult made = run({tests_folder() / "clients/python/build",
                                    {tests_folder() / "wire/tencent/requirements.txt"},
                                    env},
                                   "", 5min);
    if (made.exit_code == kCannotBeMade) GTEST_SKIP() << made.err;
    ASSERT_TRUE(made.ok()) << made.err;
    python_ = made.out.substr(0, made.out.find('\n')) + "/bin/python";
    auto folder = ScratchDir::create("berth-wire");
    ASSERT_TRUE(folder) << folder.error();
    folder_.emplace(std::move(*folder));
  }

  std::filesystem::path file(const char* name) const { return folder_->path() / name; }

  Process start() {
    auto process = Process::spawn(
        {.program = BERTH_PROGRAM,
         .args = {"sim", "tencent", "-o", "json", "--setup",
                  tests_folder() / "wire/tencent/setup.yaml", "--ca-file", file("ca.pem")},
         .env = {}},
        file("log"));
    EXPECT_TRUE(process) << process.error();
    EXPECT_TRUE(eventually(kPatience, [&] { return !lines_of(file("log")).empty(); }));
    return std::move(*process);
  }

  CommandResult run_suite(const std::string& endpoint) {
    auto env = environment({"HOME", "PATH"});
    env.push_back("ENDPOINT=" + endpoint);
    env.push_back("CA=" + file("ca.pem").string());
    return run({python_, {tests_folder() / "wire/tencent/sdk_test.py", "-v"}, env}, "", 5min);
  }

  // What it says of itself at its end.
  wire::Value stop(Process& process) {
    ::kill(process.pid(), SIGINT);
    EXPECT_TRUE(process.wait(kPatience));
    EXPECT_EQ(process.exit_code(), 0);
    const auto lines = lines_of(file("log"));
    return wire::parse_json(lines.empty() ? "" : lines.back()).value_or(wire::Value());
  }

 private:
  std::string python_;
  std::optional<ScratchDir> folder_;
};

TEST_F(TencentSdk, CallsEveryActionAndIsAnswered) {
  Process process = start();
  const auto first = wire::parse_json(lines_of(file("log")).front());
  ASSERT_TRUE(first);
  const CommandResult ran = run_suite(std::string(wire::string_at(*first, "/endpoint")));
  EXPECT_TRUE(ran.ok()) << ran.out << ran.err;

  const wire::Value dump = stop(process);
  for (const auto& [name, service] : sim::tencent::make_services({})) {
    for (const auto& [action, how] : service.actions) {
      EXPECT_GT(wire::int_at(dump, "/calls/" + action + "/answered").value_or(0), 0)
          << name << " " << action;
    }
  }
  EXPECT_FALSE(std::filesystem::exists(file("ca.pem")));
  EXPECT_EQ(wire::int_at(dump, "/faultsWaiting"), 0);
}

}  // namespace
}  // namespace berth::testing
