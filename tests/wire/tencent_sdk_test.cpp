// Tencent's own SDK on `berth sim tencent`: every action is called, and answered. And what our
// driver sends, field by field, against the SDK's models.
#include <gtest/gtest.h>
#include <signal.h>

#include <boost/json.hpp>
#include <filesystem>
#include <optional>
#include <set>

#include "base/file.h"
#include "driver_calls.h"
#include "sim/cloud/tencent/actions.h"
#include "support/eventually.h"
#include "support/python_packages.h"
#include "support/scratch_dir.h"
#include "wire/value.h"

namespace berth::testing {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 60s;
constexpr std::size_t kMaxLog = 64u << 20;

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
  void SetUp() override {
    const auto python = python_with(tests_folder() / "wire/tencent/requirements.txt");
    if (!python) {
      ASSERT_TRUE(python.error().may_be) << python.error().why;
      GTEST_SKIP() << python.error().why;
    }
    python_ = *python;
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

  CommandResult run_suite(const char* script, std::vector<std::string> more) {
    auto env = environment_of({"HOME", "PATH"});
    env.insert(env.end(), more.begin(), more.end());
    return run({python_, {tests_folder() / "wire/tencent" / script, "-v"}, env}, "", 5min);
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
  const CommandResult ran =
      run_suite("sdk_test.py", {fmt::format("ENDPOINT={}", wire::string_at(*first, "/endpoint")),
                                "CA=" + file("ca.pem").string()});
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

// Names of members, at any depth.
void add_names(const wire::Value& value, std::set<std::string>& out) {
  if (const auto* object = value.if_object()) {
    for (const auto& member : *object) {
      out.emplace(member.key());
      add_names(member.value(), out);
    }
  } else if (const auto* array = value.if_array()) {
    for (const wire::Value& one : *array) add_names(one, out);
  }
}

TEST_F(TencentSdk, KnowsEveryFieldThatTheDriverSends) {
  std::string lines;
  std::set<std::string> actions, sent;
  for (const wire::Object& call : calls_of_the_driver()) {
    lines += wire::to_json(call) + "\n";
    actions.emplace(call.at("action").as_string());
    add_names(call.at("request"), sent);
  }
  EXPECT_EQ(actions.size(), 16u) << "each call that it makes";
  // What is seldom wished was wished this time.
  for (const char* field :
       {"CertCaId", "CheckPort", "CheckType", "EndPort", "Filters", "ForwardType", "Http2",
        "HttpCheckDomain", "HttpCheckMethod", "HttpCode", "HttpVersion", "KeepaliveEnable",
        "MaxCps", "ModifyList", "MultiCertInfo", "NewDefaultServerDomain", "Quic", "SessionType",
        "SniSwitch"})
    EXPECT_TRUE(sent.contains(field)) << field;
  ASSERT_TRUE(write_file(file("calls").string(), lines, 0600));
  const CommandResult ran = run_suite("fields_test.py", {"CALLS=" + file("calls").string()});
  EXPECT_TRUE(ran.ok()) << ran.out << ran.err;
}

}  // namespace
}  // namespace berth::testing
